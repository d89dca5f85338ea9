// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_TRIANGULAR_HPP
#define FRECHET_BACKENDS_LAPACK_TRIANGULAR_HPP

#include "fortran.hpp"
#include "loops.hpp"
#include "products.hpp"
#include "threads.hpp"
#include "tiles.hpp"

#include <backend.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

// Triangular solves at the speed of gemm. The trsm of common BLAS libraries runs at half of it at n = 100 .. 1000; here
// tiles on the diagonal are inverted first, and all else is gemm, by halves: that of the library, and within blocks of
// reals, where it is slow, that of tiles.hpp. The residual of a tile solved with its inverse is larger than that of
// substitution by up to the condition of the tile (Du Croz & Higham 1992, IMA J. Numer. Anal. 12:1), so a block with a
// tile whose condition may be large is left to trsm.

namespace frechet::backend::lapack {

/// As for reals (loops.hpp), by |Re| + |Im|.
template <class T>
T invert_triangle(bool lower, int w, Kokkos::complex<T>* D, std::ptrdiff_t ldd) {
  using S = Kokkos::complex<T>;
  const auto size = [](const S& x) { return std::abs(x.real()) + std::abs(x.imag()); };
  T before = 0, after = 0;
  for (int step = 0; step < w; ++step) {
    const int j = lower ? w - 1 - step : step, from = lower ? j + 1 : 0, to = lower ? w : j;
    S* const d = D + j * ldd;
    for (int l = 0; l < w; ++l) before = std::max(before, size(d[l]));
    S y[32] = {};
    for (int k = from; k < to; ++k) {
      const S factor = d[k];
      const S* const column = D + k * ldd;
      for (int l = lower ? k : 0; l < (lower ? w : k + 1); ++l) y[l] += column[l] * factor;
    }
    d[j] = S(1) / d[j];
    for (int l = from; l < to; ++l) d[l] = -y[l] * d[j];
    for (int l = 0; l < w; ++l) after = std::max(after, size(d[l]));
  }
  return before * after;
}

template <class S>
class BlockedTrsm {
 public:
  using R = Real<S>;

  /// Where this is faster than trsm: order of the triangle, right sides.
  static bool pays(int n, int sides) { return n >= (is_complex<S> ? 32 : tile) && sides >= tile; }
  /// Scratch entries, enough for any smaller triangle as well (their blocks may be larger).
  static std::size_t scratch(int n, int sides) {
    const std::size_t w = is_complex<S> ? block(n) : std::min(whole_tiles(n), largest_packed);
    return w * w + (is_complex<S> ? w * std::size_t(sides) : 0);
  }

  /// `letters`: side, uplo, op and diag as BLAS has them.
  BlockedTrsm(Side side, Uplo uplo, Op op, Diag diag, const char (&letters)[4], const S* A, int lda, S* B, int ldb,
              int n, int sides, S* work, const Loop& loop)
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
        work_(work),
        loop_(loop) {}

  void run() { solve(0, n_); }

 private:
  static constexpr R hard = R(300);  ///< bound of the condition of a tile that is inverted

  /// Order of the blocks: of reals at most that of packed triangles, as even as whole tiles allow.
  static int block(int n) {
    if constexpr (is_complex<S>) return n < 384 ? 16 : 32;
    const int parts = (n + largest_packed - 1) / largest_packed;
    return whole_tiles((n + parts - 1) / parts);
  }

  const S* at(int i, int j) const { return A_ + i + std::ptrdiff_t(j) * lda_; }
  S* side(int i) const { return left_ ? B_ + i : B_ + std::ptrdiff_t(i) * ldb_; }

  /// D = the inverse of the triangle of order w, or of its transpose, at i; false where it has to be left to trsm.
  bool invert(int i, int w, bool transposed, S* D, int ldd) const {
    for (int j = 0; j < w; ++j) {
      const S* const column = at(i, i + j);
      const int from = lower_ ? j : 0, to = lower_ ? w : j + 1;
      if (transposed)
        for (int k = from; k < to; ++k) D[j + k * ldd] = column[k];
      else
        std::copy(column + from, column + to, D + from + j * ldd);
      if (unit_) D[j + j * ldd] = S(1);
    }
    return invert_triangle(lower_ != transposed, w, D, std::ptrdiff_t(ldd)) <= hard;
  }

