// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Second derivatives: golden Hessian-vector products of every decomposition, symmetry, and what is computed for them.

#include "support/counting.hpp"
#include "support/golden.hpp"
#include "support/views.hpp"

#include <gtest/gtest.h>

namespace frechet::test {
namespace {

template <class S>
class SecondOrder : public testing::Test {};
using Scalars = testing::Types<double, Kokkos::complex<double>>;
TYPED_TEST_SUITE(SecondOrder, Scalars);

/// hvp of f at the case's inputs A (and B) along its tangents; further arguments of f are constants.
template <class S, bool Two = false, class F, class... Constants>
void expect_hvp(const Case& c, const F& f, const Constants&... constants) {
  const Flavour flavour{is_complex<S> ? Scalar::c128 : Scalar::f64};
  AdContext<Exec> ad;
  const Dense A = c.inputs.at("A"), dA = c.tangents.at("dA");
  const auto a = put<Matrix<S>>(A), da = put<Matrix<S>>(dA);
  const Matrix<S> gA("gA", A.rows, A.cols), hA("hA", A.rows, A.cols);
  const Kokkos::View<double, Space> value("value");
  const auto compare = [&](const char* name, const Matrix<S>& g, const Matrix<S>& h) {
    expect_golden(flavour, c, "vjp", fetch(g), c.vjp.at(name), name);
    expect_golden(flavour, c, "hvp", fetch(h), c.hvp.at(name), name);
  };
  if constexpr (Two) {
    const Dense B = c.inputs.at("B");
    const auto b = put<Matrix<S>>(B), db = put<Matrix<S>>(c.tangents.at("dB"));
    const Matrix<S> gB("gB", B.rows, B.cols), hB("hB", B.rows, B.cols);
    auto program = ad.hvp_program(f, std::tuple(a, b, constants...), wrt(0, 1));
    program(std::tuple(a, b, constants...), std::tuple(da, db, (void(constants), none)...), value, 1.0,
            std::tuple(gA, gB, (void(constants), none)...), std::tuple(hA, hB, (void(constants), none)...));
    compare("A", gA, hA);
    compare("B", gB, hB);
  } else {
    auto program = ad.hvp_program(f, std::tuple(a, constants...), wrt(0));
    program(std::tuple(a, constants...), std::tuple(da, (void(constants), none)...), value, 1.0,
            std::tuple(gA, (void(constants), none)...), std::tuple(hA, (void(constants), none)...));
    compare("A", gA, hA);
  }
  expect_golden(flavour, c, "value", number(value), c.value);
}

/// Weights of a case as matrices of S, vectors as real vectors or diagonal matrices of S.
template <class S>
Matrix<S> weight(const Case& c, const char* name) {
  return put<Matrix<S>>(c.weight(name));
}
Vector<double> real_weight(const Case& c, const char* name) { return put<Vector<double>>(c.weight(name)); }
template <class S>
Matrix<S> diagonal_weight(const Case& c, const char* name) {
  const Dense d = c.weight(name);
  Dense D(d.rows, d.rows);
  for (int i = 0; i < d.rows; ++i) D(i, i) = d(i);
  return put<Matrix<S>>(D);
}

template <class S, class F>
void for_each_case(const char* op, int expected, const F& f) {
  int ran = 0;
  for (const Case& c : golden_cases(op, is_complex<S>)) {
    if (c.hvp.empty()) continue;
    SCOPED_TRACE(c.id);
    f(c);
    ++ran;
  }
  EXPECT_EQ(ran, expected);
}

TYPED_TEST(SecondOrder, GoldenEigh) {
  using S = TypeParam;
  for_each_case<S>("eigh", 8, [](const Case& c) {
    if (c.loss == "values")
      expect_hvp<S>(
          c, [](auto A, auto a) { return inner(a, eigh(A).w); }, real_weight(c, "a"));
    else if (c.loss == "values_squared")
      expect_hvp<S>(
          c,
          [](auto A, auto a) {
            const auto w = eigh(A).w;
            return inner(multiply(a, w), w);
          },
          real_weight(c, "a"));
    else
      expect_hvp<S>(
          c,
          [](auto A, auto a, auto C, auto W) {
            const auto [w, V] = eigh(A);
            return inner(a, w) + inner(matmul(V, C), matmul(W, V));
          },
          real_weight(c, "a"), diagonal_weight<S>(c, "c"), weight<S>(c, "W"));
  });
}

TYPED_TEST(SecondOrder, GoldenSvd) {
  using S = TypeParam;
  for_each_case<S>("svd", 5, [](const Case& c) {
    if (c.loss == "values")
      expect_hvp<S>(
          c, [](auto A, auto a) { return inner(a, svd(A).s); }, real_weight(c, "a"));
    else
      expect_hvp<S>(
          c,
          [](auto A, auto a, auto C, auto W) {
            const auto [U, s, Vh] = svd(A);
            return inner(a, s) + inner(matmul(U, C), matmul(W, adjoint(Vh)));
          },
          real_weight(c, "a"), diagonal_weight<S>(c, "c"), weight<S>(c, "W"));
  });
}

TYPED_TEST(SecondOrder, GoldenQr) {
  using S = TypeParam;
  for_each_case<S>("qr", 3, [](const Case& c) {
    expect_hvp<S>(
        c,
        [](auto A, auto N, auto E) {
          const auto R = qr(A).R;
          return inner(N, matmul(adjoint(R), matmul(E, R)));
        },
        weight<S>(c, "N"), diagonal_weight<S>(c, "E"));
  });
}

TYPED_TEST(SecondOrder, GoldenLu) {
  using S = TypeParam;
  for_each_case<S>("lu", 1, [](const Case& c) {
    expect_hvp<S>(
        c,
        [](auto A, auto GL, auto GU) {
          const auto f = lu(A);
          return inner(GL, f.L) + inner(GU, f.U);
        },
        weight<S>(c, "GL"), weight<S>(c, "GU"));
  });
}

TYPED_TEST(SecondOrder, GoldenSolve) {
  using S = TypeParam;
  for_each_case<S>("solve", is_complex<S> ? 9 : 6, [](const Case& c) {
    const std::string& trans = c.options.at("trans");
    const auto G = weight<S>(c, "G");
    if (trans == "N")
      expect_hvp<S, true>(
          c, [](auto A, auto B, auto W) { return inner(W, solve(A, B)); }, G);
    else if (trans == "T")
      expect_hvp<S, true>(
          c, [](auto A, auto B, auto W) { return inner(W, solve(A, B, {.op = Op::transpose})); }, G);
    else
      expect_hvp<S, true>(
          c, [](auto A, auto B, auto W) { return inner(W, solve(A, B, {.op = Op::adjoint})); }, G);
  });
}

template <class S, class F, class... V>
void expect_agreement(const F& f, const std::tuple<V...>& inputs, const char* what) {
  AdContext<Exec> ad;
  const DerivativeReport report = check_derivatives(ad, f, inputs);
  EXPECT_TRUE(report.ok && report.second_order) << what << ": " << report.text;
}

TYPED_TEST(SecondOrder, EveryShapeOfEveryDecomposition) {
  using S = TypeParam;
  Random random(21, is_complex<S>);
  for (const auto& [m, n] : {std::pair(5, 5), std::pair(7, 4), std::pair(4, 7), std::pair(1, 1), std::pair(1, 3)}) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
    const auto a = put<Matrix<S>>(random.well_conditioned(m, n)), x = put<Matrix<S>>(random.matrix(m, n));
    expect_agreement<S>(
        [](auto A, auto X) {
          const auto [Q, R] = qr(A);
          return inner(matmul(Q, R), X) + inner(matmul(Q, adjoint(Q)), matmul(X, adjoint(A))) +
                 inner(R, matmul(R, matmul(adjoint(X), A)));
        },
        std::tuple(a, x), "qr");
    expect_agreement<S>(
        [](auto A, auto X) {
          const auto f = lu(A);
          return inner(matmul(f.L, f.U), X) + inner(f.L, f.L) + inner(f.U, matmul(f.U, matmul(adjoint(X), A)));
        },
        std::tuple(a, x), "lu");
    expect_agreement<S>(
        [](auto A, auto X) {
          const auto [U, s, Vh] = svd(A);
          return inner(matmul(U, Vh), X) + sum(multiply(s, multiply(s, s)));
        },
        std::tuple(a, x), "svd");
    const auto square = put<Matrix<S>>(random.well_conditioned(m, m));
    for (const Op op : {Op::none, Op::transpose, Op::adjoint})
      expect_agreement<S>(
          [op](auto A, auto B) {
            const auto X = solve(A, B, {.op = op});
            return inner(X, matmul(A, X));
          },
          std::tuple(square, x), "solve");
    expect_agreement<S>(
        [](auto A, auto B) {
          const auto [w, V] = eigh(matmul(A, B));
          return sum(exp(w)) + inner(matmul(V, adjoint(V)), A) + inner(w, w);
        },
        std::tuple(square, put<Matrix<S>>(random.well_conditioned(m, m))), "eigh");
  }
}

/// Sizes at which products of triangles, and triangular solves, go by blocks.
TYPED_TEST(SecondOrder, SizesAboveTheBlocks) {
  using S = TypeParam;
  Random random(26, is_complex<S>);
  for (const int n : {70, 131}) {
    const auto a = put<Matrix<S>>(random.well_conditioned(n, n)), x = put<Matrix<S>>(random.matrix(n, n));
    expect_agreement<S>(
        [](auto A, auto X) {
          const auto f = lu(A + 8.0 * identity(A));  // no pivot changes within a step
          return inner(f.L, tril(X)) + inner(f.U, X);
        },
        std::tuple(a, x), "lu");
    expect_agreement<S>(
        [](auto A, auto X) {
          const auto f = qr(A);
          return inner(f.Q, X) + inner(f.R, X);
        },
        std::tuple(a, x), "qr");
    expect_agreement<S>([](auto A, auto X) { return inner(solve(A, X), X); }, std::tuple(a, x), "solve");
  }
}

/// Functions that are smooth at repeated values although single vectors are not: the direction splits the groups.
TYPED_TEST(SecondOrder, RepeatedValuesThatTheDirectionSplits) {
  using S = TypeParam;
  Random random(25, is_complex<S>);
  for (const auto& [m, n] : {std::pair(5, 5), std::pair(7, 5), std::pair(5, 7)}) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
    const auto a = put<Matrix<S>>(random.with_singular_values(m, n, {3, 3, 3, 1, 1})),
               x = put<Matrix<S>>(random.matrix(m, n));
    const auto h = put<Matrix<S>>(random.hermitian_with({-2, -2, 1, 1, 1})), y = put<Matrix<S>>(random.hermitian(5));
    AdContext<Exec> ad;
    const auto expect = [&](const auto& f, const auto& A, const auto& G, const char* what) {
      auto program = ad.hvp_program(f, std::tuple(A, G), wrt(0));
      const Kokkos::View<double, Space> value("value");
      const int rows = int(A.extent(0)), cols = int(A.extent(1));
      const Matrix<S> g("g", A.extent(0), A.extent(1)), p("p", A.extent(0), A.extent(1));
      const Dense direction =
          rows == cols && std::string(what) == "projector" ? random.hermitian(rows) : random.matrix(rows, cols);
      const auto v = put<Matrix<S>>(direction);
      program(std::tuple(A, G), std::tuple(v, none), value, 1.0, std::tuple(g, none), std::tuple(p, none));
      const auto gradient = [&](double step) {
        const auto moved = put<Matrix<S>>(fetch(A) + Z(step) * direction);
        return fetch(std::get<0>(ad.value_and_grad(f, std::tuple(moved, G), wrt(0)).second));
      };
      const double t = 1e-3;
      const Dense wide = Z(1 / (2 * t)) * (gradient(t) - gradient(-t)),
                  narrow = Z(1 / t) * (gradient(t / 2) - gradient(-t / 2));
      const Dense expected = Z(1.0 / 3) * (Z(4) * narrow - wide);
      EXPECT_LT(norm(fetch(p) - expected), 1e-8 * (norm(expected) + norm(fetch(g)))) << what;
      EXPECT_NO_THROW(program.check()) << what;
    };
    expect(
        [](auto X, auto G) {
          const auto [U, s, Vh] = svd(X);
          return inner(G, matmul(U, Vh));
        },
        a, x, "polar factor");
    expect(
        [](auto X, auto G) {
          const auto U = svd(X).U;
          const auto top = slice(U, 0, 0, U.rows(), 3);
          return inner(matmul(top, adjoint(top)), matmul(G, adjoint(G)));
        },
        a, x, "leading subspace");
    expect([](auto X, auto G) { return sum(svdvals(X)) + inner(G, X); }, a, x, "nuclear norm");
    if (m == n)
      expect(
          [](auto X, auto G) {
            const auto V = eigh(X).V;
            const auto low = slice(V, 0, 0, 5, 2);
            return inner(matmul(low, adjoint(low)), G);
          },
          h, y, "projector");
  }
}

