// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_PIVOTING_HPP
#define FRECHET_SRC_PIVOTING_HPP

#include "operands.hpp"

// What lu and solve share: row permutations, and pivots that count as zero.

namespace frechet::detail {

/// One exchange after the other: they depend on each other.
struct Exchange {
  const int* pivots;
  int k;
  Batch<int> perm;
  KOKKOS_FUNCTION void operator()(int b, int) const {
    for (int i = 0; i < perm.rows; ++i) perm(b, i, 0) = i;
    run(perm.matrix(b), pivots + std::int64_t(b) * k);
  }
  KOKKOS_FUNCTION void run(int* order, const int* steps) const {
    for (int i = 0; i < k; ++i) {
      const int p = steps[i], t = order[i];
      order[i] = order[p];
      order[p] = t;
    }
  }
};

/// The same by a team, in its scratch memory: on a device each step then costs a few cycles instead of a trip to
/// memory.
template <class Exec>
struct ExchangeInScratch {
  Exchange exchange;
  KOKKOS_FUNCTION std::size_t bytes() const {
    return sizeof(int) * static_cast<std::size_t>(exchange.perm.rows + exchange.k);
  }
  KOKKOS_FUNCTION void operator()(const typename Kokkos::TeamPolicy<Exec>::member_type& team) const {
    const int b = team.league_rank(), m = exchange.perm.rows, k = exchange.k;
    auto* const order = static_cast<int*>(team.team_shmem().get_shmem(static_cast<int>(bytes())));
    int* const steps = order + m;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, m), [&](int i) { order[i] = i; });
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, k),
                         [&](int i) { steps[i] = exchange.pivots[std::int64_t(b) * k + i]; });
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] { exchange.run(order, steps); });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, m), [&](int i) { exchange.perm(b, i, 0) = order[i]; });
  }
};

/// perm(b, i): the row of A that became row i after the exchanges of getrf (k steps, 0-based).
template <class Exec>
void permutation(Context<Exec>& ctx, const int* pivots, int k, const Batch<int>& perm) {
  constexpr std::size_t scratch = 32 << 10;  // every device has as much
  const char* label = "frechet::lu::permutation";
  const ExchangeInScratch<Exec> in_scratch{{pivots, k, perm}};
  if (perm.count == 0 || perm.rows == 0) return;
  if constexpr (device_loops<Exec>)
    if (in_scratch.bytes() <= scratch) {
      Kokkos::TeamPolicy<Exec> policy(ctx.exec(), perm.count, Kokkos::AUTO);
      policy.set_scratch_size(0, Kokkos::PerTeam(in_scratch.bytes()));
      return Kokkos::parallel_for(label, policy, in_scratch);
    }
  for_each_column(ctx, label, perm.rows, 1, perm.count, in_scratch.exchange);
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
        if (add)
          to(b, perm(b, i, 0), j) += from(b, i, j);
        else
          to(b, perm(b, i, 0), j) = from(b, i, j);
      });
}
/// to = P from, or to += P from: row perm(i) is row i.
template <class Exec, class S>
void scatter_rows(Context<Exec>& ctx, const Batch<const int>& perm, const Batch<S>& from, const Strided<S>& to,
                  Store store) {
  with_unit_stride(to, [&](const auto& x) { scatter_entries(ctx, perm, from, x, store == Store::accumulate); });
}

/// Below the smallest normal number: dividing by it may overflow, and most of its digits are lost.
template <class S>
KOKKOS_INLINE_FUNCTION bool is_zero_pivot(const S& pivot) {
  return abs1(pivot) < Kokkos::Experimental::norm_min_v<Level<S>>;
}

struct BadPivots {
  int zero = 0, nonfinite = 0;
  KOKKOS_FUNCTION void join(const BadPivots& o) {
    zero |= o.zero;
    nonfinite |= o.nonfinite;
  }
};

/// deficient = 1 where one of the first `pivots` diagonal entries of U counts as zero, nonfinite = 1 where the
/// diagonal holds NaN or Inf: a factorisation that failed leaves NaN there.
template <class Exec, class S>
void require_pivots(Context<Exec>& ctx, const Batch<const S>& U, int pivots, Diagnosis* d) {
  reduce_matrices<BadPivots>(
      ctx, "frechet::lu::deficient", U.rows, 1, U.count,
      KOKKOS_LAMBDA(int b, int i, int, BadPivots& acc) {
        if (i < pivots && is_zero_pivot(U(b, i, i))) acc.zero = 1;
        if (!finite(U(b, i, i))) acc.nonfinite = 1;
      },
      KOKKOS_LAMBDA(int b, const BadPivots& acc) {
        d[b].deficient = acc.zero;
        d[b].nonfinite = acc.nonfinite;
      });
}

/// The first pivot, counted from zero, that counts as zero, and the first that is no number.
struct FirstPivots {
  static constexpr int none = Kokkos::Experimental::finite_max_v<int>;
  int zero = none, nonfinite = none;
  KOKKOS_FUNCTION void join(const FirstPivots& o) {
    zero = o.zero < zero ? o.zero : zero;
    nonfinite = o.nonfinite < nonfinite ? o.nonfinite : nonfinite;
  }
};

/// zero_pivot = the first pivot that counts as zero, counted from one. info = the same where U has to be `invertible`;
/// what getrf says that is not about a zero pivot; or the first pivot that is no number though all of A are.
template <class Exec, class S>
void note_pivots(Context<Exec>& ctx, const Batch<S>& U, const int* info, bool invertible, Diagnosis* d) {
  reduce_matrices<FirstPivots>(
      ctx, "frechet::lu::pivots", U.rows < U.cols ? U.rows : U.cols, 1, U.count,
      KOKKOS_LAMBDA(int b, int i, int, FirstPivots& acc) {
        if (is_zero_pivot(U(b, i, i))) acc.join({i, FirstPivots::none});
        if (!finite(U(b, i, i))) acc.join({FirstPivots::none, i});
      },
      KOKKOS_LAMBDA(int b, const FirstPivots& acc) {
        const int zero = acc.zero < FirstPivots::none ? acc.zero + 1 : 0;
        const bool failed = info[b] > 0 && (zero == 0 || info[b] < zero),
                   overflowed = acc.nonfinite < FirstPivots::none && d[b].nonfinite == 0;
        d[b].zero_pivot = zero;
        d[b].info = failed ? info[b] : overflowed ? acc.nonfinite + 1 : invertible ? zero : 0;
      });
}

}  // namespace frechet::detail

#endif
