// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs of AdContext beyond jvp and vjp of matrices: batches, several tangents and cotangents, linearize, jacobian,
// custom operations, threads.

#include "support/counting.hpp"
#include "support/views.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace frechet::test {
namespace {

TEST(AdBatch, EveryMemberIsAFunctionOfItsOwn) {
  using S = Kokkos::complex<double>;
  Random random(31, true);
  const Dense A = random.batch(3, 4, 4), dA = random.batch(3, 4, 4), B = random.matrix(4, 4);
  const auto a = put_batch<S>(A), da = put_batch<S>(dA);
  const auto b = put<Matrix<S>>(B), db = put<Matrix<S>>(random.matrix(4, 4));
  const auto f = [](auto X, auto Y) {  // Y is shared by the members
    const auto w = eigh(matmul(X, Y)).w;
    return std::tuple(inner(solve(X, Y), X) + sum(exp(w)), matmul(Y, X), w);
  };
  AdContext<Exec> ad;
  const auto [values, slopes] = ad.jvp(f, std::tie(a, b), std::tie(da, db));
  auto [same, pullback] = ad.vjp(f, std::tie(a, b));
  const Matrices<S> ga("ga", 3, 4, 4);
  const Matrix<S> gb("gb", 4, 4);
  pullback(std::tuple(1.0, a, none), std::tie(ga, gb));
  Dense sum_b(4, 4);
  for (int k = 0; k < 3; ++k) {
    const auto ak = put<Matrix<S>>(A.matrix(k)), dak = put<Matrix<S>>(dA.matrix(k));
    const auto [value, slope] = ad.jvp(f, std::tie(ak, b), std::tie(dak, db));
    const auto near = [&](const Dense& batch, const Dense& one, const char* what) {
      EXPECT_LT(norm(batch.matrix(k) - one), 1e-12 * (1 + norm(one))) << what << " " << k;
    };
    near(fetch_batch(std::get<0>(values)), fetch(std::get<0>(value)), "scalar");
    near(fetch_batch(std::get<0>(slopes)), fetch(std::get<0>(slope)), "scalar slope");
    near(fetch_batch(std::get<1>(values)), fetch(std::get<1>(value)), "matrix");
    near(fetch_batch(std::get<1>(slopes)), fetch(std::get<1>(slope)), "matrix slope");
    near(fetch_batch(std::get<2>(values)), fetch(std::get<2>(value)), "vector");
    near(fetch_batch(std::get<2>(slopes)), fetch(std::get<2>(slope)), "vector slope");
    auto [again, back] = ad.vjp(f, std::tie(ak, b));
    const Matrix<S> gak("gak", 4, 4), gbk("gbk", 4, 4);
    back(std::tuple(1.0, ak, none), std::tie(gak, gbk));
    near(fetch_batch(ga), fetch(gak), "gradient");
    sum_b = sum_b + fetch(gbk);
  }
  EXPECT_LT(norm(fetch(gb) - sum_b), 1e-12 * norm(sum_b)) << "the gradient of a shared operand is a sum";
}

TEST(AdBatch, VectorsScalarsAndSumsOverTheBatch) {
  Random random(32);
  const int members = 5, n = 3;
  const Dense A = random.matrix(n, n), X = random.batch(members, n, 1), W = random.batch(members, 1, 1);
  const auto a = put<Matrix<double>>(A);
  const Kokkos::View<double**, Kokkos::LayoutRight, Space> x("x", members, n), gx("gx", members, n);
  const Kokkos::View<double*, Space> w("w", members), gw("gw", members);
  const Matrix<double> ga("ga", n, n);
  const auto hx = Kokkos::create_mirror_view(x);
  const auto hw = Kokkos::create_mirror_view(w);
  for (int b = 0; b < members; ++b) {
    hw(b) = W(b, 0, 0).real();
    for (int i = 0; i < n; ++i) hx(b, i) = X(b, i, 0).real();
  }
  Kokkos::deep_copy(x, hx);
  Kokkos::deep_copy(w, hw);
  AdContext<Exec> ad;
  // A weighted sum of quadratic forms.
  const auto f = [](auto M, auto v, auto weight) { return batch_sum(weight * inner(v, matmul(M, v))); };
  auto [value, pullback] = ad.vjp(f, std::tuple(a, batch(x), batch(w)));
  pullback(1.0, std::tuple(ga, batch(gx), gw));
  double expected = 0;
  Dense gA(n, n);
  const Dense GX = fetch_batch(gx), GW = fetch_batch(gw);
  for (int b = 0; b < members; ++b) {
    const Dense v = X.matrix(b), Av = A * v;
    const double weight = W(b, 0, 0).real(), form = inner(v, Av);
    expected += weight * form;
    gA = gA + Z(weight) * (v * adjoint(v));
    EXPECT_LT(norm(GX.matrix(b) - Z(weight) * (Av + adjoint(A) * v)), 1e-13);
    EXPECT_NEAR(GW(b, 0, 0).real(), form, 1e-13);
  }
  EXPECT_NEAR(number(value), expected, 1e-13);
  EXPECT_LT(norm(fetch(ga) - gA), 1e-13);
}

TEST(AdBatch, DiagnosesNameTheMember) {
  Dense A = stack({identity(3), identity(3), identity(3)});
  A(1, 2, 2) = 0;
  AdContext<Exec> ad;
  auto program = ad.value_program([](auto X) { return solve(X, X); }, put_batch<double>(A));
  const Matrices<double> x("x", 3, 3, 3);
  program(put_batch<double>(A), x);
  const Dense X = fetch_batch(x);
  EXPECT_TRUE(all_nan(X.matrix(1)));
  EXPECT_LT(norm(X.matrix(2) - identity(3)), 1e-14);
  try {
    program.check();
    FAIL() << "one of the matrices is singular";
  } catch (const NumericalError& e) {
    EXPECT_NE(std::string(e.what()).find(", matrix 1: "), std::string::npos) << e.what();
  }
}

TEST(Linearize, ReusesThePrimalForManyTangents) {
  Random random(33);
  const Dense A = random.well_conditioned(5, 5);
  const auto a = put<Matrix<double>>(A);
  const auto f = [](auto X) { return std::tuple(svd(X).s, solve(X, matmul(X, X)), X); };
  AdContext<Exec> ad;
  auto [values, map] = ad.linearize(f, a);
  for (int k = 0; k < 3; ++k) {
    const auto t = put<Matrix<double>>(random.matrix(5, 5));
    const auto [same, slopes] = ad.jvp(f, a, t);
    const Vector<double> ds("ds", 5);
    const Matrix<double> dx("dx", 5, 5), da("da", 5, 5);
    map(t, std::tie(ds, dx, da));
    EXPECT_TRUE(identical(fetch(ds), fetch(std::get<0>(slopes))));
    EXPECT_TRUE(identical(fetch(dx), fetch(std::get<1>(slopes))));
    EXPECT_TRUE(identical(fetch(da), fetch(t)));
  }
  using Steps = std::vector<std::string>;
  EXPECT_EQ(ad.linear_program([](auto X) { return sum(eigh(X).w); }, a).steps(),
            (Steps{"eigh value", "sum value", "eigh jvp", "sum jvp"}));
}

TEST(Several, TangentsAndCotangentsAtOnce) {
  Random random(34);
  const int several = 4, n = 5;
  const Dense A = random.well_conditioned(n, n), T = random.batch(several, n, n);
  const auto a = put<Matrix<double>>(A);
  const auto t = put_batch<double>(T);
  const auto f = [](auto X) { return std::tuple(eigh(X).w, qr(X).R); };
  AdContext<Exec> ad;
  const auto [values, slopes] = ad.jvp(f, a, t);
  ASSERT_EQ(std::get<1>(slopes).extent(0), std::size_t(several));
  auto [same, pullback] = ad.vjp(f, a);
  const Matrices<double> g("g", several, n, n);
  pullback(std::tuple(none, t), g);
  for (int k = 0; k < several; ++k) {
    const auto tk = put<Matrix<double>>(T.matrix(k));
    const auto [value, slope] = ad.jvp(f, a, tk);
    EXPECT_TRUE(identical(fetch_batch(std::get<0>(slopes)).matrix(k), fetch(std::get<0>(slope))));
    EXPECT_TRUE(identical(fetch_batch(std::get<1>(slopes)).matrix(k), fetch(std::get<1>(slope))));
    const Matrix<double> gk("gk", n, n);
    pullback(std::tuple(none, tk), gk);
    EXPECT_TRUE(identical(fetch_batch(g).matrix(k), fetch(gk)));
  }
  const Matrices<double> fewer("fewer", several - 1, n, n);
  EXPECT_THROW(pullback(std::tuple(none, t), fewer), ArgumentError);
}

TEST(Jacobian, HasARowForEveryEntryOfTheOutput) {
  Random random(35);
  const Dense A = random.hermitian(4), b = random.matrix(4, 1);
  const auto a = put<Matrix<double>>(A);
  const auto x = put<Vector<double>>(b);
  AdContext<Exec> ad;
  const auto f = [](auto M, auto v) { return matmul(M, multiply(v, v)); };
  const auto [JA, Jx] = ad.jacobian(f, std::tie(a, x));
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), JA);
  const Dense J = fetch(Jx);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      EXPECT_NEAR(J(i, j).real(), 2 * (A(i, j) * b(j)).real(), 1e-14);
      for (int k = 0; k < 4; ++k) EXPECT_NEAR(host(i, j, k), i == j ? (b(k) * b(k)).real() : 0.0, 1e-14);
    }
  const auto only = std::get<1>(ad.jacobian(f, std::tie(a, x), wrt(1)));
  EXPECT_TRUE(identical(fetch(only), J));
}

