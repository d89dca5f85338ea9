// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/counting.hpp"
#include "support/views.hpp"

#include <gtest/gtest.h>

// Memory of programs of AdContext: how much, when it is known, and what shares it.

namespace frechet::test {
namespace {

TEST(Memory, IsSharedByWhatIsNotNeededAtOnce) {
  const int n = 64;
  const std::size_t matrix = n * n * sizeof(double);
  AdContext<Exec> ad;
  const auto shape = matrix_shape<double>(n, n);
  const auto chain = [](auto X) {
    auto Y = X;
    for (int k = 0; k < 20; ++k) Y = matmul(Y, X);
    return sum(Y);
  };
  EXPECT_LT(ad.value_program(chain, shape).planned_bytes(), 3 * matrix);
  EXPECT_LT(ad.jvp_program(chain, shape).planned_bytes(), 5 * matrix);
  // Reverse mode reads the 19 intermediate products, and needs two cotangents at a time.
  EXPECT_LT(ad.vjp_program(chain, shape).planned_bytes(), 23 * matrix);
  EXPECT_GT(ad.vjp_program(chain, shape).planned_bytes(), 19 * matrix);
}

/// The bounds that docs/adcontext.md gives, in units of the input matrix: jvp, vjp, hvp.
TEST(Memory, WorkspaceOfEachRule) {
  const int n = 256;
  const auto shape = matrix_shape<double>(n, n);
  AdContext<Exec> ad;
  const auto expect_below = [&](const char* name, const auto& f, double jvp, double vjp, double hvp) {
    const auto units = [&](auto program) { return double(program.workspace_bytes()) / (n * n * sizeof(double)); };
    const double used[] = {units(ad.jvp_program(f, shape)), units(ad.vjp_program(f, shape)),
                           units(ad.hvp_program(f, shape))};
    std::printf("| %s | %.1f | %.1f | %.1f |\n", name, used[0], used[1], used[2]);
    EXPECT_LE(used[0], jvp) << name << " jvp";
    EXPECT_LE(used[1], vjp) << name << " vjp";
    EXPECT_LE(used[2], hvp) << name << " hvp";
  };
  expect_below(
      "eigh, eigenvalues", [](auto X) { return sum(eigh(X).w); }, 4.5, 4.5, 7.6);
  expect_below(
      "eigh, vectors", [](auto X) { return inner(eigh(X).V, X); }, 5.5, 6.1, 12.1);
  expect_below(
      "lu",
      [](auto X) {
        const auto f = lu(X);
        return sum(f.L) + sum(f.U);
      },
      5.1, 4.2, 9.2);  // a device takes the whole square at once
  expect_below(
      "qr",
      [](auto X) {
        const auto f = qr(X);
        return sum(f.Q) + sum(f.R);
      },
      6.3, 3.3, 7.3);
  expect_below(
      "solve", [](auto X) { return sum(solve(X, X)); }, 4.3, 4.3, 7.4);
  expect_below(
      "svd, singular values", [](auto X) { return sum(svdvals(X)); }, 6.2, 6.2, 11.6);
  expect_below(
      "svd, vectors",
      [](auto X) {
        const auto f = svd(X);
        return inner(matmul(f.U, f.Vh), X);
      },
      10.2, 10.2, 18.2);
}

TEST(Memory, TheWorkspaceIsKnownBeforeTheFirstRun) {
  Random random(39);
  const auto a = put<Matrix<double>>(random.well_conditioned(20, 20)), g = put<Matrix<double>>(identity(20));
  const Matrix<double> out("out", 20, 20);
  const Kokkos::View<double, Space> value("value"), slope("slope");
  AdContext<Exec> ad;
  const auto f = [](auto X) { return sum(svdvals(solve(X, qr(X).Q))) + trace(lu(X).U); };
  auto jvp = ad.jvp_program(f, a);
  auto vjp = ad.vjp_program(f, a);
  auto linear = ad.linear_program(f, a);
  const std::size_t bytes[] = {jvp.workspace_bytes(), vjp.workspace_bytes(), linear.workspace_bytes()};
  EXPECT_THROW(vjp.pullback(1.0, out), ArgumentError) << "the rehearsal was no forward run";
  // Nor has it found anything out: at the identity this loss depends on the choice of eigenvectors.
  auto vectors = ad.vjp_program([](auto X) { return inner(eigh(X).V, matmul(X, qr(X + 1.0).Q)); }, a);
  vectors.workspace_bytes();
  EXPECT_NO_THROW(vectors.check(true));
  {
    const Counting counting;
    jvp(a, g, value, slope);
    vjp(a, value, 1.0, out);
    linear(a, g, value, slope);
  }
  EXPECT_EQ(Counting::allocations, 0);
  EXPECT_EQ(jvp.workspace_bytes(), bytes[0]);
  EXPECT_EQ(vjp.workspace_bytes(), bytes[1]);
  EXPECT_EQ(linear.workspace_bytes(), bytes[2]);
}

/// What a pullback or a linear map reads is still there the second time.
TEST(Memory, PullbacksAndLinearMapsCanBeRepeated) {
  Random random(46);
  const int n = 12;
  const auto a = put<Matrix<double>>(random.well_conditioned(n, n)), t = put<Matrix<double>>(random.matrix(n, n));
  const auto f = [](auto X) {
    auto Y = X;
    for (int i = 0; i < 4; ++i) Y = sin(matmul(Y, Y)) + 0.1 * multiply(Y, solve(X, Y));
    return std::tuple(sum(multiply(Y, Y)), Y);
  };
  AdContext<Exec> ad;
  auto [values, pullback] = ad.vjp(f, a);
  auto [same, push] = ad.linearize(f, a);
  const Matrix<double> first("first", n, n), again("again", n, n), out("out", n, n);
  pullback(std::tuple(1.0, t), first);
  push(t, std::tuple(none, out));
  const Dense pushed = fetch(out);
  for (int run = 0; run < 3; ++run) {
    pullback(std::tuple(1.0, t), again);
    EXPECT_EQ(norm(fetch(again) - fetch(first)), 0);
    push(t, std::tuple(none, out));
    EXPECT_EQ(norm(fetch(out) - pushed), 0);
  }
}

/// The gradient of a sum is its cotangent, read with strides of zero: the same as the product with a matrix of ones,
/// whose gradient is stored, wherever sums stand; and it takes no memory.
TEST(Memory, GradientsOfSumsAreNotStored) {
  using S = Kokkos::complex<double>;
  Random random(47, true);
  const int n = 7;
  const auto a = put<Matrix<S>>(random.well_conditioned(n, n)), ones = put<Matrix<S>>(constant(n, n, 1));
  const auto direction = put<Matrix<S>>(random.matrix(n, n));
  AdContext<Exec> ad;
  const auto compare = [&](const char* what, const auto& f) {
    const auto with_sum = [f](auto X, auto) { return f(X, [](auto Y) { return sum(Y); }); };
    const auto with_ones = [f](auto X, auto E) { return f(X, [E](auto Y) { return trace(matmul(E, Y)); }); };
    const auto gradient = [&](const auto& loss) {
      const Matrix<S> g("g", n, n);
      auto [value, pullback] = ad.vjp(loss, std::tuple(a, ones), wrt(0));
      pullback(2.5, std::tuple(g, none));
      pullback(-0.5, std::tuple(g, none), Store::accumulate);
      return fetch(g);
    };
    const auto product = [&](const auto& loss) {
      const Matrix<S> g("g", n, n), h("h", n, n);
      const Kokkos::View<double, Space> value("value");
      ad.hvp_program(loss, std::tuple(a, ones), wrt(0))(std::tuple(a, ones), std::tuple(direction, none), value, 1.0,
                                                        std::tuple(g, none), std::tuple(h, none));
      return fetch(h);
    };
    const Dense expected = gradient(with_ones), second = product(with_ones);
    EXPECT_LT(norm(gradient(with_sum) - expected), 1e-12 * norm(expected)) << what;
    EXPECT_LT(norm(product(with_sum) - second), 1e-11 * (1 + norm(second))) << what;
  };
  compare("once", [](auto X, auto total) { return real(total(matmul(X, X))); });
  compare("of the input", [](auto X, auto total) { return real(total(X)) + norm(X); });
  compare("of a value that is used again", [](auto X, auto total) {
    const auto Y = matmul(X, X);
    return real(total(Y)) + norm(Y);
  });
  compare("twice", [](auto X, auto total) {
    const auto Y = matmul(X, X);
    return real(total(Y) * total(Y));
  });
  compare("both factors", [](auto X, auto total) {
    const auto f = lu(X);
    return real(total(f.L) * total(f.U)) + norm(matmul(f.U, X));
  });
  compare("of Q and R", [](auto X, auto total) {
    const auto f = qr(X);
    return real(total(f.Q) * total(f.R));
  });
  compare("of a sum", [](auto X, auto total) { return real(total(exp(total(0.01 * matmul(X, X)) * X))); });
  compare("of a solution", [](auto X, auto total) { return real(total(solve(X, matmul(X, X)))); });

  const auto shape = matrix_shape<double>(64, 64);
  const auto bytes = [&](const auto& f) { return ad.vjp_program(f, shape).planned_bytes(); };
  EXPECT_LT(bytes([](auto X) { return sum(matmul(X, X)); }) + 64 * 64 * sizeof(double),
            bytes([](auto X) { return norm(matmul(X, X)); }));
}

/// A constant has no gradient, so an hvp program without one allocates nothing for it.
TEST(Memory, ConstantsOfAnHvpTakeNone) {
  Random random(45);
  const auto a = put<Matrix<double>>(random.matrix(16, 16)), v = put<Matrix<double>>(random.matrix(16, 16));
  const Matrix<double> h("h", 16, 16), g("g", 16, 16);
  const Kokkos::View<double, Space> value("value");
  AdContext<Exec> ad;
  auto program = ad.hvp_program([](auto X, auto C) { return inner(C, matmul(X, X)); }, std::tie(a, v), wrt(0));
  program.workspace_bytes();
  {
    const Counting counting;
    program(std::tie(a, v), std::tuple(v, none), value, 1.0, std::tuple(g, none), std::tuple(h, none));
  }
  EXPECT_EQ(Counting::allocations, 0);
}

}  // namespace
}  // namespace frechet::test
