// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "kernels/householder_qr.hpp"
#include "launch.hpp"

namespace frechet::backend {
namespace reference {

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

}  // namespace reference

template <class Exec, class S>
void geqrf(Context<Exec>& ctx, Batch<S> A, S* tau) {
  reference::for_each_matrix(ctx, "frechet::reference::geqrf", A.rows * A.cols, A.count, reference::Geqrf<S>{A, tau});
}

template <class Exec, class S>
void ungqr(Context<Exec>& ctx, Batch<S> A, int k, const S* tau) {
  reference::for_each_matrix(ctx, "frechet::reference::ungqr", A.rows * A.cols, A.count,
                             reference::Ungqr<S>{A, k, tau});
}

#define FRECHET_GEQRF(Exec, S)                                \
  template void geqrf<Exec, S>(Context<Exec>&, Batch<S>, S*); \
  template void ungqr<Exec, S>(Context<Exec>&, Batch<S>, int, const S*);
FRECHET_FOR_EACH_SCALAR(FRECHET_GEQRF)

}  // namespace frechet::backend