/// y = A x as a custom operation. (Functors with names: nvcc takes no kernels in generic lambdas.)
struct MyProduct {
  template <class E, class M, class V, class Y>
  void operator()(const E& exec, const M& A, const V& x, const Y& y) const {
    Kokkos::parallel_for(
        Kokkos::RangePolicy<E>(exec, 0, A.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
          typename Y::value_type sum(0);
          for (std::size_t j = 0; j < A.extent(1); ++j) sum += A(i, j) * x(j);
          y(i) = sum;
        });
  }
};
struct MyJvp {
  template <class E, class M, class V, class Y, class DY>
  void operator()(const E& exec, const M& A, const V& x, const Y&, const M& dA, const V& dx, const DY& dy) const {
    Kokkos::parallel_for(
        Kokkos::RangePolicy<E>(exec, 0, A.extent(0)), KOKKOS_LAMBDA(std::size_t i) {
          typename DY::value_type sum(0);
          for (std::size_t j = 0; j < A.extent(1); ++j) {
            if (dA.data()) sum += dA(i, j) * x(j);
            if (dx.data()) sum += A(i, j) * dx(j);
          }
          dy(i) = sum;
        });
  }
};
struct MyVjp {
  double factor;  ///< 1 in a right rule
  template <class E, class M, class V, class Y, class GM, class GV>
  void operator()(const E& exec, const M& A, const V& x, const Y&, const Y& gy, const GM& gA, const GV& gx) const {
    const double scale = factor;
    Kokkos::parallel_for(
        Kokkos::RangePolicy<E>(exec, 0, A.extent(1)), KOKKOS_LAMBDA(std::size_t j) {
          typename GV::value_type sum(0);
          for (std::size_t i = 0; i < A.extent(0); ++i) {
            if (gA.data()) gA(i, j) = scale * gy(i) * frechet::conj(x(j));
            sum += frechet::conj(A(i, j)) * gy(i);
          }
          if (gx.data()) gx(j) = sum;
        });
  }
};
template <class S>
auto product_of_my_own(const TracedMatrix<Compiled, S>& A, const TracedVector<Compiled, S>& x, double factor = 1) {
  return custom(vector_shape<S>(A.rows()), MyProduct{}, MyJvp{}, MyVjp{factor}, A, x);
}

