// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_CUDA_ADAPTOR_VENDOR_HPP
#define FRECHET_BACKENDS_CUDA_ADAPTOR_VENDOR_HPP

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <type_traits>

// cuBLAS and cuSOLVER under one name for each routine, by scalar, and their status codes as exceptions.

namespace frechet::backend::cuda {

template <class V>
using RealOf = std::conditional_t<std::is_same_v<V, float> || std::is_same_v<V, cuComplex>, float, double>;

template <class V>
inline constexpr cudaDataType data_type = std::is_same_v<V, float>       ? CUDA_R_32F
                                          : std::is_same_v<V, double>    ? CUDA_R_64F
                                          : std::is_same_v<V, cuComplex> ? CUDA_C_32F
                                                                         : CUDA_C_64F;

/// The routines that have one name for each scalar.
template <class V>
struct Routines;

#define FRECHET_VENDOR_ROUTINES(V, p, syevj_name, orgqr_name)                            \
  template <>                                                                            \
  struct Routines<V> {                                                                   \
    static constexpr auto gemm = cublas##p##gemm;                                        \
    static constexpr auto gemm_batched = cublas##p##gemmStridedBatched;                  \
    static constexpr auto trsm = cublas##p##trsm;                                        \
    static constexpr auto trsm_batched = cublas##p##trsmBatched;                         \
    static constexpr auto trmm = cublas##p##trmm;                                        \
    static constexpr auto getrf_batched = cublas##p##getrfBatched;                       \
    static constexpr auto geqrf_batched = cublas##p##geqrfBatched;                       \
    static constexpr auto ungqr_size = cusolverDn##p##orgqr_name##_bufferSize;           \
    static constexpr auto ungqr = cusolverDn##p##orgqr_name;                             \
    static constexpr auto syevj_size = cusolverDn##p##syevj_name##_bufferSize;           \
    static constexpr auto syevj = cusolverDn##p##syevj_name;                             \
    static constexpr auto gesvdj_size = cusolverDn##p##gesvdj_bufferSize;                \
    static constexpr auto gesvdj = cusolverDn##p##gesvdj;                                \
    static constexpr auto gesvdj_batched_size = cusolverDn##p##gesvdjBatched_bufferSize; \
    static constexpr auto gesvdj_batched = cusolverDn##p##gesvdjBatched;                 \
  };
FRECHET_VENDOR_ROUTINES(float, S, syevj, orgqr)
FRECHET_VENDOR_ROUTINES(double, D, syevj, orgqr)
FRECHET_VENDOR_ROUTINES(cuComplex, C, heevj, ungqr)
FRECHET_VENDOR_ROUTINES(cuDoubleComplex, Z, heevj, ungqr)
#undef FRECHET_VENDOR_ROUTINES

/// Throw BackendError("frechet: <routine> failed: <status>") unless all went well.
void require(const char* routine, cudaError_t status);
void require(const char* routine, cublasStatus_t status);
void require(const char* routine, cusolverStatus_t status);
/// A workspace of `entries` that the 32-bit interface of this routine can state.
void require_size(const char* routine, int entries);

}  // namespace frechet::backend::cuda

#endif