/// Two zero singular values: their vectors have no basis that continues along the tangent on both sides, so the product
/// is not right, and must not be silent.
TEST(Hvp, DoubleZeroSingularValuesAreDiagnosed) {
  Random random(27);
  const auto a = put<Matrix<double>>(random.with_singular_values(4, 4, {2, 1, 0, 0})),
             v = put<Matrix<double>>(random.matrix(4, 4));
  AdContext<Exec> ad;
  const auto f = [](auto X) {
    const auto s = svdvals(X);
    return inner(s, s);
  };
  ad.hvp(f, a, v);
  EXPECT_THROW(ad.check(), NumericalError);
  ad.hvp(f, put<Matrix<double>>(random.well_conditioned(4, 4)), v);
  EXPECT_NO_THROW(ad.check());
}

TEST(Hvp, ComputesNoMoreThanItNeeds) {
  Random random(22);
  const auto a = put<Matrix<double>>(random.well_conditioned(4, 4));
  AdContext<Exec> ad;
  using Steps = std::vector<std::string>;
  // A linear function has no second derivative: nothing moves.
  EXPECT_EQ(ad.hvp_program([](auto X) { return sum(transpose(X)); }, a).steps(),
            (Steps{"transpose value", "sum value", "sum vjp", "transpose vjp"}));
  const Matrix<double> h = put<Matrix<double>>(random.matrix(4, 4));
  const Kokkos::View<double, Space> value("value");
  auto linear = ad.hvp_program([](auto X) { return trace(X); }, a);
  linear(a, a, value, 1.0, none, h);
  EXPECT_EQ(norm(fetch(h)), 0);
  // The tangents of eigenvectors are not computed for the value of a loss, only for its gradient.
  EXPECT_EQ(ad.hvp_program([](auto X) { return sum(eigh(X).w); }, a).steps(),
            (Steps{"eigh value", "eigh jvp", "sum value", "sum vjp", "eigh hvp"}));
}