TEST(Custom, AUsersRulesTakePart) {
  using S = Kokkos::complex<double>;
  Random random(36, true);
  // Any layout: the rules get packed columns.
  const Dense A = random.matrix(4, 3), X = random.matrix(3, 1);
  const Kokkos::View<S**, Kokkos::LayoutRight, Space> a("a", 4, 3), ga("ga", 4, 3);
  Kokkos::deep_copy(a, put<Matrix<S>>(A));
  const auto x = put<Vector<S>>(X);
  const Vector<S> gx("gx", 3);
  const auto mine = [](auto M, auto v) {
    return inner(product_of_my_own(M, v), product_of_my_own(M, v)) + inner(M, M);
  };
  const auto theirs = [](auto M, auto v) { return inner(matmul(M, v), matmul(M, v)) + inner(M, M); };
  AdContext<Exec> ad;
  const auto [value, gradients] = ad.value_and_grad(theirs, std::tie(a, x));
  auto [same, pullback] = ad.vjp(mine, std::tie(a, x));
  pullback(1.0, std::tie(ga, gx));
  EXPECT_NEAR(number(value), number(same), 1e-13);
  EXPECT_LT(norm(fetch(ga) - fetch(std::get<0>(gradients))), 1e-13);
  EXPECT_LT(norm(fetch(gx) - fetch(std::get<1>(gradients))), 1e-13);
  pullback(1.0, std::tuple(none, gx), Store::accumulate);
  EXPECT_LT(norm(fetch(gx) - Z(2) * fetch(std::get<1>(gradients))), 1e-13);
  const DerivativeReport report = check_derivatives(ad, mine, std::tie(a, x));
  EXPECT_TRUE(report.ok && !report.second_order) << report.text;
  EXPECT_NE(report.text.find("frechet::custom traced at test_ad_programs.cpp:"), std::string::npos) << report.text;
}

