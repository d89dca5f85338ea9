// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_REDUCTION_HPP
#define FRECHET_BACKENDS_LAPACK_REDUCTION_HPP

#include "householder.hpp"
#include "loops.hpp"
#include "secular.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

// Bidiagonal form by Householder reflectors, as LAPACK's gebrd stores it, with half of its memory traffic (Howell,
// Demmel, Fulton, Hammarling & Marmol 2008, ACM Trans. Math. Softw. 34:14). Step i needs y = tau A^T v and then x = A
// u, two products with all that is left of A, and u comes from y: row r of the reduced matrix less y^T, reflected, is
// r - beta e_1 = (r_0 - beta) u. So A r is summed up while the columns that made r are still in cache, and
// A u = (A r - beta A e_1) / (r_0 - beta), without cancellation in the divisor. Updates wait for the end of a panel:
// the matrix is A - P W^T with P = [v x v x ...] and W = [y u y u ...], one product for both kinds of reflectors.

namespace frechet::backend::lapack {

template <class T>
class Bidiagonalization {
 public:
  /// Scratch entries for m x n, m >= n.
  static std::size_t scratch(int m, int n) {
    const std::size_t M = m, N = n;
    const std::size_t both = 2 * std::size_t(panel(n));
    return both * (M + N) + 2 * both + pieces(n) * M;
  }

  /// A becomes the reflectors, d and e the diagonal and the one above it.
  Bidiagonalization(int m, int n, T* A, int lda, T* d, T* e, T* tauq, T* taup, T* work, const Loop& loop)
      : m_(m), n_(n), lda_(lda), A_(A), d_(d), e_(e), tauq_(tauq), taup_(taup), P_(work), loop_(loop) {
    const std::ptrdiff_t both = 2 * std::ptrdiff_t(panel(n));
    W_ = P_ + both * m;
    less_ = W_ + both * n;
    sums_ = less_ + both;
    Ar_ = sums_ + both;
  }

  void run() {
    const int nb = panel(n_);
    for (int p = 0; p < n_; p += nb) {
      const int k = std::min(nb, n_ - p);
      for (int i = p; i < p + k; ++i) step(i, 2 * (i - p));
      const int rows = m_ - p - k, cols = n_ - p - k, both = 2 * k;
      if (cols == 0) break;
      gemm('N', 'T', rows, cols, both, T(-1), P(p + k, 0), m_, W(p + k, 0), n_, T(1), A(p + k, p + k), lda_);
    }
  }

 private:
  static int panel(int n) { return n <= 256 ? 8 : 16; }  ///< columns, measured

  /// The columns of A go through in pieces, each with a sum A r of its own: their number does not depend on that of
  /// threads, so neither does the result.
  static int width(int n) { return std::max(64, (n / 32 + 7) / 8 * 8); }
  static std::size_t pieces(int n) { return std::size_t((n + width(n) - 1) / width(n)); }

  T* A(int i, int j) const { return A_ + i + std::ptrdiff_t(j) * lda_; }
  T* P(int i, int c) const { return P_ + i + std::ptrdiff_t(c) * m_; }
  T* W(int i, int c) const { return W_ + i + std::ptrdiff_t(c) * n_; }

  /// y -= B w, B with c columns; the entries of w lie `apart`.
  void subtract(int rows, const T* B, int ldb, int c, const T* w, int apart, T* y, int row) {
    subtract_product(rows, B, std::ptrdiff_t(ldb), c, w, std::ptrdiff_t(apart), less_, y, row);
  }

