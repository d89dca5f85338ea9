// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_CHECKS_HPP
#define FRECHET_TESTS_SUPPORT_CHECKS_HPP

#include "calls.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace frechet::test {

/// Backward errors count in units of n eps |A|: this many are allowed.
inline constexpr double backward_units = 30;

/// error <= units * n * eps * scale
void expect_small(const Flavour&, double error, int n, double scale, const std::string& what,
                  double units = backward_units);

/// Columns of Q are orthonormal.
void expect_orthonormal(const Flavour&, const Dense& Q, const std::string& what);

/// computed = expected up to rounding: entrywise, `units` of eps times the largest expected entry.
void expect_same(const Flavour&, const Dense& computed, const Dense& expected, const std::string& what,
                 double units = 100);

/// One side of <jvp(dA), g> = <dA, vjp(g)>: a sum of inner products and the sizes of its terms.
struct Pairing {
  double sum = 0, size = 0;
  void add(Opt tangent, Opt cotangent);
};
/// Equal to 1e-12 (double; the same number of roundings in single precision) of the size of the terms.
void expect_adjoint(const Flavour&, const Pairing& forward, const Pairing& reverse, const std::string& what);

/// (loss(A + h dA) - loss(A - h dA)) / 2h, for losses of order one.
double central_difference(const std::function<double(double)>& loss_at, double h = 1e-5);

/// " m x n", for messages.
std::string extents(int m, int n);

/// The subset of present operands as text, for messages.
std::string present(bool first, bool second, bool third = false);

/// Extents of the tests: around vector widths, blocks and nothing at all. And two that pass the size from which host
/// loops run in threads (2^15 entries) and that from which Hermitian products are split finer (256).
inline constexpr int small_sizes[] = {0, 1, 2, 3, 5, 8, 17, 33, 64, 65};
inline constexpr int large_sizes[] = {190, 260};
struct Extents {
  int rows, cols;
};
inline constexpr Extents small_extents[] = {{0, 0}, {0, 2}, {2, 0},  {1, 1},  {1, 4},   {5, 1},   {2, 2},   {3, 5},
                                            {5, 3}, {8, 8}, {17, 8}, {8, 17}, {33, 33}, {65, 64}, {33, 65}, {64, 65}};
inline constexpr Extents large_extents[] = {{190, 190}, {260, 140}, {140, 260}};
inline constexpr Extents few_extents[] = {{1, 1}, {4, 4}, {6, 3}, {3, 6}};
/// Batches: 0 stands for a single matrix, none for an empty batch.
inline constexpr int batches[] = {0, 1, 3};

/// A batch of `count` (0: a single matrix) made of make().
template <class Make>
Dense many(int count, const Make& make) {
  if (count == 0) return make();
  std::vector<Dense> all;
  for (int b = 0; b < count; ++b) all.push_back(make());
  return stack(all);
}

/// A test over scalars, and its name for each.
class ScalarTest : public testing::TestWithParam<Scalar> {
 protected:
  Flavour flavour() const { return {GetParam()}; }
  bool complex() const { return flavour().complex(); }
};
inline std::string scalar_name(const testing::TestParamInfo<Scalar>& info) { return name(info.param); }

}  // namespace frechet::test

#endif
