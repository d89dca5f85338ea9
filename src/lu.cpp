// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/lu.hpp>

#include "instantiate.hpp"
#include "kernels.hpp"
#include "pivoting.hpp"
#include "rules.hpp"

// P^T A = L U, k = min(m,n), L unit lower. L1, U1: leading k x k blocks; m > n: L = [L1; L2]; m < n: U = [U1 U2].
// Pivots are constants. Formulas: de Hoog, Anderssen & Lukas 2011, Linear Algebra Appl. 434:1284; Boeddeker et al.
// 2017, arXiv:1701.00392; the rectangular ones follow by splitting A the same way.

namespace frechet::detail {
namespace {

/// Whether the last pivot of some matrix is zero. Reads on the host; on a device it is taken for granted.
template <class Exec, class S>
bool zero_pivot(const Batch<const S>& U) {
  if constexpr (is_host<Exec>) {
    for (int b = 0; b < U.count; ++b)
      if (U(b, U.rows - 1, U.rows - 1) == S(0)) return true;
    return false;
  } else {
    return true;
  }
}

/// U1, its last diagonal entry replaced by one where it is exactly zero. For m <= n the factorisation, and its
/// derivative, exist with a zero last pivot: K = L1^-1 P^T dA U1^-1 enters through stril(K), which needs the other
/// columns only, and through triu(K) U1, in which the replacement cancels; so does its tangent, which stays.
template <class Exec, class S>
Batch<const S> safe_factor(Context<Exec>& ctx, const Batch<const S>& U, bool wide) {
  const int k = U.rows;
  const auto U1 = U.block(0, 0, k, k);
  if (!wide || k == 0 || !zero_pivot<Exec>(values_of(U))) return U1;
  const auto safe = ctx.template matrix<S>(k, k, U.count);
  for_each_part(
      ctx, "frechet::lu::safe_factor", k, k, U.count,
      KOKKOS_LAMBDA(int b, int i, int j) { safe(b, i, j) = U1(b, i, j); },
      KOKKOS_LAMBDA(int b, int i, int j) {
        safe(b, i, j) = j == k - 1 && U1(b, i, j) == S(0) ? U1(b, i, j) + S(1) : U1(b, i, j);
      },
      KOKKOS_LAMBDA(int, int, int){});
  return safe;
}

template <class Exec, class S>
void check_pivots(Context<Exec>& ctx, const Batch<const S>& U, int m, Diagnosis* d) {
  const int k = U.rows;
  require_pivots<Exec, Primal<S>>(ctx, values_of(U), m <= U.cols && k > 0 ? k - 1 : k, d);
}

/// Both in one pass, for square K; one of them may lie where K does.
template <class Exec, class S>
void split_square(Context<Exec>& ctx, const Batch<const S>& K, const Batch<S>& lower, const Batch<S>& upper,
                  S diagonal) {
  for_each_part(
      ctx, "frechet::lu::split", K.rows, K.cols, K.count,
      KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = K(b, i, j);
        lower(b, i, j) = S(0);
        upper(b, i, j) = x;
      },
      KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = K(b, i, j);
        lower(b, i, j) = diagonal;
        upper(b, i, j) = x;
      },
      KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = K(b, i, j);
        upper(b, i, j) = S(0);
        lower(b, i, j) = x;
      });
}

/// lower = stril(K) with `diagonal` and zeros above, upper = triu(K) with zeros below; either may be absent.
template <class Exec, class S>
void split(Context<Exec>& ctx, const Batch<const S>& K, const Batch<S>& lower, const Batch<S>& upper, S diagonal) {
  const int k = K.rows < K.cols ? K.rows : K.cols;
  if (lower && upper && K.rows == K.cols) return split_square<Exec, S>(ctx, K, lower, upper, diagonal);
  if (lower)
    for_each_part(
        ctx, "frechet::lu::lower", K.rows, k, K.count, KOKKOS_LAMBDA(int b, int i, int j) { lower(b, i, j) = S(0); },
        KOKKOS_LAMBDA(int b, int i, int j) { lower(b, i, j) = diagonal; },
        KOKKOS_LAMBDA(int b, int i, int j) { lower(b, i, j) = K(b, i, j); });
  if (upper)
    for_each_part(
        ctx, "frechet::lu::upper", k, K.cols, K.count,
        KOKKOS_LAMBDA(int b, int i, int j) { upper(b, i, j) = K(b, i, j); },
        KOKKOS_LAMBDA(int b, int i, int j) { upper(b, i, j) = K(b, i, j); },
        KOKKOS_LAMBDA(int b, int i, int j) { upper(b, i, j) = S(0); });
}

}  // namespace