  /// Column and row i; the panel has c columns in P and W so far.
  void step(int i, int c) {
    const int rows = m_ - i, cols = n_ - i - 1;
    T* const column = A(i, i);
    subtract(rows, P(i, 0), m_, c, W(i, 0), n_, column, i);
    reflect(rows, column, tauq_[i]);
    d_[i] = column[0];
    taup_[i] = T(0);
    if (cols == 0) return;
    T *const v = P(i, c), *const x = P(i + 1, c + 1), *const y = W(i + 1, c), *const u = W(i + 1, c + 1);
    v[0] = T(1);
    std::copy_n(column + 1, rows - 1, v + 1);
    // Row i as it is now, but for y, and what y lacks.
    for (int j = 0; j < cols; ++j) u[j] = *A(i, i + 1 + j);
    subtract(cols, W(i + 1, 0), n_, c, P(i, 0), m_, u, i + 1);
    column_dots(rows, v, P(i, 0), std::ptrdiff_t(m_), c, sums_, i);
    std::fill_n(y, cols, T(0));
    subtract(cols, W(i + 1, 0), n_, c, sums_, 1, y, i + 1);
    pass(i, v, y, u, x);
    const T first = u[0];
    reflect(cols, u, taup_[i]);
    const T beta = u[0];
    for (int j = 0; j < cols; ++j) *A(i, i + 1 + j) = u[j];
    e_[i] = beta;
    u[0] = T(1);
    finish(i, c, first, beta, u, x);
  }

  /// y = tau (A^T v + y), u = u - y, x = A u
  void pass(int i, const T* v, T* y, T* u, T* x) {
    constexpr int step = 8;  // columns, so that they stay in cache
    const int rows = m_ - i, cols = n_ - i - 1, wide = width(n_), count = (cols + wide - 1) / wide;
    const T tau = tauq_[i];
    const auto piece = [&](int k) {
      T* const sum = k == 0 ? x : Ar_ + std::ptrdiff_t(k) * m_;
      std::fill_n(sum, rows - 1, T(0));
      const int end = std::min(cols, (k + 1) * wide);
      for (int j = k * wide; j < end; j += step) {
        const int w = std::min(step, end - j);
        T dots[step];
        column_dots(rows, v, A(i, i + 1 + j), std::ptrdiff_t(lda_), w, dots, i);
        for (int l = 0; l < w; ++l) {
          y[j + l] = tau * (dots[l] + y[j + l]);
          u[j + l] -= y[j + l];
        }
        add_columns(rows - 1, A(i + 1, i + 1 + j), std::ptrdiff_t(lda_), w, u + j, sum, i + 1);
      }
    };
    loop_(count, double(rows) * std::min(cols, wide), piece);
    for (int k = 1; k < count; ++k) {
      const T* const sum = Ar_ + std::ptrdiff_t(k) * m_;
      for (int l = 0; l < rows - 1; ++l) x[l] += sum[l];
    }
  }

  /// x = taup (A u - P W^T u), where x is A r.
  void finish(int i, int c, T first, T beta, const T* u, T* x) {
    const int rows = m_ - i - 1, cols = n_ - i - 1;
    const T tau = taup_[i];
    constexpr T least = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    if (tau == T(0)) {
      std::fill_n(x, rows, T(0));
      return;
    }
    if (std::abs(first - beta) > least) {
      const T* const a = A(i + 1, i + 1);
      const T divisor = first - beta;
      for (int l = 0; l < rows; ++l) x[l] = (x[l] - beta * a[l]) / divisor;
    } else {  // what there is of A r may be denormal
      std::fill_n(x, rows, T(0));
      add_columns(rows, A(i + 1, i + 1), std::ptrdiff_t(lda_), cols, u, x, i + 1);
    }
    column_dots(cols, u, W(i + 1, 0), std::ptrdiff_t(n_), c + 1, sums_, i + 1);
    subtract(rows, P(i + 1, 0), m_, c + 1, sums_, 1, x, i + 1);
    scale(rows, tau, x);
  }

  int m_, n_, lda_;
  T *A_, *d_, *e_, *tauq_, *taup_, *P_, *W_, *less_, *sums_, *Ar_;
  const Loop& loop_;
};

}  // namespace frechet::backend::lapack

#endif
