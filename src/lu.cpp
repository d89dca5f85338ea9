// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/lu.hpp>

#include "instantiate.hpp"
#include "kernels.hpp"
#include "pivoting.hpp"
#include "rules.hpp"

// P^T A = L U, k = min(m,n), L unit lower. Pivots are constants. Square blocks: de Hoog, Anderssen & Lukas 2011, Linear
// Algebra Appl. 434:1284; Boeddeker et al. 2017, arXiv:1701.00392. Larger and rectangular matrices: the derivative of
// the factorisation by blocks,
//
//   L11 U11 = A11,  L21 = A21 U11^-1,  U12 = L11^-1 A12,  L22 U22 = A22 - L21 U12,
//
// (as Murray 2016, arXiv:1602.07527 has it for Cholesky) which takes 4/3 n^3 operations instead of 8/3 n^3. Both work
// on packed matrices: strictly lower part for L, upper part for U.

namespace frechet::detail {
namespace {

/// Whether the last pivot of some matrix counts as zero. Reads on the host; on a device it is taken for granted.
template <class Exec, class S>
bool zero_pivot(const Batch<const S>& U) {
  if constexpr (is_host<Exec>) {
    for (int b = 0; b < U.count; ++b)
      if (is_zero_pivot(U(b, U.rows - 1, U.rows - 1))) return true;
    return false;
  } else {
    return true;
  }
}

/// U, its last diagonal entry made one larger where it counts as zero. For m <= n the factorisation, and its
/// derivative, exist with a zero last pivot: K = L^-1 P^T dA U^-1 enters through stril(K), which needs the other
/// columns only, and through triu(K) U, in which the replacement cancels; so does its tangent, which stays.
template <class Exec, class S>
Batch<const S> safe_factor(Context<Exec>& ctx, const Batch<const S>& U, int m) {
  const int k = U.rows;
  if (m > U.cols || k == 0 || !zero_pivot<Exec>(values_of(U))) return U;
  const auto safe = ctx.template matrix<S>(k, U.cols, U.count);
  for_each_part(
      ctx, "frechet::lu::safe_factor", k, U.cols, U.count,
      KOKKOS_LAMBDA(int b, int i, int j) { safe(b, i, j) = U(b, i, j); },
      KOKKOS_LAMBDA(int b, int i, int j) {
        safe(b, i, j) = j == k - 1 && is_zero_pivot(U(b, i, j)) ? U(b, i, j) + S(1) : U(b, i, j);
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

/// An m x n matrix in the memory of the output that has its shape, if there is one.
template <class Exec, class S>
Batch<S> in_output(Context<Exec>& ctx, const Batch<S>& lower, const Batch<S>& upper, int m, int n, int count) {
  return m <= n && upper ? upper : m >= n && lower ? lower : ctx.template matrix<S>(m, n, count);
}
/// split of a matrix from in_output.
template <class Exec, class S>
void split_output(Context<Exec>& ctx, const Batch<S>& K, const Batch<S>& lower, const Batch<S>& upper, S diagonal) {
  if (lower && upper && K.rows == K.cols) return split<Exec, S>(ctx, K, lower, upper, diagonal);
  const bool in_lower = lower && !(K.rows <= K.cols && upper);  // then last: it overwrites K
  if (!in_lower) split<Exec, S>(ctx, K, lower, {}, diagonal);
  split<Exec, S>(ctx, K, {}, upper, diagonal);
  if (in_lower) split<Exec, S>(ctx, K, lower, {}, diagonal);
}

/// The triangles of L and U that belong to rows and columns from h on.
template <class S>
Batch<S> rest(const Batch<S>& A, int h) {
  return A.block(h, h, A.rows - h, A.cols - h);
}

/// Where a block with a k x k square is split: by halves down to a size at which one formula for the whole is faster,
/// and that square off a rectangle.
template <class Exec>
int split_at(int k) {
  constexpr int whole = device_loops<Exec> ? 512 : 32;
  return k <= whole ? k : first_half(k);
}

/// triangle of A -= that of B
template <class Exec, class S>
void subtract_triangle(Context<Exec>& ctx, Uplo uplo, const Batch<S>& B, const Batch<S>& A) {
  if (uplo == Uplo::lower)
    for_each_part(
        ctx, "frechet::lu::subtract", A.rows, A.cols, A.count, KOKKOS_LAMBDA(int, int, int){},
        KOKKOS_LAMBDA(int, int, int){}, KOKKOS_LAMBDA(int b, int i, int j) { A(b, i, j) = A(b, i, j) - B(b, i, j); });
  else
    for_each_part(
        ctx, "frechet::lu::subtract", A.rows, A.cols, A.count,
        KOKKOS_LAMBDA(int b, int i, int j) { A(b, i, j) = A(b, i, j) - B(b, i, j); },
        KOKKOS_LAMBDA(int b, int i, int j) { A(b, i, j) = A(b, i, j) - B(b, i, j); }, KOKKOS_LAMBDA(int, int, int){});
}

// K = L^-1 dA U^-1,  dL = L stril(K),  dU = triu(K) U
// M holds dA and is overwritten; lower and upper, either of which may be absent or lie where M does, become dL and dU.
template <class Exec, class S>
void jvp_square(Context<Exec>& ctx, const Batch<const S>& L, const Batch<const S>& U, const Batch<S>& M,
                const Batch<S>& lower, const Batch<S>& upper) {
  trsm<Exec, S>(ctx, Side::left, Uplo::lower, Op::none, Diag::unit, S(1), L, M);
  trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::none, Diag::nonunit, S(1), U, M);
  split<Exec, S>(ctx, M, lower, upper, S(0));
  if (lower) multiply_triangles<Exec, S>(ctx, Side::left, Uplo::lower, Op::none, Diag::unit, L, lower);
  if (upper) multiply_triangles<Exec, S>(ctx, Side::right, Uplo::upper, Op::none, Diag::nonunit, U, upper);
}

/// The strictly lower part of M becomes that of `lower`.
template <class Exec, class S>
void join(Context<Exec>& ctx, const Batch<S>& lower, const Batch<S>& M) {
  for_each_part(
      ctx, "frechet::lu::join", M.rows, M.cols, M.count, KOKKOS_LAMBDA(int, int, int){}, KOKKOS_LAMBDA(int, int, int){},
      KOKKOS_LAMBDA(int b, int i, int j) { M(b, i, j) = lower(b, i, j); });
}

// dL21 = (dA21 - L21 dU11) U11^-1,  dU12 = L11^-1 (dA12 - dL11 U12),  dA22 - dL21 U12 - L21 dU12 goes on.
// M holds dA, then dL and dU.
template <class Exec, class S>
void jvp_blocks(Context<Exec>& ctx, const Batch<const S>& L, const Batch<const S>& U, const Batch<S>& M) {
  const int m = M.rows, n = M.cols, k = m < n ? m : n, h = split_at<Exec>(k);
  if (k == 0) return;
  if (m == n && h == k) {
    Scope scope(ctx);
    const auto lower = ctx.template matrix<S>(k, k, M.count);
    jvp_square<Exec, S>(ctx, L, U, M, lower, M);
    return join(ctx, lower, M);
  }
  const auto L11 = L.block(0, 0, h, h), L21 = L.block(h, 0, m - h, h), U11 = U.block(0, 0, h, h),
             U12 = U.block(0, h, h, n - h);
  const auto M11 = M.block(0, 0, h, h), M21 = M.block(h, 0, m - h, h), M12 = M.block(0, h, h, n - h);
  jvp_blocks<Exec, S>(ctx, L11, U11, M11);
  {
    Scope scope(ctx);
    const auto triangle = ctx.template matrix<S>(h, h, M.count);
    split<Exec, S>(ctx, M11, {}, triangle, S(0));
    gemm_by_upper<Exec, S>(ctx, S(-1), L21, triangle, M21);
    split<Exec, S>(ctx, M11, triangle, {}, S(0));
    gemm_by_lower<Exec, S>(ctx, S(-1), triangle, U12, M12);
  }
  trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::none, Diag::nonunit, S(1), U11, M21);
  trsm<Exec, S>(ctx, Side::left, Uplo::lower, Op::none, Diag::unit, S(1), L11, M12);
  if (m == h || n == h) return;
  gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), M21, U12, S(1), rest(M, h));
  gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), L21, M12, S(1), rest(M, h));
  jvp_blocks<Exec, S>(ctx, rest(L, h), rest(U, h), rest(M, h));
}

