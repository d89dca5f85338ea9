// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_DETAIL_BATCH_HPP
#define FRECHET_DETAIL_BATCH_HPP

#include <frechet/types.hpp>

#include <cstdint>

namespace frechet::detail {

/// Matrices as the user stores them: any strides. Vectors are matrices of one column. data == nullptr: absent.
template <class S>
struct Strided {
  S* data = nullptr;
  int rows = 0, cols = 0, count = 0;
  std::int64_t row_stride = 1, col_stride = 1, batch_stride = 0;

  KOKKOS_FUNCTION S& operator()(int b, int i, int j) const {
    return data[b * batch_stride + i * row_stride + j * col_stride];
  }
  KOKKOS_FUNCTION explicit operator bool() const { return data != nullptr; }
  template <class T>
  requires(!std::is_const_v<S> && std::is_same_v<T, const S>) operator Strided<T>() const {
    return {data, rows, cols, count, row_stride, col_stride, batch_stride};
  }
};

/// The normal form: a batch of column-major matrices with leading dimension ld >= max(1, rows). Shallow, like a View.
template <class S>
struct Batch {
  S* data = nullptr;
  int rows = 0, cols = 0, ld = 1, count = 0;
  std::int64_t stride = 0;  ///< distance of one matrix to the next; 0 repeats one matrix over the batch (inputs only)

  KOKKOS_FUNCTION S& operator()(int b, int i, int j) const { return data[b * stride + i + std::int64_t(j) * ld]; }
  /// Matrix b of the batch.
  KOKKOS_FUNCTION S* matrix(int b) const { return data + b * stride; }
  KOKKOS_FUNCTION explicit operator bool() const { return data != nullptr; }
  template <class T>
  requires(!std::is_const_v<S> && std::is_same_v<T, const S>) operator Batch<T>() const {
    return {data, rows, cols, ld, count, stride};
  }
  /// Rows [i, i + m) and columns [j, j + n) of every matrix.
  Batch block(int i, int j, int m, int n) const {
    return {data ? data + i + std::int64_t(j) * ld : nullptr, m, n, ld, count, stride};
  }
  /// Matrices [b, b + n) of the batch.
  Batch part(int b, int n) const { return {data ? data + b * stride : nullptr, rows, cols, ld, n, stride}; }
  Strided<S> strided() const { return {data, rows, cols, count, 1, ld, stride}; }
};

}  // namespace frechet::detail

#endif
