// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_MERGE_HPP
#define FRECHET_BACKENDS_LAPACK_MERGE_HPP

#include "products.hpp"
#include "secular.hpp"
#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>

// What divide and conquer for tridiagonal and bidiagonal matrices have in common: the step from the vectors of two
// halves, blocks one above the other, to those of the whole. Columns whose entry of z is negligible, or whose pole is
// that of another one, are deflated: they stay as they are. The k others are multiplied by the vectors of a diagonal
// plus rank-one matrix, block by block.

namespace frechet::backend::lapack {

/// Rows of a column that may hold something else than zeros.
enum ColumnType { top = 0, both = 1, bottom = 2 };

template <class T>
class Merge {
 public:
  static std::size_t scratch(int n) { return 2 * std::size_t(n) * std::size_t(n) + 5 * std::size_t(n); }
  static std::size_t integer_scratch(int n) { return 5 * std::size_t(n); }
  static constexpr T eps = std::numeric_limits<T>::epsilon() / 2;  ///< LAPACK's: half the distance from 1 to the next

  /// For merges of up to n columns.
  Merge(int n, T* work, int* iwork, const Loop& loop)
      : z(work),
        poles(z + n),
        kept_z(poles + n),
        weights_(kept_z + n),
        product_(weights_ + n),
        copy_(product_ + n),
        S_(copy_ + std::size_t(n) * std::size_t(n)),
        sorted(iwork),
        kept(sorted + n),
        gone(kept + n),
        type(gone + n),
        rows_(type + n),
        loop_(loop) {}

  /// Fills kept from position k on, and gone, with the first `count` columns of sorted: columns with a negligible entry
  /// of z go, and of two whose poles are close one is turned into the other: turn(i, j, c, s) rotates columns i and j
  /// so that entry i of z becomes zero. The new length of kept.
  template <class Negligible, class Close, class Turn>
  int deflate(int k, int count, const Negligible& negligible, const Close& close, const Turn& turn) {
    int going = 0, before = -1;
    for (int s = 0; s < count; ++s) {
      const int j = sorted[s];
      if (negligible(j)) {
        gone[going++] = j;
        continue;
      }
      if (before >= 0) {
        const T length = std::hypot(z[j], z[before]), c = z[j] / length, sine = -z[before] / length;
        if (close(before, j, c, sine)) {
          z[j] = length;
          z[before] = 0;
          if (type[j] != type[before]) type[j] = both;
          turn(before, j, c, sine);
          gone[going++] = before;
        } else {
          kept[k++] = before;
        }
      }
      before = j;
    }
    if (before >= 0) kept[k++] = before;
    return k;
  }

  /// The roots of the secular equation with poles and kept_z, and what vectors() needs of them: value(j, p, mu) gets
  /// root j as its distance to pole p. False where one was not found.
  template <bool Squares, class Value>
  bool roots(int k, T rho, const Value& value) {
    for (int a = 0; a < k; ++a) weights_[a] = rho * kept_z[a] * kept_z[a];
    const Secular<Squares, T> secular(k, poles, weights_);
    std::atomic<bool> fine = true;
    loop_(k, 60.0 * k, [&](int j) {
      int p = 0;
      T mu = 0;
      if (!secular.root(j, column(j, k), p, mu)) fine = false;
      value(j, p, mu);
    });
    if (!fine) return false;
    // Gu & Eisenstat: the z for which these roots are exact.
    std::fill_n(product_, k, T(1));
    for (int j = 0; j < k; ++j) multiply_ratios(Squares, k, j, poles, column(j, k), product_);
    for (int a = 0; a < k; ++a) product_[a] = std::copysign(std::sqrt(std::abs(product_[a])), kept_z[a]);
    return true;
  }

  /// Sorts the columns that stay by type, and those that go by `values`.
  void group(int k, int number_gone, const T* values) {
    k_ = k;
    gone_ = number_gone;
    count_[top] = count_[both] = count_[bottom] = 0;
    for (int a = 0; a < k; ++a) ++count_[type[kept[a]]];
    int next[3] = {0, count_[top], count_[top] + count_[both]};
    for (int a = 0; a < k; ++a) rows_[next[type[kept[a]]]++] = a;
    std::sort(gone, gone + gone_, [&](int a, int b) { return values[a] < values[b]; });
  }