template <class Exec, class S, class From>
void pack_entries(Context<Exec>& ctx, Uplo uplo, const From& from, const Batch<S>& G) {
  const bool zero = !from;
  if (uplo == Uplo::lower)
    for_each_part(
        ctx, "frechet::lu::pack", G.rows, G.cols, G.count, KOKKOS_LAMBDA(int, int, int){},
        KOKKOS_LAMBDA(int, int, int){},
        KOKKOS_LAMBDA(int b, int i, int j) { G(b, i, j) = zero ? S(0) : S(from(b, i, j)); });
  else
    for_each_part(
        ctx, "frechet::lu::pack", G.rows, G.cols, G.count,
        KOKKOS_LAMBDA(int b, int i, int j) { G(b, i, j) = zero ? S(0) : S(from(b, i, j)); },
        KOKKOS_LAMBDA(int b, int i, int j) { G(b, i, j) = zero ? S(0) : S(from(b, i, j)); },
        KOKKOS_LAMBDA(int, int, int){});
}
/// The strictly lower or the upper triangle (trapezoid) of G = that of a matrix, which may be absent.
template <class Exec, class S>
void pack(Context<Exec>& ctx, Uplo uplo, const Strided<const S>& from, const Batch<S>& G) {
  with_unit_stride(from, [&](const auto& x) { pack_entries(ctx, uplo, x, G); });
}

