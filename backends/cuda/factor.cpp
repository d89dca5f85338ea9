// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../reference/geqrf.hpp"
#include "glue.hpp"

// getrf, geqrf, ungqr

namespace frechet::backend {
namespace {

using cuda::array;

/// The vendor counts rows from one, and info < 0 is a failure too. What it leaves of a matrix that is not finite is not
/// documented: a row that cannot be becomes no exchange, so that nobody reads or writes outside.
template <class Exec, class I>
void from_zero(Context<Exec>& ctx, const I* steps, int* pivots, int k, int rows, int* info, int count) {
  detail::for_each_entry(
      ctx, "frechet::cuda::pivots", k, 1, count, KOKKOS_LAMBDA(int b, int i, int) {
        const std::int64_t at = std::int64_t(b) * k + i;
        const I p = steps[at] - 1;
        if (i == 0) info[b] = Kokkos::abs(info[b]);
        pivots[at] = p >= i && p < rows ? static_cast<int>(p) : i;
      });
}

}  // namespace

template <class Exec, class S>
void getrf(Context<Exec>& ctx, Batch<S> A, int* pivots, int* info, Driver asked) {
  const int k = A.rows < A.cols ? A.rows : A.cols;
  if (A.count == 0) return;
  if (k == 0) return cuda::zero_info(ctx, info, A.count);
  const detail::Scope scope(ctx);
  const auto handles = cuda::handles(ctx);
  const Driver driver = choose<Exec, S>(Operation::lu, asked, A.rows, A.cols, A.count);
  if (driver == Driver::getrf_batched && A.rows == A.cols) {
    cuda::getrf_batched(*handles, reinterpret_cast<cuda::Vendor<S>* const*>(cuda::pointers(ctx, A)), A.rows, A.ld,
                        pivots, info, A.count);
    return from_zero(ctx, pivots, pivots, k, A.rows, info, A.count);
  }
  auto* const steps = ctx.template take<std::int64_t>(static_cast<std::size_t>(k) * A.count);
  cuda::getrf(*handles, cuda::memory(ctx), array(A), steps, info);
  from_zero(ctx, steps, pivots, k, A.rows, info, A.count);
}

template <class Exec, class S>
void geqrf(Context<Exec>& ctx, Batch<S> A, S* tau, Driver asked) {
  const int k = A.rows < A.cols ? A.rows : A.cols;
  if (k == 0 || A.count == 0) return;
  const detail::Scope scope(ctx);
  const Driver driver = choose<Exec, S>(Operation::qr, asked, A.rows, A.cols, A.count);
  if (driver == Driver::reference) return reference::geqrf(ctx, A, tau);
  const auto handles = cuda::handles(ctx);
  if (driver == Driver::geqrf_batched) {
    const Batch<S> taus{tau, k, 1, k, A.count, k};
    cuda::geqrf_batched(*handles, reinterpret_cast<cuda::Vendor<S>* const*>(cuda::pointers(ctx, A)), array(A),
                        reinterpret_cast<cuda::Vendor<S>* const*>(cuda::pointers(ctx, taus)));
  } else {
    int* const info = ctx.template take<int>(static_cast<std::size_t>(A.count));  // tells wrong arguments only
    cuda::geqrf(*handles, cuda::memory(ctx), array(A), cuda::vendor(tau), info);
  }
}

template <class Exec, class S>
void ungqr(Context<Exec>& ctx, Batch<S> A, int k, const S* tau, Driver asked) {
  if (A.cols == 0 || A.count == 0) return;
  const detail::Scope scope(ctx);
  const Driver driver = choose<Exec, S>(Operation::qr, asked, A.rows, A.cols, A.count);
  if (driver == Driver::reference) return reference::ungqr(ctx, A, k, tau);
  const auto handles = cuda::handles(ctx);
  int* const info = ctx.template take<int>(static_cast<std::size_t>(A.count));  // tells wrong arguments only
  cuda::ungqr(*handles, cuda::memory(ctx), array(A), k, cuda::vendor(tau), info);
}

#define FRECHET_CUDA_FACTOR(EXEC, S)                                          \
  template void getrf<EXEC, S>(Context<EXEC>&, Batch<S>, int*, int*, Driver); \
  template void geqrf<EXEC, S>(Context<EXEC>&, Batch<S>, S*, Driver);         \
  template void ungqr<EXEC, S>(Context<EXEC>&, Batch<S>, int, const S*, Driver);
FRECHET_CUDA_FOR_EACH_SCALAR(FRECHET_CUDA_FACTOR)

}  // namespace frechet::backend
