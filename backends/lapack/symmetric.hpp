// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_SYMMETRIC_HPP
#define FRECHET_BACKENDS_LAPACK_SYMMETRIC_HPP

#include "householder.hpp"
#include "loops.hpp"
#include "products.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cstddef>

// Tridiagonal form of a real symmetric matrix by Householder reflectors, as LAPACK's sytrd stores it with its lower
// triangle (Dongarra, Sorensen & Hammarling 1989, J. Comput. Appl. Math. 27:215). Half of it is products w = A v with
// all that is left of A. Each entry of the triangle is read once, for both sides of the diagonal, by threads with sums
// of their own. Updates wait for the end of a panel: the matrix is A - P Q^T with P = [v w v w ...] and Q = [w v w v
// ...].

namespace frechet::backend::lapack {

template <class T>
class Tridiagonalization {
 public:
  /// Scratch entries for order n.
  static std::size_t scratch(int n) {
    const std::size_t both = 2 * std::size_t(panel(n));
    return (2 * both + pairs(n)) * std::size_t(n) + 2 * both;
  }

  /// The lower triangle of A becomes the reflectors, d and e the diagonal and the one below it.
  Tridiagonalization(int n, T* A, int lda, T* d, T* e, T* tau, T* work, const Loop& loop)
      : n_(n), lda_(lda), A_(A), d_(d), e_(e), tau_(tau), P_(work), loop_(loop) {
    const std::ptrdiff_t both = 2 * std::ptrdiff_t(panel(n));
    Q_ = P_ + both * n;
    less_ = Q_ + both * n;
    dots_ = less_ + both;
    sums_ = dots_ + both;
  }

  void run() {
    const int nb = panel(n_);
    for (int p = 0; p < n_; p += nb) {
      const int k = std::min(nb, n_ - p);
      for (int i = p; i < p + k; ++i) step(i, 2 * (i - p));
      update(p + k, 2 * k);
    }
  }

 private:
  static int panel(int n) { return n <= 256 ? 8 : 16; }  ///< columns

  /// Columns go through in blocks, the first with the last and so on: each such pair is as much work as any other, and
  /// has a sum of its own. Their number does not depend on that of threads, so neither does the result.
  static int width(int n) { return std::max(64, (n / 32 + 7) / 8 * 8); }
  static int blocks(int n) { return (n + width(n) - 1) / width(n); }
  static std::size_t pairs(int n) { return std::size_t((blocks(n) + 1) / 2); }

  T* A(int i, int j) const { return A_ + i + std::ptrdiff_t(j) * lda_; }
  T* P(int i, int c) const { return P_ + i + std::ptrdiff_t(c) * n_; }
  T* Q(int i, int c) const { return Q_ + i + std::ptrdiff_t(c) * n_; }

  /// Column i; the panel has c columns in P and Q so far.
  void step(int i, int c) {
    T* const column = A(i, i);
    subtract_product(n_ - i, P(i, 0), std::ptrdiff_t(n_), c, Q(i, 0), std::ptrdiff_t(n_), less_, column, i);
    d_[i] = column[0];
    const int rows = n_ - i - 1;
    if (rows == 0) return;
    reflect(rows, column + 1, tau_[i]);
    e_[i] = column[1];
    T *const v = P(i + 1, c), *const w = P(i + 1, c + 1);
    v[0] = T(1);
    std::copy_n(column + 2, rows - 1, v + 1);
    multiply(i + 1, v, w);
    column_dots(rows, v, P(i + 1, 0), std::ptrdiff_t(n_), c, dots_, i + 1);
    for (int l = 0; l < c; l += 2) std::swap(dots_[l], dots_[l + 1]);  // Q^T v
    subtract_product(rows, P(i + 1, 0), std::ptrdiff_t(n_), c, dots_, 1, less_, w, i + 1);
    // H A H = A - v w^T - w v^T with w = tau A v - (tau / 2) (tau A v)^T v v
    scale(rows, tau_[i], w);
    T along;
    column_dots(rows, v, w, std::ptrdiff_t(n_), 1, &along);
    along *= tau_[i] / 2;
    subtract_columns(rows, v, w, std::ptrdiff_t(n_), 1, &along);
    std::copy_n(w, rows, Q(i + 1, c));
    std::copy_n(v, rows, Q(i + 1, c + 1));
  }

  /// w = A v for rows and columns from i on.
  void multiply(int i, const T* v, T* w) {
    const int n = n_ - i, wide = width(n_), count = (n + wide - 1) / wide, both = (count + 1) / 2;
    const auto pair = [&](int k) {
      T* const sum = k == 0 ? w : sums_ + std::ptrdiff_t(k) * n_;
      std::fill_n(sum, n, T(0));
      for (const int block : {k, count - 1 - k}) {
        const int j = block * wide;
        add_symmetric(n - j, A(i + j, i + j), std::ptrdiff_t(lda_), std::min(wide, n - j), v + j, sum + j, i + j);
        if (block == count - 1 - k) break;  // the one in the middle is no pair
      }
    };
    loop_(both, 2.0 * n * std::min(n, wide), pair);
    for (int k = 1; k < both; ++k) {
      const T* const sum = sums_ + std::ptrdiff_t(k) * n_;
      for (int l = 0; l < n; ++l) w[l] += sum[l];
    }
  }

  /// The lower triangle from row i on, less P Q^T with c columns.
  void update(int i, int c) {
    const int wide = std::max(64, (n_ - i) / 8);
    for (int j = i; j < n_; j += wide)
      gemm('N', 'T', n_ - j, std::min(wide, n_ - j), c, T(-1), P(j, 0), n_, Q(j, 0), n_, T(1), A(j, j), lda_);
  }

  int n_, lda_;
  T *A_, *d_, *e_, *tau_, *P_, *Q_, *less_, *dots_, *sums_;
  const Loop& loop_;
};

}  // namespace frechet::backend::lapack

#endif
