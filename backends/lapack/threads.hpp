// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_THREADS_HPP
#define FRECHET_BACKENDS_LAPACK_THREADS_HPP

#include "context.hpp"

#include <Kokkos_Core.hpp>

#include <functional>

namespace frechet::backend::lapack {

/// Runs f(0) ... f(n - 1), each about `work` operations: on threads where that pays.
using Loop = std::function<void(int n, double work, const std::function<void(int)>& f)>;

/// Loops on the threads of the execution space, where they are long enough.
template <class Exec>
Loop loop_on(detail::Context<Exec>& ctx) {
  constexpr double threads_from = 1 << 16;  // operations
  return [&ctx](int n, double work, const std::function<void(int)>& f) {
    if (ctx.inline_loops() || n * work < threads_from)
      for (int i = 0; i < n; ++i) f(i);
    else
      Kokkos::parallel_for("frechet::lapack", Kokkos::RangePolicy<Exec>(ctx.exec(), 0, n), f);
  };
}

}  // namespace frechet::backend::lapack

#endif
