// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "routines.hpp"

namespace frechet::backend::cuda {

template <class V>
void gemm(Handles& handles, cublasOperation_t opa, cublasOperation_t opb, int k, V alpha, Array<const V> A,
          Array<const V> B, V beta, Array<V> C) {
  if (C.count == 1)
    require("cublas gemm", Routines<V>::gemm(handles.blas(), opa, opb, C.rows, C.cols, k, &alpha, A.data, A.ld, B.data,
                                             B.ld, &beta, C.data, C.ld));
  else
    require("cublas gemmStridedBatched",
            Routines<V>::gemm_batched(handles.blas(), opa, opb, C.rows, C.cols, k, &alpha, A.data, A.ld, A.stride,
                                      B.data, B.ld, B.stride, &beta, C.data, C.ld, C.stride, C.count));
}

template <class V>
void trsm(Handles& handles, const Triangle& t, V alpha, Array<const V> A, Array<V> B) {
  for (int b = 0; b < B.count; ++b)
    require("cublas trsm", Routines<V>::trsm(handles.blas(), t.side, t.uplo, t.op, t.diag, B.rows, B.cols, &alpha, A[b],
                                             A.ld, B[b], B.ld));
}

template <class V>
void trsm_batched(Handles& handles, const Triangle& t, V alpha, const V* const* a, int lda, V* const* b, Array<V> B) {
  require("cublas trsmBatched", Routines<V>::trsm_batched(handles.blas(), t.side, t.uplo, t.op, t.diag, B.rows, B.cols,
                                                          &alpha, a, lda, b, B.ld, B.count));
}

template <class V>
void trmm(Handles& handles, const Triangle& t, V alpha, Array<const V> A, Array<V> B) {
  for (int b = 0; b < B.count; ++b)
    require("cublas trmm", Routines<V>::trmm(handles.blas(), t.side, t.uplo, t.op, t.diag, B.rows, B.cols, &alpha, A[b],
                                             A.ld, B[b], B.ld, B[b], B.ld));
}

template <class V>
void getrf_batched(Handles& handles, V* const* a, int n, int lda, int* pivots, int* info, int count) {
  require("cublas getrfBatched", Routines<V>::getrf_batched(handles.blas(), n, a, lda, pivots, info, count));
}

template <class V>
void geqrf_batched(Handles& handles, V* const* a, Array<V> A, V* const* tau) {
  int info = 0;  // on the host: tells wrong arguments only
  require("cublas geqrfBatched",
          Routines<V>::geqrf_batched(handles.blas(), A.rows, A.cols, a, A.ld, tau, &info, A.count));
}

#define FRECHET_CUDA_BLAS(V)                                                                                       \
  template void gemm<V>(Handles&, cublasOperation_t, cublasOperation_t, int, V, Array<const V>, Array<const V>, V, \
                        Array<V>);                                                                                 \
  template void trsm<V>(Handles&, const Triangle&, V, Array<const V>, Array<V>);                                   \
  template void trsm_batched<V>(Handles&, const Triangle&, V, const V* const*, int, V* const*, Array<V>);          \
  template void trmm<V>(Handles&, const Triangle&, V, Array<const V>, Array<V>);                                   \
  template void getrf_batched<V>(Handles&, V* const*, int, int, int*, int*, int);                                  \
  template void geqrf_batched<V>(Handles&, V* const*, Array<V>, V* const*);
FRECHET_CUDA_BLAS(float)
FRECHET_CUDA_BLAS(double)
FRECHET_CUDA_BLAS(cuComplex)
FRECHET_CUDA_BLAS(cuDoubleComplex)

}  // namespace frechet::backend::cuda
