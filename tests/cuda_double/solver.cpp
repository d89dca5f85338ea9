// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lapack.hpp"

// cuSOLVER, 64-bit interface and the older routines that it does not have

using namespace frechet::test::cuda_double;

struct cusolverDnContext {
  cudaStream_t stream = nullptr;
};
struct cusolverDnParams {};
struct syevjInfo {
  bool sorted = false;
};
struct gesvdjInfo {
  bool sorted = false;
};

namespace {

/// Workspace the double asks for: some of it depends on the extents, so that a size for other ones shows.
std::size_t bytes(std::int64_t m, std::int64_t n) { return static_cast<std::size_t>(m * n) * 8 + 256; }
constexpr std::size_t host_bytes = 96;
template <class V>
int entries(int m, int n) {
  return m * n + 32;
}

/// f(V{}) for the type of the data.
template <class F>
void with_type(Call& call, cudaDataType a, cudaDataType real, cudaDataType compute, const F& f) {
  call.require(a == compute, "data type and compute type differ");
  call.require(real == (a == CUDA_R_32F || a == CUDA_C_32F ? CUDA_R_32F : CUDA_R_64F), "the real type does not fit");
  if (a == CUDA_R_32F) return f(float{});
  if (a == CUDA_R_64F) return f(double{});
  if (a == CUDA_C_32F) return f(cuComplex{});
  f(cuDoubleComplex{});
}

void workspace(Call& call, std::size_t needed, void* device, std::size_t given, void* host, std::size_t host_given) {
  call.workspace(device, given, needed);
  call.require(host_given >= host_bytes, "the host workspace is too small");
  call.host(host, "the host workspace");
}

cusolverStatus_t state_size(std::size_t size, std::size_t* device, std::size_t* host) {
  *device = size;
  *host = host_bytes;
  return CUSOLVER_STATUS_SUCCESS;
}

template <class V>
void eigen(Call& call, bool vectors, cublasFillMode_t uplo, int n, V* A, int lda, Real<V>* w, int* info, int count) {
  call.require(uplo == CUBLAS_FILL_MODE_LOWER, "the adaptor reads the lower triangle");
  call.matrices(A, sizeof(V), n, n, lda, static_cast<long long>(lda) * n, count, "A");
  call.device(w, sizeof(Real<V>) * static_cast<std::size_t>(n) * static_cast<std::size_t>(count), "W");
  call.device(info, sizeof(int) * static_cast<std::size_t>(count), "info");
  if (!call.works()) return;
  for (int b = 0; b < count; ++b) {
    V* const a = A + static_cast<std::ptrdiff_t>(b) * lda * n;
    Real<V>* const values = w + static_cast<std::ptrdiff_t>(b) * n;
    info[b] = heevd(vectors, n, a, lda, values);
    if (b > 0 || call.failure() == 0) continue;
    info[b] = call.failure();
    fill_nan(a, n, n, lda);
    fill_nan(values, n, 1, n);
  }
}

enum class Right { V, Vh };

/// Thin SVD of tall matrices; right: V or Vh, n x n.
template <class V>
void singular(Call& call, bool vectors, int m, int n, V* A, int lda, Real<V>* s, V* U, int ldu, V* right, int ldr,
              Right form, int* info, int columns_of_u, int count) {
  call.require(m >= n, "rows < columns");
  call.matrices(A, sizeof(V), m, n, lda, static_cast<long long>(lda) * n, count, "A");
  call.device(s, sizeof(Real<V>) * static_cast<std::size_t>(n) * static_cast<std::size_t>(count), "S");
  call.matrices(U, sizeof(V), m, columns_of_u, ldu, static_cast<long long>(ldu) * columns_of_u, count, "U");
  call.matrices(right, sizeof(V), n, n, ldr, static_cast<long long>(ldr) * n, count, "V");
  call.device(info, sizeof(int) * static_cast<std::size_t>(count), "info");
  if (!call.works()) return;
  for (int b = 0; b < count; ++b) {
    V* const u = U + static_cast<std::ptrdiff_t>(b) * ldu * columns_of_u;
    V* const v = right + static_cast<std::ptrdiff_t>(b) * ldr * n;
    Real<V>* const values = s + static_cast<std::ptrdiff_t>(b) * n;
    fill_nan(u, m, columns_of_u, ldu);
    info[b] = gesdd(vectors, m, n, A + static_cast<std::ptrdiff_t>(b) * lda * n, lda, values, u, ldu, v, ldr);
    if (vectors && form == Right::V) adjoint_in_place(n, v, ldr);
    if (b > 0 || call.failure() == 0) continue;
    info[b] = call.failure();
    fill_nan(values, n, 1, n);
    fill_nan(u, m, n, ldu);
  }
}

bool wanted(Call& call, cusolverEigMode_t job) {
  call.require(job == CUSOLVER_EIG_MODE_VECTOR || job == CUSOLVER_EIG_MODE_NOVECTOR, "jobz");
  return job == CUSOLVER_EIG_MODE_VECTOR;
}

template <class V>
cusolverStatus_t ungqr_(const char* name, cusolverDnHandle_t handle, int m, int n, int k, V* A, int lda, const V* tau,
                        V* work, int lwork, int* info) {
  Call call(name, handle->stream);
  call.require(m >= n && n >= k, "m >= n >= k");
  call.matrix(A, sizeof(V), m, n, lda, "A");
  call.device(tau, sizeof(V) * static_cast<std::size_t>(k), "tau");
  call.device(info, sizeof(int), "info");
  call.workspace(work, sizeof(V) * static_cast<std::size_t>(lwork),
                 sizeof(V) * static_cast<std::size_t>(entries<V>(m, n)));
  if (call.works()) {
    ungqr(m, n, k, A, lda, tau);
    *info = 0;
  }
  return call.solver_status();
}

template <class V>
cusolverStatus_t syevj_(const char* name, cusolverDnHandle_t handle, cusolverEigMode_t job, cublasFillMode_t uplo,
                        int n, V* A, int lda, Real<V>* w, V* work, int lwork, int* info, syevjInfo_t params) {
  Call call(name, handle->stream);
  call.require(params && params->sorted, "eigenvalues are not sorted");
  call.workspace(work, sizeof(V) * static_cast<std::size_t>(lwork),
                 sizeof(V) * static_cast<std::size_t>(entries<V>(n, n)));
  eigen(call, wanted(call, job), uplo, n, A, lda, w, info, 1);
  return call.solver_status();
}

template <class V>
cusolverStatus_t gesvdj_(const char* name, cusolverDnHandle_t handle, cusolverEigMode_t job, int econ, int m, int n,
                         V* A, int lda, Real<V>* s, V* U, int ldu, V* v, int ldv, V* work, int lwork, int* info,
                         gesvdjInfo_t params) {
  Call call(name, handle->stream);
  call.require(params && params->sorted, "singular values are not sorted");
  call.require(econ == 1, "thin factors only, as the adaptor asks for");
  call.workspace(work, sizeof(V) * static_cast<std::size_t>(lwork),
                 sizeof(V) * static_cast<std::size_t>(entries<V>(m, n)));
  singular(call, wanted(call, job), m, n, A, lda, s, U, ldu, v, ldv, Right::V, info, n, 1);
  return call.solver_status();
}

template <class V>
cusolverStatus_t gesvdj_batched_(const char* name, cusolverDnHandle_t handle, cusolverEigMode_t job, int m, int n, V* A,
                                 int lda, Real<V>* s, V* U, int ldu, V* v, int ldv, V* work, int lwork, int* info,
                                 gesvdjInfo_t params, int count) {
  Call call(name, handle->stream);
  call.require(params && params->sorted, "singular values are not sorted");
  call.require(m <= 32 && n <= 32, "larger than 32 x 32");
  call.workspace(work, sizeof(V) * static_cast<std::size_t>(lwork),
                 sizeof(V) * static_cast<std::size_t>(count * entries<V>(m, n)));
  singular(call, wanted(call, job), m, n, A, lda, s, U, ldu, v, ldv, Right::V, info, m, count);
  return call.solver_status();
}

}  // namespace