template <class Exec, class S>
void lu(Context<Exec>& ctx, Strided<const S> A, Strided<S> L, Strided<S> U, Strided<int> perm, const LuOptions& o) {
  require_driver<Exec>("frechet::lu", backend::Operation::lu, o.driver);
  Scope scope(ctx);
  const int m = A.rows, n = A.cols, k = m < n ? m : n, count = A.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> l(ctx, L), u(ctx, U);
  Output<Exec, int> p(ctx, perm);
  // Factorise in the memory of the output that has the shape of A; the other one is split off.
  const Batch<S> work = m <= n && u ? u.batch : m >= n && l ? l.batch : ctx.template matrix<S>(m, n, count);
  load_checked(ctx, A, work, d, false);
  int* pivots = ctx.template take<int>(static_cast<std::size_t>(k) * count);
  int* info = ctx.template take<int>(count);
  backend::getrf<Exec, S>(ctx, work, pivots, info, o.driver);
  if (p) permutation(ctx, pivots, k, p.batch);
  if (l && u && m == n) {
    split<Exec, S>(ctx, work, l.batch, u.batch, S(1));
  } else {
    if (work.data != l.batch.data) split<Exec, S>(ctx, work, l.batch, {}, S(1));
    split<Exec, S>(ctx, work, {}, u.batch, S(1));
    if (work.data == l.batch.data) split<Exec, S>(ctx, work, l.batch, {}, S(1));  // last: it overwrites the work
  }
  l.commit(d);
  u.commit(d);
  p.commit();
  record_info(ctx, info, d, count);  // after commit: a zero pivot leaves L and U as they are
}

// K = L1^-1 (P^T dA)_1 U1^-1,  dL1 = L1 stril(K),  dU1 = triu(K) U1
// m > n:  dL2 = (P^T dA)_2 U1^-1 - L2 triu(K)      m < n:  dU2 = L1^-1 (P^T dA)_2 - stril(K) U2
template <class Exec, class S>
void lu_jvp(Context<Exec>& ctx, Strided<const S> L, Strided<const S> U, Strided<const int> perm, Strided<const S> dA,
            Strided<S> dL, Strided<S> dU, const LuOptions& o) {
  Scope scope(ctx);
  const int m = L.rows, n = U.cols, k = L.cols, count = L.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> l(ctx, dL), u(ctx, dU);
  if (!dA) {
    l.commit_zero();
    u.commit_zero();
    return;
  }
  const auto vL = input(ctx, L);
  const auto vU = input(ctx, U);
  check_pivots<Exec, S>(ctx, vU, m, d);
  const auto L1 = vL.block(0, 0, k, k);
  const auto U1 = safe_factor<Exec, S>(ctx, vU, m <= n);
  const auto M = ctx.template matrix<S>(m, n, count);
  gather_rows(ctx, input(ctx, perm), dA, M);
  const auto K = M.block(0, 0, k, k);
  trsm<Exec, S>(ctx, Side::left, Uplo::lower, Op::none, Diag::unit, S(1), L1, M.block(0, 0, k, n));
  trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::none, Diag::nonunit, S(1), U1, M.block(0, 0, m, k));
  // In the output's memory where it is wanted; a triangle the other output needs lives in scratch.
  const Batch<S> lower = l ? l.batch.block(0, 0, k, k) : m < n ? ctx.template matrix<S>(k, k, count) : Batch<S>{};
  const Batch<S> upper = u ? u.batch.block(0, 0, k, k) : m > n ? ctx.template matrix<S>(k, k, count) : Batch<S>{};
  split<Exec, S>(ctx, K, lower, upper, S(0));
  if (l && m > n) {
    const auto L2 = vL.block(k, 0, m - k, k);
    const auto dL2 = l.batch.block(k, 0, m - k, k);
    copy(ctx, M.block(k, 0, m - k, k), dL2);
    gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), L2, upper, S(1), dL2);
  }
  if (u && m < n) {
    const auto U2 = vU.block(0, k, k, n - k);
    const auto dU2 = u.batch.block(0, k, k, n - k);
    copy(ctx, M.block(0, k, k, n - k), dU2);
    gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), lower, U2, S(1), dU2);
  }
  if (l) multiply_triangles<Exec, S>(ctx, Side::left, Uplo::lower, Op::none, Diag::unit, L1, lower);
  if (u) multiply_triangles<Exec, S>(ctx, Side::right, Uplo::upper, Op::none, Diag::nonunit, U1, upper);
  l.commit(d);
  u.commit(d);
}

