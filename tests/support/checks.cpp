// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"

#include <algorithm>
#include <cmath>

namespace frechet::test {

void expect_small(const Flavour& f, double error, int n, double scale, const std::string& what, double units) {
  const double unit = std::max(n, 1) * f.epsilon() * scale;
  EXPECT_LE(error, units * unit) << what << ' ' << name(f.scalar) << ' ' << name(f.form) << ": " << error / unit
                                 << " units of n eps |A|, n = " << n;
}

void expect_orthonormal(const Flavour& f, const Dense& Q, const std::string& what) {
  for (int b = 0; b < Q.count; ++b) {
    const Dense one = Q.matrix(b);
    expect_small(f, norm(adjoint(one) * one - identity(Q.cols)), std::max(Q.rows, 1), 1, what + " orthonormal");
  }
}

void expect_same(const Flavour& f, const Dense& computed, const Dense& expected, const std::string& what,
                 double units) {
  const double size = max_abs(expected), error = max_abs(computed - expected);
  EXPECT_LE(error, units * f.epsilon() * size)
      << what << ' ' << name(f.scalar) << ' ' << name(f.form) << ": largest entry " << size;
}

void Pairing::add(Opt tangent, Opt cotangent) {
  if (!tangent || !cotangent) return;
  sum += inner(*tangent, *cotangent);
  size += norm(*tangent) * norm(*cotangent);
}

void expect_adjoint(const Flavour& f, const Pairing& forward, const Pairing& reverse, const std::string& what) {
  const double error = std::abs(forward.sum - reverse.sum), size = std::max(forward.size, reverse.size);
  EXPECT_LE(error, 1e-12 * (f.epsilon() / 0x1p-52) * size)
      << what << ' ' << name(f.scalar) << ": " << forward.sum << " and " << reverse.sum << ", terms of size " << size;
}

double central_difference(const std::function<double(double)>& loss_at, double h) {
  return (loss_at(h) - loss_at(-h)) / (2 * h);
}

std::string extents(int m, int n) {
  std::string text(1, ' ');
  text += std::to_string(m);
  text += " x ";
  text += std::to_string(n);
  return text;
}

std::string present(bool first, bool second, bool third) {
  return std::string("[") + (first ? "1" : "-") + (second ? "2" : "-") + (third ? "3" : "-") + "]";
}

}  // namespace frechet::test