extern "C" {
cusolverStatus_t CUSOLVERAPI cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = new cusolverDnContext;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnCreateParams(cusolverDnParams_t* params) {
  *params = new cusolverDnParams;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnDestroyParams(cusolverDnParams_t params) {
  delete params;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnCreateSyevjInfo(syevjInfo_t* info) {
  *info = new syevjInfo;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnDestroySyevjInfo(syevjInfo_t info) {
  delete info;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevjSetSortEig(syevjInfo_t info, int sort) {
  info->sorted = sort == 1;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info) {
  *info = new gesvdjInfo;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info) {
  delete info;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvdjSetSortEig(gesvdjInfo_t info, int sort) {
  info->sorted = sort == 1;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t CUSOLVERAPI cusolverDnXgetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t m, int64_t n,
                                                         cudaDataType, const void*, int64_t, cudaDataType,
                                                         size_t* device, size_t* host) {
  return state_size(bytes(m, n), device, host);
}
cusolverStatus_t CUSOLVERAPI cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t rows,
                                              int64_t cols, cudaDataType type, void* A, int64_t ld, int64_t* ipiv,
                                              cudaDataType compute, void* work, size_t size, void* host,
                                              size_t host_size, int* info) {
  Call call("cusolverDnXgetrf", handle->stream);
  call.require(params != nullptr, "no params");
  const int m = static_cast<int>(rows), n = static_cast<int>(cols), lda = static_cast<int>(ld), k = std::min(m, n);
  workspace(call, bytes(m, n), work, size, host, host_size);
  with_type(call, type, type == CUDA_R_32F || type == CUDA_C_32F ? CUDA_R_32F : CUDA_R_64F, compute, [&](auto zero) {
    using V = decltype(zero);
    call.matrix(A, sizeof(V), m, n, lda, "A");
    call.device(ipiv, sizeof(int64_t) * static_cast<std::size_t>(k), "the pivots");
    call.device(info, sizeof(int), "info");
    if (!call.works()) return;
    std::vector<int> pivots(static_cast<std::size_t>(k));
    Lapack<V>::getrf(&m, &n, lapack(static_cast<V*>(A)), &lda, pivots.data(), info);
    std::copy(pivots.begin(), pivots.end(), ipiv);
    if (call.failure() == 0) return;
    *info = call.failure();
    std::fill(ipiv, ipiv + k, int64_t(1) << 40);
  });
  return call.solver_status();
}

cusolverStatus_t CUSOLVERAPI cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t m, int64_t n,
                                                         cudaDataType, const void*, int64_t, cudaDataType, const void*,
                                                         cudaDataType, size_t* device, size_t* host) {
  return state_size(bytes(m, n), device, host);
}
cusolverStatus_t CUSOLVERAPI cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t rows,
                                              int64_t cols, cudaDataType type, void* A, int64_t ld, cudaDataType of_tau,
                                              void* tau, cudaDataType compute, void* work, size_t size, void* host,
                                              size_t host_size, int* info) {
  Call call("cusolverDnXgeqrf", handle->stream);
  call.require(params != nullptr, "no params");
  call.require(of_tau == type, "tau has another type");
  const int m = static_cast<int>(rows), n = static_cast<int>(cols), lda = static_cast<int>(ld);
  workspace(call, bytes(m, n), work, size, host, host_size);
  with_type(call, type, type == CUDA_R_32F || type == CUDA_C_32F ? CUDA_R_32F : CUDA_R_64F, compute, [&](auto zero) {
    using V = decltype(zero);
    call.matrix(A, sizeof(V), m, n, lda, "A");
    call.device(tau, sizeof(V) * static_cast<std::size_t>(std::min(m, n)), "tau");
    call.device(info, sizeof(int), "info");
    if (!call.works()) return;
    geqrf(m, n, static_cast<V*>(A), lda, static_cast<V*>(tau));
    *info = 0;
  });
  return call.solver_status();
}

cusolverStatus_t CUSOLVERAPI cusolverDnXsyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
                                                         cublasFillMode_t, int64_t n, cudaDataType, const void*,
                                                         int64_t, cudaDataType, const void*, cudaDataType,
                                                         size_t* device, size_t* host) {
  return state_size(bytes(n, n), device, host);
}
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                              cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n,
                                              cudaDataType type, void* A, int64_t lda, cudaDataType real, void* W,
                                              cudaDataType compute, void* work, size_t size, void* host,
                                              size_t host_size, int* info) {
  Call call("cusolverDnXsyevd", handle->stream);
  call.require(params != nullptr, "no params");
  workspace(call, bytes(n, n), work, size, host, host_size);
  with_type(call, type, real, compute, [&](auto zero) {
    using V = decltype(zero);
    eigen(call, wanted(call, job), uplo, static_cast<int>(n), static_cast<V*>(A), static_cast<int>(lda),
          static_cast<Real<V>*>(W), info, 1);
  });
  return call.solver_status();
}

cusolverStatus_t CUSOLVERAPI cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                                               cusolverEigMode_t, cublasFillMode_t, int64_t n,
                                                               cudaDataType, const void*, int64_t, cudaDataType,
                                                               const void*, cudaDataType, size_t* device, size_t* host,
                                                               int64_t count) {
  return state_size(bytes(n, n * count), device, host);
}
cusolverStatus_t CUSOLVERAPI cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                    cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n,
                                                    cudaDataType type, void* A, int64_t lda, cudaDataType real, void* W,
                                                    cudaDataType compute, void* work, size_t size, void* host,
                                                    size_t host_size, int* info, int64_t count) {
  Call call("cusolverDnXsyevBatched", handle->stream);
  call.require(params != nullptr, "no params");
  call.require(count <= 32000 && n * n * count <= std::numeric_limits<int>::max() / 4, "a batch that is known to fail");
  workspace(call, bytes(n, n * count), work, size, host, host_size);
  with_type(call, type, real, compute, [&](auto zero) {
    using V = decltype(zero);
    eigen(call, wanted(call, job), uplo, static_cast<int>(n), static_cast<V*>(A), static_cast<int>(lda),
          static_cast<Real<V>*>(W), info, static_cast<int>(count));
  });
  return call.solver_status();
}