// M = stril(L1^H gL1) + triu(gU1 U1^H)  [m > n: - triu(L2^H gL2)]  [m < n: - stril(gU2 U2^H)]
// P^T gA = L1^-H M U1^-H   [m > n: rows below, gL2 U1^-H]   [m < n: columns to the right, L1^-H gU2]
template <class Exec, class S>
void lu_vjp(Context<Exec>& ctx, Strided<const S> L, Strided<const S> U, Strided<const int> perm, Strided<const S> gL,
            Strided<const S> gU, Strided<S> gA, const LuOptions& o) {
  Scope scope(ctx);
  const int m = L.rows, n = U.cols, k = L.cols, count = L.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  if (!gL && !gU) return Output<Exec, S>(ctx, gA, o.store).commit_zero();
  const auto vL = input(ctx, L);
  const auto vU = input(ctx, U);
  check_pivots<Exec, S>(ctx, vU, m, d);
  const auto L1 = vL.block(0, 0, k, k);
  const auto U1 = safe_factor<Exec, S>(ctx, vU, m <= n);
  const auto G = ctx.template matrix<S>(m, n, count);
  const auto lower = ctx.template matrix<S>(k, k, count), upper = G.block(0, 0, k, k);
  const auto vGL = input(ctx, gL), vGU = input(ctx, gU);
  if (gL)
    split<Exec, S>(ctx, vGL.block(0, 0, k, k), lower, {}, S(0));
  else
    fill(ctx, lower, S(0));
  if (gU)
    split<Exec, S>(ctx, vGU.block(0, 0, k, k), {}, upper, S(0));
  else
    fill(ctx, upper, S(0));
  if (gL) multiply_triangles<Exec, S>(ctx, Side::left, Uplo::lower, Op::adjoint, Diag::unit, L1, lower);
  if (gU) multiply_triangles<Exec, S>(ctx, Side::right, Uplo::upper, Op::adjoint, Diag::nonunit, U1, upper);
  const auto below = G.block(k, 0, m - k, k), right = G.block(0, k, k, n - k);
  if (gL)
    copy(ctx, vGL.block(k, 0, m - k, k), below);
  else
    fill(ctx, below, S(0));
  if (gU)
    copy(ctx, vGU.block(0, k, k, n - k), right);
  else
    fill(ctx, right, S(0));
  if (m > n && gL) gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(-1), vL.block(k, 0, m - k, k), below, S(1), upper);
  if (m < n && gU) gemm<Exec, S>(ctx, Op::none, Op::adjoint, S(-1), right, vU.block(0, k, k, n - k), S(1), lower);
  for_each_part(
      ctx, "frechet::lu::join", k, k, count, KOKKOS_LAMBDA(int, int, int){}, KOKKOS_LAMBDA(int, int, int){},
      KOKKOS_LAMBDA(int b, int i, int j) { upper(b, i, j) = lower(b, i, j); });
  trsm<Exec, S>(ctx, Side::left, Uplo::lower, Op::adjoint, Diag::unit, S(1), L1, G.block(0, 0, k, n));
  trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::adjoint, Diag::nonunit, S(1), U1, G.block(0, 0, m, k));
  poison(ctx, d, G);
  scatter_rows(ctx, input(ctx, perm), G, gA, o.store);
}

template <class Exec, class S>
void lu(const Instance<Exec>& x, Strided<const S> A, Strided<S> L, Strided<S> U, Strided<int> perm,
        const LuOptions& o) {
  with_context(x, [&](auto& ctx) { lu(ctx, A, L, U, perm, o); });
}
template <class Exec, class S>
void lu_jvp(const Instance<Exec>& x, Strided<const S> L, Strided<const S> U, Strided<const int> perm,
            Strided<const S> dA, Strided<S> dL, Strided<S> dU, const LuOptions& o) {
  with_context(x, [&](auto& ctx) { lu_jvp(ctx, L, U, perm, dA, dL, dU, o); });
}
template <class Exec, class S>
void lu_vjp(const Instance<Exec>& x, Strided<const S> L, Strided<const S> U, Strided<const int> perm,
            Strided<const S> gL, Strided<const S> gU, Strided<S> gA, const LuOptions& o) {
  with_context(x, [&](auto& ctx) { lu_vjp(ctx, L, U, perm, gL, gU, gA, o); });
}

#define FRECHET_LU_VJP_AT(WHERE, S)                                                                     \
  template void lu_vjp(WHERE, Strided<const S>, Strided<const S>, Strided<const int>, Strided<const S>, \
                       Strided<const S>, Strided<S>, const LuOptions&);
#define FRECHET_LU_AT(WHERE, S)                                                                                     \
  template void lu(WHERE, Strided<const S>, Strided<S>, Strided<S>, Strided<int>, const LuOptions&);                \
  template void lu_jvp(WHERE, Strided<const S>, Strided<const S>, Strided<const int>, Strided<const S>, Strided<S>, \
                       Strided<S>, const LuOptions&);                                                               \
  FRECHET_LU_VJP_AT(WHERE, S)
#define FRECHET_LU(EXEC, S)               \
  FRECHET_LU_AT(Context<EXEC>&, S)        \
  FRECHET_LU_AT(const Instance<EXEC>&, S) \
  FRECHET_LU_VJP_AT(Context<EXEC>&, Dual<S>)
FRECHET_FOR_EACH_SCALAR(FRECHET_LU)

}  // namespace frechet::detail
