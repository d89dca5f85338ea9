// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/qr.hpp>

#include "degeneracy.hpp"
#include "instantiate.hpp"
#include "kernels.hpp"
#include "rules.hpp"

// A = Q R, thin, k = min(m,n). For m < n, A = [A1 A2] and R = [R1 R2] with square A1, R1. The gauge is a real diagonal
// of R.

namespace frechet::detail {
namespace {

template <class Exec, class S, class From>
void copy_upper_entries(Context<Exec>& ctx, const From& from, const Batch<S>& to) {
  for_each_part(
      ctx, "frechet::qr::upper", to.rows, to.cols, to.count,
      KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) = from(b, i, j); },
      KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) = from(b, i, j); },
      KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) = S(0); });
}
/// to = upper triangle (trapezoid) of from, zero below.
template <class Exec, class S, class From>
void copy_upper(Context<Exec>& ctx, const From& from, const Batch<S>& to) {
  with_unit_stride(from, [&](const auto& x) { copy_upper_entries(ctx, x, to); });
}

/// rank = number of the first k columns j with |R_jj| > max(m,n) eps |a_j|: those not in the span of the columns before
/// them. A test by column length, so that scaling columns does not change it.
template <class Exec, class S>
void note_rank(Context<Exec>& ctx, const Batch<const S>& R, int m, Diagnosis* d) {
  using T = Real<S>;
  const int k = R.rows, longest = m > R.cols ? m : R.cols;
  auto* counted = ctx.template take<int>(static_cast<std::size_t>(k) * R.count);
  reduce_columns<Max<T>>(
      ctx, "frechet::qr::rank", k, k, R.count,
      KOKKOS_LAMBDA(int b, int i, int j, Max<T>& acc) { acc.add(abs1(R(b, i, j))); },
      KOKKOS_LAMBDA(int b, int j, const Max<T>& acc) {
        counted[std::int64_t(b) * k + j] = abs1(R(b, j, j)) > T(longest) * epsilon<S> * acc.value();
      },
      true);
  reduce_matrices<Sum<int>>(
      ctx, "frechet::qr::rank", k, 1, R.count,
      KOKKOS_LAMBDA(int b, int i, int, Sum<int>& acc) { acc.add(counted[std::int64_t(b) * k + i]); },
      KOKKOS_LAMBDA(int b, const Sum<int>& acc) { d[b].rank = acc.value; });
}

/// The rules divide by R1: without full rank there is no derivative.
template <class Exec>
void require_rank(Context<Exec>& ctx, int k, int count, Diagnosis* d) {
  for_each_column(
      ctx, "frechet::qr::deficient", 1, 1, count,
      KOKKOS_LAMBDA(int b, int) { d[b].deficient = d[b].nonfinite == 0 && d[b].rank < k ? 1 : 0; });
}

}  // namespace

template <class Exec, class S>
void qr(Context<Exec>& ctx, Strided<const S> A, Strided<S> Q, Strided<S> R, const QrOptions& o) {
  require_driver<Exec>("frechet::qr", backend::Operation::qr, o.driver);
  Scope scope(ctx);
  const int m = A.rows, n = A.cols, k = m < n ? m : n, count = A.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> q(ctx, Q), r(ctx, R);
  const bool in_place = q && m >= n;  // the factorisation fits into Q's memory
  const Batch<S> work = in_place ? q.batch : ctx.template matrix<S>(m, n, count);
  load_checked(ctx, A, work, d, false);
  S* tau = ctx.template take<S>(static_cast<std::size_t>(k) * count);
  backend::geqrf<Exec, S>(ctx, work, tau, o.driver);
  // R is needed for the rank and the signs even where the caller does not want it
  const Batch<S> upper = r ? r.batch : ctx.template matrix<S>(k, n, count);
  copy_upper(ctx, work, upper);
  note_rank<Exec, S>(ctx, upper, m, d);
  if (q) {
    if (!in_place) copy(ctx, work.block(0, 0, m, k), q.batch);
    backend::ungqr<Exec, S>(ctx, q.batch, k, tau, o.driver);
  }
  if (o.signs == QrSigns::positive) {
    if (q) {
      const auto Qb = q.batch;
      for_each_column(
          ctx, "frechet::qr::signs", m, k, count, KOKKOS_LAMBDA(int b, int j) {
            if (real(upper(b, j, j)) < 0)
              for (int i = 0; i < m; ++i) Qb(b, i, j) = -Qb(b, i, j);
          });
    }
    for_each_column(
        ctx, "frechet::qr::signs", n, k, count, KOKKOS_LAMBDA(int b, int i) {
          if (real(upper(b, i, i)) < 0)
            for (int j = i; j < n; ++j) upper(b, i, j) = -upper(b, i, j);
        });
  }
  q.commit(d);
  r.commit(d);
}

