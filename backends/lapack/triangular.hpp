// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_TRIANGULAR_HPP
#define FRECHET_BACKENDS_LAPACK_TRIANGULAR_HPP

#include "fortran.hpp"
#include "loops.hpp"

#include <backend.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

// Triangular solves at the speed of gemm. The trsm of common BLAS libraries runs at half of it at n = 100 .. 1000; here
// small diagonal blocks are inverted first, and all else is gemm, by halves. The residual of a block solved with its
// inverse is larger than that of substitution by up to the condition of the block (Du Croz & Higham 1992, IMA J. Numer.
// Anal. 12:1), so a block whose condition may be large is left to trsm.

namespace frechet::backend::lapack {

/// As for reals (loops.hpp). Largest by |Re| + |Im|.
template <class T>
T invert_triangle(bool lower, int w, Kokkos::complex<T>* D, std::ptrdiff_t ldd) {
  using S = Kokkos::complex<T>;
  T largest = 0;
  for (int step = 0; step < w; ++step) {
    const int j = lower ? w - 1 - step : step, from = lower ? j + 1 : 0, to = lower ? w : j;
    S* const d = D + j * ldd;
    S y[32] = {};
    for (int k = from; k < to; ++k) {
      const S factor = d[k];
      const S* const column = D + k * ldd;
      for (int l = lower ? k : 0; l < (lower ? w : k + 1); ++l) y[l] += column[l] * factor;
    }
    d[j] = S(1) / d[j];
    for (int l = from; l < to; ++l) d[l] = -y[l] * d[j];
    for (int l = 0; l < w; ++l) largest = std::max(largest, std::abs(d[l].real()) + std::abs(d[l].imag()));
  }
  return largest;
}

template <class S>
class BlockedTrsm {
 public:
  using R = Real<S>;

  /// Where this is faster than trsm: order of the triangle, right sides.
  static bool pays(int n, int sides) { return n >= 32 && sides >= 16; }
  /// Scratch entries.
  static std::size_t scratch(int n, int sides) { return std::size_t(block(n)) * (std::size_t(n) + std::size_t(sides)); }

  /// `letters`: side, uplo, op and diag as BLAS has them.
  BlockedTrsm(Side side, Uplo uplo, Op op, Diag diag, const char (&letters)[4], const S* A, int lda, S* B, int ldb,
              int n, int sides, S* work)
      : left_(side == Side::left),
        lower_(uplo == Uplo::lower),
        plain_(op == Op::none),
        unit_(diag == Diag::unit),
        letters_{letters[0], letters[1], letters[2], letters[3]},
        A_(A),
        B_(B),
        lda_(lda),
        ldb_(ldb),
        n_(n),
        sides_(sides),
        nb_(block(n)),
        inverse_(work),
        copy_(work + std::size_t(nb_) * std::size_t(n)) {}

  void run() {
    for (int i = 0; i < n_; i += nb_) invert(i, std::min(nb_, n_ - i));
    solve(0, n_);
  }

 private:
  static constexpr int most = 32;
  static constexpr R hard = R(300);  ///< bound of the condition of a block that is inverted
  static int block(int n) { return n < 384 ? 16 : most; }
  static R size(const S& x) {
    if constexpr (is_complex<S>)
      return std::abs(x.real()) + std::abs(x.imag());
    else
      return std::abs(x);
  }

  S* diagonal(int i) const { return inverse_ + std::size_t(nb_) * std::size_t(i); }
  const S* at(int i, int j) const { return A_ + i + std::ptrdiff_t(j) * lda_; }

  /// The inverse of the diagonal block from i on; its first entry is NaN where trsm has to do it.
  void invert(int i, int w) {
    S* const D = diagonal(i);
    R before = 0;
    for (int j = 0; j < w; ++j) {
      S* const d = D + j * nb_;
      std::fill_n(d, nb_, S(0));
      for (int k = lower_ ? j : 0; k < (lower_ ? w : j + 1); ++k) {
        d[k] = unit_ && k == j ? S(1) : *at(i + k, i + j);
        before = std::max(before, size(d[k]));
      }
    }
    const R after = invert_triangle(lower_, w, D, std::ptrdiff_t(nb_));
    if (!(before * after <= hard)) D[0] = S(std::numeric_limits<R>::quiet_NaN());
  }

  void gemm(char ta, char tb, int m, int n, int k, S alpha, const S* A, int lda, const S* B, int ldb, S beta, S* to,
            int ldc) const {
    Routines<S>::gemm(&ta, &tb, &m, &n, &k, &alpha, A, &lda, B, &ldb, &beta, to, &ldc, 1, 1);
  }

  void solve_block(int i, int w) {
    const S* const D = diagonal(i);
    const S one(1), zero(0);
    S* const b = left_ ? B_ + i : B_ + std::ptrdiff_t(i) * ldb_;
    const int m = left_ ? w : sides_, n = left_ ? sides_ : w;
    if (D[0] != D[0]) {
      Routines<S>::trsm(&letters_[0], &letters_[1], &letters_[2], &letters_[3], &m, &n, &one, at(i, i), &lda_, b, &ldb_,
                        1, 1, 1, 1);
      return;
    }
    for (int j = 0; j < n; ++j) std::copy_n(b + std::ptrdiff_t(j) * ldb_, m, copy_ + std::ptrdiff_t(j) * m);
    if (left_)
      gemm(letters_[2], 'N', m, n, w, one, D, nb_, copy_, m, zero, b, ldb_);
    else
      gemm('N', letters_[2], m, n, w, one, copy_, m, D, nb_, zero, b, ldb_);
  }

  /// Rows (columns) [i, i + w) of B, those that they depend on being done.
  void solve(int i, int w) {
    if (w <= nb_) return solve_block(i, w);
    const int h = (w / 2 + nb_ - 1) / nb_ * nb_, r = w - h;
    // The block of op(A) beside the diagonal: below it where op(A) is lower.
    const S* const off = lower_ ? at(i + h, i) : at(i, i + h);
    const bool forward = (lower_ == plain_) == left_;  // the first half is done first
    const int first = forward ? i : i + h, first_w = forward ? h : r, second = forward ? i + h : i,
              second_w = forward ? r : h;
    solve(first, first_w);
    if (left_)
      gemm(letters_[2], 'N', second_w, sides_, first_w, S(-1), off, lda_, B_ + first, ldb_, S(1), B_ + second, ldb_);
    else
      gemm('N', letters_[2], sides_, second_w, first_w, S(-1), B_ + std::ptrdiff_t(first) * ldb_, ldb_, off, lda_, S(1),
           B_ + std::ptrdiff_t(second) * ldb_, ldb_);
    solve(second, second_w);
  }

  bool left_, lower_, plain_, unit_;
  char letters_[4];
  const S* A_;
  S* B_;
  int lda_, ldb_, n_, sides_, nb_;
  S *inverse_, *copy_;
};

}  // namespace frechet::backend::lapack

#endif
