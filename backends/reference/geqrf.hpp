// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_GEQRF_HPP
#define FRECHET_BACKENDS_REFERENCE_GEQRF_HPP

#include "kernels/householder_qr.hpp"
#include "launch.hpp"

namespace frechet::backend::reference {

template <class S>
struct Geqrf {
  Batch<S> A;
  S* tau;
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    const int steps = A.rows < A.cols ? A.rows : A.cols;
    householder_qr(member, matrix(A, b), tau + std::int64_t(b) * steps);
  }
};

template <class S>
struct Ungqr {
  Batch<S> A;
  int k;
  const S* tau;
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    form_q(member, matrix(A, b), k, tau + std::int64_t(b) * k);
  }
};

template <class Exec, class S>
void geqrf(Context<Exec>& ctx, Batch<S> A, S* tau) {
  for_each_matrix(ctx, "frechet::reference::geqrf", A.rows * A.cols, A.count, Geqrf<S>{A, tau});
}

template <class Exec, class S>
void ungqr(Context<Exec>& ctx, Batch<S> A, int k, const S* tau) {
  for_each_matrix(ctx, "frechet::reference::ungqr", A.rows * A.cols, A.count, Ungqr<S>{A, k, tau});
}

}  // namespace frechet::backend::reference

#endif
