// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/eigh.hpp>

#include "adapt.hpp"
#include "instantiate.hpp"
#include "kernels.hpp"
#include "rules.hpp"

// A = V diag(w) V^H for Hermitian A, w ascending. Notation: P = V^H dA V, X = V^H gV, skew(X) = (X - X^H)/2.

namespace frechet::detail {
namespace {

/// The derivative of the stored triangle from that of the Hermitian part: see Hermitian.
template <class Exec, class S>
void to_triangle(Context<Exec>& ctx, const Batch<S>& G, Hermitian h) {
  for_each_entry(
      ctx, "frechet::eigh::triangle", G.rows, G.cols, G.count, KOKKOS_LAMBDA(int b, int i, int j) {
        if (i != j) G(b, i, j) = (h == Hermitian::lower) == (i > j) ? Level<S>(2) * G(b, i, j) : S(0);
      });
}

}  // namespace

template <class Exec, class S>
void eigh(Context<Exec>& ctx, Strided<const S> A, Strided<Real<S>> w, Strided<S> V, const EighOptions& o) {
  require_driver<Exec>("frechet::eigh", backend::Operation::eigh, o.driver);
  Scope scope(ctx);
  const int n = A.rows, count = A.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> out(ctx, V);
  Output<Exec, Real<S>> values(ctx, w);
  const Batch<S> work = out ? out.batch : ctx.template matrix<S>(n, n, count);
  const Batch<Real<S>> ww = values ? values.batch : ctx.template matrix<Real<S>>(n, 1, count);
  const Hermitian h = o.hermitian;
  load_checked(
      ctx, KOKKOS_LAMBDA(int b, int i, int j) { return hermitian_entry(A, h, b, i, j); }, work, d, true);
  int* info = ctx.template take<int>(count);
  backend::heevd<Exec, S>(ctx, bool(out), work, ww, info, o.driver);
  record_info(ctx, info, d, count);
  values.commit(d);
  out.commit(d);
}

// dw = Re diag P,  dV = V (F o herm P),  F_ij = 1 / (w_j - w_i), F_ii = 0.
// Magnus 1985, Econometric Theory 1:179; Giles 2008, NA-08/01, 3.1. herm P makes it a function of the Hermitian part of
// dA.
template <class Exec, class S>
void eigh_jvp(Context<Exec>& ctx, Strided<const Real<S>> w, Strided<const S> V, Strided<const S> dA,
              Strided<Real<S>> dw, Strided<S> dV, const EighOptions& o) {
  using R = Real<S>;
  Scope scope(ctx);
  const int n = V.rows, count = V.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, R> values(ctx, dw);
  Output<Exec, S> vectors(ctx, dV);
  if (!values && !vectors) return;
  if (!dA) {
    values.commit_zero();
    vectors.commit_zero();
    return;
  }
  const auto vw = input(ctx, w);
  note_factor(ctx, vw, d);
  const auto vV = input(ctx, V);
  Batch<const S> T_in;
  if (o.hermitian == Hermitian::part) {
    T_in = input(ctx, dA);
  } else {
    const auto full = ctx.template matrix<S>(n, n, count);
    const Hermitian h = o.hermitian;
    for_each_entry(
        ctx, "frechet::eigh::tangent", n, n, count,
        KOKKOS_LAMBDA(int b, int i, int j) { full(b, i, j) = hermitian_entry(dA, h, b, i, j); });
    T_in = full;
  }
  const auto T = ctx.template matrix<S>(n, n, count);
  gemm<Exec, S>(ctx, Op::none, Op::none, S(1), T_in, vV, S(0), T);  // dA V
  if (!vectors) {
    const auto to = values.batch;
    reduce_columns<Sum<R>>(
        ctx, "frechet::eigh::dw", n, n, count,
        KOKKOS_LAMBDA(int b, int i, int j, Sum<R>& acc) { acc.add(real(conj(vV(b, i, j)) * T(b, i, j))); },
        KOKKOS_LAMBDA(int b, int j, const Sum<R>& acc) { to(b, j, 0) = acc.value; });
    values.commit();
    return;
  }
  const auto P = ctx.template matrix<S>(n, n, count);
  const auto K = ctx.template matrix<S>(n, n, count);
  gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vV, T, S(0), P);
  if (values) {
    const auto to = values.batch;
    for_each_column(
        ctx, "frechet::eigh::dw", 1, n, count, KOKKOS_LAMBDA(int b, int j) { to(b, j, 0) = real(P(b, j, j)); });
    values.commit();
  }
  const auto sizes = ctx.template matrix<R>(n, 1, count);
  column_norms<Exec, S>(ctx, P, sizes);
  const auto q = quotient<S>(o.degeneracy, o.tolerance);
  reduce_matrices<Hidden<R>>(
      ctx, "frechet::eigh::quotients", n, n, count,
      KOKKOS_LAMBDA(int b, int i, int j, Hidden<R>& acc) {
        if (i == j) {
          K(b, i, j) = S(0);
          return;
        }
        const R scale = largest(vw, b), gap = vw(b, j, 0) - vw(b, i, 0);
        const S p = R(0.5) * P(b, i, j) + R(0.5) * conj(P(b, j, i));
        const R size = sizes(b, i, 0) + sizes(b, j, 0), noise = R(noise_units) * epsilon<S> * size;
        K(b, i, j) = q.forward(p, gap, noise, scale);
        acc.gap = Kokkos::fmin(acc.gap, relative(gap, scale));
        if (q.within(gap, scale) && abs1(p) > noise) acc.coupling = Kokkos::fmax(acc.coupling, abs1(p) / size);
      },
      KOKKOS_LAMBDA(int b, const Hidden<R>& acc) { acc.store(d[b]); });
  gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vV, K, S(0), vectors.batch);
  vectors.commit();
}