TEST(CheckDerivatives, FindsAWrongRule) {
  Random random(37);
  const auto a = put<Matrix<double>>(random.matrix(3, 3));
  const auto x = put<Vector<double>>(random.matrix(3, 1));
  AdContext<Exec> ad;
  const DerivativeReport report = check_derivatives(
      ad, [](auto M, auto v) { return sum(product_of_my_own(M, v, 1.001)); }, std::tie(a, x));
  EXPECT_FALSE(report.ok);
  EXPECT_GT(report.vjp_against_jvp, 1e-5);
  EXPECT_LT(report.jvp_against_differences, 1e-9);
  EXPECT_NE(report.text.find("FAILED"), std::string::npos) << report.text;
  // Single precision has its own tolerances.
  const auto single = check_derivatives(
      ad, [](auto M) { return inner(M, matmul(M, M)); }, put<Matrix<float>>(random.matrix(3, 3)));
  EXPECT_TRUE(single.ok && single.second_order) << single.text;
}

/// At scales where sums of squares vanish or overflow too; what is not finite is no agreement.
TEST(CheckDerivatives, WorksAtAnyScale) {
  Random random(45);
  const Dense A = random.matrix(3, 3);
  const auto x = put<Vector<double>>(random.matrix(3, 1));
  AdContext<Exec> ad;
  for (const double scale : {1e-300, 1e-170, 1e170, 1e300}) {
    const auto a = put<Matrix<double>>(Z(scale) * A);
    for (const double factor : {1.0, 1.001}) {
      const DerivativeReport report = check_derivatives(
          ad, [factor](auto M, auto v) { return sum(product_of_my_own(M, v, factor)); }, std::tie(a, x));
      EXPECT_EQ(report.ok, factor == 1.0) << scale << ": " << report.text;
    }
  }
  const auto huge = put<Matrix<double>>(Z(1e200) * A);
  EXPECT_FALSE(check_derivatives(
                   ad, [](auto M) { return inner(M, M); }, huge)
                   .ok);
}

struct Mix {
  double shift;
  template <class X, class Y>
  KOKKOS_FUNCTION auto operator()(const X& x, const Y& z) const {
    return x * frechet::abs(z + shift);
  }
};

