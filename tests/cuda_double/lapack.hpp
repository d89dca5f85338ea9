// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_CUDA_DOUBLE_LAPACK_HPP
#define FRECHET_TESTS_CUDA_DOUBLE_LAPACK_HPP

#include "double.hpp"

#include <lapack/fortran.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

// The work of the double: LAPACK under the vendor's scalar types. Every failure is in the returned info.

namespace frechet::test::cuda_double {

template <class V>
struct ScalarOf {
  using type = V;
};
template <>
struct ScalarOf<cuComplex> {
  using type = Kokkos::complex<float>;
};
template <>
struct ScalarOf<cuDoubleComplex> {
  using type = Kokkos::complex<double>;
};
template <class V>
using Scalar = typename ScalarOf<V>::type;
template <class V>
using Lapack = backend::lapack::Routines<Scalar<V>>;
template <class V>
using Real = std::conditional_t<std::is_same_v<V, float> || std::is_same_v<V, cuComplex>, float, double>;
template <class V>
inline constexpr bool complex = !std::is_same_v<V, Real<V>>;

template <class V>
auto* lapack(V* p) {
  using S = Scalar<std::remove_const_t<V>>;
  return reinterpret_cast<std::conditional_t<std::is_const_v<V>, const S, S>*>(p);  // NOLINT: the same numbers
}

template <class V>
void fill_nan(V* A, int rows, int cols, int ld) {
  for (int j = 0; A && j < cols; ++j)
    for (int i = 0; i < rows; ++i)
      lapack(A)[i + static_cast<std::ptrdiff_t>(j) * ld] = std::numeric_limits<Real<V>>::quiet_NaN();
}

template <class V>
void geqrf(int m, int n, V* A, int lda, V* tau) {
  const int size = 64 * std::max(1, n);
  std::vector<Scalar<V>> work(static_cast<std::size_t>(size));
  int info = 0;
  Lapack<V>::geqrf(&m, &n, lapack(A), &lda, lapack(tau), work.data(), &size, &info);
}

template <class V>
void ungqr(int m, int n, int k, V* A, int lda, const V* tau) {
  const int size = 64 * std::max(1, n);
  std::vector<Scalar<V>> work(static_cast<std::size_t>(size));
  int info = 0;
  Lapack<V>::ungqr(&m, &n, &k, lapack(A), &lda, lapack(tau), work.data(), &size, &info);
}

template <class V>
int heevd(bool vectors, int n, V* A, int lda, Real<V>* w) {
  const char job = vectors ? 'V' : 'N', lower = 'L';
  const int size = 1 + 64 * n + 2 * n * n, rsize = 1 + 5 * n + 2 * n * n, isize = 3 + 5 * n;
  std::vector<Scalar<V>> work(static_cast<std::size_t>(size + 6 * n));
  std::vector<Real<V>> rwork(static_cast<std::size_t>(rsize));
  std::vector<int> iwork(static_cast<std::size_t>(isize));
  const int wsize = static_cast<int>(work.size());
  int info = 0;
  if constexpr (complex<V>)
    Lapack<V>::heevd(&job, &lower, &n, lapack(A), &lda, w, work.data(), &wsize, rwork.data(), &rsize, iwork.data(),
                     &isize, &info, 1, 1);
  else
    Lapack<V>::heevd(&job, &lower, &n, A, &lda, w, work.data(), &wsize, iwork.data(), &isize, &info, 1, 1);
  if (!vectors) fill_nan(A, n, n, lda);
  return info;
}

/// Thin, m >= n: U is m x n, Vh n x n.
template <class V>
int gesdd(bool vectors, int m, int n, V* A, int lda, Real<V>* s, V* U, int ldu, V* Vh, int ldv) {
  const char job = vectors ? 'S' : 'N';
  const int size = 8 * n * n + 64 * (m + n) + 64;
  std::vector<Scalar<V>> work(static_cast<std::size_t>(size));
  std::vector<Real<V>> rwork(static_cast<std::size_t>(5 * n * n + 7 * n + 2 * m * n + 2 * n * n + 1));
  std::vector<int> iwork(static_cast<std::size_t>(8 * n));
  int info = 0;
  if constexpr (complex<V>)
    Lapack<V>::gesdd(&job, &m, &n, lapack(A), &lda, s, lapack(U), &ldu, lapack(Vh), &ldv, work.data(), &size,
                     rwork.data(), iwork.data(), &info, 1);
  else
    Lapack<V>::gesdd(&job, &m, &n, A, &lda, s, U, &ldu, Vh, &ldv, work.data(), &size, iwork.data(), &info, 1);
  fill_nan(A, m, n, lda);
  return info;
}

/// The square matrix in place of its adjoint.
template <class V>
void adjoint_in_place(int n, V* A, int lda) {
  auto* const a = lapack(A);
  const auto conj = [](const auto& x) {
    if constexpr (complex<V>)
      return Kokkos::conj(x);
    else
      return x;
  };
  for (int j = 0; j < n; ++j)
    for (int i = 0; i <= j; ++i) {
      auto &x = a[i + static_cast<std::ptrdiff_t>(j) * lda], &y = a[j + static_cast<std::ptrdiff_t>(i) * lda];
      const auto t = conj(x);
      x = conj(y);
      y = t;
    }
}

}  // namespace frechet::test::cuda_double

#endif