// V = V Q, see adapt.hpp.
template <class Exec, class S>
void eigh_adapt(Context<Exec>& ctx, Strided<const Real<S>> w, Strided<S> V, Strided<const S> dA, const EighOptions& o) {
  const int n = V.rows, count = V.count;
  Scope scope(ctx);
  const auto vw = input(ctx, w);
  const auto q = quotient<S>(o.degeneracy, o.tolerance);
  if (!dA || !V || o.degeneracy != Degeneracy::mask || n < 2 || !any_group<Exec>(vw, q, Real<S>(0))) return;
  const auto vV = input<Exec, S>(ctx, V);
  const Hermitian h = o.hermitian;
  const auto T = ctx.template matrix<S>(n, n, count), P = ctx.template matrix<S>(n, n, count);
  for_each_entry(
      ctx, "frechet::eigh::tangent", n, n, count,
      KOKKOS_LAMBDA(int b, int i, int j) { P(b, i, j) = hermitian_entry(dA, h, b, i, j); });
  gemm<Exec, S>(ctx, Op::none, Op::none, S(1), P, vV, S(0), T);
  gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vV, T, S(0), P);
  diagonalise_groups<Exec, S>(ctx, vw, q, Real<S>(0), P, T, o.driver);
  gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vV, T, S(0), P);
  copy(ctx, P, V);
}