cusolverStatus_t CUSOLVERAPI cusolverDnXgesvd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, signed char,
                                                         signed char, int64_t m, int64_t n, cudaDataType, const void*,
                                                         int64_t, cudaDataType, const void*, cudaDataType, const void*,
                                                         int64_t, cudaDataType, const void*, int64_t, cudaDataType,
                                                         size_t* device, size_t* host) {
  return state_size(bytes(m, n), device, host);
}
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char jobu,
                                              signed char jobvt, int64_t m, int64_t n, cudaDataType type, void* A,
                                              int64_t lda, cudaDataType real, void* S, cudaDataType of_u, void* U,
                                              int64_t ldu, cudaDataType of_v, void* VT, int64_t ldvt,
                                              cudaDataType compute, void* work, size_t size, void* host,
                                              size_t host_size, int* info) {
  Call call("cusolverDnXgesvd", handle->stream);
  call.require(params != nullptr, "no params");
  call.require(of_u == type && of_v == type, "U or VT has another type");
  call.require((jobu == 'S' && jobvt == 'S') || (jobu == 'N' && jobvt == 'N'), "jobs");
  workspace(call, bytes(m, n), work, size, host, host_size);
  with_type(call, type, real, compute, [&](auto zero) {
    using V = decltype(zero);
    singular(call, jobu == 'S', static_cast<int>(m), static_cast<int>(n), static_cast<V*>(A), static_cast<int>(lda),
             static_cast<Real<V>*>(S), static_cast<V*>(U), static_cast<int>(ldu), static_cast<V*>(VT),
             static_cast<int>(ldvt), Right::Vh, info, static_cast<int>(n), 1);
  });
  return call.solver_status();
}

