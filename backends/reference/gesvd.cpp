// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gesvd.hpp"

#include "instantiate.hpp"

namespace frechet::backend {

template <class Exec, class S>
void gesvd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info, Driver) {
  reference::gesvd(ctx, A, U, s, Vh, info);
}

#define FRECHET_GESVD(Exec, S) \
  template void gesvd<Exec, S>(Context<Exec>&, Batch<S>, Batch<S>, Batch<Real<S>>, Batch<S>, int*, Driver);
FRECHET_REFERENCE_FOR_EACH_SCALAR(FRECHET_GESVD)

}  // namespace frechet::backend