// gA = L^-H [stril(L^H gL) + triu(gU U^H)] U^-H
template <class Exec, class S>
void vjp_square(Context<Exec>& ctx, const Batch<const S>& L, const Batch<const S>& U, const Batch<S>& G) {
  Scope scope(ctx);
  const int k = G.rows;
  const auto lower = ctx.template matrix<S>(k, k, G.count);
  split<Exec, S>(ctx, G, lower, G, S(0));
  multiply_triangles<Exec, S>(ctx, Side::left, Uplo::lower, Op::adjoint, Diag::unit, L, lower);
  multiply_triangles<Exec, S>(ctx, Side::right, Uplo::upper, Op::adjoint, Diag::nonunit, U, G);
  join(ctx, lower, G);
  trsm<Exec, S>(ctx, Side::left, Uplo::lower, Op::adjoint, Diag::unit, S(1), L, G);
  trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::adjoint, Diag::nonunit, S(1), U, G);
}

// gA22 first;  gA21 = (gL21 - gA22 U12^H) U11^-H,  gA12 = L11^-H (gU12 - L21^H gA22),
// gL11 - stril(gA12 U12^H) and gU11 - triu(L21^H gA21) go on. G holds gL and gU, then gA.
template <class Exec, class S>
void vjp_blocks(Context<Exec>& ctx, const Batch<const S>& L, const Batch<const S>& U, const Batch<S>& G) {
  const int m = G.rows, n = G.cols, k = m < n ? m : n, h = split_at<Exec>(k);
  if (k == 0) return;
  if (m == n && h == k) return vjp_square<Exec, S>(ctx, L, U, G);
  const auto L11 = L.block(0, 0, h, h), L21 = L.block(h, 0, m - h, h), U11 = U.block(0, 0, h, h),
             U12 = U.block(0, h, h, n - h);
  const auto G11 = G.block(0, 0, h, h), G21 = G.block(h, 0, m - h, h), G12 = G.block(0, h, h, n - h);
  if (m > h && n > h) {
    vjp_blocks<Exec, S>(ctx, rest(L, h), rest(U, h), rest(G, h));
    gemm<Exec, S>(ctx, Op::none, Op::adjoint, S(-1), rest(G, h), U12, S(1), G21);
    gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(-1), L21, rest(G, h), S(1), G12);
  }
  if (m > h) trsm<Exec, S>(ctx, Side::right, Uplo::upper, Op::adjoint, Diag::nonunit, S(1), U11, G21);
  if (n > h) trsm<Exec, S>(ctx, Side::left, Uplo::lower, Op::adjoint, Diag::unit, S(1), L11, G12);
  {
    Scope scope(ctx);
    const auto W = ctx.template matrix<S>(h, h, G.count);
    if (m > h) {
      gemm_triangle<Exec, S>(ctx, Uplo::upper, Op::adjoint, Op::none, S(1), L21, G21, S(0), W);
      subtract_triangle(ctx, Uplo::upper, W, G11);
    }
    if (n > h) {
      gemm_triangle<Exec, S>(ctx, Uplo::lower, Op::none, Op::adjoint, S(1), G12, U12, S(0), W);
      subtract_triangle(ctx, Uplo::lower, W, G11);
    }
  }
  vjp_blocks<Exec, S>(ctx, L11, U11, G11);
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
  const auto work = in_output(ctx, l.batch, u.batch, m, n, count);
  load_checked(ctx, A, work, d, false);
  int* pivots = ctx.template take<int>(static_cast<std::size_t>(k) * count);
  int* info = ctx.template take<int>(count);
  backend::getrf<Exec, S>(ctx, work, pivots, info, o.driver);
  note_pivots(ctx, work, info, false, d);
  if (p) permutation(ctx, pivots, k, p.batch);
  split_output<Exec, S>(ctx, work, l.batch, u.batch, S(1));
  l.commit(d);
  u.commit(d);
  p.commit();
}