// m >= n:  B = dA R^-1,  C = Q^H B,  W = dR R^-1 = striu(C + C^H) + Re diag C,  dQ = B - Q W,  dR = W R.
//          Walter & Lehmann 2010, arXiv:1001.1654; Townsend, Differentiating the QR decomposition.
// m < n:   C = Q^H dA,  D = C1 R1^-1,  Omega = stril(D) - stril(D)^H + i Im diag D,  dQ = Q Omega,  dR = C - Omega R.
//          Roberts & Roberts 2020, arXiv:2009.10071.
template <class Exec, class S>
void qr_jvp(Context<Exec>& ctx, Strided<const S> Q, Strided<const S> R, Strided<const S> dA, Strided<S> dQ,
            Strided<S> dR, const QrOptions& o) {
  Scope scope(ctx);
  const int m = Q.rows, n = R.cols, k = Q.cols, count = Q.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> q(ctx, dQ), r(ctx, dR);
  if (!dA) {
    q.commit_zero();
    r.commit_zero();
    return;
  }
  const auto vQ = input(ctx, Q);
  const auto vR = input(ctx, R);
  note_rank<Exec, S>(ctx, vR, m, d);
  note_factor(ctx, vR, d);
  require_rank(ctx, k, count, d);
  const auto W = ctx.template matrix<S>(k, k, count);
  if (m >= n) {
    const Batch<S> B = q ? q.batch : ctx.template matrix<S>(m, n, count);
    copy(ctx, dA, B);
    trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::none, Diag::nonunit, S(1), vR, B);
    const auto C = ctx.template matrix<S>(n, n, count);
    gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vQ, B, S(0), C);
    for_each_part_across(
        ctx, "frechet::qr::W", n, n, count,
        KOKKOS_LAMBDA(int b, int i, int j) { W(b, i, j) = C(b, i, j) + conj(C(b, j, i)); },
        KOKKOS_LAMBDA(int b, int i, int j) { W(b, i, i) = make_scalar<S>(real(C(b, i, j)), 0); },
        KOKKOS_LAMBDA(int b, int i, int j) { W(b, i, j) = S(0); });
    if (q) gemm_by_upper<Exec, S>(ctx, S(-1), vQ, W, q.batch);
    if (r) {
      copy(ctx, W, r.batch);
      multiply_triangles<Exec, S>(ctx, Side::right, Uplo::upper, Op::none, Diag::nonunit, vR, r.batch);
    }
  } else {
    const Batch<S> C = r ? r.batch : ctx.template matrix<S>(m, n, count);
    const auto vA = input(ctx, dA);
    gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vQ, vA, S(0), C);
    const auto D = ctx.template matrix<S>(m, m, count);
    copy(ctx, C.block(0, 0, m, m), D);
    trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::none, Diag::nonunit, S(1), vR.block(0, 0, m, m), D);
    for_each_part_across(
        ctx, "frechet::qr::Omega", m, m, count, KOKKOS_LAMBDA(int b, int i, int j) { W(b, i, j) = -conj(D(b, j, i)); },
        KOKKOS_LAMBDA(int b, int i, int j) { W(b, i, i) = make_scalar<S>(0, imag(D(b, i, j))); },
        KOKKOS_LAMBDA(int b, int i, int j) { W(b, i, j) = D(b, i, j); });
    if (q) gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vQ, W, S(0), q.batch);
    if (r) {
      gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), W, vR, S(1), r.batch);
      const auto to = r.batch;
      copy_upper(ctx, to, to);
    }
  }
  q.commit(d);
  r.commit(d);
}

