// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/dense.hpp"
#include "support/views.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

// Derivatives at any size in the normal range: those at another one, exactly scaled.

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

TEST(Norm, FirstDerivativesAtEveryScale) {
  AdContext<Exec> ad;
  const auto f = [](auto y) { return norm(y); };
  for (const double scale : {1e-310, 1e-200, 1e-160, 1.0, 1e160, 1e200, 1e307}) {
    Dense x(3, 1);
    for (int i = 0; i < 3; ++i) x(i) = scale * (i == 1 ? -2 : 1);
    const auto X = put<Vector<double>>(x);
    const double size = std::sqrt(6.0);
    EXPECT_NEAR(number(ad.jvp(f, X, X).first) / scale, size, 1e-12) << scale;
    EXPECT_NEAR(number(ad.jvp(f, X, X).second) / scale, size, 1e-12) << scale;
    auto [value, pullback] = ad.vjp(f, X);
    const Vector<double> g("g", 3);
    pullback(1.0, g);
    EXPECT_NEAR(fetch(g)(1).real(), -2 / size, 1e-12) << scale;
  }
  Dense x(3, 1);
  x(0) = x(2) = std::numeric_limits<double>::quiet_NaN();
  const auto X = put<Vector<double>>(x), zero = put<Vector<double>>(Dense(3, 1));
  EXPECT_TRUE(std::isnan(number(ad.jvp(f, X, X).second)));
  EXPECT_EQ(number(ad.jvp(f, zero, zero).second), 0);
  auto [value, pullback] = ad.vjp(f, X);
  const Vector<double> g("g", 3);
  pullback(1.0, g);
  EXPECT_TRUE(std::isnan(fetch(g)(1).real()));
}

TEST(Norm, SecondDerivativesDoNotOverflow) {
  AdContext<Exec> ad;
  for (const double scale : {1e-160, 1.0, 1e160, 1e200}) {
    Dense x(2, 1), v(2, 1);
    x(0) = 3 * scale;
    x(1) = 4 * scale;
    v(0) = 1;
    const auto [value, gradient, product] =
        ad.hvp([](auto y) { return norm(y); }, put<Vector<double>>(x), put<Vector<double>>(v));
    const Dense H = fetch(product);
    EXPECT_NEAR(H(0).real() * scale, 0.128, 1e-14) << scale;
    EXPECT_NEAR(H(1).real() * scale, -0.096, 1e-14) << scale;
  }
}

}  // namespace
}  // namespace frechet::test
