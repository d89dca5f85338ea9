// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// AdContext: derivatives of composed functions, what programs compute and what they leave out, and how they are called.

#include <frechet/frechet.hpp>

#include "support/counting.hpp"
#include "support/views.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

namespace frechet::test {
namespace {

/// For a real loss f of two square matrices: jvp against a central difference (loose) and against vjp (tight).
template <class S, class F>
void expect_consistent(const F& f, const Dense& A, const Dense& B, const char* what) {
  Random random(99, is_complex<S>);
  const Dense dA = random.like(A), dB = random.like(B);
  AdContext<Exec> ad;
  const auto inputs = [&](double h) { return std::tuple(put<Matrix<S>>(A + h * dA), put<Matrix<S>>(B + h * dB)); };
  const auto [value, slope] = ad.jvp(f, inputs(0), std::tuple(put<Matrix<S>>(dA), put<Matrix<S>>(dB)));
  auto [same, pullback] = ad.vjp(f, inputs(0));
  const Matrix<S> gA("gA", A.rows, A.cols), gB("gB", B.rows, B.cols);
  pullback(1.0, std::tie(gA, gB));
  EXPECT_EQ(number(value), number(same)) << what;
  const Dense GA = fetch(gA), GB = fetch(gB);
  const double size = norm(GA) * norm(dA) + norm(GB) * norm(dB);
  EXPECT_NEAR(number(slope), inner(GA, dA) + inner(GB, dB), 1e-12 * size) << what;
  const double h = 1e-5;
  const double difference = (number(ad.value(f, inputs(h))) - number(ad.value(f, inputs(-h)))) / (2 * h);
  EXPECT_NEAR(number(slope), difference, 1e-6 * size) << what;
}

template <class S>
class Compositions : public testing::Test {};
using Scalars = testing::Types<double, Kokkos::complex<double>>;
TYPED_TEST_SUITE(Compositions, Scalars);

TYPED_TEST(Compositions, JvpVjpAndDifferencesAgree) {
  using S = TypeParam;
  Random random(3, is_complex<S>);
  const Dense A = random.well_conditioned(6, 6), B = random.well_conditioned(6, 6);
  expect_consistent<S>([](auto X, auto Y) { return inner(X, matmul(X, Y)); }, A, B, "matmul");
  expect_consistent<S>([](auto X, auto Y) { return inner(X + 2.0 * Y, X - Y) + inner(-X, Y * 3.0); }, A, B, "linear");
  expect_consistent<S>([](auto X, auto Y) { return inner(transpose(X), matmul(adjoint(Y), X)); }, A, B, "transposes");
  expect_consistent<S>([](auto X, auto Y) { return inner(solve(X, Y), solve(Y, X)); }, A, B, "solve");
  expect_consistent<S>([](auto X, auto Y) { return inner(solve(X, X), solve(Y, matmul(X, Y))); }, A, B, "same twice");
  expect_consistent<S>(
      [](auto X, auto Y) { return inner(solve(X, Y, {.op = Op::transpose}), solve(X, Y, {.op = Op::adjoint})); }, A, B,
      "transposed solves");
  expect_consistent<S>(
      [](auto X, auto Y) {
        const auto f = lu(matmul(X, Y));
        return inner(f.L, X) + inner(f.U, matmul(f.L, f.U));
      },
      A, B, "lu");
  expect_consistent<S>(
      [](auto X, auto Y) {
        const auto f = qr(solve(X, Y));
        return inner(f.R, matmul(f.Q, Y)) + inner(f.Q, X);
      },
      A, B, "qr");
  expect_consistent<S>(
      [](auto X, auto Y) {
        const auto [w, V] = eigh(X + matmul(Y, adjoint(Y)));
        return inner(w, w) + sum(w);
      },
      A, B, "eigenvalues");
  expect_consistent<S>([](auto X, auto Y) { return sum(svdvals(matmul(X, solve(Y, X)))); }, A, B, "nuclear norm");
  expect_consistent<S>(  // the phase of each pair of vectors cancels in U Vh
      [](auto X, auto Y) {
        const auto [U, s, Vh] = svd(X);
        return inner(matmul(U, Vh), Y) + inner(s, s);
      },
      A, B, "polar factor");
}

TYPED_TEST(Compositions, RectangularMatrices) {
  using S = TypeParam;
  Random random(4, is_complex<S>);
  const Dense A = random.well_conditioned(7, 4), B = random.well_conditioned(4, 7);
  expect_consistent<S>(
      [](auto X, auto Y) {
        const auto f = qr(X), g = qr(Y);
        return inner(matmul(f.R, Y), g.R) + inner(matmul(f.Q, g.Q), X);
      },
      A, B, "qr, tall and wide");
  expect_consistent<S>(
      [](auto X, auto Y) {
        const auto f = lu(X), g = lu(Y);
        return inner(matmul(f.L, f.U), matmul(f.L, g.L)) + inner(g.U, Y);
      },
      A, B, "lu, tall and wide");
  expect_consistent<S>([](auto X, auto Y) { return sum(svdvals(X)) + sum(svdvals(matmul(Y, X))); }, A, B, "svd");
}

TEST(AdContext, ComplexSumsAndTracesAreLinear) {
  using S = Kokkos::complex<double>;
  Random random(5, true);
  const Dense A = random.matrix(4, 4), dA = random.matrix(4, 4);
  AdContext<Exec> ad;
  const auto f = [](auto X) { return sum(matmul(X, X)) + S(0, 2) * trace(X); };
  const auto [value, slope] = ad.jvp(f, put<Matrix<S>>(A), put<Matrix<S>>(dA));
  const Dense squared = A * A, moved = A * dA + dA * A;
  Z expected = 0, derivative = 0;
  for (int j = 0; j < 4; ++j) {
    expected += Z(0, 2) * A(j, j);
    derivative += Z(0, 2) * dA(j, j);
    for (int i = 0; i < 4; ++i) {
      expected += squared(i, j);
      derivative += moved(i, j);
    }
  }
  EXPECT_NEAR(std::abs(fetch(value)(0) - expected), 0, 1e-13);
  EXPECT_NEAR(std::abs(fetch(slope)(0) - derivative), 0, 1e-13);
}

TEST(AdContext, AgreesWithTheRulesOnViews) {
  Random random(6);
  const Dense A = random.hermitian(9), dA = random.matrix(9, 9);
  const Matrix<double> a = put<Matrix<double>>(A), da = put<Matrix<double>>(dA), V("V", 9, 9), dV("dV", 9, 9);
  const Vector<double> w("w", 9), dw("dw", 9);
  const Exec exec;
  eigh(exec, a, w, V);
  eigh_jvp(exec, w, V, da, dw, dV);
  AdContext<Exec> ad(exec);
  const auto [values, tangents] = ad.jvp([](auto X) { return eigh(X); }, a, da);
  EXPECT_TRUE(identical(fetch(std::get<0>(values)), fetch(w)));
  EXPECT_TRUE(identical(fetch(std::get<1>(values)), fetch(V)));
  EXPECT_LT(norm(fetch(std::get<0>(tangents)) - fetch(dw)), 1e-13);
  EXPECT_TRUE(identical(fetch(std::get<1>(tangents)), fetch(dV)));
}

TEST(AdContext, ComputesOnlyWhatTheOutputsNeed) {
  const Dense I = identity(8);
  const Matrix<double> a = put<Matrix<double>>(I), g("g", 8, 8);
  AdContext<Exec> ad;
  const auto total = [](auto X) { return sum(eigh(X).w); };
  // A sum of eigenvalues looks at no gap, so the identity is a matrix like any other.
  auto [value, pullback] = ad.vjp(total, a);
  pullback(1.0, g);
  EXPECT_LT(norm(fetch(g) - I), 1e-14);
  EXPECT_NO_THROW(pullback.check());

  using Steps = std::vector<std::string>;
  EXPECT_EQ(ad.vjp_program(total, a).steps(), (Steps{"eigh value", "sum value", "sum vjp", "eigh vjp"}));
  EXPECT_EQ(ad.value_program(total, a).steps(), (Steps{"eigh value", "sum value"}));
  // Nothing of a branch that no output uses; no derivative of what does not depend on the inputs in question.
  const auto unused = [](auto X, auto Y) {
    const auto f = svd(Y);
    (void)lu(X);
    const auto x = sum(X), y = sum(f.s);
    return x + y;
  };
  EXPECT_EQ(ad.jvp_program(unused, std::tie(a, a), wrt(0)).steps(),
            (Steps{"svd value", "sum value", "sum jvp", "sum value", "add value", "add jvp"}));
  // Singular values alone: no memory for vectors. With derivatives there is.
  const auto norm_of = [](auto X) { return sum(svdvals(X)); };
  EXPECT_LT(ad.value_program(norm_of, a).planned_bytes(), std::size_t(8 * 8 * 8 + 1024));
  EXPECT_GT(ad.vjp_program(norm_of, a).planned_bytes(), std::size_t(2 * 8 * 8 * 8));
}

TEST(AdContext, InputsAsOutputsUnusedInputsRepeatedOutputs) {
  Random random(7);
  const Dense A = random.matrix(3, 3), B = random.matrix(3, 3);
  const auto a = put<Matrix<double>>(A), b = put<Matrix<double>>(B);
  const auto f = [](auto X, auto Y) {
    const auto P = matmul(X, X);
    (void)Y;
    return std::tuple(P, X, P);
  };
  AdContext<Exec> ad;
  const auto [values, tangents] = ad.jvp(f, std::tie(a, b), std::tie(b, a));
  EXPECT_LT(norm(fetch(std::get<0>(values)) - A * A), 1e-14);
  EXPECT_TRUE(identical(fetch(std::get<1>(values)), A));
  EXPECT_TRUE(identical(fetch(std::get<2>(values)), fetch(std::get<0>(values))));
  EXPECT_LT(norm(fetch(std::get<0>(tangents)) - (A * B + B * A)), 1e-14);
  EXPECT_TRUE(identical(fetch(std::get<1>(tangents)), B));
  EXPECT_TRUE(identical(fetch(std::get<2>(tangents)), fetch(std::get<0>(tangents))));

  auto [same, pullback] = ad.vjp(f, std::tie(a, b));
  const Matrix<double> ga("ga", 3, 3), gb("gb", 3, 3);
  Kokkos::deep_copy(gb, 5.0);
  pullback(std::tie(a, b, b), std::tie(ga, gb));
  const Dense G = A + B;  // of P, returned twice
  EXPECT_LT(norm(fetch(ga) - (G * adjoint(A) + adjoint(A) * G + B)), 1e-13);
  EXPECT_EQ(norm(fetch(gb)), 0) << "an unused input has gradient zero";
  // Again, added to what is there; and with a cotangent missing.
  pullback(std::tie(a, b, b), std::tie(ga, gb), Store::accumulate);
  EXPECT_LT(norm(fetch(ga) - Z(2) * (G * adjoint(A) + adjoint(A) * G + B)), 1e-13);
  pullback(std::tuple(none, b, none), std::tuple(ga, none));
  EXPECT_LT(norm(fetch(ga) - B), 1e-15);
  pullback(none, std::tuple(ga, none));
  EXPECT_EQ(norm(fetch(ga)), 0);
}

TEST(AdContext, ConstantInputs) {
  Random random(8);
  const auto a = put<Matrix<double>>(random.well_conditioned(5, 5));
  const auto b = put<Vector<double>>(random.matrix(5, 1)), db = put<Vector<double>>(random.matrix(5, 1));
  AdContext<Exec> ad;
  const auto f = [](auto X, auto y) { return sum(solve(X, y)); };
  const auto [value, slope] = ad.jvp(f, std::tie(a, b), std::tuple(none, db));
  EXPECT_NEAR(number(slope), number(ad.value(f, std::tie(a, db))), 1e-13);
  auto [same, pullback] = ad.vjp(f, std::tie(a, b), wrt(1));
  const Vector<double> gb("gb", 5);
  const Matrix<double> ga("ga", 5, 5);
  pullback(1.0, std::tuple(none, gb));
  EXPECT_NEAR(inner(fetch(gb), fetch(db)), number(slope), 1e-13);
  EXPECT_THROW(pullback(1.0, std::tie(ga, gb)), ArgumentError)
      << "a gradient that is not computed may not be asked for";
}

TEST(AdContext, AnyLayoutOfInputsAndOutputs) {
  Random random(9);
  const Dense A = random.well_conditioned(6, 4);
  const auto a = put<Matrix<double>>(A);
  AdContext<Exec> ad;
  const auto f = [](auto X) { return qr(X); };
  auto program = ad.vjp_program(f, a);
  const Matrix<double> Q("Q", 6, 4), R("R", 4, 4), g("g", 6, 4);
  program(a, std::tie(Q, R), std::tie(a, R), g);

  using Right = Kokkos::View<double**, Kokkos::LayoutRight, Space>;
  const Right big("big", 12, 9);
  const auto odd = Kokkos::subview(big, Kokkos::pair(2, 8), Kokkos::pair(1, 5));
  Kokkos::deep_copy(odd, a);
  const Right Qr("Q", 6, 4), Rr("R", 4, 4), gr("g", 6, 4);
  const Kokkos::View<const double**, Kokkos::LayoutStride, Space> input = odd;
  program(input, std::tie(Qr, Rr), std::tie(input, Rr), gr);
  EXPECT_TRUE(identical(fetch(Qr), fetch(Q)));
  EXPECT_TRUE(identical(fetch(Rr), fetch(R)));
  EXPECT_LT(norm(fetch(gr) - fetch(g)), 1e-14);
}

TEST(AdContext, PullbacksAliveTogetherDoNotDisturbEachOther) {
  Random random(10);
  const Dense A = random.hermitian(5), B = random.hermitian(5);
  const auto a = put<Matrix<double>>(A), b = put<Matrix<double>>(B);
  const auto f = [](auto X) { return inner(eigh(X).w, eigh(X).w); };  // |X|^2: gradient 2 X
  AdContext<Exec> ad;
  auto [va, first] = ad.vjp(f, a);
  auto [vb, second] = ad.vjp(f, b);
  const Matrix<double> g("g", 5, 5);
  first(1.0, g);
  EXPECT_LT(norm(fetch(g) - Z(2) * A), 1e-12);
  second(0.5, g);
  EXPECT_LT(norm(fetch(g) - B), 1e-12);
}

TEST(AdContext, FunctionsWithStateAreTracedAnew) {
  const auto a = put<Matrix<double>>(identity(3));
  AdContext<Exec> ad;
  for (const double alpha : {1.0, 4.0}) {
    const auto f = [alpha](auto X) { return alpha * trace(X); };
    EXPECT_EQ(number(ad.value(f, a)), 3 * alpha);
    EXPECT_EQ(number(ad.jvp(f, a, a).second), 3 * alpha);
  }
}

TEST(AdContext, SteadyStateAllocatesNothing) {
  Random random(11);
  const auto a = put<Matrix<double>>(random.well_conditioned(40, 40)), da = put<Matrix<double>>(random.matrix(40, 40));
  const Matrix<double> g("g", 40, 40);
  const Kokkos::View<double, Space> value("value"), slope("slope"), one("one");
  Kokkos::deep_copy(one, 1.0);
  AdContext<Exec> ad;
  const auto f = [](auto X) {
    const auto [U, s, Vh] = svd(solve(X, qr(X).Q));
    return sum(s) + inner(matmul(U, Vh), lu(X).U) + sum(eigh(X).V);
  };
  auto forward = ad.jvp_program(f, a);
  auto reverse = ad.vjp_program(f, a);
  const auto run = [&] {
    forward(a, da, value, slope);
    reverse(a, value, one, g);
  };
  run();
  {
    const Counting counting;
    run();
  }
  EXPECT_EQ(Counting::allocations, 0);
  EXPECT_EQ(Counting::fences, 0);
  EXPECT_TRUE(std::isfinite(number(value)));
}

TEST(AdContext, FailuresAreNamed) {
  Dense A = identity(4);
  A(2, 2) = 0;
  const auto a = put<Matrix<double>>(A);
  const Matrix<double> g("g", 4, 4);
  AdContext<Exec> ad;
  auto [value, pullback] = ad.vjp([](auto X) { return sum(solve(X, X)); }, a);
  EXPECT_TRUE(std::isnan(number(value)));
  pullback(1.0, g);
  EXPECT_TRUE(all_nan(fetch(g)));
  try {
    pullback.check();
    FAIL() << "a singular matrix has to be reported";
  } catch (const NumericalError& e) {
    EXPECT_NE(std::string(e.what()).find("frechet::solve (value) traced at test_ad.cpp:"), std::string::npos)
        << e.what();
  }
  // The identity: a loss that tells the eigenvectors of a group apart.
  auto [other, gauge] = ad.vjp([](auto X) { return inner(eigh(X).V, X); }, put<Matrix<double>>(identity(3)));
  const Matrix<double> h("h", 3, 3);
  gauge(1.0, h);
  EXPECT_NO_THROW(gauge.check()) << "<V, I> at V = I: the numerators vanish";
}

TEST(AdContext, ErrorsWhileTracingNameOperationExtentsAndPlace) {
  const Matrix<double> a("a", 3, 4), s("s", 3, 3);
  AdContext<Exec> ad;
  const auto expect = [&](const std::string& got, const std::string& operation, const std::string& extents) {
    EXPECT_NE(got.find("frechet::" + operation + " traced at "), std::string::npos) << got;
    EXPECT_NE(got.find(extents), std::string::npos) << got;
  };
  expect(message([&] { ad.value([](auto X) { return matmul(X, X); }, a); }), "matmul", "3 x 4 and 3 x 4");
  expect(message([&] { ad.value([](auto X) { return add(X, transpose(X)); }, a); }), "add", "3 x 4 and 4 x 3");
  EXPECT_EQ(message([&] { ad.value([](auto X) { return X - transpose(X); }, a); }),
            "frechet::subtract traced at an operator: operands are 3 x 4 and 4 x 3");
  expect(message([&] { ad.value([](auto X) { return trace(X); }, a); }), "trace", "3 x 4, not square");
  expect(message([&] { ad.value([](auto X) { return eigh(X).w; }, a); }), "eigh", "3 x 4, not square");
  expect(message([&] { ad.value([](auto X) { return solve(X, X); }, a); }), "solve", "3 x 4, not square");
  expect(message([&] { ad.value([](auto X, auto Y) { return solve(X, transpose(Y)); }, std::tie(s, a)); }), "solve",
         "A is 3 x 3 and B is 4 x 3");
  auto program = ad.value_program([](auto X) { return sum(X); }, a);
  const Kokkos::View<double, Space> value("value");
  EXPECT_EQ(message([&] { program(s, value); }), "frechet::AdContext: input 0 is 3 x 3, expected 3 x 4");
}

TEST(AdContext, OutputsMayNotShareMemoryWithOtherOperands) {
  Random random(13);
  const auto a = put<Matrix<double>>(random.matrix(3, 3)), d = put<Matrix<double>>(random.matrix(3, 3));
  const Matrix<double> o("o", 3, 3), g("g", 3, 3);
  AdContext<Exec> ad;
  const auto f = [](auto X) { return matmul(X, X); };
  auto forward = ad.jvp_program(f, a);
  auto reverse = ad.vjp_program(f, a);
  EXPECT_THROW(reverse.pullback(d, g), ArgumentError) << "nothing has run forward";
  EXPECT_EQ(message([&] { forward(a, d, a, g); }), "frechet::AdContext: output 0 shares its memory with input");
  EXPECT_THROW(forward(a, d, o, o), ArgumentError);
  EXPECT_THROW(forward(a, d, o, d), ArgumentError);
  reverse.forward(a, o);
  EXPECT_THROW(reverse.pullback(d, d), ArgumentError);
  EXPECT_THROW(reverse.pullback(d, a), ArgumentError);
  EXPECT_THROW(reverse.pullback(d, o), ArgumentError);
  EXPECT_NO_THROW(reverse.pullback(d, g));
  auto [value, pullback] = ad.vjp([](auto X, auto Y) { return inner(X, Y); }, std::tie(a, d));
  EXPECT_THROW(pullback(1.0, std::tie(g, g)), ArgumentError) << "one gradient View for two inputs";
  EXPECT_THROW((void)wrt(33), ArgumentError);
  EXPECT_THROW((void)ad.vjp_program(f, a, wrt(5)), ArgumentError);
}

TEST(AdContext, PullbacksOutliveTheValuesThatWereDropped) {
  Random random(14);
  const Dense A = random.hermitian(6);
  const auto a = put<Matrix<double>>(A);
  const Vector<double> one = put<Vector<double>>(constant(6, 1, 1));
  const Matrix<double> g("g", 6, 6);
  AdContext<Exec> ad;
  auto pullback = ad.vjp([](auto X) { return eigh(X); }, a).second;
  for (int i = 0; i < 20; ++i)
    Kokkos::deep_copy(Matrix<double>("other", 6, 6), 7.0);  // takes memory that was given back
  pullback(std::tuple(one, none), g);
  EXPECT_LT(norm(fetch(g) - identity(6)), 1e-14);
}

TEST(Rules, NoOutputWantedIsNoWork) {
  const Exec exec;
  const auto V = put<Matrix<double>>(identity(3));
  const Vector<double> w("w", 3);
  EXPECT_NO_THROW(eigh_jvp(exec, w, V, V, none, none));
  EXPECT_NO_THROW(svd_jvp(exec, V, w, V, V, none, none, none));
  EXPECT_NO_THROW(qr_jvp(exec, V, V, V, none, none));
  EXPECT_NO_THROW(eigh(exec, V, none, none));
  EXPECT_NO_THROW(svd(exec, V, none, none, none));
}

TEST(Rules, FactorsOfAFailedFactorisationAreDiagnosed) {
  const Exec exec;
  const auto I = put<Matrix<double>>(identity(2)), N = put<Matrix<double>>(constant(2, 2, Z(std::nan(""), 0)));
  const auto v = put<Vector<double>>(constant(2, 1, Z(std::nan(""), 0)));
  const Matrix<double> g("g", 2, 2);
  const Diagnostics<Space> d("d", 1);
  const auto expect = [&](const char* what) {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), d);
    EXPECT_EQ(explain(host(0)), "the input holds NaN or Inf") << what;
    EXPECT_TRUE(all_nan(fetch(g))) << what;
  };
  eigh_vjp(exec, v, N, none, I, g, {.diagnostics = d});
  expect("eigh_vjp");
  eigh_jvp(exec, v, N, I, none, g, {.diagnostics = d});
  expect("eigh_jvp");
  svd_vjp(exec, N, v, N, I, none, none, g, {.diagnostics = d});
  expect("svd_vjp");
  svd_jvp(exec, N, v, N, I, g, none, none, {.diagnostics = d});
  expect("svd_jvp");
  qr_vjp(exec, N, N, I, none, g, {.diagnostics = d});
  expect("qr_vjp");
  qr_jvp(exec, N, N, I, g, none, {.diagnostics = d});
  expect("qr_jvp");
}