  /// Copies the columns of Q, n1 and n2 rows. From now on those of Q are free.
  void pack(int n1, int n2, const T* Q, int ld) {
    const int upper = count_[top] + count_[both], lower = count_[both] + count_[bottom];
    upper_ = copy_;
    lower_ = upper_ + std::size_t(n1) * std::size_t(upper);
    whole_ = lower_ + std::size_t(n2) * std::size_t(lower);
    for (int r = 0; r < k_; ++r) {
      const T* const q = Q + std::ptrdiff_t(kept[rows_[r]]) * ld;
      if (r < upper) std::copy_n(q, n1, upper_ + std::size_t(r) * n1);
      if (r >= count_[top]) std::copy_n(q + n1, n2, lower_ + std::size_t(r - count_[top]) * n2);
    }
    for (int g = 0; g < gone_; ++g)
      std::copy_n(Q + std::ptrdiff_t(gone[g]) * ld, n1 + n2, whole_ + std::size_t(g) * (n1 + n2));
  }

  /// The vectors z_i / (D_i - lambda_j), of length one; Q is scratch. length(j, x): what x was divided by.
  template <class Length>
  void vectors(T* Q, int ld, const Length& length) {
    loop_(k_, 6.0 * k_, [&](int j) {
      T *const s = column(j, k_), *const plain = Q + std::ptrdiff_t(j) * ld;
      T norm = std::sqrt(divide_into(k_, product_, s));
      if (!(norm <= std::numeric_limits<T>::max())) {  // single precision and a pole close to zero
        T largest = 0, squares = 0;
        for (int i = 0; i < k_; ++i) largest = std::max(largest, std::abs(s[i]));
        for (int i = 0; i < k_; ++i) squares += (s[i] / largest) * (s[i] / largest);
        norm = largest * std::sqrt(squares);
      }
      length(j, norm);
      std::copy_n(s, k_, plain);
      gather(k_, rows_, plain, 1 / norm, s);
    });
  }

  /// Left singular vectors from the right ones: entry i times pole i, that of the pole at zero -1 / norms[j]. Q is
  /// scratch.
  void left_vectors(const T* norms, T* Q) {
    T* const factors = Q;  // by row
    int zero = 0;
    for (int r = 0; r < k_; ++r) {
      factors[r] = poles[rows_[r]];
      if (rows_[r] == 0) zero = r;
    }
    loop_(k_, 3.0 * k_, [&](int j) {
      T* const s = column(j, k_);
      s[zero] = 0;
      const T rest = multiply_into(k_, factors, s), first = -1 / norms[j], norm = std::sqrt(rest + first * first);
      s[zero] = first;
      scale(k_, 1 / norm, s);
    });
  }

  /// The first k columns of Q: those that stay times the vectors; behind them the others.
  void multiply(int n1, int n2, T* Q, int ld) const {
    multiply(n1, count_[top] + count_[both], upper_, S_, Q, ld);
    multiply(n2, count_[both] + count_[bottom], lower_, S_ + count_[top], Q + n1, ld);
    for (int g = 0; g < gone_; ++g)
      std::copy_n(whole_ + std::size_t(g) * (n1 + n2), n1 + n2, Q + std::ptrdiff_t(k_ + g) * ld);
  }

  T *z, *poles, *kept_z;  ///< by column; by pole among those that stay

 private:
  T* column(int j, int k) const { return S_ + std::size_t(j) * k; }

  void multiply(int m, int inner, const T* Q, const T* S, T* to, int ld) const {
    if (m > 0 && k_ > 0) gemm('N', 'N', m, k_, inner, T(1), Q, m, S, k_, T(0), to, ld);
  }

  T *weights_, *product_, *copy_, *S_, *upper_ = nullptr, *lower_ = nullptr, *whole_ = nullptr;

 public:
  int *sorted, *kept, *gone, *type;  ///< all columns by value; those that stay, by pole; those that go; ColumnType

 private:
  int* rows_;  ///< pole of each row of the vectors
  int k_ = 0, gone_ = 0, count_[3] = {};
  const Loop& loop_;
};

}  // namespace frechet::backend::lapack

#endif