  /// Packs the triangle L of tiles.hpp; false where it has to be left to trsm.
  bool pack(int i, int w, bool transposed, bool lower) const {
    const int padded = whole_tiles(w);
    for (int p = 0; p < w; p += tile) {
      S* const panel = work_ + p * padded;
      const int m = std::min(tile, w - p);
      for (int q = lower ? 0 : p + tile; q < (lower ? p : w); q += tile)
        pack_tile(transposed, m, std::min(tile, w - q), transposed ? at(i + q, i + p) : at(i + p, i + q),
                  std::ptrdiff_t(lda_), panel + q * tile);
      std::fill_n(panel + p * tile, tile * tile, S(0));
      if (!invert(i + p, m, transposed, panel + p * tile, tile)) return false;
    }
    return true;
  }

  void solve_block(int i, int w) {
    S* const b = side(i);
    const int m = left_ ? w : sides_, n = left_ ? sides_ : w;
    if constexpr (is_complex<S>) {
      std::fill_n(work_, nb_ * nb_, S(0));
      if (invert(i, w, false, work_, nb_)) {
        const S one(1), zero(0);
        S* const copy = work_ + nb_ * nb_;
        for (int j = 0; j < n; ++j) std::copy_n(b + std::ptrdiff_t(j) * ldb_, m, copy + std::ptrdiff_t(j) * m);
        if (left_)
          gemm(letters_[2], 'N', m, n, w, one, work_, nb_, copy, m, zero, b, ldb_);
        else
          gemm('N', letters_[2], m, n, w, one, copy, m, work_, nb_, zero, b, ldb_);
        return;
      }
    } else {
      const bool transposed = left_ != plain_, lower = lower_ != transposed;
      if (pack(i, w, transposed, lower)) {
        constexpr int wide =
            32;  // sides of one piece; eight of its operations take the time of one in Loop's other uses
        const std::ptrdiff_t apart = left_ ? ldb_ : 1;
        loop_((sides_ + wide - 1) / wide, double(w) * w * wide / 8, [&](int piece) {
          const int first = piece * wide;
          solve_packed(left_, lower, w, work_, b + first * apart, std::ptrdiff_t(ldb_), std::min(wide, sides_ - first));
        });
        return;
      }
    }
    const S one(1);
    Routines<S>::trsm(&letters_[0], &letters_[1], &letters_[2], &letters_[3], &m, &n, &one, at(i, i), &lda_, b, &ldb_,
                      1, 1, 1, 1);
  }

  /// Rows (columns) [i, i + w) of B, those that they depend on being done.
  void solve(int i, int w) {
    // What does not fill a tile of reals goes alone: gemm beside it costs less than filling up.
    const bool odd = !is_complex<S> && w > tile && w % tile != 0;
    if (w <= nb_ && !odd) return solve_block(i, w);
    const int h = w <= nb_ ? w / tile * tile : (w / 2 + nb_ - 1) / nb_ * nb_, r = w - h;
    // The block of op(A) beside the diagonal: below it where op(A) is lower.
    const S* const off = lower_ ? at(i + h, i) : at(i, i + h);
    const bool forward = (lower_ == plain_) == left_;  // the first half is done first
    const int first = forward ? i : i + h, first_w = forward ? h : r, second = forward ? i + h : i,
              second_w = forward ? r : h;
    solve(first, first_w);
    if (left_)
      gemm(letters_[2], 'N', second_w, sides_, first_w, S(-1), off, lda_, side(first), ldb_, S(1), side(second), ldb_);
    else
      gemm('N', letters_[2], sides_, second_w, first_w, S(-1), side(first), ldb_, off, lda_, S(1), side(second), ldb_);
    solve(second, second_w);
  }

  bool left_, lower_, plain_, unit_;
  char letters_[4];
  const S* A_;
  S* B_;
  int lda_, ldb_, n_, sides_, nb_;
  S* work_;
  const Loop& loop_;
};

}  // namespace frechet::backend::lapack

#endif
