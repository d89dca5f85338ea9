// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/dense.hpp"
#include "support/views.hpp"

#include <gtest/gtest.h>

#include <cmath>

// Gradients of matrices of any size in the normal range: those of powers of the scale, exactly scaled.

namespace frechet::test {
namespace {

Dense scaled(Dense A, int exponent) {
  for (Z& x : A.data) x = {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
  return A;
}

/// f(A, C) homogeneous in A: its gradient is one of degree `power`.
template <class F>
void expect_scaled_gradient(const char* what, int power, const F& f) {
  Random random(91);
  const Dense A = random.well_conditioned(8, 8) + Z(4) * identity(8), C = random.matrix(8, 8);
  AdContext<Exec> ad;
  const auto gradient = [&](int exponent) {
    const auto a = put<Matrix<double>>(scaled(A, exponent)), c = put<Matrix<double>>(C);
    const auto result = ad.value_and_grad(f, std::tie(a, c));
    EXPECT_NO_THROW(ad.check()) << what << " at 2^" << exponent;
    return fetch(std::get<0>(result.second));
  };
  const Dense plain = gradient(0);
  EXPECT_GT(norm(plain), 0);
  for (const int exponent : {-1000, -700, -400, -100, 100, 400, 700, 1000}) {
    if (std::abs(power * exponent) > 1000) continue;  // no number
    const Dense back = scaled(gradient(exponent), -power * exponent);
    EXPECT_LT(norm(back - plain), 1e-11 * norm(plain)) << what << " at 2^" << exponent;
  }
}

TEST(Scales, Eigh) {
  expect_scaled_gradient("w", 0, [](auto A, auto C) { return inner(diag(C), eigh(A).w); });
  expect_scaled_gradient("V", -1, [](auto A, auto C) {
    const auto x = eigh(A);
    return inner(C, matmul(x.V, matmul(diagonal(diag(C)), transpose(x.V))));
  });
}

TEST(Scales, Svd) {
  expect_scaled_gradient("s", 0, [](auto A, auto C) { return inner(diag(C), svd(A).s); });
  expect_scaled_gradient("U, Vh", -1, [](auto A, auto C) {
    const auto x = svd(A);
    return inner(C, matmul(x.U, matmul(diagonal(diag(C)), x.Vh)));
  });
}

TEST(Scales, Qr) {
  expect_scaled_gradient("Q", -1, [](auto A, auto C) { return inner(C, qr(A).Q); });
  expect_scaled_gradient("R", 0, [](auto A, auto C) { return inner(C, qr(A).R); });
}

TEST(Scales, Lu) {
  expect_scaled_gradient("L", -1, [](auto A, auto C) { return inner(C, lu(A).L); });
  expect_scaled_gradient("U", 0, [](auto A, auto C) { return inner(C, lu(A).U); });
}

TEST(Scales, Solve) {
  expect_scaled_gradient("X", -2, [](auto A, auto C) { return inner(C, solve(A, C)); });
}

}  // namespace
}  // namespace frechet::test
