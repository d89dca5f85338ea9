// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heevd.hpp"

#include "instantiate.hpp"

namespace frechet::backend {

template <class Exec, class S>
void heevd(Context<Exec>& ctx, bool vectors, Batch<S> A, Batch<Real<S>> w, int* info, Driver) {
  reference::heevd(ctx, vectors, A, w, info);
}

#define FRECHET_HEEVD(Exec, S) \
  template void heevd<Exec, S>(Context<Exec>&, bool, Batch<S>, Batch<Real<S>>, int*, Driver);
FRECHET_REFERENCE_FOR_EACH_SCALAR(FRECHET_HEEVD)

}  // namespace frechet::backend