TEST(Map, RealAndComplexPartsMakeTheWhole) {
  Random random(43, true);
  const auto z = put<Matrix<Kokkos::complex<double>>>(random.matrix(3, 4));
  AdContext<Exec> ad;
  const auto f = [](auto Z) { return make_complex(real(Z), imag(Z)); };
  EXPECT_TRUE(identical(fetch(ad.value(f, z)), fetch(z)));
  const DerivativeReport report = check_derivatives(
      ad, [](auto Z) { return inner(make_complex(abs2(Z), real(Z)), matmul(Z, adjoint(Z))); },
      put<Matrix<Kokkos::complex<double>>>(random.matrix(3, 3)));
  EXPECT_TRUE(report.ok && report.second_order) << report.text;
}

TEST(CheckDerivatives, HasNoFalseAlarms) {
  Random random(44);
  const auto a = put<Matrix<double>>(random.well_conditioned(5, 5));
  AdContext<Exec> ad;
  const auto expect_ok = [&](const auto& f, const auto& inputs, const char* what) {
    const DerivativeReport report = check_derivatives(ad, f, inputs);
    EXPECT_TRUE(report.ok) << what << ": " << report.text;
  };
  expect_ok([](auto X) { return sum(eigh(X).w); }, a, "a linear function in disguise");
  expect_ok(
      [](auto X) {
        const auto f = qr(X);
        return matmul(f.Q, f.R);
      },
      a, "another");
  expect_ok([](auto X) { return matmul(X, solve(X, X)); }, a, "another");
  expect_ok([](auto X) { return solve(X, X); }, a, "a constant");
  expect_ok(
      [](auto X) {
        const auto f = qr(X);
        return inner(f.Q, f.Q);
      },
      a, "another constant");
  // One scale for each input, and the precision of the least precise.
  const auto tiny = put<Vector<double>>(Z(1e-3) * random.matrix(3, 1)),
             huge = put<Vector<double>>(Z(1e3) * random.matrix(3, 1));
  expect_ok([](auto x, auto y) { return sum(y) + sum(divide(exp(x), abs2(x) + 1e-6)); }, std::tie(tiny, huge),
            "scales");
  const auto single = put<Matrix<float>>(random.well_conditioned(3, 3));
  expect_ok([](auto x, auto Y) { return std::tuple(inner(x, x), norm(Y) * sum(Y)); }, std::tie(tiny, single), "float");
}

TEST(Map, MixesScalarsAndKeepsState) {
  using S = Kokkos::complex<double>;
  Random random(38, true);
  const Dense X = random.real_like(random.matrix(2000, 5)), Y = random.matrix(2000, 5);  // above the threads' threshold
  const auto x = put<Matrix<double>>(X);
  const auto y = put<Matrix<S>>(Y);
  AdContext<Exec> ad;
  const auto f = [](auto u, auto v) { return map(Mix{0.25}, u, v); };
  const auto value = ad.value(f, std::tie(x, y));
  const Dense V = fetch(value);
  double worst = 0;
  for (int j = 0; j < 5; ++j)
    for (int i = 0; i < 2000; ++i) worst = std::max(worst, std::abs(V(i, j) - X(i, j) * std::abs(Y(i, j) + 0.25)));
  EXPECT_LT(worst, 1e-14);
  const DerivativeReport report = check_derivatives(ad, f, std::tie(x, y));
  EXPECT_TRUE(report.ok && report.second_order) << report.text;
}

TEST(Operators, ConstantsAndQuotients) {
  Random random(41);
  const Dense A = random.matrix(3, 3);
  AdContext<Exec> ad;
  const auto f = [](auto X) {
    const auto s = 1.5 + trace(X), t = sum(X) - 0.25;
    return (3.0 - s) / (t * t + 1.0) + sum(X + 2.0) / 4.0 - norm(1.0 - X) + 0.0 / t + sum((X * t) / t) - sum(X);
  };
  double tr = 0, total = 0, squares = 0;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) {
      tr += i == j ? A(i, j).real() : 0;
      total += A(i, j).real();
      squares += (1 - A(i, j).real()) * (1 - A(i, j).real());
    }
  const double s = 1.5 + tr, t = total - 0.25;
  const auto a = put<Matrix<double>>(A);
  EXPECT_NEAR(number(ad.value(f, a)), (3 - s) / (t * t + 1) + (total + 18) / 4 - std::sqrt(squares), 1e-13);
  const DerivativeReport report = check_derivatives(ad, f, a);
  EXPECT_TRUE(report.ok && report.second_order) << report.text;
}

