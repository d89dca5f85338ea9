// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_BIDIAGONAL_HPP
#define FRECHET_BACKENDS_LAPACK_BIDIAGONAL_HPP

#include "merge.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

// Singular values and vectors of an upper bidiagonal matrix by divide and conquer (Gu & Eisenstat 1995, SIAM J. Matrix
// Anal. Appl. 16:79). The middle row is taken out: B = diag(U1, 1, U2) M diag(V1, V2)^T, where the upper part has a
// column more than rows, and M has the singular values of both parts on its diagonal and one full row z. Its singular
// values are the roots of a secular equation with poles d_i^2, one of them zero.

namespace frechet::backend::lapack {

template <class T>
class Bidiagonal {
 public:
  static std::size_t scratch(int n) { return Merge<T>::scratch(n + 1) + std::size_t(n) + 1; }
  static std::size_t integer_scratch(int n) { return Merge<T>::integer_scratch(n + 1) + std::size_t(n); }

  /// d: diagonal, e: n - 1 entries above it, none larger than about one; both are overwritten. U, V: n x n, any
  /// contents.
  Bidiagonal(int n, T* d, T* e, T* U, int ldu, T* V, int ldv, T* work, int* iwork, const Loop& loop)
      : d_(d),
        e_(e),
        U_(U),
        V_(V),
        norms_(work),
        work_(work + n + 1),
        ldu_(ldu),
        ldv_(ldv),
        order_(iwork),
        merge_(n + 1, work_, iwork + n, loop) {
    for (int j = 0; j < n; ++j) {
      std::fill_n(U_ + std::ptrdiff_t(j) * ldu_, n, T(0));
      std::fill_n(V_ + std::ptrdiff_t(j) * ldv_, n, T(0));
    }
  }

  /// Singular values in d, vectors in the columns of U and V, ascending in the order of order(). 0, or > 0 where an
  /// iteration failed.
  int solve(int n) { return solve(0, n, 0); }
  const int* order() const { return order_; }

 private:
  static constexpr int leaf = 24;

  /// Rows [at, at + n), which have `more` (0 or 1) columns more.
  int solve(int at, int n, int more) {
    T *const U = U_ + at + std::ptrdiff_t(at) * ldu_, *const V = V_ + at + std::ptrdiff_t(at) * ldv_;
    if (n <= leaf) return solve_leaf(n, more, d_ + at, e_ + at, U, V, order_ + at);
    const int left = n / 2, right = n - left - 1;
    int info = solve(at, left, 1);
    if (info == 0) info = solve(at + left + 1, right, more);
    if (info == 0) info = merge(left, right, more, d_ + at, e_ + at, U, V, order_ + at);
    return info;
  }

  int solve_leaf(int n, int more, T* d, T* e, T* U, T* V, int* order) {
    const int cols = n + more, zero = 0;
    for (int j = 0; j < n; ++j) U[j + std::ptrdiff_t(j) * ldu_] = 1;
    T *const Vt = work_, *const work = Vt + std::size_t(cols) * std::size_t(cols);
    std::fill_n(Vt, cols * cols, T(0));
    for (int j = 0; j < cols; ++j) Vt[j + j * cols] = 1;
    const char upper = 'U';
    int info = 0;
    T none;
    const int one = 1;
    RealRoutines<T>::lasdq(&upper, &more, &n, &cols, &n, &zero, d, e, Vt, &cols, U, &ldu_, &none, &one, work, &info, 1);
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < cols; ++i) V[i + std::ptrdiff_t(j) * ldv_] = Vt[j + i * cols];
    std::iota(order, order + n, 0);
    std::sort(order, order + n, [&](int a, int b) { return d[a] < d[b]; });
    return info;
  }

