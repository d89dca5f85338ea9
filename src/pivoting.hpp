// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_PIVOTING_HPP
#define FRECHET_SRC_PIVOTING_HPP

#include "operands.hpp"

// What lu and solve share: row permutations, and pivots that are exactly zero.

namespace frechet::detail {

/// perm(b, i): the row of A that became row i after the exchanges of getrf (k steps, 0-based).
template <class Exec>
void permutation(Context<Exec>& ctx, const int* pivots, int k, const Batch<int>& perm) {
  for_each_column(
      ctx, "frechet::lu::permutation", perm.rows, 1, perm.count, KOKKOS_LAMBDA(int b, int) {
        for (int i = 0; i < perm.rows; ++i) perm(b, i, 0) = i;
        for (int i = 0; i < k; ++i) {
          const int p = pivots[std::int64_t(b) * k + i], t = perm(b, i, 0);
          perm(b, i, 0) = perm(b, p, 0);
          perm(b, p, 0) = t;
        }
      });
}

template <class Exec, class S, class From>
void gather_entries(Context<Exec>& ctx, const Batch<const int>& perm, const From& from, const Batch<S>& to) {
  for_each_entry(
      ctx, "frechet::lu::gather", to.rows, to.cols, to.count,
      KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) = from(b, perm(b, i, 0), j); });
}
/// to = P^T from: row i is row perm(i).
template <class Exec, class S, class From>
void gather_rows(Context<Exec>& ctx, const Batch<const int>& perm, const From& from, const Batch<S>& to) {
  with_unit_stride(from, [&](const auto& x) { gather_entries(ctx, perm, x, to); });
}

template <class Exec, class S, class To>
void scatter_entries(Context<Exec>& ctx, const Batch<const int>& perm, const Batch<S>& from, const To& to, bool add) {
  for_each_entry(
      ctx, "frechet::lu::scatter", to.rows, to.cols, to.count, KOKKOS_LAMBDA(int b, int i, int j) {
        S& entry = to(b, perm(b, i, 0), j);
        entry = add ? entry + from(b, i, j) : from(b, i, j);
      });
}
/// to = P from, or to += P from: row perm(i) is row i.
template <class Exec, class S>
void scatter_rows(Context<Exec>& ctx, const Batch<const int>& perm, const Batch<S>& from, const Strided<S>& to,
                  Store store) {
  with_unit_stride(to, [&](const auto& x) { scatter_entries(ctx, perm, from, x, store == Store::accumulate); });
}

/// deficient = 1 where one of the first `pivots` diagonal entries of U is exactly zero, nonfinite = 1 where the
/// diagonal holds NaN or Inf: a factorisation that failed leaves NaN there.
template <class Exec, class S>
void require_pivots(Context<Exec>& ctx, const Batch<const S>& U, int pivots, Diagnosis* d) {
  for_each_column(
      ctx, "frechet::lu::deficient", U.rows, 1, U.count, KOKKOS_LAMBDA(int b, int) {
        int zero = 0, bad = 0;
        for (int i = 0; i < U.rows; ++i) {
          zero += i < pivots && U(b, i, i) == S(0);
          bad += !finite(U(b, i, i));
        }
        d[b].deficient = zero > 0 ? 1 : 0;
        d[b].nonfinite = bad > 0 ? 1 : 0;
      });
}

}  // namespace frechet::detail

#endif