TEST(AdContext, EmptyMatrices) {
  const Matrix<double> a("a", 0, 0), b("b", 0, 2);
  AdContext<Exec> ad;
  const auto f = [](auto X, auto Y) { return sum(eigh(X).w) + sum(solve(X, Y)) + sum(svdvals(Y)) + sum(qr(Y).R); };
  const auto [value, slope] = ad.jvp(f, std::tie(a, b), std::tie(a, b));
  EXPECT_EQ(number(value), 0);
  EXPECT_EQ(number(slope), 0);
  auto [same, pullback] = ad.vjp(f, std::tie(a, b));
  pullback(1.0, std::tie(a, b));
  EXPECT_EQ(number(same), 0);
}

#ifdef KOKKOS_ENABLE_SERIAL
TEST(AdContext, OnSerial) {
  Random random(12);
  using View = Kokkos::View<double**, Kokkos::HostSpace>;
  const View a("a", 60, 60), g("g", 60, 60);
  const Dense A = random.hermitian(60);
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < 60; ++j) a(i, j) = A(i, j).real();
  AdContext<Kokkos::Serial> ad;
  auto [value, pullback] = ad.vjp([](auto X) { return inner(eigh(X).w, eigh(X).w); }, a);
  pullback(0.5, g);
  EXPECT_NEAR(value(), norm(A) * norm(A), 1e-11);
  EXPECT_LT(norm(fetch(g) - A), 1e-12);
}
#endif

}  // namespace
}  // namespace frechet::test
