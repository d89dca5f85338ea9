// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "geqrf.hpp"

#include "instantiate.hpp"

namespace frechet::backend {

template <class Exec, class S>
void geqrf(Context<Exec>& ctx, Batch<S> A, S* tau, Driver) {
  reference::geqrf(ctx, A, tau);
}

template <class Exec, class S>
void ungqr(Context<Exec>& ctx, Batch<S> A, int k, const S* tau, Driver) {
  reference::ungqr(ctx, A, k, tau);
}

#define FRECHET_GEQRF(Exec, S)                                        \
  template void geqrf<Exec, S>(Context<Exec>&, Batch<S>, S*, Driver); \
  template void ungqr<Exec, S>(Context<Exec>&, Batch<S>, int, const S*, Driver);
FRECHET_REFERENCE_FOR_EACH_SCALAR(FRECHET_GEQRF)

}  // namespace frechet::backend
