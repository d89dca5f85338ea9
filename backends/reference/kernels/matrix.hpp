// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_KERNELS_MATRIX_HPP
#define FRECHET_BACKENDS_REFERENCE_KERNELS_MATRIX_HPP

#include "member.hpp"

// One column-major matrix inside a kernel, and what several factorisations need of it.

namespace frechet::backend::reference {

using detail::abs1;
using detail::conj;
using detail::imag;
using detail::make_scalar;
using detail::real;

template <class S>
struct Matrix {
  S* data = nullptr;
  int rows = 0, cols = 0, ld = 1;

  KOKKOS_FUNCTION S& operator()(int i, int j) const { return data[i + std::int64_t(j) * ld]; }
  KOKKOS_FUNCTION S* column(int j) const { return data + std::int64_t(j) * ld; }
  KOKKOS_FUNCTION explicit operator bool() const { return data != nullptr; }
  /// Rows from i and columns from j on.
  KOKKOS_FUNCTION Matrix from(int i, int j) const { return {data + i + std::int64_t(j) * ld, rows - i, cols - j, ld}; }
};

/// Matrix b of a batch; absent stays absent.
template <class S>
KOKKOS_FUNCTION Matrix<S> matrix(const Batch<S>& A, int b) {
  return {A.data ? A.matrix(b) : nullptr, A.rows, A.cols, A.ld};
}

/// Below this a product with a number of order one has lost bits.
template <class S>
inline constexpr Real<S> safe_minimum = Kokkos::Experimental::norm_min_v<Real<S>>;

/// |x|^2
template <class S>
KOKKOS_INLINE_FUNCTION Real<S> square(const S& x) {
  return real(x) * real(x) + imag(x) * imag(x);
}

/// The power of two at or below x, kept where its inverse is a normal number too; 1 for x = 0. Scaling by it is exact.
template <class R>
KOKKOS_INLINE_FUNCTION R power_of_two(R x) {
  if (x == R(0)) return R(1);
  const R low = R(4) * safe_minimum<R>;
  return Kokkos::exp2(Kokkos::logb(x < low ? low : x > 1 / low ? 1 / low : x));
}

/// max |x(i)|_1 over n entries; NaN if one of them is.
template <class Member, class S>
KOKKOS_FUNCTION Real<S> largest_entry(const Member& member, int n, const S* x) {
  using Largest = detail::Max<Real<S>>;
  return member.template reduce<Largest>(n, [&](int i, Largest& acc) { acc.add(abs1(x[i])); }).value();
}

/// |x|_2, free of overflow and underflow.
template <class Member, class S>
KOKKOS_FUNCTION Real<S> norm(const Member& member, int n, const S* x) {
  using Squares = detail::Sum<Real<S>>;
  const Real<S> scale = power_of_two(largest_entry(member, n, x)), inverse = 1 / scale;
  const auto squares =
      member.template reduce<Squares>(n, [&](int i, Squares& acc) { acc.add(square(inverse * x[i])); });
  return scale * Kokkos::sqrt(squares.value);
}

template <class Member, class S>
KOKKOS_FUNCTION void swap(const Member& member, int n, S* x, S* y) {
  member.each(n, [&](int i) {
    const S xi = x[i];
    x[i] = y[i];
    y[i] = xi;
  });
}

template <class Member, class S>
KOKKOS_FUNCTION void fill(const Member& member, const Matrix<S>& A, S value) {
  member.threads(A.cols, [&](const auto& lanes, int j) { lanes.each(A.rows, [&](int i) { A(i, j) = value; }); });
}

/// B = A
template <class Member, class S>
KOKKOS_FUNCTION void copy(const Member& member, const Matrix<const S>& A, const Matrix<S>& B) {
  member.threads(B.cols, [&](const auto& lanes, int j) { lanes.each(B.rows, [&](int i) { B(i, j) = A(i, j); }); });
}

template <class Member, class S>
KOKKOS_FUNCTION void set_identity(const Member& member, const Matrix<S>& A) {
  member.threads(A.cols,
                 [&](const auto& lanes, int j) { lanes.each(A.rows, [&](int i) { A(i, j) = i == j ? S(1) : S(0); }); });
}

/// A value and where it stands; the first of equal ones wins.
template <class R>
struct Located {
  R value = -Kokkos::Experimental::infinity_v<R>;
  int index = Kokkos::Experimental::finite_max_v<int>;

  KOKKOS_FUNCTION void add(R x, int i) {
    if (x > value || (x == value && i < index)) {
      value = x;
      index = i;
    }
  }
  KOKKOS_FUNCTION void join(const Located& other) { add(other.value, other.index); }
};

/// Index of the largest key(i) in [0, n); NaN never counts, and 0 if nothing does.
template <class Member, class Key>
KOKKOS_FUNCTION auto locate_largest(const Member& member, int n, const Key& key) {
  using Largest = Located<decltype(key(0))>;
  auto found = member.template reduce<Largest>(n, [&](int i, Largest& acc) { acc.add(key(i), i); });
  if (found.index >= n) found.index = 0;
  return found;
}

}  // namespace frechet::backend::reference

#endif