// gA = V G V^H,  G_ij = skew(X)_ij / (w_j - w_i),  G_ii = gw_i.
// Giles 2008, 3.1; complex: Boeddeker et al. 2017, arXiv:1701.00392. skew(X) makes G, hence gA, Hermitian.
template <class Exec, class S>
void eigh_vjp(Context<Exec>& ctx, Strided<const Real<S>> w, Strided<const S> V, Strided<const Real<S>> gw,
              Strided<const S> gV, Strided<S> gA, const EighOptions& o) {
  using R = Level<S>;
  Scope scope(ctx);
  const int n = V.rows, count = V.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> out(ctx, gA, o.store);
  if (!gw && !gV) return out.commit_zero();
  const auto vV = input(ctx, V);
  const auto vw = input(ctx, w);
  note_factor(ctx, values_of(vw), d);
  const auto vg = input(ctx, gw);
  const auto T = ctx.template matrix<S>(n, n, count);
  const auto q = quotient<S>(o.degeneracy, o.tolerance);
  if (!gV) {  // gA = V diag(gw) V^H: no gaps
    for_each_entry(
        ctx, "frechet::eigh::scale", n, n, count,
        KOKKOS_LAMBDA(int b, int i, int j) { T(b, i, j) = vV(b, i, j) * vg(b, j, 0); });
  } else {
    const auto vG = input(ctx, gV);
    const auto sizes = ctx.template matrix<R>(n, 1, count);
    column_norms<Exec, Primal<S>>(ctx, values_of(vG), sizes);
    const auto X = ctx.template matrix<S>(n, n, count);
    const auto G = ctx.template matrix<S>(n, n, count);
    gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vV, vG, S(0), X);
    reduce_matrices<Hidden<R>>(
        ctx, "frechet::eigh::quotients", n, n, count,
        KOKKOS_LAMBDA(int b, int i, int j, Hidden<R>& acc) {
          const R noise = R(noise_units) * epsilon<S> * (sizes(b, i, 0) + sizes(b, j, 0));
          if (i == j) {
            // Im X_ii != 0: the loss depends on the phase of this eigenvector.
            const R phase = Kokkos::fabs(primal(imag(X(b, i, i))));
            if (phase > noise) acc.gauge = Kokkos::fmax(acc.gauge, phase / sizes(b, i, 0));
            G(b, i, i) = vg ? make_scalar<S>(vg(b, i, 0), 0) : S(0);
            return;
          }
          const R scale = largest(vw, b);
          const Real<S> gap = vw(b, j, 0) - vw(b, i, 0);
          const S x = R(0.5) * X(b, i, j) - R(0.5) * conj(X(b, j, i));
          G(b, i, j) = q.reverse(x, gap, noise, scale);
          acc.gap = Kokkos::fmin(acc.gap, relative(gap, scale));
          if (q.within(gap, scale) && abs1(x) > noise)
            acc.gauge = Kokkos::fmax(acc.gauge, abs1(x) / (sizes(b, i, 0) + sizes(b, j, 0)));
        },
        KOKKOS_LAMBDA(int b, const Hidden<R>& acc) { acc.store(d[b]); });
    gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vV, G, S(0), T);
  }
  if (vg) note_spread(ctx, values_of(vw), values_of(vg), q, d);
  gemm_hermitian<Exec, S>(ctx, Op::none, Op::adjoint, T, vV, out.batch);
  if (o.hermitian != Hermitian::part) to_triangle(ctx, out.batch, o.hermitian);
  out.commit();
}

template <class Exec, class S>
void eigh(const Instance<Exec>& x, Strided<const S> A, Strided<Real<S>> w, Strided<S> V, const EighOptions& o) {
  with_context(x, [&](auto& ctx) { eigh(ctx, A, w, V, o); });
}
template <class Exec, class S>
void eigh_jvp(const Instance<Exec>& x, Strided<const Real<S>> w, Strided<const S> V, Strided<const S> dA,
              Strided<Real<S>> dw, Strided<S> dV, const EighOptions& o) {
  with_context(x, [&](auto& ctx) { eigh_jvp(ctx, w, V, dA, dw, dV, o); });
}
template <class Exec, class S>
void eigh_vjp(const Instance<Exec>& x, Strided<const Real<S>> w, Strided<const S> V, Strided<const Real<S>> gw,
              Strided<const S> gV, Strided<S> gA, const EighOptions& o) {
  with_context(x, [&](auto& ctx) { eigh_vjp(ctx, w, V, gw, gV, gA, o); });
}

#define FRECHET_EIGH_VJP_AT(WHERE, S)                                                                               \
  template void eigh_vjp(WHERE, Strided<const Real<S>>, Strided<const S>, Strided<const Real<S>>, Strided<const S>, \
                         Strided<S>, const EighOptions&);
#define FRECHET_EIGH_AT(WHERE, S)                                                                             \
  template void eigh(WHERE, Strided<const S>, Strided<Real<S>>, Strided<S>, const EighOptions&);              \
  template void eigh_jvp(WHERE, Strided<const Real<S>>, Strided<const S>, Strided<const S>, Strided<Real<S>>, \
                         Strided<S>, const EighOptions&);                                                     \
  FRECHET_EIGH_VJP_AT(WHERE, S)
#define FRECHET_EIGH(EXEC, S)                                                                                         \
  FRECHET_EIGH_AT(Context<EXEC>&, S)                                                                                  \
  FRECHET_EIGH_AT(const Instance<EXEC>&, S)                                                                           \
  template void eigh_adapt(Context<EXEC>&, Strided<const Real<S>>, Strided<S>, Strided<const S>, const EighOptions&); \
  FRECHET_EIGH_VJP_AT(Context<EXEC>&, Dual<S>)
FRECHET_FOR_EACH_SCALAR(FRECHET_EIGH)

}  // namespace frechet::detail
