// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lapack.hpp"

// cuBLAS

using namespace frechet::test::cuda_double;

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace {

char letter(cublasOperation_t op) { return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C'; }
char letter(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT ? 'L' : 'R'; }
char letter(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
char letter(cublasDiagType_t diag) { return diag == CUBLAS_DIAG_UNIT ? 'U' : 'N'; }

template <class V>
cublasStatus_t gemm(const char* name, cublasHandle_t handle, cublasOperation_t opa, cublasOperation_t opb, int m, int n,
                    int k, const V* alpha, const V* A, int lda, long long sa, const V* B, int ldb, long long sb,
                    const V* beta, V* C, int ldc, long long sc, int count) {
  using R = Lapack<V>;
  Call call(name, handle->stream);
  call.host(alpha, "alpha");
  call.host(beta, "beta");
  call.require(k > 0, "k = 0 is left to the caller");
  call.matrices(A, sizeof(V), opa == CUBLAS_OP_N ? m : k, opa == CUBLAS_OP_N ? k : m, lda, sa, count, "A");
  call.matrices(B, sizeof(V), opb == CUBLAS_OP_N ? k : n, opb == CUBLAS_OP_N ? n : k, ldb, sb, count, "B");
  call.matrices(C, sizeof(V), m, n, ldc, sc, count, "C");
  const bool behind = sc >= static_cast<long long>(ldc) * (n - 1) + m, between = sc >= m && sc * (count - 1) + m <= ldc;
  call.require(count == 1 || behind || between, "matrices of C overlap");
  const char ta = letter(opa), tb = letter(opb);
  if (call.works())
    for (int b = 0; b < count; ++b)
      R::gemm(&ta, &tb, &m, &n, &k, lapack(alpha), lapack(A + b * sa), &lda, lapack(B + b * sb), &ldb, lapack(beta),
              lapack(C + b * sc), &ldc, 1, 1);
  return call.blas_status();
}

template <class V>
void triangle_arguments(Call& call, cublasSideMode_t side, int m, int n, const V* alpha, const V* A, int lda,
                        const V* B, int ldb) {
  const int k = side == CUBLAS_SIDE_LEFT ? m : n;
  call.host(alpha, "alpha");
  call.matrix(A, sizeof(V), k, k, lda, "A");
  call.matrix(B, sizeof(V), m, n, ldb, "B");
}

template <class V>
cublasStatus_t trsm(const char* name, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diag, int m, int n, const V* alpha, const V* A, int lda,
                    V* B, int ldb) {
  Call call(name, handle->stream);
  triangle_arguments(call, side, m, n, alpha, A, lda, B, ldb);
  const char s = letter(side), u = letter(uplo), t = letter(op), d = letter(diag);
  if (call.works())
    Lapack<V>::trsm(&s, &u, &t, &d, &m, &n, lapack(alpha), lapack(A), &lda, lapack(B), &ldb, 1, 1, 1, 1);
  return call.blas_status();
}

template <class V>
cublasStatus_t trsm_batched(const char* name, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                            cublasOperation_t op, cublasDiagType_t diag, int m, int n, const V* alpha,
                            const V* const A[], int lda, V* const B[], int ldb, int count) {
  Call call(name, handle->stream);
  call.device(A, sizeof(V*) * static_cast<std::size_t>(count), "the pointers to A");
  call.device(B, sizeof(V*) * static_cast<std::size_t>(count), "the pointers to B");
  if (call.good())
    for (int b = 0; b < count; ++b) triangle_arguments(call, side, m, n, alpha, A[b], lda, B[b], ldb);
  const char s = letter(side), u = letter(uplo), t = letter(op), d = letter(diag);
  if (call.works())
    for (int b = 0; b < count; ++b)
      Lapack<V>::trsm(&s, &u, &t, &d, &m, &n, lapack(alpha), lapack(A[b]), &lda, lapack(B[b]), &ldb, 1, 1, 1, 1);
  return call.blas_status();
}

template <class V>
cublasStatus_t trmm(const char* name, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diag, int m, int n, const V* alpha, const V* A, int lda,
                    const V* B, int ldb, V* C, int ldc) {
  Call call(name, handle->stream);
  triangle_arguments(call, side, m, n, alpha, A, lda, B, ldb);
  call.require(B == C && ldb == ldc, "in place only, as the adaptor uses it");
  const char s = letter(side), u = letter(uplo), t = letter(op), d = letter(diag);
  if (call.works())
    Lapack<V>::trmm(&s, &u, &t, &d, &m, &n, lapack(alpha), lapack(A), &lda, lapack(C), &ldc, 1, 1, 1, 1);
  return call.blas_status();
}

template <class V>
cublasStatus_t getrf_batched(const char* name, cublasHandle_t handle, int n, V* const A[], int lda, int* pivots,
                             int* info, int count) {
  Call call(name, handle->stream);
  call.device(A, sizeof(V*) * static_cast<std::size_t>(count), "the pointers to A");
  call.device(pivots, sizeof(int) * static_cast<std::size_t>(n) * count, "the pivots");
  call.device(info, sizeof(int) * static_cast<std::size_t>(count), "info");
  if (call.good())
    for (int b = 0; b < count; ++b) call.matrix(A[b], sizeof(V), n, n, lda, "A");
  if (call.works())
    for (int b = 0; b < count; ++b)
      Lapack<V>::getrf(&n, &n, lapack(A[b]), &lda, pivots + static_cast<std::ptrdiff_t>(b) * n, info + b);
  if (call.works() && call.failure() != 0) {
    *info = call.failure();
    std::fill(pivots, pivots + n, 1 << 30);
  }
  return call.blas_status();
}

template <class V>
cublasStatus_t geqrf_batched(const char* name, cublasHandle_t handle, int m, int n, V* const A[], int lda,
                             V* const tau[], int* info, int count) {
  Call call(name, handle->stream);
  call.device(A, sizeof(V*) * static_cast<std::size_t>(count), "the pointers to A");
  call.device(tau, sizeof(V*) * static_cast<std::size_t>(count), "the pointers to tau");
  call.host(info, "info");
  if (call.good())
    for (int b = 0; b < count; ++b) {
      call.matrix(A[b], sizeof(V), m, n, lda, "A");
      call.device(tau[b], sizeof(V) * static_cast<std::size_t>(std::min(m, n)), "tau");
    }
  if (call.works())
    for (int b = 0; b < count; ++b) geqrf(m, n, A[b], lda, tau[b]);
  *info = 0;
  return call.blas_status();
}

}  // namespace

extern "C" {
cublasStatus_t CUBLASWINAPI cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
const char* CUBLASWINAPI cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_ALLOC_FAILED ? "CUBLAS_STATUS_ALLOC_FAILED" : "CUBLAS_STATUS_EXECUTION_FAILED";
}

#define FRECHET_DOUBLE_BLAS(p, V)                                                                                      \
  cublasStatus_t CUBLASWINAPI cublas##p##gemm_v2(cublasHandle_t handle, cublasOperation_t opa, cublasOperation_t opb,  \
                                                 int m, int n, int k, const V* alpha, const V* A, int lda, const V* B, \
                                                 int ldb, const V* beta, V* C, int ldc) {                              \
    return gemm("cublas" #p "gemm", handle, opa, opb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);       \
  }                                                                                                                    \
  cublasStatus_t CUBLASWINAPI cublas##p##gemmStridedBatched(                                                           \
      cublasHandle_t handle, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k, const V* alpha,        \
      const V* A, int lda, long long sa, const V* B, int ldb, long long sb, const V* beta, V* C, int ldc,              \
      long long sc, int count) {                                                                                       \
    return gemm("cublas" #p "gemmStridedBatched", handle, opa, opb, m, n, k, alpha, A, lda, sa, B, ldb, sb, beta, C,   \
                ldc, sc, count);                                                                                       \
  }                                                                                                                    \
  cublasStatus_t CUBLASWINAPI cublas##p##trsm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,  \
                                                 cublasOperation_t op, cublasDiagType_t diag, int m, int n,            \
                                                 const V* alpha, const V* A, int lda, V* B, int ldb) {                 \
    return trsm("cublas" #p "trsm", handle, side, uplo, op, diag, m, n, alpha, A, lda, B, ldb);                        \
  }                                                                                                                    \
  cublasStatus_t CUBLASWINAPI cublas##p##trsmBatched(cublasHandle_t handle, cublasSideMode_t side,                     \
                                                     cublasFillMode_t uplo, cublasOperation_t op,                      \
                                                     cublasDiagType_t diag, int m, int n, const V* alpha,              \
                                                     const V* const A[], int lda, V* const B[], int ldb, int count) {  \
    return trsm_batched("cublas" #p "trsmBatched", handle, side, uplo, op, diag, m, n, alpha, A, lda, B, ldb, count);  \
  }                                                                                                                    \
  cublasStatus_t CUBLASWINAPI cublas##p##trmm_v2(                                                                      \
      cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op,                       \
      cublasDiagType_t diag, int m, int n, const V* alpha, const V* A, int lda, const V* B, int ldb, V* C, int ldc) {  \
    return trmm("cublas" #p "trmm", handle, side, uplo, op, diag, m, n, alpha, A, lda, B, ldb, C, ldc);                \
  }                                                                                                                    \
  cublasStatus_t CUBLASWINAPI cublas##p##getrfBatched(cublasHandle_t handle, int n, V* const A[], int lda, int* P,     \
                                                      int* info, int count) {                                          \
    return getrf_batched("cublas" #p "getrfBatched", handle, n, A, lda, P, info, count);                               \
  }                                                                                                                    \
  cublasStatus_t CUBLASWINAPI cublas##p##geqrfBatched(cublasHandle_t handle, int m, int n, V* const A[], int lda,      \
                                                      V* const tau[], int* info, int count) {                          \
    return geqrf_batched("cublas" #p "geqrfBatched", handle, m, n, A, lda, tau, info, count);                          \
  }
FRECHET_DOUBLE_BLAS(S, float)
FRECHET_DOUBLE_BLAS(D, double)
FRECHET_DOUBLE_BLAS(C, cuComplex)
FRECHET_DOUBLE_BLAS(Z, cuDoubleComplex)
}