TEST(Hvp, ReturnsValueGradientAndProduct) {
  Random random(23);
  const Dense A = random.well_conditioned(5, 5), V = random.matrix(5, 5);
  const auto a = put<Matrix<double>>(A), v = put<Matrix<double>>(V);
  AdContext<Exec> ad;
  const auto f = [](auto X) { return inner(X, matmul(X, X)); };
  const auto [value, gradient, product] = ad.hvp(f, a, v);
  EXPECT_NEAR(number(value), inner(A, A * A), 1e-13);
  EXPECT_LT(norm(fetch(gradient) - (A * A + A * adjoint(A) + adjoint(A) * A)), 1e-13);
  EXPECT_LT(norm(fetch(product) - (V * A + A * V + V * adjoint(A) + A * adjoint(V) + adjoint(V) * A + adjoint(A) * V)),
            1e-13);
  const auto [same, again] = ad.value_and_grad(f, a);
  EXPECT_EQ(number(same), number(value));
  EXPECT_TRUE(identical(fetch(again), fetch(gradient)));
}

TEST(Hvp, SteadyStateAllocatesNothing) {
  Random random(24);
  const auto a = put<Matrix<double>>(random.well_conditioned(30, 30)), v = put<Matrix<double>>(random.matrix(30, 30));
  const Matrix<double> g("g", 30, 30), h("h", 30, 30);
  const Kokkos::View<double, Space> value("value");
  AdContext<Exec> ad;
  auto program =
      ad.hvp_program([](auto X) { return sum(svd(solve(X, qr(X).Q)).s) + inner(lu(X).U, X) + sum(exp(eigh(X).w)); }, a);
  const std::size_t bytes = program.workspace_bytes();
  {
    const Counting counting;
    program(a, v, value, 1.0, g, h);
  }
  EXPECT_EQ(Counting::allocations, 0) << "also in the first run, once the workspace is known";
  EXPECT_EQ(Counting::fences, 0);
  EXPECT_EQ(program.workspace_bytes(), bytes);
  EXPECT_TRUE(all_finite(fetch(h)));
}

}  // namespace
}  // namespace frechet::test
