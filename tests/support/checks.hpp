// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_CHECKS_HPP
#define FRECHET_TESTS_SUPPORT_CHECKS_HPP

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "calls.hpp"

namespace frechet::test {

/// Backward errors count in units of n eps |A|: this many are allowed.
inline constexpr double backward_units = 30;

/// error <= units * n * eps * scale
void expect_small(const Flavour&, double error, int n, double scale, const std::string& what, double units = backward_units);

/// Columns of Q are orthonormal.
void expect_orthonormal(const Flavour&, const Dense& Q, const std::string& what);

/// computed = expected up to rounding: entrywise, `units` of eps times the largest expected entry.
void expect_same(const Flavour&, const Dense& computed, const Dense& expected, const std::string& what, double units = 100);

/// One side of <jvp(dA), g> = <dA, vjp(g)>: a sum of inner products and the sizes of its terms.
struct Pairing {
  double sum = 0, size = 0;
  void add(Opt tangent, Opt cotangent);
};
/// Equal to 1e-12 (double; the same number of roundings in single precision) of the size of the terms.
void expect_adjoint(const Flavour&, const Pairing& forward, const Pairing& reverse, const std::string& what);

/// (loss(A + h dA) - loss(A - h dA)) / 2h, for losses of order one.
double central_difference(const std::function<double(double)>& loss_at, double h = 1e-5);

/// The subset of present operands as text, for messages.
std::string present(bool first, bool second, bool third = false);

/// A test over scalars, and its name for each.
class ScalarTest : public testing::TestWithParam<Scalar> {
 protected:
  Flavour flavour() const { return {GetParam()}; }
  bool complex() const { return flavour().complex(); }
};
inline std::string scalar_name(const testing::TestParamInfo<Scalar>& info) { return name(info.param); }

}  // namespace frechet::test

#endif
