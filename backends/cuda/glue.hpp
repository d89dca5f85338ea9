// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_CUDA_GLUE_HPP
#define FRECHET_BACKENDS_CUDA_GLUE_HPP

#include "adaptor/routines.hpp"
#include "instantiate.hpp"
#include "operands.hpp"

// Between the backend interface and the adaptor: the instance's stream, the vendor's scalar types, arrays of pointers.

namespace frechet::backend::cuda {

#ifdef FRECHET_CUDA_DOUBLE
/// A stream of the host double (tests/cuda_double) for a host instance.
Stream double_stream();
template <class Exec>
Stream stream_of(const Exec&) {
  return double_stream();
}
#else
inline Stream stream_of(const Kokkos::Cuda& exec) { return {exec.cuda_device(), exec.cuda_stream()}; }
#endif

/// The vendor's handles for the instance, for one call; destroyed while the device still works.
template <class Exec>
Lease handles(Context<Exec>& ctx) {
  static const bool hooked = (Kokkos::push_finalize_hook(release_handles), true);
  static_cast<void>(hooked);
  return Lease(stream_of(ctx.exec()));
}

template <class S>
struct VendorOf {
  using type = S;
};
template <>
struct VendorOf<Kokkos::complex<float>> {
  using type = cuComplex;
};
template <>
struct VendorOf<Kokkos::complex<double>> {
  using type = cuDoubleComplex;
};
template <class S>
using Vendor = typename VendorOf<S>::type;

static_assert(sizeof(cuComplex) == sizeof(Kokkos::complex<float>) &&
              sizeof(cuDoubleComplex) == sizeof(Kokkos::complex<double>));

template <class S>
Vendor<S>* vendor(S* p) {
  return reinterpret_cast<Vendor<S>*>(p);  // NOLINT: the same two numbers
}
template <class S>
const Vendor<S>* vendor(const S* p) {
  return reinterpret_cast<const Vendor<S>*>(p);  // NOLINT: the same two numbers
}
template <class S>
Vendor<S> vendor_scalar(const S& x) {
  if constexpr (is_complex<S>)
    return {x.real(), x.imag()};
  else
    return x;
}

template <class S>
auto array(const Batch<S>& A) {
  using V = std::remove_pointer_t<decltype(vendor(A.data))>;
  return Array<V>{vendor(A.data), A.rows, A.cols, A.ld, A.count, A.stride};
}

inline cublasOperation_t operation(Op op, bool complex) {
  return op == Op::none ? CUBLAS_OP_N : op == Op::adjoint && complex ? CUBLAS_OP_C : CUBLAS_OP_T;
}

template <class Exec>
Memory memory(Context<Exec>& ctx) {
  return {&ctx, [](void* arena, std::size_t bytes) {
            return static_cast<void*>(static_cast<Context<Exec>*>(arena)->template take<char>(bytes));
          }};
}

/// Device array of pointers to entry (0, 0) of every matrix.
template <class Exec, class S>
S** pointers(Context<Exec>& ctx, const Batch<S>& A) {
  S** const p = ctx.template take<S*>(static_cast<std::size_t>(A.count));
  detail::for_each_column(
      ctx, "frechet::cuda::pointers", 1, 1, A.count, KOKKOS_LAMBDA(int b, int) { p[b] = A.matrix(b); });
  return p;
}

/// Whether matrix follows matrix without room between, as routines for batches want it.
template <class S>
bool packed(const Batch<S>& A) {
  return A.count <= 1 || A.stride == std::int64_t(A.ld) * A.cols;
}
/// Itself where packed, else scratch of the same extents.
template <class Exec, class S>
Batch<S> packed_or_scratch(Context<Exec>& ctx, const Batch<S>& A) {
  return packed(A) ? A : ctx.template matrix<S>(A.rows, A.cols, A.count);
}

template <class Exec>
void zero_info(Context<Exec>& ctx, int* info, int count) {
  detail::for_each_column(
      ctx, "frechet::cuda::info", 1, 1, count, KOKKOS_LAMBDA(int b, int) { info[b] = 0; });
}

}  // namespace frechet::backend::cuda

#endif
