// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "kernels/jacobi_eigh.hpp"
#include "launch.hpp"

namespace frechet::backend {
namespace reference {

template <class S>
struct Heevd {
  bool vectors;
  Batch<S> A;
  Batch<Real<S>> w;
  int* info;
  Batch<S> H;
  EighPair<S>* pairs;
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    const EighScratch<S> scratch{matrix(H, b), pairs + std::int64_t(b) * (H.rows / 2)};
    const int result = jacobi_eigh(member, vectors, matrix(A, b), w.matrix(b), scratch);
    member.once([&] { info[b] = result; });
  }
};

}  // namespace reference

template <class Exec, class S>
void heevd(Context<Exec>& ctx, bool vectors, Batch<S> A, Batch<Real<S>> w, int* info) {
  const detail::Scope scope(ctx);
  const int n = reference::even(A.rows);
  const Batch<S> H = ctx.template matrix<S>(n, n, A.count);
  auto* const pairs = ctx.template take<reference::EighPair<S>>(static_cast<std::size_t>(n / 2) * A.count);
  reference::for_each_matrix(ctx, "frechet::reference::heevd", n * n, A.count,
                             reference::Heevd<S>{vectors, A, w, info, H, pairs});
}

#define FRECHET_HEEVD(Exec, S) template void heevd<Exec, S>(Context<Exec>&, bool, Batch<S>, Batch<Real<S>>, int*);
FRECHET_FOR_EACH_SCALAR(FRECHET_HEEVD)

}  // namespace frechet::backend
