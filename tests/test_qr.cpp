// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

#include <algorithm>
#include <cmath>

// qr: A = Q R

namespace frechet::test {
namespace {

class Qr : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Qr, testing::ValuesIn(all_scalars), scalar_name);
/// Single precision has too few digits for differences.
class QrDifferences : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, QrDifferences, testing::ValuesIn(double_scalars), scalar_name);

struct Loss {
  double value = 0;
  Dense gQ, gR;
};

/// The losses of data/qr.json; gR may hold entries below the diagonal, as they would come out of an automatic tool.
Loss loss_of(const Case& c, const Dense& Q, const Dense& R) {
  Loss l{0, Dense(Q.rows, Q.cols), Dense(R.rows, R.cols)};
  if (c.loss == "qr_sum") {
    l.gQ = constant(Q.rows, Q.cols, 1);
    l.gR = constant(R.rows, R.cols, 1);
    l.value = inner(l.gQ, Q) + inner(l.gR, R);
  } else if (c.loss == "qr_weighted") {
    l.gQ = c.weight("M");
    l.gR = c.weight("N");
    l.value = inner(l.gQ, Q) + inner(l.gR, R);
  } else {  // Re tr(M^H Q diag(D) Q^H) + Re tr(N^H R^H diag(E) R)
    const Dense ER = adjoint(scale_columns(adjoint(R), c.weight("E"))), &N = c.weight("N");
    l.value = inner(N, adjoint(R) * ER);
    l.gR = ER * (N + adjoint(N));
    if (c.has("M")) {
      const Dense QD = scale_columns(Q, c.weight("D")), &M = c.weight("M");
      l.value += inner(M, QD * adjoint(Q));
      l.gQ = (M + adjoint(M)) * QD;
    }
  }
  return l;
}

void check_golden(const Flavour& f, const Stack& cases) {
  const Dense A = gather(cases, [](const Case& c) { return c.inputs.at("A"); });
  const Dense dA = gather(cases, [](const Case& c) { return c.tangents.at("dA"); });
  const QrOptions o{.signs = cases[0]->options.at("signs") == "positive" ? QrSigns::positive : QrSigns::lapack};
  const OrthogonalTriangular x = qr(f, A, o);
  std::vector<Loss> losses;
  for (std::size_t b = 0; b < cases.size(); ++b) losses.push_back(loss_of(*cases[b], x.Q.matrix(b), x.R.matrix(b)));
  const auto all = [&](Dense Loss::*part) {
    std::size_t at = 0;
    return gather(cases, [&](const Case&) { return losses[at++].*part; });
  };
  const Dense gQ = all(&Loss::gQ), gR = all(&Loss::gR);
  const OrthogonalTriangular dx = qr_jvp(f, x, &dA, o);
  const Gradient g = qr_vjp(f, x, &gQ, &gR, o);
  for (std::size_t b = 0; b < cases.size(); ++b) {
    const Case& c = *cases[b];
    for (const auto& [out, golden] : c.outputs)
      expect_golden(f, c, "value", (out == "Q" ? x.Q : x.R).matrix(b), golden, out);
    expect_golden(f, c, "value", losses[b].value, c.value);
    for (const auto& [out, golden] : c.output_tangents)
      expect_golden(f, c, "jvp", (out == "Q" ? dx.Q : dx.R).matrix(b), golden, "d" + out);
    expect_golden(f, c, "jvp", inner(losses[b].gQ, dx.Q.matrix(b)) + inner(losses[b].gR, dx.R.matrix(b)), c.jvp);
    expect_golden(f, c, "vjp", g.A.matrix(b), c.vjp.at("A"), "gA");
    expect_no_alarm(f, c, x.diagnoses[b]);
    expect_no_alarm(f, c, dx.diagnoses[b]);
    expect_no_alarm(f, c, g.diagnoses[b]);
  }
}