TEST(Structure, ValuesAreThoseOfEachDefinition) {
  AdContext<Exec> ad;
  Random random(47);
  for (const auto& [m, n] : {std::pair{4, 4}, {5, 3}, {3, 5}}) {
    const Dense A = random.matrix(m, n), B = random.matrix(m, n), x = random.matrix(m, 1);
    const auto a = put<Matrix<double>>(A), b = put<Matrix<double>>(B);
    const auto v = put<Vector<double>>(x);
    const auto same = [](const auto& computed, const Dense& expected, const char* what) {
      EXPECT_TRUE(identical(fetch(computed), expected)) << what;
    };
    for (int k = -m; k <= n; ++k) {
      same(ad.value([k](auto X) { return tril(X, k); }, a), lower_triangle(A, k), "tril");
      same(ad.value([k](auto X) { return triu(X, k); }, a), upper_triangle(A, k), "triu");
    }
    same(ad.value([](auto X) { return transpose(X); }, a), transpose(A), "transpose");
    same(ad.value([](auto X) { return slice(X, 1, 1, 2, 2); }, a), A.block(1, 1, 2, 2), "slice");
    Dense placed(m + 2, n + 3), columns(m, 2 * n), rows(2 * m, n), diagonals(m, m);
    Dense on_diagonal(std::min(m, n), 1);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        placed(i + 2, j + 1) = columns(i, j) = rows(i, j) = A(i, j);
        columns(i, j + n) = rows(i + m, j) = B(i, j);
        if (i == j) on_diagonal(i) = A(i, i);
      }
    for (int i = 0; i < m; ++i) diagonals(i, i) = x(i);
    same(ad.value([m = m, n = n](auto X) { return scatter(X, 2, 1, m + 2, n + 3); }, a), placed, "scatter");
    same(ad.value([](auto X, auto Y) { return concatenate(0, X, Y); }, std::tie(a, b)), rows, "concatenate rows");
    same(ad.value([](auto X, auto Y) { return concatenate(1, X, Y); }, std::tie(a, b)), columns, "concatenate columns");
    same(ad.value([](auto y) { return diagonal(y); }, v), diagonals, "diagonal");
    same(ad.value([](auto X) { return diag(X); }, a), on_diagonal, "diag");
  }
}

TEST(Check, ReportsOnTheLastDirectCall) {
  AdContext<Exec> ad;
  EXPECT_NO_THROW(ad.check());
  Dense A = identity(3);
  A(1, 1) = 0;
  const auto singular = put<Matrix<double>>(A), fine = put<Matrix<double>>(identity(3));
  const auto f = [](auto X) { return sum(solve(X, X)); };
  ad.value_and_grad(f, singular);
  EXPECT_THROW(ad.check(), NumericalError);
  ad.value_and_grad(f, fine);
  EXPECT_NO_THROW(ad.check());
  // A failed call leaves nothing to report on, and nothing dangling.
  const Matrix<double> wrong("wrong", 3, 2);
  ad.jvp(f, singular, fine);
  EXPECT_THROW(ad.jvp(f, singular, wrong), ArgumentError);
  EXPECT_NO_THROW(ad.check());
  // What an earlier pullback found is not about a later forward run.
  auto program = ad.vjp_program(f, fine);
  const Matrix<double> g("g", 3, 3);
  program(singular, none, 1.0, g);
  EXPECT_THROW(program.check(), NumericalError);
  program.forward(fine, none);
  EXPECT_NO_THROW(program.check());
  // The largest eigenvalue of I has no gradient; a function with state.
  const int last = 2;
  const auto [value, gradient] = ad.value_and_grad([last](auto X) { return sum(slice(eigh(X).w, last, 1)); }, fine);
  EXPECT_EQ(number(value), 1);
  EXPECT_THROW(ad.check(), NumericalError);
}