  int merge(int left, int right, int more, T* d, T* e, T* U, T* V, int* order) {
    const int n = left + right + 1, n1 = left + 1, n2 = right + more;
    T *const z = merge_.z, alpha = d[left], beta = e[left], size = std::max(std::abs(alpha), std::abs(beta));
    for (int j = 0; j < n; ++j)
      if (j != left) size = std::max(size, d[j]);
    const T unit = size > 0 ? size : T(1), tolerance = 8 * Merge<T>::eps;
    for (int j = 0; j < n; ++j) {
      const T* const v = V + std::ptrdiff_t(j) * ldv_;
      z[j] = (j <= left ? alpha * v[left] : beta * v[n1]) / unit;
      d[j] = j == left ? T(0) : d[j] / unit;
      merge_.type[j] = j <= left ? top : bottom;
      if (j > left) order[j] += n1;
    }
    merge_first(left, n, n1, n2, more, beta / unit, tolerance, U, V);
    const auto ascending = [&](int a, int b) { return d[a] < d[b]; };
    std::merge(order, order + left, order + n1, order + n, merge_.sorted, ascending);
    const int k = deflate(left, n, n + more, d, tolerance, U, V), gone = n - k;
    merge_.group(k, gone, d);
    merge_.pack(n1, n2, V, ldv_);
    for (int a = 0; a < k; ++a) {
      merge_.poles[a] = d[merge_.kept[a]];
      merge_.kept_z[a] = z[merge_.kept[a]];
    }
    if (k > 1) merge_.poles[1] = std::max(merge_.poles[1], tolerance / 2);
    for (int g = 0; g < gone; ++g) z[g] = d[merge_.gone[g]];
    std::copy_n(z, gone, d + k);
    const auto value = [&](int j, int p, T mu) {
      const T pole = merge_.poles[p];
      d[j] = pole + mu / (pole + std::sqrt(pole * pole + mu));
    };
    if (!merge_.template roots<true>(k, T(1), value)) return 1;
    for (int j = 0; j < n; ++j) d[j] *= size;
    merge_.vectors(V, ldv_, [&](int j, T norm) { norms_[j] = norm; });
    merge_.multiply(n1, n2, V, ldv_);
    merge_.pack(n1, right, U, ldu_);
    merge_.left_vectors(norms_, U);
    merge_.multiply(n1, right, U, ldu_);
    std::iota(order, order + n, 0);
    std::inplace_merge(order, order + k, order + n, ascending);
    return 0;
  }

  /// The column that belongs to the pole zero: that of the upper block's V which has no singular value, turned with
  /// the one of the lower block where there is one. Left, the middle row is a vector of its own.
  void merge_first(int left, int n, int n1, int n2, int more, T beta, T tolerance, T* U, T* V) {
    T& z = merge_.z[left];
    U[left + std::ptrdiff_t(left) * ldu_] = 1;
    if (more != 0) {
      T *const x = V + std::ptrdiff_t(left) * ldv_, *const y = V + std::ptrdiff_t(n) * ldv_;
      const T other = beta * y[n1], length = std::hypot(z, other);
      if (length > tolerance) {
        rotate(n1 + n2, x, y, z / length, other / length);
        merge_.type[left] = both;
      }
      z = length;
    }
    if (std::abs(z) <= tolerance) z = tolerance;
  }

  /// Fills merge_.kept, first of all the pole zero, and merge_.gone; the number of the former.
  int deflate(int left, int n, int rows, const T* d, T tolerance, T* U, T* V) {
    merge_.kept[0] = left;
    const auto negligible = [&](int j) { return std::abs(merge_.z[j]) <= tolerance; };
    const auto close = [&](int i, int j, T, T) { return std::abs(d[j] - d[i]) <= tolerance; };
    const auto turn = [&](int i, int j, T c, T s) {
      rotate(n, U + std::ptrdiff_t(i) * ldu_, U + std::ptrdiff_t(j) * ldu_, c, s);
      rotate(rows, V + std::ptrdiff_t(i) * ldv_, V + std::ptrdiff_t(j) * ldv_, c, s);
    };
    return merge_.deflate(1, n - 1, negligible, close, turn);
  }

  T *d_, *e_, *U_, *V_, *norms_, *work_;
  int ldu_, ldv_;
  int* order_;
  Merge<T> merge_;
};

}  // namespace frechet::backend::lapack

#endif