TEST_P(Qr, golden) {
  for_each_golden("qr", flavour(), {31, 31, 31}, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

// --- values ---------------------------------------------------------------------------------------------------------

void check_values(const Flavour& f, const Dense& A, const OrthogonalTriangular& x, bool positive) {
  const int longest = std::max(A.rows, A.cols), k = std::min(A.rows, A.cols);
  expect_orthonormal(f, x.Q, "Q");
  EXPECT_EQ(max_abs(x.R - upper_triangle(x.R)), 0) << "R is upper triangular";
  for (int b = 0; b < A.count; ++b) {
    const Dense a = A.matrix(b), R = x.R.matrix(b);
    expect_small(f, norm(x.Q.matrix(b) * R - a), longest, norm(a), "A - Q R");
    for (int i = 0; i < k; ++i) {
      EXPECT_EQ(R(i, i).imag(), 0) << "real diagonal";
      EXPECT_TRUE(!positive || R(i, i).real() >= 0) << "positive diagonal";
    }
    EXPECT_EQ(explain(x.diagnoses[b]), "");
    EXPECT_EQ(x.diagnoses[b].rank, k);
  }
}

TEST_P(Qr, values) {
  const Flavour f = flavour();
  Random random(41, complex());
  for (const QrSigns signs : {QrSigns::lapack, QrSigns::positive}) {
    for (const auto [m, n] : small_extents)
      for (const int count : batches) {
        const Dense A = many(count, [&, m = m, n = n] { return random.matrix(m, n); });
        const OrthogonalTriangular x = qr(f, A, {.signs = signs});
        check_values(f, A, x, signs == QrSigns::positive);
        expect_same(f, qr(f, A, {.signs = signs}, {true, false}).Q, x.Q, "Q alone", 0);
        expect_same(f, qr(f, A, {.signs = signs}, {false, true}).R, x.R, "R alone", 0);
      }
    for (const auto [m, n] : large_extents) {
      const Dense A = random.matrix(m, n);
      check_values(f, A, qr(f, A, {.signs = signs}), signs == QrSigns::positive);
    }
    check_values(f, Dense(0, 3, 2), qr(f, Dense(0, 3, 2), {.signs = signs}), true);
  }
}

// --- derivatives against each other ---------------------------------------------------------------------------------

void check_adjoint(const Flavour& f, const OrthogonalTriangular& x, const Dense& dA, const Dense& gQ, const Dense& gR) {
  const std::string size = extents(dA.rows, dA.cols);
  const OrthogonalTriangular full = qr_jvp(f, x, &dA), none = qr_jvp(f, x, nullptr);
  EXPECT_TRUE(identical(qr_jvp(f, x, &dA, {}, {true, false}).Q, full.Q)) << "dQ alone" << size;
  expect_same(f, qr_jvp(f, x, &dA, {}, {false, true}).R, full.R, "dR alone", 0);
  EXPECT_EQ(max_abs(none.Q) + max_abs(none.R), 0) << "no tangent";
  EXPECT_EQ(max_abs(qr_vjp(f, x, nullptr, nullptr).A), 0) << "no cotangent";
  EXPECT_EQ(max_abs(full.R - upper_triangle(full.R)), 0) << "dR is upper triangular";
  for (int subset = 1; subset < 4; ++subset) {
    const bool q = subset & 1, r = subset & 2;
    const Gradient g = qr_vjp(f, x, q ? &gQ : nullptr, r ? &gR : nullptr);
    Pairing forward, reverse;
    if (q) forward.add(&full.Q, &gQ);
    if (r) forward.add(&full.R, &gR);
    reverse.add(&dA, &g.A);
    expect_adjoint(f, forward, reverse, "qr " + present(q, r) + size);
  }
}

TEST_P(Qr, jvp_and_vjp_are_adjoint) {
  const Flavour f = flavour();
  Random random(42, complex());
  // The leading square block has to be well conditioned as well.
  const auto make = [&](int m, int n) {
    Dense A = random.matrix(m, n);
    const Dense block = random.well_conditioned(m, std::min(m, n));
    for (int j = 0; j < block.cols; ++j)
      for (int i = 0; i < m; ++i) A(i, j) = block(i, j);
    return A;
  };
  for (const QrSigns signs : {QrSigns::lapack, QrSigns::positive})
    for (const auto [m, n] : small_extents)
      for (const int count : batches) {
        const Dense A = many(count, [&, m = m, n = n] { return make(m, n); });
        const OrthogonalTriangular x = qr(f, A, {.signs = signs});
        check_adjoint(f, x, random.like(A), random.like(x.Q), random.like(x.R));
      }
  for (const auto [m, n] : large_extents) {
    const OrthogonalTriangular x = qr(f, make(m, n));
    check_adjoint(f, x, random.matrix(m, n), random.like(x.Q), random.like(x.R));
  }
  check_adjoint(f, qr(f, Dense(0, 3, 2)), Dense(0, 3, 2), Dense(0, 3, 2), Dense(0, 2, 2));
}

/// dQ R + Q dR = dA, dQ^H Q + Q^H dQ = 0, the diagonal of dR real.
TEST_P(Qr, tangents_of_the_factors_multiply_out) {
  const Flavour f = flavour();
  Random random(43, complex());
  for (const auto [m, n] : few_extents) {
    const OrthogonalTriangular x = qr(f, random.well_conditioned(m, n));
    const Dense dA = random.matrix(m, n);
    const OrthogonalTriangular d = qr_jvp(f, x, &dA);
    const double scale = norm(dA) + norm(d.Q) * norm(x.R);
    expect_small(f, norm(d.Q * x.R + x.Q * d.R - dA), std::max(m, n), scale, "d(QR)");
    const Dense QdQ = adjoint(x.Q) * d.Q;
    expect_small(f, norm(QdQ + adjoint(QdQ)), m, scale, "Q^H dQ is skew");
    for (int i = 0; i < std::min(m, n); ++i) EXPECT_NEAR(d.R(i, i).imag(), 0, 1e3 * f.epsilon() * scale);
  }
}

TEST_P(QrDifferences, central_differences) {
  const Flavour f = flavour();
  Random random(44, complex());
  for (const auto [m, n] : few_extents) {
    const Dense A = random.matrix(m, n), dA = random.matrix(m, n);
    for (const QrSigns signs : {QrSigns::lapack, QrSigns::positive}) {
      const OrthogonalTriangular x = qr(f, A, {.signs = signs});
      const Dense gQ = random.like(x.Q), gR = random.like(x.R);
      const auto loss = [&](double t) {
        const OrthogonalTriangular y = qr(f, A + Z(t) * dA, {.signs = signs});
        return inner(gQ, y.Q) + inner(gR, y.R);
      };
      const double slope = inner(qr_vjp(f, x, &gQ, &gR).A, dA);
      EXPECT_NEAR(central_difference(loss), slope, 1e-6 * (1 + std::abs(slope))) << m << " x " << n;
    }
  }
}

TEST_P(Qr, accumulates) {
  const Flavour f = flavour();
  Random random(45, complex());
  for (const auto [m, n] : few_extents) {
    const OrthogonalTriangular x = qr(f, many(2, [&, m = m, n = n] { return random.well_conditioned(m, n); }));
    const Dense gQ = random.like(x.Q), gR = random.like(x.R), start = random.batch(2, m, n);
    for (int subset = 0; subset < 4; ++subset) {
      const Opt q = subset & 1 ? &gQ : nullptr, r = subset & 2 ? &gR : nullptr;
      const Dense g = qr_vjp(f, x, q, r).A;
      expect_same(f, qr_vjp(f, x, q, r, {.store = Store::accumulate}, &start).A, start + g, "start + gA", 4);
    }
  }
}

TEST_P(Qr, entries_of_gR_below_the_diagonal_do_not_count) {
  const Flavour f = flavour();
  Random random(46, complex());
  for (const auto [m, n] : few_extents) {
    const OrthogonalTriangular x = qr(f, random.well_conditioned(m, n));
    const Dense gQ = random.like(x.Q), gR = upper_triangle(random.like(x.R));
    Dense dirty = gR;
    for (int j = 0; j < dirty.cols; ++j)
      for (int i = j + 1; i < dirty.rows; ++i) dirty(i, j) = std::nan("");
    EXPECT_TRUE(identical(qr_vjp(f, x, &gQ, &dirty).A, qr_vjp(f, x, &gQ, &gR).A)) << m << " x " << n;
  }
}

// --- what has no answer ---------------------------------------------------------------------------------------------

TEST_P(Qr, rank_deficient) {
  const Flavour f = flavour();
  Random random(47, complex());
  for (const auto [m, n] : {Extents{5, 5}, Extents{7, 4}, Extents{4, 7}}) {
    Dense A = many(3, [&, m = m, n = n] { return random.well_conditioned(m, n); });
    for (int i = 0; i < m; ++i) A(1, i, 2) = A(1, i, 0) - Z(2) * A(1, i, 1);  // within the span of those before
    const OrthogonalTriangular x = qr(f, A);
    for (int b = 0; b < 3; ++b) {
      const Dense a = A.matrix(b);
      expect_small(f, norm(x.Q.matrix(b) * x.R.matrix(b) - a), std::max(m, n), norm(a), "A - Q R");  // still right
      EXPECT_EQ(x.diagnoses[b].rank, std::min(m, n) - (b == 1));
      EXPECT_EQ(explain(x.diagnoses[b]), "");
    }
    const Dense dA = random.like(A), gQ = random.like(x.Q), gR = random.like(x.R);
    const OrthogonalTriangular dx = qr_jvp(f, x, &dA);
    const Gradient g = qr_vjp(f, x, &gQ, &gR);
    EXPECT_TRUE(all_nan(dx.Q.matrix(1)) && all_nan(dx.R.matrix(1)) && all_nan(g.A.matrix(1)));
    for (const Diagnosis& d : {dx.diagnoses[1], g.diagnoses[1]}) {
      EXPECT_EQ(d.deficient, 1);
      EXPECT_NE(explain(d).find("rank"), std::string::npos) << explain(d);
    }
    for (const int b : {0, 2}) {
      EXPECT_TRUE(all_finite(dx.Q.matrix(b)) && all_finite(dx.R.matrix(b)) && all_finite(g.A.matrix(b)));
      EXPECT_EQ(explain(g.diagnoses[b]), "");
    }
  }
}

/// The rank test does not mind columns of different length.
TEST_P(Qr, graded_columns_have_full_rank) {
  const Flavour f = flavour();
  Random random(48, complex());
  Dense A = random.well_conditioned(5, 4);
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 5; ++i) A(i, j) *= std::pow(f.single() ? 1e-4 : 1e-12, j);
  const OrthogonalTriangular x = qr(f, A);
  const Dense dA = A;
  EXPECT_EQ(x.diagnoses[0].rank, 4);
  const OrthogonalTriangular d = qr_jvp(f, x, &dA);  // dA = A: dQ = 0, dR = R
  EXPECT_EQ(explain(d.diagnoses[0]), "");
  expect_same(f, d.R, x.R, "dR");
  EXPECT_LE(max_abs(d.Q), 100 * f.epsilon());
}

TEST_P(Qr, not_finite) {
  const Flavour f = flavour();
  Random random(49, complex());
  for (const double bad : {std::nan(""), HUGE_VAL})
    for (const auto [m, n] : {Extents{5, 5}, Extents{7, 4}, Extents{4, 7}}) {
      Dense A = random.batch(3, m, n);
      A(1, 2, 3) = bad;
      const OrthogonalTriangular x = qr(f, A);
      EXPECT_TRUE(all_nan(x.Q.matrix(1)) && all_nan(x.R.matrix(1)));
      EXPECT_EQ(x.diagnoses[1].nonfinite, 1);
      EXPECT_NE(explain(x.diagnoses[1]), "");
      EXPECT_TRUE(all_finite(x.Q.matrix(2)) && explain(x.diagnoses[2]).empty());
      const Dense dA = random.like(A), gQ = random.like(x.Q), gR = random.like(x.R);
      const OrthogonalTriangular dx = qr_jvp(f, x, &dA);
      EXPECT_TRUE(all_nan(dx.Q.matrix(1)) && all_nan(dx.R.matrix(1)) && all_finite(dx.Q.matrix(2)));
      const Gradient g = qr_vjp(f, x, &gQ, &gR);
      EXPECT_TRUE(all_nan(g.A.matrix(1)) && all_finite(g.A.matrix(2)));
      EXPECT_NE(explain(g.diagnoses[1]), "");
    }
}

TEST_P(Qr, any_scale) {
  const Flavour f = flavour();
  Random random(50, complex());
  for (const auto [m, n] : few_extents) {
    const Dense A = random.well_conditioned(m, n), dA = random.matrix(m, n);
    const OrthogonalTriangular x = qr(f, A);
    const Dense gQ = random.like(x.Q);
    const Dense dQ = qr_jvp(f, x, &dA).Q, gA = qr_vjp(f, x, &gQ, nullptr).A;
    for (const int exponent : {-1, 1}) {
      const double scale = std::ldexp(1.0, exponent * (f.single() ? 90 : 660));
      const OrthogonalTriangular y = qr(f, Z(scale) * A);
      expect_same(f, y.Q, x.Q, "Q");
      expect_same(f, Z(1 / scale) * y.R, x.R, "R");
      EXPECT_EQ(y.diagnoses[0].rank, std::min(m, n));
      const Dense dA_scaled = Z(scale) * dA, gQ_scaled = Z(scale) * gQ;
      expect_same(f, qr_jvp(f, y, &dA_scaled).Q, dQ, "dQ", 1000);
      expect_same(f, qr_vjp(f, y, &gQ_scaled, nullptr).A, gA, "gA", 1000);
    }
  }
}

}  // namespace
}  // namespace frechet::test