cusolverStatus_t CUSOLVERAPI cusolverDnXgesvdp_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
                                                          int, int64_t m, int64_t n, cudaDataType, const void*, int64_t,
                                                          cudaDataType, const void*, cudaDataType, const void*, int64_t,
                                                          cudaDataType, const void*, int64_t, cudaDataType,
                                                          size_t* device, size_t* host) {
  return state_size(bytes(m, n), device, host);
}
cusolverStatus_t CUSOLVERAPI cusolverDnXgesvdp(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                               cusolverEigMode_t job, int econ, int64_t m, int64_t n, cudaDataType type,
                                               void* A, int64_t lda, cudaDataType real, void* S, cudaDataType of_u,
                                               void* U, int64_t ldu, cudaDataType of_v, void* Vr, int64_t ldv,
                                               cudaDataType compute, void* work, size_t size, void* host,
                                               size_t host_size, int* info, double* perturbation) {
  Call call("cusolverDnXgesvdp", handle->stream);
  call.require(params != nullptr, "no params");
  call.require(of_u == type && of_v == type, "U or V has another type");
  call.require(econ == 1, "thin factors only, as the adaptor asks for");
  call.host(perturbation, "h_err_sigma");
  workspace(call, bytes(m, n), work, size, host, host_size);
  with_type(call, type, real, compute, [&](auto zero) {
    using V = decltype(zero);
    singular(call, wanted(call, job), static_cast<int>(m), static_cast<int>(n), static_cast<V*>(A),
             static_cast<int>(lda), static_cast<Real<V>*>(S), static_cast<V*>(U), static_cast<int>(ldu),
             static_cast<V*>(Vr), static_cast<int>(ldv), Right::V, info, static_cast<int>(n), 1);
  });
  *perturbation = 0;
  return call.solver_status();
}