/// `none` for a cotangent is zero, whatever made the output.
TEST(Absent, CotangentsOfEveryKindOfOutput) {
  Random random(42);
  const auto a = put<Matrix<double>>(random.well_conditioned(4, 4)), g = put<Matrix<double>>(identity(4)),
             h = put<Matrix<double>>(identity(4));
  const auto x = put<Vector<double>>(random.matrix(4, 1));
  const Vector<double> gx("gx", 4);
  AdContext<Exec> ad;
  const auto expect_zero = [&](const auto& f, const char* what) {
    auto vjp = ad.vjp_program(f, a);
    vjp(a, none, none, g);
    EXPECT_EQ(norm(fetch(g)), 0) << what;
    Kokkos::deep_copy(g, 3.0);
    vjp(a, none, none, g, Store::accumulate);
    EXPECT_EQ(norm(fetch(g)), 12) << what;
    auto hvp = ad.hvp_program(f, a);
    hvp(a, a, none, none, g, h);
    EXPECT_EQ(norm(fetch(g)) + norm(fetch(h)), 0) << what;
  };
  expect_zero([](auto X) { return exp(X); }, "exp");
  expect_zero([](auto X) { return multiply(X, X); }, "multiply");
  expect_zero([](auto X) { return norm(X); }, "norm");
  expect_zero([](auto X) { return sum(X) * X; }, "scale");
  expect_zero([](auto X) { return inner(X, X); }, "inner");
  expect_zero([](auto X) { return matmul(X, X); }, "matmul");
  expect_zero([](auto X) { return concatenate(0, X, tril(X)); }, "concatenate");
  expect_zero([](auto X) { return diagonal(diag(X)) + 1.0; }, "diagonal");
  expect_zero([](auto X) { return eigh(X); }, "eigh");
  expect_zero([](auto X) { return svd(X); }, "svd");
  expect_zero([](auto X) { return qr(X); }, "qr");
  expect_zero([](auto X) { return lu(X); }, "lu");
  expect_zero([](auto X) { return solve(X, X); }, "solve");
  auto mine = ad.vjp_program([](auto M, auto v) { return product_of_my_own(M, v); }, std::tie(a, x));
  mine(std::tie(a, x), none, none, std::tie(g, gx));
  EXPECT_EQ(norm(fetch(g)) + norm(fetch(gx)), 0) << "custom";
  // One of several.
  auto two = ad.vjp_program([](auto X) { return std::tuple(trace(X), exp(X)); }, a);
  two(a, none, std::tuple(1.0, none), g);
  EXPECT_LT(norm(fetch(g) - identity(4)), 1e-15);
}

TEST(Threads, EachTakesACopyOfTheProgram) {
  Random random(40);
  const int threads = 4, n = 12;
  const auto f = [](auto X) { return sum(eigh(X).w) + inner(solve(X, X), qr(X).Q); };
  const AdContext<Exec> ad;
  const auto program = ad.vjp_program(f, matrix_shape<double>(n, n));
  std::vector<Matrix<double>> a, g;
  for (int t = 0; t < threads; ++t) {
    a.push_back(put<Matrix<double>>(random.well_conditioned(n, n)));
    g.emplace_back("g", n, n);
  }
  std::vector<Dense> expected;
  for (int t = 0; t < threads; ++t) {
    auto alone = program.copy(ad.exec());
    alone(a[std::size_t(t)], none, 1.0, g[std::size_t(t)]);
    expected.push_back(fetch(g[std::size_t(t)]));
  }
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      auto mine = program.copy(Exec());
      for (int k = 0; k < 20; ++k) mine(a[std::size_t(t)], none, 1.0, g[std::size_t(t)]);
    });
  for (auto& thread : running) thread.join();
  for (int t = 0; t < threads; ++t)
    EXPECT_LT(norm(fetch(g[std::size_t(t)]) - expected[std::size_t(t)]), 1e-12 * norm(expected[std::size_t(t)])) << t;
}

