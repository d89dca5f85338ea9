// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_TRIDIAGONAL_HPP
#define FRECHET_BACKENDS_LAPACK_TRIDIAGONAL_HPP

#include "fortran.hpp"
#include "merge.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

// Eigenvalues and eigenvectors of a symmetric tridiagonal matrix by divide and conquer (Cuppen 1981, Numer. Math.
// 36:177; orthogonal vectors after Gu & Eisenstat 1995, SIAM J. Matrix Anal. Appl. 16:172). T = diag(T1, T2) + rho u
// u^T leaves, with T1 and T2 solved, a diagonal matrix plus a rank-one term; entries of z that are negligible and poles
// that are equal to working precision are deflated. Vectors of T1 and T2 reach the product as they are: as two blocks.

namespace frechet::backend::lapack {

template <class T>
class Tridiagonal {
 public:
  static std::size_t scratch(int n) { return Merge<T>::scratch(n); }
  static std::size_t integer_scratch(int n) { return Merge<T>::integer_scratch(n) + std::size_t(n); }

  /// d: diagonal, e: n - 1 entries beside it, none larger than about one; both are overwritten. Z: n x n, any contents.
  Tridiagonal(int n, T* d, T* e, T* Z, int ldz, T* work, int* iwork, const Loop& loop)
      : d_(d), e_(e), Z_(Z), work_(work), ldz_(ldz), order_(iwork), merge_(n, work, iwork + n, loop) {
    for (int j = 0; j < n; ++j) std::fill_n(column(j), n, T(0));
  }

  /// Eigenvalues in d, eigenvectors in the columns of Z, ascending in the order of order(). 0, or > 0 where an
  /// iteration failed.
  int solve(int n) { return solve(0, n); }
  const int* order() const { return order_; }

 private:
  static constexpr int leaf = 24;

  T* column(int j) const { return Z_ + std::ptrdiff_t(j) * ldz_; }

  int solve(int at, int n) {
    if (n <= leaf) {
      int info = 0;
      const char identity = 'I';
      RealRoutines<T>::steqr(&identity, &n, d_ + at, e_ + at, column(at) + at, &ldz_, work_, &info, 1);
      std::iota(order_ + at, order_ + at + n, 0);
      return info;
    }
    const int n1 = n / 2, middle = at + n1;
    const T off = e_[middle - 1];
    d_[middle - 1] -= std::abs(off);
    d_[middle] -= std::abs(off);
    int info = solve(at, n1);
    if (info == 0) info = solve(middle, n - n1);
    if (info == 0) info = merge(at, n1, n - n1, off);
    return info;
  }

  /// The matrix at `at` from its two halves.
  int merge(int at, int n1, int n2, T off) {
    const int n = n1 + n2;
    T *const d = d_ + at, *const Q = column(at) + at;
    int* const order = order_ + at;
    const T half = std::sqrt(T(0.5)), rho = 2 * std::abs(off);
    T largest = 0;
    for (int j = 0; j < n; ++j) {
      const T* const q = Q + std::ptrdiff_t(j) * ldz_;
      merge_.z[j] = (j < n1 ? q[n1 - 1] : std::copysign(T(1), off) * q[n1]) * half;
      merge_.type[j] = j < n1 ? top : bottom;
      largest = std::max({largest, std::abs(d[j]), std::abs(merge_.z[j])});
      if (j >= n1) order[j] += n1;
    }
    const auto ascending = [&](int a, int b) { return d[a] < d[b]; };
    std::merge(order, order + n1, order + n1, order + n, merge_.sorted, ascending);
    const int k = deflate(n, Q, d, rho, 8 * Merge<T>::eps * largest), gone = n - k;
    if (k == 0) {
      std::sort(merge_.gone, merge_.gone + n, ascending);
      std::copy_n(merge_.gone, n, order);
      return 0;
    }
    merge_.group(k, gone, d);
    merge_.pack(n1, n2, Q, ldz_);
    for (int a = 0; a < k; ++a) {
      merge_.poles[a] = d[merge_.kept[a]];
      merge_.kept_z[a] = merge_.z[merge_.kept[a]];
    }
    for (int g = 0; g < gone; ++g) merge_.z[g] = d[merge_.gone[g]];
    std::copy_n(merge_.z, gone, d + k);
    if (!merge_.template roots<false>(k, rho, [&](int j, int p, T mu) { d[j] = merge_.poles[p] + mu; })) return 1;
    merge_.vectors(Q, ldz_, [](int, T) {});
    merge_.multiply(n1, n2, Q, ldz_);
    std::iota(order, order + n, 0);
    std::inplace_merge(order, order + k, order + n, ascending);
    return 0;
  }

  /// Fills merge_.kept and merge_.gone; the number of the former.
  int deflate(int n, T* Q, T* d, T rho, T tolerance) {
    const auto negligible = [&](int j) { return rho * std::abs(merge_.z[j]) <= tolerance; };
    const auto close = [&](int i, int j, T c, T s) { return std::abs((d[j] - d[i]) * c * s) <= tolerance; };
    const auto turn = [&](int i, int j, T c, T s) {
      rotate(n, Q + std::ptrdiff_t(i) * ldz_, Q + std::ptrdiff_t(j) * ldz_, c, s);
      const T x = d[i] * c * c + d[j] * s * s;
      d[j] = d[i] * s * s + d[j] * c * c;
      d[i] = x;
    };
    return merge_.deflate(0, n, negligible, close, turn);
  }

  T *d_, *e_, *Z_, *work_;
  int ldz_;
  int* order_;
  Merge<T> merge_;
};

}  // namespace frechet::backend::lapack

#endif