template <class Exec, class S>
void lu_jvp(Context<Exec>& ctx, Strided<const S> L, Strided<const S> U, Strided<const int> perm, Strided<const S> dA,
            Strided<S> dL, Strided<S> dU, const LuOptions& o) {
  Scope scope(ctx);
  const int m = L.rows, n = U.cols, count = L.count;
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
  const auto M = in_output(ctx, l.batch, u.batch, m, n, count);
  gather_rows(ctx, input(ctx, perm), dA, M);
  const auto safe = safe_factor<Exec, S>(ctx, vU, m);
  if (m == n && split_at<Exec>(n) == n) {
    jvp_square<Exec, S>(ctx, vL, safe, M, l.batch, u.batch);
  } else {
    jvp_blocks<Exec, S>(ctx, vL, safe, M);
    split_output<Exec, S>(ctx, M, l.batch, u.batch, S(0));
  }
  l.commit(d);
  u.commit(d);
}

template <class Exec, class S>
void lu_vjp(Context<Exec>& ctx, Strided<const S> L, Strided<const S> U, Strided<const int> perm, Strided<const S> gL,
            Strided<const S> gU, Strided<S> gA, const LuOptions& o) {
  Scope scope(ctx);
  const int m = L.rows, n = U.cols, count = L.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  if (!gL && !gU) return Output<Exec, S>(ctx, gA, o.store).commit_zero();
  const auto vL = input(ctx, L);
  const auto vU = input(ctx, U);
  check_pivots<Exec, S>(ctx, vU, m, d);
  const auto G = ctx.template matrix<S>(m, n, count);
  pack(ctx, Uplo::lower, gL, G);
  pack(ctx, Uplo::upper, gU, G);
  vjp_blocks<Exec, S>(ctx, vL, safe_factor<Exec, S>(ctx, vU, m), G);
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
