// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../reference/gesvd.hpp"
#include "../reference/heevd.hpp"
#include "glue.hpp"

// heevd, gesvd. A vendor's failure (gesvdj that does not converge, single-precision syevd on matrices of low rank)
// shows in its info, on the device. Reading it would stall the caller, so a kernel that looks at it follows, and
// computes the matrices that failed by Frechet's own Jacobi. One team does a matrix: beyond retry_upto that would take
// minutes, and the failure is only reported.

namespace frechet::backend {
namespace {

using cuda::array;

constexpr int retry_upto = 1024;

/// info < 0 of a vendor is a failure as well; in the backend interface it means one that was mended.
template <class Exec>
void only_report(Context<Exec>& ctx, int* info, int count) {
  detail::for_each_column(
      ctx, "frechet::cuda::info", 1, 1, count, KOKKOS_LAMBDA(int b, int) { info[b] = Kokkos::abs(info[b]); });
}

/// Singular values and vectors of a tall A by one of the vendor's drivers. Some give V, some Vh: A = U diag(s) Vh.
template <class Exec, class S>
void vendor_svd(Context<Exec>& ctx, Driver driver, const Batch<S>& A, const Batch<S>& U, Real<S>* s, const Batch<S>& Vh,
                int* info) {
  const detail::Scope scope(ctx);
  const auto handles = cuda::handles(ctx);
  const auto memory = cuda::memory(ctx);
  const int m = A.rows, n = A.cols, count = A.count;
  const bool vectors = bool(U);
  if (driver == Driver::gesvdj_batched && m <= 32) {  // squares come back
    const Batch<S> work = cuda::packed_or_scratch(ctx, A);
    if (work.data != A.data) detail::copy(ctx, A, work);
    const Batch<S> left = ctx.template matrix<S>(m, m, count), right = ctx.template matrix<S>(n, n, count);
    cuda::gesvdj_batched(*handles, memory, vectors, array(work), array(left), s, array(right), info);
    if (!vectors) return;
    detail::copy(ctx, left.block(0, 0, m, n), U);
    return reference::adjoint<Exec, S>(ctx, right, Vh);
  }
  const Batch<S> left = vectors ? U : ctx.template matrix<S>(m, n, count);
  if (driver == Driver::gesvd) {
    const Batch<S> right = vectors ? Vh : ctx.template matrix<S>(n, n, count);
    return cuda::gesvd(*handles, memory, vectors, array(A), array(left), s, array(right), info);
  }
  const Batch<S> right = ctx.template matrix<S>(n, n, count);
  if (driver == Driver::gesvdp)
    cuda::gesvdp(*handles, memory, vectors, array(A), array(left), s, array(right), info);
  else
    cuda::gesvdj(*handles, memory, vectors, array(A), array(left), s, array(right), info);
  if (vectors) reference::adjoint<Exec, S>(ctx, right, Vh);
}

template <class Exec, class S>
void tall_svd(Context<Exec>& ctx, Driver driver, const Batch<S>& A, const Batch<S>& U, const Batch<Real<S>>& s,
              const Batch<S>& Vh, int* info) {
  if (driver == Driver::reference) return reference::tall_svd(ctx, A, U, s, Vh, info);
  const bool retry = A.rows <= retry_upto;
  Batch<S> original;
  if (retry) {
    original = ctx.template matrix<S>(A.rows, A.cols, A.count);
    detail::copy(ctx, A, original);
  }
  const Batch<Real<S>> values =
      s.stride == s.rows || s.count == 1 ? s : ctx.template matrix<Real<S>>(s.rows, 1, s.count);
  vendor_svd(ctx, driver, A, U, values.data, Vh, info);
  if (values.data != s.data) detail::copy(ctx, values, s);
  if (retry)
    reference::retry_tall_svd(ctx, original, U, s, Vh, info);
  else
    only_report(ctx, info, A.count);
}

}  // namespace

template <class Exec, class S>
void heevd(Context<Exec>& ctx, bool vectors, Batch<S> A, Batch<Real<S>> w, int* info, Driver asked) {
  const int n = A.rows;
  if (A.count == 0) return;
  if (n == 0) return cuda::zero_info(ctx, info, A.count);
  const detail::Scope scope(ctx);
  const Driver driver = choose<Exec, S>(Operation::eigh, asked, n, n, A.count);
  if (driver == Driver::reference) return reference::heevd(ctx, vectors, A, w, info);
  Batch<S> original;
  if (n <= retry_upto) {
    original = ctx.template matrix<S>(n, n, A.count);
    detail::copy(ctx, A, original);
  }
  const Batch<Real<S>> values = w.stride == n || w.count == 1 ? w : ctx.template matrix<Real<S>>(n, 1, w.count);
  {
    const auto handles = cuda::handles(ctx);
    const auto memory = cuda::memory(ctx);
    if (driver == Driver::syevj) {
      cuda::syevj(*handles, memory, vectors, array(A), values.data, info);
    } else if (driver == Driver::syev_batched && cuda::has_syev_batched()) {
      const Batch<S> work = cuda::packed_or_scratch(ctx, A);
      if (work.data != A.data) detail::copy(ctx, A, work);
      cuda::syev_batched(*handles, memory, vectors, array(work), values.data, info);
      if (vectors && work.data != A.data) detail::copy(ctx, work, A);
    } else {
      cuda::syevd(*handles, memory, vectors, array(A), values.data, info);
    }
  }
  if (values.data != w.data) detail::copy(ctx, values, w);
  if (original)
    reference::retry_heevd<Exec, S>(ctx, vectors, original, A, w, info);
  else
    only_report(ctx, info, A.count);
}

template <class Exec, class S>
void gesvd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info, Driver asked) {
  if (A.count == 0) return;
  if (A.rows == 0 || A.cols == 0) return cuda::zero_info(ctx, info, A.count);
  const Driver driver = choose<Exec, S>(Operation::svd, asked, A.rows, A.cols, A.count);
  reference::svd_by_tall(ctx, A, U, s, Vh,
                         [&](const Batch<S>& X, const Batch<S>& left, const Batch<Real<S>>& values,
                             const Batch<S>& right) { tall_svd(ctx, driver, X, left, values, right, info); });
}

#define FRECHET_CUDA_SPECTRAL(EXEC, S)                                                        \
  template void heevd<EXEC, S>(Context<EXEC>&, bool, Batch<S>, Batch<Real<S>>, int*, Driver); \
  template void gesvd<EXEC, S>(Context<EXEC>&, Batch<S>, Batch<S>, Batch<Real<S>>, Batch<S>, int*, Driver);
FRECHET_CUDA_FOR_EACH_SCALAR(FRECHET_CUDA_SPECTRAL)

}  // namespace frechet::backend
