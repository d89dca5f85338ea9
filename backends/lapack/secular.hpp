// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_SECULAR_HPP
#define FRECHET_BACKENDS_LAPACK_SECULAR_HPP

#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

// The secular equation 1 + sum_i w_i / (D_i - lambda) = 0, w_i > 0, whose roots are the eigenvalues of a diagonal
// matrix with poles D plus a rank-one term: the core of divide and conquer for tridiagonal (D_i = d_i) and bidiagonal
// (D_i = d_i^2) matrices. Poles enter through their differences only, which are known to full relative accuracy in
// both cases, and a root is found as its distance to the nearest pole.

namespace frechet::backend::lapack {

/// Poles D_0 < ... < D_(k-1), with D = d or, with Squares, D = d^2 (d >= 0), and weights w > 0.
template <bool Squares, class T>
class Secular {
 public:
  Secular(int k, const T* d, const T* w) : k_(k), d_(d), w_(w) {
    for (int i = 0; i < k; ++i) total_ += w[i];
  }

  /// Root j, between D_j and D_(j+1): column[i] = D_i - lambda_j, and with p the nearest pole lambda = D_p + mu. False
  /// where it was not found.
  bool root(int j, T* column, int& p, T& mu) const {
    p = j;
    pole_differences(Squares, k_, d_, j, column);
    if (k_ == 1) {
      mu = w_[0];
    } else {
      const bool last = j == k_ - 1;
      const int left = last ? j - 1 : j, right = left + 1, split = right;
      const T gap = last ? -column[left] : column[right], width = last ? total_ : gap, middle = width / 2;
      const auto sums = secular_sums(split, k_, column, w_, middle);
      const T f = 1 + sums.psi + sums.phi;
      // The other terms, as a constant, leave a quadratic for the first guess.
      const T c = f - w_[left] / (column[left] - middle) - w_[right] / (column[right] - middle);
      T low = 0, high = middle;
      if (last) {
        if (f <= 0) {
          low = middle;
          high = width;
        }
        mu = c > 0 ? larger_root(c, w_[left] + w_[right] - c * gap, w_[right] * gap) : middle;
      } else if (f > 0) {
        const T a = c * gap + w_[left] + w_[right], b = w_[left] * gap, root = std::sqrt(std::abs(a * a - 4 * b * c));
        mu = a > 0 ? 2 * b / (a + root) : (a - root) / (2 * c);
      } else {
        p = right;
        pole_differences(Squares, k_, d_, p, column);
        low = -middle;
        high = 0;
        const T a = c * gap - w_[left] - w_[right], b = w_[right] * gap, root = std::sqrt(std::abs(a * a + 4 * b * c));
        mu = a < 0 ? 2 * b / (a - root) : -(a + root) / (2 * c);
      }
      if (!(mu > low && mu < high)) mu = (low + high) / 2;
      if (!iterate(left, column, low, high, mu)) return false;
    }
    shift(k_, column, mu);
    return true;
  }

 private:
  /// The larger root of c x^2 - a x - b, c > 0, b > 0.
  static T larger_root(T c, T a, T b) {
    const T root = std::sqrt(a * a + 4 * b * c);
    return a < 0 ? 2 * b / (root - a) : (a + root) / (2 * c);
  }

  /// The root in (low, high): both sums are replaced by a constant and a pole that agree in value and slope (Bunch,
  /// Nielsen & Sorensen 1978, Numer. Math. 31:31), safeguarded by bisection.
  bool iterate(int left, const T* delta, T low, T high, T& mu) const {
    constexpr T eps = std::numeric_limits<T>::epsilon();
    for (int step = 0; step < 100; ++step) {
      const auto s = secular_sums(left + 1, k_, delta, w_, mu);
      const T f = 1 + s.psi + s.phi, slope = s.psi_slope + s.phi_slope;
      if (std::abs(f) <= eps * (8 * (1 + std::abs(s.psi) + std::abs(s.phi)) + std::abs(mu) * slope)) return true;
      (f > 0 ? high : low) = mu;
      const T x = delta[left] - mu, y = delta[left + 1] - mu;
      const T c = f - x * s.psi_slope - y * s.phi_slope, a = (x + y) * f - x * y * slope, b = x * y * f;
      const T root = std::sqrt(std::abs(a * a - 4 * b * c));
      // Between the poles the smaller root of the two, right of both the larger.
      T eta;
      if (y > 0)
        eta = a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
      else
        eta = a >= 0 ? (a + root) / (2 * c) : 2 * b / (a - root);
      if (!(f * eta < 0)) eta = -f / slope;
      T next = mu + eta;
      if (!(next > low && next < high)) next = low + (high - low) / 2;
      const T change = std::abs(next - mu);
      mu = next;
      if (!(change > eps * std::abs(mu))) return mu == mu;
    }
    return false;
  }

  int k_;
  const T *d_, *w_;
  T total_ = 0;
};

}  // namespace frechet::backend::lapack

#endif
