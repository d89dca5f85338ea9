// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_CUDA_ADAPTOR_ROUTINES_HPP
#define FRECHET_BACKENDS_CUDA_ADAPTOR_ROUTINES_HPP

#include "handles.hpp"

#include <cstdint>

// The vendor's routines on raw device pointers, with their workspace. Matrices are column-major; extents are positive;
// matrix b of a batch is at data + b * stride. Every `info` is one int on the device per matrix. Nothing here waits.

namespace frechet::backend::cuda {

/// Device memory for one call, from the caller's arena.
struct Memory {
  void* arena;
  void* (*take)(void* arena, std::size_t bytes);
};

/// Matrices that lie one after the other.
template <class V>
struct Array {
  V* data;
  int rows, cols, ld, count;
  std::int64_t stride;
  V* operator[](int b) const { return data ? data + b * stride : nullptr; }
};

template <class V>
void gemm(Handles&, cublasOperation_t opa, cublasOperation_t opb, int k, V alpha, Array<const V> A, Array<const V> B,
          V beta, Array<V> C);

struct Triangle {
  cublasSideMode_t side;
  cublasFillMode_t uplo;
  cublasOperation_t op;
  cublasDiagType_t diag;
};
/// B = alpha op(A)^-1 B or alpha B op(A)^-1, one matrix after the other.
template <class V>
void trsm(Handles&, const Triangle&, V alpha, Array<const V> A, Array<V> B);
/// The same in one call. `a`, `b`: device arrays of pointers to the matrices.
template <class V>
void trsm_batched(Handles&, const Triangle&, V alpha, const V* const* a, int lda, V* const* b, Array<V> B);
/// B = alpha op(A) B or alpha B op(A), one matrix after the other.
template <class V>
void trmm(Handles&, const Triangle&, V alpha, Array<const V> A, Array<V> B);

/// pivots: min(m,n) per matrix, from one.
template <class V>
void getrf(Handles&, Memory, Array<V> A, std::int64_t* pivots, int* info);
/// Square matrices; `a`: device array of pointers.
template <class V>
void getrf_batched(Handles&, V* const* a, int n, int lda, int* pivots, int* info, int count);

/// tau: min(m,n) per matrix.
template <class V>
void geqrf(Handles&, Memory, Array<V> A, V* tau, int* info);
/// `a`, `tau`: device arrays of pointers.
template <class V>
void geqrf_batched(Handles&, V* const* a, Array<V> A, V* const* tau);
template <class V>
void ungqr(Handles&, Memory, Array<V> A, int k, const V* tau, int* info);

// w: n per matrix, one after the other. The lower triangle of A is read.
template <class V>
void syevd(Handles&, Memory, bool vectors, Array<V> A, RealOf<V>* w, int* info);
template <class V>
void syevj(Handles&, Memory, bool vectors, Array<V> A, RealOf<V>* w, int* info);
/// A.stride = A.ld * A.cols. In pieces, as the routine fails for large batches.
template <class V>
void syev_batched(Handles&, Memory, bool vectors, Array<V> A, RealOf<V>* w, int* info);
/// Whether this cuSOLVER has it.
bool has_syev_batched();

// rows >= cols. s: cols per matrix, one after the other. U and V (or Vh) hold valid memory also where only values are
// wanted: the Jacobi routines use it.
template <class V>
void gesvd(Handles&, Memory, bool vectors, Array<V> A, Array<V> U, RealOf<V>* s, Array<V> Vh, int* info);
template <class V>
void gesvdj(Handles&, Memory, bool vectors, Array<V> A, Array<V> U, RealOf<V>* s, Array<V> right, int* info);
template <class V>
void gesvdp(Handles&, Memory, bool vectors, Array<V> A, Array<V> U, RealOf<V>* s, Array<V> right, int* info);
/// Up to 32 x 32; U and V square; all strides ld * cols.
template <class V>
void gesvdj_batched(Handles&, Memory, bool vectors, Array<V> A, Array<V> U, RealOf<V>* s, Array<V> right, int* info);

}  // namespace frechet::backend::cuda

#endif
