// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "kernels/pivoted_lu.hpp"
#include "launch.hpp"

namespace frechet::backend {
namespace reference {

template <class S>
struct Getrf {
  Batch<S> A;
  int* pivots;
  int* info;
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    const int steps = A.rows < A.cols ? A.rows : A.cols;
    const int result = pivoted_lu(member, matrix(A, b), pivots + std::int64_t(b) * steps);
    member.once([&] { info[b] = result; });
  }
};

}  // namespace reference

template <class Exec, class S>
void getrf(Context<Exec>& ctx, Batch<S> A, int* pivots, int* info, Driver) {
  reference::for_each_matrix(ctx, "frechet::reference::getrf", A.rows * A.cols, A.count,
                             reference::Getrf<S>{A, pivots, info});
}

#define FRECHET_GETRF(Exec, S) template void getrf<Exec, S>(Context<Exec>&, Batch<S>, int*, int*, Driver);
FRECHET_REFERENCE_FOR_EACH_SCALAR(FRECHET_GETRF)

}  // namespace frechet::backend