#define FRECHET_DOUBLE_SOLVER(p, V, R, syevj_name, orgqr_name)                                                         \
  cusolverStatus_t CUSOLVERAPI cusolverDn##p##orgqr_name##_bufferSize(cusolverDnHandle_t, int m, int n, int, const V*, \
                                                                      int, const V*, int* size) {                      \
    *size = entries<V>(m, n);                                                                                          \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##p##orgqr_name(cusolverDnHandle_t handle, int m, int n, int k, V* A,         \
                                                         int lda, const V* tau, V* work, int lwork, int* info) {       \
    return ungqr_("cusolverDn" #p #orgqr_name, handle, m, n, k, A, lda, tau, work, lwork, info);                       \
  }                                                                                                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##p##syevj_name##_bufferSize(cusolverDnHandle_t, cusolverEigMode_t,           \
                                                                      cublasFillMode_t, int n, const V*, int,          \
                                                                      const R*, int* size, syevjInfo_t) {              \
    *size = entries<V>(n, n);                                                                                          \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##p##syevj_name(cusolverDnHandle_t handle, cusolverEigMode_t job,             \
                                                         cublasFillMode_t uplo, int n, V* A, int lda, R* W, V* work,   \
                                                         int lwork, int* info, syevjInfo_t params) {                   \
    return syevj_("cusolverDn" #p #syevj_name, handle, job, uplo, n, A, lda, W, work, lwork, info, params);            \
  }                                                                                                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##p##gesvdj_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, int, int m,     \
                                                                int n, const V*, int, const R*, const V*, int,         \
                                                                const V*, int, int* size, gesvdjInfo_t) {              \
    *size = entries<V>(m, n);                                                                                          \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##p##gesvdj(cusolverDnHandle_t handle, cusolverEigMode_t job, int econ,       \
                                                     int m, int n, V* A, int lda, R* S, V* U, int ldu, V* Vr, int ldv, \
                                                     V* work, int lwork, int* info, gesvdjInfo_t params) {             \
    return gesvdj_("cusolverDn" #p "gesvdj", handle, job, econ, m, n, A, lda, S, U, ldu, Vr, ldv, work, lwork, info,   \
                   params);                                                                                            \
  }                                                                                                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##p##gesvdjBatched_bufferSize(                                                \
      cusolverDnHandle_t, cusolverEigMode_t, int m, int n, const V*, int, const R*, const V*, int, const V*, int,      \
      int* size, gesvdjInfo_t, int count) {                                                                            \
    *size = count * entries<V>(m, n);                                                                                  \
    return CUSOLVER_STATUS_SUCCESS;                                                                                    \
  }                                                                                                                    \
  cusolverStatus_t CUSOLVERAPI cusolverDn##p##gesvdjBatched(                                                           \
      cusolverDnHandle_t handle, cusolverEigMode_t job, int m, int n, V* A, int lda, R* S, V* U, int ldu, V* Vr,       \
      int ldv, V* work, int lwork, int* info, gesvdjInfo_t params, int count) {                                        \
    return gesvdj_batched_("cusolverDn" #p "gesvdjBatched", handle, job, m, n, A, lda, S, U, ldu, Vr, ldv, work,       \
                           lwork, info, params, count);                                                                \
  }
FRECHET_DOUBLE_SOLVER(S, float, float, syevj, orgqr)
FRECHET_DOUBLE_SOLVER(D, double, double, syevj, orgqr)
FRECHET_DOUBLE_SOLVER(C, cuComplex, float, heevj, ungqr)
FRECHET_DOUBLE_SOLVER(Z, cuDoubleComplex, double, heevj, ungqr)
}
