// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_PIVOTED_HPP
#define FRECHET_BACKENDS_LAPACK_PIVOTED_HPP

#include "householder.hpp"
#include "triangular.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

// LU with partial pivoting by halves of the columns (Toledo 1997, SIAM J. Matrix Anal. Appl. 18:1065): nearly all of it
// is gemm. Pivots, signs and storage are those of getrf.

namespace frechet::backend::lapack {

template <class S>
void copy_matrix(int m, int n, const S* A, int lda, S* B, int ldb) {
  for (int j = 0; j < n; ++j) std::copy_n(A + std::ptrdiff_t(j) * lda, m, B + std::ptrdiff_t(j) * ldb);
}

/// Whether a pivot is denormal: libraries that multiply by its reciprocal (OpenBLAS 0.3.21) leave NaN and Inf then.
template <class S>
bool denormal_pivot(int k, const S* A, int lda) {
  for (int i = 0; i < k; ++i) {
    const Real<S> size = Kokkos::abs(A[i + std::ptrdiff_t(i) * lda]);
    if (size > 0 && size < std::numeric_limits<Real<S>>::min()) return true;
  }
  return false;
}

template <class S>
class PivotedLu {
 public:
  using Blocked = BlockedTrsm<S>;
  static std::size_t scratch(int m, int n) { return Blocked::scratch(std::min(m, n), n) + panel; }

  PivotedLu(S* A, int lda, int* pivots, S* work, const Loop& loop)
      : A_(A), lda_(lda), pivots_(pivots), row_(work), work_(work + panel), loop_(loop) {}

  /// 0, or the number of the first pivot that is zero, counted from one.
  int run(int m, int n) {
    const int k = std::min(m, n);
    factor(m, 0, k);
    if (n > k) {
      exchange(0, k, k, n);
      solve(0, k, n - k);
    }
    return info_;
  }

 private:
  static constexpr int panel = 16;

  S* at(int i, int j) const { return A_ + i + std::ptrdiff_t(j) * lda_; }

  /// Columns [j, j + n) from row j on. Earlier columns get its exchanges from the caller.
  void factor(int m, int j, int n) {
    if (n <= panel) return factor_columns(m, j, n);
    const int h = (n / 2 + panel - 1) / panel * panel, r = n - h;
    factor(m, j, h);
    exchange(j, j + h, j + h, j + n);
    solve(j, h, r);
    const int rows = m - j - h;
    if (rows > 0)
      gemm('N', 'N', rows, r, h, S(-1), at(j + h, j), lda_, at(j, j + h), lda_, S(1), at(j + h, j + h), lda_);
    factor(m, j + h, r);
    exchange(j + h, j + n, j, j + h);
  }

  void factor_columns(int m, int first, int n) {
    const int one = 1;
    for (int j = first; j < first + n; ++j) {
      const int rows = m - j, below = rows - 1;
      const int found = j + Routines<S>::iamax(&rows, at(j, j), &one) - 1;
      const int p = found >= j && found < m ? found : j;  // where there are NaN
      pivots_[j] = p;
      if (p != j)
        for (int c = first; c < first + n; ++c) std::swap(*at(j, c), *at(p, c));
      const S pivot = *at(j, j);
      if (pivot == S(0)) {
        if (info_ == 0) info_ = j + 1;
        continue;
      }
      if (below == 0) continue;
      S* const v = at(j + 1, j);
      if (Kokkos::abs(pivot) >= std::numeric_limits<Real<S>>::min()) {
        const S inverse = S(1) / pivot;
        if constexpr (is_complex<S>)
          for (int i = 0; i < below; ++i) v[i] *= inverse;
        else
          scale(below, inverse, v);
      } else {
        for (int i = 0; i < below; ++i) v[i] /= pivot;
      }
      const int right = first + n - 1 - j;
      for (int c = 0; c < right; ++c) row_[c] = *at(j, j + 1 + c);
      subtract_columns(below, v, at(j + 1, j + 1), lda_, right, row_);
    }
  }

  /// Exchanges [i, end) on columns [from, to).
  void exchange(int i, int end, int from, int to) {
    for (int c = from; c < to; ++c) {
      S* const a = at(0, c);
      for (int s = i; s < end; ++s) std::swap(a[s], a[pivots_[s]]);
    }
  }

  /// The n columns right of the k x k block at j, by its L.
  void solve(int j, int k, int n) {
    const char letters[4] = {'L', 'L', 'N', 'U'};
    const S one(1);
    S* const B = at(j, j + k);
    if (Blocked::pays(k, n))
      Blocked(Side::left, Uplo::lower, Op::none, Diag::unit, letters, at(j, j), lda_, B, lda_, k, n, work_, loop_)
          .run();
    else
      Routines<S>::trsm(&letters[0], &letters[1], &letters[2], &letters[3], &k, &n, &one, at(j, j), &lda_, B, &lda_, 1,
                        1, 1, 1);
  }

  S* A_;
  int lda_;
  int* pivots_;
  S *row_, *work_;
  const Loop& loop_;
  int info_ = 0;
};

}  // namespace frechet::backend::lapack

#endif
