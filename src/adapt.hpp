// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_ADAPT_HPP
#define FRECHET_SRC_ADAPT_HPP

#include "degeneracy.hpp"
#include "kernels.hpp"

// For second derivatives of eigh and svd. Within a group of equal eigenvalues (singular values) any orthonormal basis
// is one of eigenvectors of A, but only one that diagonalises the group's block of P = V^H dA V (the Hermitian part of
// U^H dA V) continues to eigenvectors along A + t dA. Then Re diag P are the derivatives of the values.
// Kato, Perturbation Theory for Linear Operators, II.2.3.

namespace frechet::detail {

/// Whether values i - 1 and i belong to one group. Those within zero_tolerance of zero are alone: vectors of zero
/// singular values have no common block.
template <class R>
KOKKOS_INLINE_FUNCTION bool grouped(const Batch<const R>& values, const Quotient<R>& q, R zero_tolerance, int b,
                                    int i) {
  const R top = largest(values, b);
  const bool zero = zero_tolerance > R(0) && values(b, i, 0) <= zero_tolerance * top;
  return !zero && q.within(values(b, i, 0) - values(b, i - 1, 0), top);
}

/// Whether there is a group in some matrix. Reads on the host; on a device it is taken for granted.
template <class Exec, class R>
bool any_group(const Batch<const R>& values, const Quotient<R>& q, R zero_tolerance) {
  if constexpr (is_host<Exec>) {
    for (int b = 0; b < values.count; ++b)
      for (int i = 1; i < values.rows; ++i)
        if (grouped(values, q, zero_tolerance, b, i)) return true;
    return false;
  } else {
    return true;
  }
}

/// groups[b n + i]: the number of the group that value i of matrix b belongs to.
template <class Exec, class R>
void number_groups(Context<Exec>& ctx, const Batch<const R>& values, const Quotient<R>& q, R zero_tolerance,
                   int* groups) {
  for_each_column(
      ctx, "frechet::adapt::groups", values.rows, 1, values.count, KOKKOS_LAMBDA(int b, int) {
        int group = 0;
        for (int i = 0; i < values.rows; ++i) {
          if (i > 0 && !grouped(values, q, zero_tolerance, b, i)) ++group;
          groups[std::int64_t(b) * values.rows + i] = group;
        }
      });
}

/// Q = unitary, block diagonal over the groups, with Q^H herm(P) Q diagonal in each block. P stays.
template <class Exec, class S>
void diagonalise_groups(Context<Exec>& ctx, const Batch<const Real<S>>& values, const Quotient<Real<S>>& q,
                        Real<S> zero_tolerance, const Batch<const S>& P, const Batch<S>& Q, Driver driver) {
  using R = Real<S>;
  const int n = P.rows, count = P.count;
  Scope scope(ctx);
  int* const groups = ctx.template take<int>(static_cast<std::size_t>(n) * count);
  number_groups(ctx, values, q, zero_tolerance, groups);
  const auto size = ctx.template matrix<R>(1, 1, count);
  reduce_matrices<Norm<R>>(
      ctx, "frechet::adapt::size", n, n, count,
      KOKKOS_LAMBDA(int b, int i, int j, Norm<R>& acc) { acc.add(abs1(P(b, i, j))); },
      KOKKOS_LAMBDA(int b, const Norm<R>& acc) { size(b, 0, 0) = acc.value(); });
  // The blocks, moved apart so that their eigenvalues come in the order of the groups.
  for_each_entry(
      ctx, "frechet::adapt::blocks", n, n, count, KOKKOS_LAMBDA(int b, int i, int j) {
        const int* const group = groups + std::int64_t(b) * n;
        const S p = R(0.5) * P(b, i, j) + R(0.5) * conj(P(b, j, i));
        S x = group[i] == group[j] ? p : S(0);
        if (i == j) x = S(real(x) + (R(3) * size(b, 0, 0) + R(1)) * R(group[i]));
        Q(b, i, j) = finite(size(b, 0, 0)) ? x : S(0);
      });
  const auto moved = ctx.template matrix<R>(n, 1, count);
  int* const info = ctx.template take<int>(count);
  backend::heevd<Exec, S>(ctx, true, Q, moved, info, driver);
  for_each_entry(
      ctx, "frechet::adapt::failed", n, n, count, KOKKOS_LAMBDA(int b, int i, int j) {
        if (info[b] > 0) Q(b, i, j) = S(i == j ? 1 : 0);
      });
}

}  // namespace frechet::detail

#endif
