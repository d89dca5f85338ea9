// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_HEEVD_HPP
#define FRECHET_BACKENDS_REFERENCE_HEEVD_HPP

#include "kernels/jacobi_eigh.hpp"
#include "launch.hpp"

namespace frechet::backend::reference {

template <class S>
struct Heevd {
  bool vectors;
  Batch<S> A;
  Batch<Real<S>> w;
  int* info;
  Batch<S> H;
  EighPair<S>* pairs;
  template <class Member>
  KOKKOS_FUNCTION int solve(const Member& member, int b) const {
    const EighScratch<S> scratch{matrix(H, b), pairs + std::int64_t(b) * (H.rows / 2)};
    return jacobi_eigh(member, vectors, matrix(A, b), w.matrix(b), scratch);
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    const int result = solve(member, b);
    member.once([&] { info[b] = result; });
  }
};

/// The same where another driver has failed (info != 0), from a copy of the matrix. info becomes -info of that driver.
template <class S>
struct RetryHeevd {
  Heevd<S> heevd;
  Batch<const S> original;
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    const int before = heevd.info[b];
    if (before == 0) return;
    copy(member, matrix(original, b), matrix(heevd.A, b));
    const int result = heevd.solve(member, b);
    member.once([&] { heevd.info[b] = result == 0 ? -Kokkos::abs(before) : result; });
  }
};

template <class Exec, class S>
Heevd<S> heevd_kernel(Context<Exec>& ctx, bool vectors, Batch<S> A, Batch<Real<S>> w, int* info) {
  const int n = even(A.rows);
  return {vectors,
          A,
          w,
          info,
          ctx.template matrix<S>(n, n, A.count),
          ctx.template take<EighPair<S>>(static_cast<std::size_t>(n / 2) * A.count)};
}

template <class Exec, class S>
void heevd(Context<Exec>& ctx, bool vectors, Batch<S> A, Batch<Real<S>> w, int* info) {
  const detail::Scope scope(ctx);
  for_each_matrix(ctx, "frechet::reference::heevd", A.rows * A.rows, A.count, heevd_kernel(ctx, vectors, A, w, info));
}

/// For what another driver left of `original` in A and w. Costs a launch where nothing failed, and never waits.
template <class Exec, class S>
void retry_heevd(Context<Exec>& ctx, bool vectors, Batch<const S> original, Batch<S> A, Batch<Real<S>> w, int* info) {
  const detail::Scope scope(ctx);
  for_each_matrix(ctx, "frechet::reference::heevd", A.rows * A.rows, A.count,
                  RetryHeevd<S>{heevd_kernel(ctx, vectors, A, w, info), original});
}

}  // namespace frechet::backend::reference

#endif