TEST(Trace, RecordsOperationsAndWhereTheyStand) {
  AdContext<Exec> ad;
  const auto traced = ad.trace(
      [](auto X, auto v) {
        const auto w = eigh(X).w;
        return inner(w, v);
      },
      std::tuple(matrix_shape<double>(4, 4), vector_shape<double>(4)));
  const auto operations = traced.operations();
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_EQ(operations[0].substr(0, 36), "eigh traced at test_ad_programs.cpp:") << operations[0];
  // One trace, every kind of program.
  EXPECT_EQ(traced.value_program().steps().size(), 2U);
  EXPECT_EQ(traced.vjp_program(Exec(), wrt(1)).steps(),
            (std::vector<std::string>{"eigh value", "inner value", "inner vjp"}));
}

TEST(Trace, ErrorsOfTheNewOperationsNameThem) {
  const Matrix<double> a("a", 3, 4);
  const Vector<double> x("x", 3);
  const Matrices<double> two("two", 2, 3, 3), three("three", 3, 3, 3);
  AdContext<Exec> ad;
  const auto expect = [&](const std::string& got, const std::string& operation, const std::string& extents) {
    EXPECT_NE(got.find("frechet::" + operation + " traced at "), std::string::npos) << got;
    EXPECT_NE(got.find(extents), std::string::npos) << got;
  };
  expect(message([&] { ad.value([](auto X) { return multiply(X, transpose(X)); }, a); }), "multiply",
         "3 x 4 and 4 x 3");
  expect(message([&] { ad.value([](auto X) { return slice(X, 1, 0, 3, 1); }, a); }), "slice",
         "rows [1, 1 + 3) and columns [0, 0 + 1) of an operand that is 3 x 4");
  expect(message([&] { ad.value([](auto v) { return slice(v, -1, 2); }, x); }), "slice",
         "entries [-1, -1 + 2) of an operand that is a vector of 3");
  expect(message([&] { ad.value([](auto X) { return scatter(X, 0, 0, 3, 3); }, a); }), "scatter", "3 x 4");
  expect(message([&] { ad.value([](auto v) { return concatenate(1, v, v); }, x); }), "concatenate", "no axis 1");
  expect(message([&] { ad.value([](auto X) { return concatenate(0, X, transpose(X)); }, a); }), "concatenate",
         "3 x 4 and 4 x 3");
  expect(message([&] { ad.value([](auto X, auto Y) { return X + Y; }, std::tie(two, three)); }), "add",
         "3 x 3 (batch of 2) and 3 x 3 (batch of 3)");
  EXPECT_EQ(message([&] { ad.vjp_program([](auto X) { return sum(X); }, a, wrt(1)); }),
            "frechet::AdContext: wrt names an input that the function does not have");
}

TEST(Empty, OperationsOnNothing) {
  const Matrix<double> a("a", 0, 0), t("t", 0, 3), g("g", 0, 0);
  const Vector<double> x("x", 0);
  AdContext<Exec> ad;
  const auto f = [](auto X, auto v) {
    return sum(multiply(X, X)) + norm(X) + trace(X) + inner(v, exp(v)) + sum(diag(X)) + norm(concatenate(0, v, v)) +
           sum(slice(X, 0, 0, 0, 0)) + sum(solve(X, v)) + sum(tril(diagonal(v)));
  };
  const auto [value, gradients] = ad.value_and_grad(f, std::tie(a, x));
  EXPECT_EQ(number(value), 0);
  const auto [other, gradient, product] = ad.hvp(f, std::tie(a, x), std::tie(a, x));
  EXPECT_EQ(number(other), 0);
  EXPECT_EQ(number(ad.value([](auto X) { return sum(matmul(X, transpose(X))) + norm(scatter(X, 1, 0, 2, 3)); }, t)), 0);
  const Matrices<double> none_of_them("none", 0, 3, 3);
  const auto batch_value = ad.value([](auto X) { return sum(eigh(X).w); }, none_of_them);
  EXPECT_EQ(batch_value.extent(0), 0U);
}

}  // namespace
}  // namespace frechet::test
