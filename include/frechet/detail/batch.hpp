// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_DETAIL_BATCH_HPP
#define FRECHET_DETAIL_BATCH_HPP

#include <frechet/dual.hpp>

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
  Strided transposed() const { return {data, cols, rows, count, col_stride, row_stride, batch_stride}; }
  /// Rows [i, i + m) and columns [j, j + n) of every matrix.
  Strided block(int i, int j, int m, int n) const {
    return {data ? data + i * row_stride + j * col_stride : nullptr, m, n, count, row_stride, col_stride, batch_stride};
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

// Matrices of dual numbers: their values and their tangents are matrices of their own, so that the kernels of a backend
// work on each. Absent tangents count as zero. With them the text of a rule, written for Batch<S>, serves S = Dual too.

/// Constness of D moved to what it is a dual number of.
template <class D>
struct PartOf {
  using type = std::remove_cvref_t<decltype(D::value)>;
};
template <class D>
struct PartOf<const D> {
  using type = const std::remove_cvref_t<decltype(D::value)>;
};

template <class D>
requires is_dual<D>
struct Strided<D> {
  using Part = typename PartOf<D>::type;
  Strided<Part> value, tangent;
  int rows = 0, cols = 0, count = 0;

  Strided() = default;
  Strided(const Strided<Part>& v, const Strided<Part>& t)
      : value(v), tangent(t), rows(v.rows), cols(v.cols), count(v.count) {}

  KOKKOS_FUNCTION auto operator()(int b, int i, int j) const {
    if constexpr (std::is_const_v<D>)
      return tangent ? Dual<std::remove_const_t<Part>>(value(b, i, j), tangent(b, i, j))
                     : Dual<std::remove_const_t<Part>>(value(b, i, j));
    else
      return DualRef<Part>(value(b, i, j), tangent ? &tangent(b, i, j) : nullptr);
  }
  KOKKOS_FUNCTION explicit operator bool() const { return bool(value); }
  template <class T>
  requires(!std::is_const_v<D> && std::is_same_v<T, const D>) operator Strided<T>() const { return {value, tangent}; }
  Strided transposed() const { return {value.transposed(), tangent.transposed()}; }
  Strided block(int i, int j, int m, int n) const { return {value.block(i, j, m, n), tangent.block(i, j, m, n)}; }
};

template <class D>
requires is_dual<D>
struct Batch<D> {
  using Part = typename PartOf<D>::type;
  Batch<Part> value, tangent;
  int rows = 0, cols = 0, count = 0;

  Batch() = default;
  Batch(const Batch<Part>& v, const Batch<Part>& t)
      : value(v), tangent(t), rows(v.rows), cols(v.cols), count(v.count) {}

  KOKKOS_FUNCTION auto operator()(int b, int i, int j) const {
    if constexpr (std::is_const_v<D>)
      return tangent ? Dual<std::remove_const_t<Part>>(value(b, i, j), tangent(b, i, j))
                     : Dual<std::remove_const_t<Part>>(value(b, i, j));
    else
      return DualRef<Part>(value(b, i, j), tangent ? &tangent(b, i, j) : nullptr);
  }
  KOKKOS_FUNCTION explicit operator bool() const { return bool(value); }
  template <class T>
  requires(!std::is_const_v<D> && std::is_same_v<T, const D>) operator Batch<T>() const { return {value, tangent}; }
  Batch block(int i, int j, int m, int n) const { return {value.block(i, j, m, n), tangent.block(i, j, m, n)}; }
  Strided<D> strided() const { return {value.strided(), tangent.strided()}; }
};

/// The values of a matrix, of dual numbers or not.
template <class S>
const Batch<S>& values_of(const Batch<S>& A) {
  return A;
}
template <class S>
requires is_dual<S>
auto values_of(const Batch<S>& A) { return A.value; }

}  // namespace frechet::detail

#endif