// m >= n:  M = triu(gR R^H - Q^H gQ),  Y = M + M^H with the diagonal Re M_ii,  gA = (gQ + Q Y) R^-H.
// m < n:   M = Q^H gQ - gR R^H,  Y = stril(M - M^H) + i Im diag M,  gA = Q gR + [Q Y R1^-H, 0].
// Sources as for qr_jvp. Only the upper triangle of gR counts: R has no other entries.
template <class Exec, class S>
void qr_vjp(Context<Exec>& ctx, Strided<const S> Q, Strided<const S> R, Strided<const S> gQ, Strided<const S> gR,
            Strided<S> gA, const QrOptions& o) {
  Scope scope(ctx);
  const int m = Q.rows, n = R.cols, k = Q.cols, count = Q.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> out(ctx, gA, o.store);
  if (!gQ && !gR) return out.commit_zero();
  const auto vQ = input(ctx, Q);
  const auto vR = input(ctx, R);
  note_rank<Exec, Primal<S>>(ctx, values_of(vR), m, d);
  note_factor(ctx, values_of(vR), d);
  require_rank(ctx, k, count, d);
  const auto M = ctx.template matrix<S>(k, k, count);
  if (m >= n) {
    if (gR) {  // entry (i <= j) of gR R^H needs gR only right of j: what lies below the diagonal stays there
      copy_upper(ctx, gR, M);
      multiply_triangles<Exec, S>(ctx, Side::right, Uplo::upper, Op::adjoint, Diag::nonunit, vR, M);
    }
    if (gQ) {
      copy(ctx, gQ, out.batch);
      gemm_triangle<Exec, S>(ctx, Uplo::upper, Op::adjoint, Op::none, S(-1), vQ, out.batch, S(bool(gR)), M);
    }
    for_each_part_across(
        ctx, "frechet::qr::Y", n, n, count, KOKKOS_LAMBDA(int, int, int){},
        KOKKOS_LAMBDA(int b, int i, int j) { M(b, i, i) = make_scalar<S>(real(M(b, i, j)), 0); },
        KOKKOS_LAMBDA(int b, int i, int j) { M(b, i, j) = conj(M(b, j, i)); });  // Y, in place
    gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vQ, M, S(bool(gQ)), out.batch);
    trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::adjoint, Diag::nonunit, S(1), vR, out.batch);
  } else {
    const auto Y = ctx.template matrix<S>(k, k, count);
    Batch<S> G;
    if (gR) {
      G = ctx.template matrix<S>(m, n, count);
      copy_upper(ctx, gR, G);
      gemm<Exec, S>(ctx, Op::none, Op::adjoint, S(-1), G, vR, S(0), M);
    }
    if (gQ) gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vQ, input(ctx, gQ), S(bool(gR)), M);
    for_each_part_across(
        ctx, "frechet::qr::Y", m, m, count, KOKKOS_LAMBDA(int b, int i, int j) { Y(b, i, j) = S(0); },
        KOKKOS_LAMBDA(int b, int i, int j) { Y(b, i, i) = make_scalar<S>(0, imag(M(b, i, j))); },
        KOKKOS_LAMBDA(int b, int i, int j) { Y(b, i, j) = M(b, i, j) - conj(M(b, j, i)); });
    trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::adjoint, Diag::nonunit, S(1), vR.block(0, 0, m, m), Y);
    if (gR)
      gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vQ, G, S(0), out.batch);
    else
      fill(ctx, out.batch, S(0));
    gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vQ, Y, S(1), out.batch.block(0, 0, m, m));
  }
  out.commit(d);
}

template <class Exec, class S>
void qr(const Instance<Exec>& x, Strided<const S> A, Strided<S> Q, Strided<S> R, const QrOptions& o) {
  with_context(x, [&](auto& ctx) { qr(ctx, A, Q, R, o); });
}
template <class Exec, class S>
void qr_jvp(const Instance<Exec>& x, Strided<const S> Q, Strided<const S> R, Strided<const S> dA, Strided<S> dQ,
            Strided<S> dR, const QrOptions& o) {
  with_context(x, [&](auto& ctx) { qr_jvp(ctx, Q, R, dA, dQ, dR, o); });
}
template <class Exec, class S>
void qr_vjp(const Instance<Exec>& x, Strided<const S> Q, Strided<const S> R, Strided<const S> gQ, Strided<const S> gR,
            Strided<S> gA, const QrOptions& o) {
  with_context(x, [&](auto& ctx) { qr_vjp(ctx, Q, R, gQ, gR, gA, o); });
}

#define FRECHET_QR_VJP_AT(WHERE, S)                                                                               \
  template void qr_vjp(WHERE, Strided<const S>, Strided<const S>, Strided<const S>, Strided<const S>, Strided<S>, \
                       const QrOptions&);
#define FRECHET_QR_AT(WHERE, S)                                                                             \
  template void qr(WHERE, Strided<const S>, Strided<S>, Strided<S>, const QrOptions&);                      \
  template void qr_jvp(WHERE, Strided<const S>, Strided<const S>, Strided<const S>, Strided<S>, Strided<S>, \
                       const QrOptions&);                                                                   \
  FRECHET_QR_VJP_AT(WHERE, S)
#define FRECHET_QR(EXEC, S)               \
  FRECHET_QR_AT(Context<EXEC>&, S)        \
  FRECHET_QR_AT(const Instance<EXEC>&, S) \
  FRECHET_QR_VJP_AT(Context<EXEC>&, Dual<S>)
FRECHET_FOR_EACH_SCALAR(FRECHET_QR)

}  // namespace frechet::detail
