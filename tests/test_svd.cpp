// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

#include <algorithm>
#include <cmath>

// svd: A = U diag(s) Vh

namespace frechet::test {
namespace {

class Svd : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Svd, testing::ValuesIn(all_scalars), scalar_name);
/// Single precision has too few digits for differences.
class SvdDifferences : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, SvdDifferences, testing::ValuesIn(double_scalars), scalar_name);

/// Value and cotangents of a loss that sees neither phases nor, with equal weights, bases.
struct Loss {
  double value = 0;
  Dense gU, gs, gVh;
  bool vectors = false;
};

/// sum a_k s_k + sum c_k Re(u_k^H W v_k)
Loss loss_of(const Dense& a, Opt c, Opt W, const Triplets& x) {
  Loss l{0, Dense(x.U.rows, x.U.cols), a, Dense(x.Vh.rows, x.Vh.cols), c != nullptr};
  for (int k = 0; k < a.rows; ++k) l.value += a(k).real() * x.s(k).real();
  if (!c) return l;
  const Dense WV = *W * adjoint(x.Vh);
  l.value += inner(scale_columns(x.U, *c), WV);
  l.gU = scale_columns(WV, *c);
  l.gVh = adjoint(scale_columns(adjoint(*W) * x.U, *c));
  return l;
}

Loss loss_of(const Case& c, const Triplets& x) {
  if (c.loss != "svd_polar") {
    const bool vectors = c.has("c");
    return loss_of(c.weight("a"), vectors ? &c.weight("c") : nullptr, vectors ? &c.weight("W") : nullptr, x);
  }
  const Dense none(x.s.rows, 1), ones = constant(x.s.rows, 1, 1);  // Re tr(G^H U V^H)
  return loss_of(none, &ones, &c.weight("G"), x);
}

Triplets slice(const Triplets& x, int b) { return {x.U.matrix(b), x.s.matrix(b), x.Vh.matrix(b), {}}; }

void check_golden(const Flavour& f, const Stack& cases) {
  const Dense A = gather(cases, [](const Case& c) { return c.inputs.at("A"); });
  const Dense dA = gather(cases, [](const Case& c) { return c.tangents.at("dA"); });
  const Triplets x = svd(f, A);
  std::vector<Loss> losses;
  bool vectors = false;
  for (std::size_t b = 0; b < cases.size(); ++b) {
    losses.push_back(loss_of(*cases[b], slice(x, b)));
    vectors |= losses.back().vectors;
  }
  const auto all = [&](Dense Loss::*part) {
    std::size_t at = 0;
    return gather(cases, [&](const Case&) { return losses[at++].*part; });
  };
  const Dense gU = all(&Loss::gU), gs = all(&Loss::gs), gVh = all(&Loss::gVh);
  const Triplets dx = svd_jvp(f, x, &dA, {}, {vectors, true, vectors});
  const Gradient g = svd_vjp(f, x, vectors ? &gU : nullptr, &gs, vectors ? &gVh : nullptr);
  for (std::size_t b = 0; b < cases.size(); ++b) {
    const Case& c = *cases[b];
    const Loss& l = losses[b];
    expect_golden(f, c, "value", x.s.matrix(b), c.outputs.at("s"), "s");
    expect_golden(f, c, "value", l.value, c.value);
    double jvp = inner(l.gs, dx.s.matrix(b));
    if (l.vectors) jvp += inner(l.gU, dx.U.matrix(b)) + inner(l.gVh, dx.Vh.matrix(b));
    expect_golden(f, c, "jvp", jvp, c.jvp);
    if (c.output_tangents.count("s")) expect_golden(f, c, "jvp", dx.s.matrix(b), c.output_tangents.at("s"), "ds");
    expect_golden(f, c, "vjp", g.A.matrix(b), c.vjp.at("A"), "gA");
    expect_no_alarm(f, c, x.diagnoses[b]);
    expect_no_alarm(f, c, dx.diagnoses[b]);
    expect_no_alarm(f, c, g.diagnoses[b]);
  }
}

TEST_P(Svd, golden) {
  for_each_golden("svd", flavour(), {29, 28, 25}, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

// --- values ---------------------------------------------------------------------------------------------------------

void check_values(const Flavour& f, const Dense& A, const Triplets& x) {
  const int longest = std::max(A.rows, A.cols), k = std::min(A.rows, A.cols);
  expect_orthonormal(f, x.U, "U");
  expect_orthonormal(f, adjoint(x.Vh), "V");
  for (int b = 0; b < A.count; ++b) {
    const Dense a = A.matrix(b), s = x.s.matrix(b);
    expect_small(f, norm(scale_columns(x.U.matrix(b), s) * x.Vh.matrix(b) - a), longest, norm(a), "A - U s Vh");
    for (int i = 0; i < k; ++i) EXPECT_GE(s(i).real(), i + 1 < k ? s(i + 1).real() : 0.0) << "descending, not negative";
    EXPECT_EQ(explain(x.diagnoses[b]), "");
    EXPECT_EQ(x.diagnoses[b].rank, k);
  }
}

TEST_P(Svd, values) {
  const Flavour f = flavour();
  Random random(21, complex());
  for (const auto [m, n] : small_extents)
    for (const int count : batches) {
      const Dense A = many(count, [&] { return random.matrix(m, n); });
      const Triplets x = svd(f, A);
      check_values(f, A, x);
      const Dense s = svd(f, A, {}, {false, true, false}).s;  // without vectors another algorithm may run
      expect_small(f, norm(s - x.s), std::max(m, n), norm(A), "singular values alone");
      EXPECT_TRUE(identical(svd(f, A, {}, {true, false, false}).U, x.U));
      EXPECT_TRUE(identical(svd(f, A, {}, {false, false, true}).Vh, x.Vh));
    }
  for (const auto [m, n] : large_extents) {
    const Dense A = random.matrix(m, n);
    check_values(f, A, svd(f, A));
  }
  check_values(f, Dense(0, 3, 2), svd(f, Dense(0, 3, 2)));
}

TEST_P(Svd, rank) {
  const Flavour f = flavour();
  Random random(22, complex());
  const Dense A = random.matrix(7, 2) * random.matrix(2, 5);
  EXPECT_EQ(svd(f, A).diagnoses[0].rank, 2);
  EXPECT_EQ(svd(f, Dense(4, 3)).diagnoses[0].rank, 0);
  EXPECT_EQ(max_abs(svd(f, Dense(4, 3)).s), 0);
  expect_orthonormal(f, svd(f, Dense(4, 3)).U, "U of zero");
}

// --- derivatives against each other ---------------------------------------------------------------------------------

/// <dU, gU> + <ds, gs> + <dVh, gVh> = <dA, gA> for each subset of what is there, which does not depend on what is not.
void check_adjoint(const Flavour& f, const Triplets& x, const Dense& dA, const Dense& gU, const Dense& gs,
                   const Dense& gVh) {
  const Triplets full = svd_jvp(f, x, &dA);
  const std::string size = extents(dA.rows, dA.cols);
  EXPECT_EQ(max_abs(svd_vjp(f, x, nullptr, nullptr, nullptr).A), 0) << "no cotangent";
  const Triplets none = svd_jvp(f, x, nullptr);
  EXPECT_EQ(max_abs(none.U) + max_abs(none.s) + max_abs(none.Vh), 0) << "no tangent";
  for (int subset = 1; subset < 8; ++subset) {
    const bool u = subset & 1, s = subset & 2, v = subset & 4;
    const std::string what = "svd " + present(u, s, v) + size;
    const Triplets part = svd_jvp(f, x, &dA, {}, {u, s, v});
    const Gradient g = svd_vjp(f, x, u ? &gU : nullptr, s ? &gs : nullptr, v ? &gVh : nullptr);
    EXPECT_TRUE(!u || identical(part.U, full.U)) << what;
    EXPECT_TRUE(!v || identical(part.Vh, full.Vh)) << what;
    if (s) expect_small(f, norm(part.s - full.s), std::max(dA.rows, dA.cols), norm(dA), what);
    Pairing forward, reverse;
    if (u) forward.add(&full.U, &gU);
    if (s) forward.add(&full.s, &gs);
    if (v) forward.add(&full.Vh, &gVh);
    reverse.add(&dA, &g.A);
    expect_adjoint(f, forward, reverse, what);
  }
}

TEST_P(Svd, jvp_and_vjp_are_adjoint) {
  const Flavour f = flavour();
  Random random(23, complex());
  for (const auto [m, n] : small_extents)
    for (const int count : batches) {
      const Triplets x = svd(f, many(count, [&, m = m, n = n] { return random.well_conditioned(m, n); }));
      const Dense dA = random.like(many(count, [m = m, n = n] { return Dense(m, n); }));
      check_adjoint(f, x, dA, random.like(x.U), random.real_like(x.s), random.like(x.Vh));
    }
  for (const auto [m, n] : large_extents) {
    const Triplets x = svd(f, random.well_conditioned(m, n));
    check_adjoint(f, x, random.matrix(m, n), random.like(x.U), random.real_like(x.s), random.like(x.Vh));
  }
  check_adjoint(f, svd(f, Dense(0, 3, 2)), Dense(0, 3, 2), Dense(0, 3, 2), Dense(0, 2, 1), Dense(0, 2, 2));
}

TEST_P(SvdDifferences, central_differences) {
  const Flavour f = flavour();
  Random random(24, complex());
  for (const auto [m, n] : few_extents) {
    const Dense A = random.well_conditioned(m, n), dA = random.matrix(m, n), W = random.matrix(m, n);
    const Dense a = random.real_like(Dense(std::min(m, n), 1)), c = random.real_like(a);
    const auto loss = [&](double t) { return loss_of(a, &c, &W, svd(f, A + Z(t) * dA)).value; };
    const Triplets x = svd(f, A);
    const Loss l = loss_of(a, &c, &W, x);
    const double slope = inner(svd_vjp(f, x, &l.gU, &l.gs, &l.gVh).A, dA);
    EXPECT_NEAR(central_difference(loss), slope, 1e-6 * (1 + std::abs(slope))) << m << " x " << n;
  }
}

/// The tangents have to give back that of A: dU s Vh + U ds Vh + U s dVh = dA.
TEST_P(Svd, tangents_of_the_factors_multiply_out) {
  const Flavour f = flavour();
  Random random(25, complex());
  for (const auto [m, n] : few_extents) {
    const Triplets x = svd(f, random.well_conditioned(m, n));
    const Dense dA = random.matrix(m, n);
    const Triplets d = svd_jvp(f, x, &dA);
    const Dense product =
        scale_columns(d.U, x.s) * x.Vh + scale_columns(x.U, d.s) * x.Vh + scale_columns(x.U, x.s) * d.Vh;
    expect_small(f, norm(product - dA), 10 * std::max(m, n), norm(dA), "d(U s Vh)");
    // gauge: the diagonals of U^H dU and V^H dV are opposite (complex) or zero
    const Dense du = adjoint(x.U) * d.U, dv = x.Vh * adjoint(d.Vh);
    for (int i = 0; i < x.U.cols; ++i) EXPECT_NEAR(du(i, i).imag(), -dv(i, i).imag(), 1e3 * f.epsilon());
  }
}

TEST_P(Svd, accumulates) {
  const Flavour f = flavour();
  Random random(26, complex());
  for (const auto [m, n] : few_extents) {
    const Triplets x = svd(f, many(2, [&, m = m, n = n] { return random.well_conditioned(m, n); }));
    const Dense gU = random.like(x.U), gs = random.real_like(x.s), gVh = random.like(x.Vh),
                start = random.batch(2, m, n);
    for (int subset = 0; subset < 8; ++subset) {
      const Opt u = subset & 1 ? &gU : nullptr, s = subset & 2 ? &gs : nullptr, v = subset & 4 ? &gVh : nullptr;
      const Dense g = svd_vjp(f, x, u, s, v).A;
      expect_same(f, svd_vjp(f, x, u, s, v, {.store = Store::accumulate}, &start).A, start + g, "start + gA", 20);
    }
  }
}

// --- what has no answer ---------------------------------------------------------------------------------------------

TEST_P(Svd, reports_a_loss_that_depends_on_the_phase) {
  const Flavour f = flavour();
  Random random(27, complex());
  const Triplets x = svd(f, random.well_conditioned(5, 4));
  Dense gU(5, 4);
  gU(0, 0) = 1;  // loss = Re U(0,0)
  const Diagnosis d = svd_vjp(f, x, &gU, nullptr, nullptr).diagnoses[0];
  EXPECT_EQ(d.gauge > 1e-3, complex()) << d.gauge;
  EXPECT_EQ(explain(d).empty(), !complex());
}

TEST_P(Svd, reports_what_a_repeated_value_cannot_tell) {
  const Flavour f = flavour();
  Random random(28, complex());
  const Dense A = random.with_singular_values(5, 4, {3, 2, 2, 1});
  const Triplets x = svd(f, A);
  const Dense W = random.matrix(5, 4), a(4, 1);
  Dense c(4, 1);
  c(1) = 1;  // Re u_1^H W v_1 alone
  const Loss inside = loss_of(a, &c, &W, x);
  const Diagnosis basis = svd_vjp(f, x, &inside.gU, nullptr, &inside.gVh).diagnoses[0];
  EXPECT_GT(basis.gauge, 1e-3);
  EXPECT_NE(explain(basis), "");
  c(2) = 1;  // the whole group
  const Loss group = loss_of(a, &c, &W, x);
  EXPECT_EQ(explain(svd_vjp(f, x, &group.gU, nullptr, &group.gVh).diagnoses[0]), "");
  Dense gs = constant(4, 1, 1);
  EXPECT_EQ(explain(svd_vjp(f, x, nullptr, &gs, nullptr).diagnoses[0]), "");
  gs(2) = 0.5;
  const Diagnosis spread = svd_vjp(f, x, nullptr, &gs, nullptr).diagnoses[0];
  EXPECT_NEAR(spread.spread, 0.5, 1e-6);
  EXPECT_NE(explain(spread), "");
  EXPECT_NEAR(svd_vjp(f, x, &group.gU, &gs, &group.gVh).diagnoses[0].spread, 0.5, 1e-6);
  const Dense dA = random.matrix(5, 4);
  const Diagnosis split = svd_jvp(f, x, &dA).diagnoses[0];
  EXPECT_GT(split.coupling, 1e-3);
  EXPECT_EQ(explain(split), "");
  EXPECT_NE(explain(split, true), "");
  const Dense scaled = Z(2) * A;
  EXPECT_EQ(explain(svd_jvp(f, x, &scaled).diagnoses[0], true), "");
}

/// Vectors that belong to zero singular values are arbitrary: a loss may not look at them.
TEST_P(Svd, reports_vectors_of_zero_values) {
  const Flavour f = flavour();
  Random random(29, complex());
  for (const auto [m, n] : {Extents{4, 4}, Extents{6, 4}, Extents{4, 6}}) {
    const Triplets x = svd(f, random.with_singular_values(m, n, {2, 1, 0, 0}));
    const Dense W = random.matrix(m, n), a(4, 1);
    Dense c(4, 1);
    c(0) = 1, c(1) = -0.5;
    const Loss good = loss_of(a, &c, &W, x);
    const Gradient g = svd_vjp(f, x, &good.gU, nullptr, &good.gVh);
    EXPECT_EQ(explain(g.diagnoses[0]), "") << m << " x " << n;
    EXPECT_EQ(g.diagnoses[0].rank, 2);
    EXPECT_TRUE(all_finite(g.A) && max_abs(g.A) < 1e3);
    c(3) = 1;
    const Loss bad = loss_of(a, &c, &W, x);
    EXPECT_NE(explain(svd_vjp(f, x, &bad.gU, nullptr, &bad.gVh).diagnoses[0]), "") << m << " x " << n;
    const Dense dA = random.matrix(m, n);
    const Triplets dx = svd_jvp(f, x, &dA);
    EXPECT_TRUE(all_finite(dx.U) && all_finite(dx.s) && all_finite(dx.Vh));
    EXPECT_NE(explain(dx.diagnoses[0], true), "");
  }
}

TEST_P(Svd, degeneracy_policies) {
  const Flavour f = flavour();
  const double t = 1e-3;  // relative to the largest, 2
  Dense A(3, 3);
  A(0, 0) = 2, A(1, 1) = 1 + t / 2, A(2, 2) = 1;
  const Triplets x = svd(f, A);
  Dense dA(3, 3), gU(3, 3);
  dA(2, 1) = dA(1, 2) = 1;  // a symmetric tangent: only the quotient over the difference
  gU(2, 1) = 1;
  const double sign = x.U(1, 1).real() * x.U(2, 2).real() * (x.Vh(1, 1).real() * x.U(1, 1).real());
  const double gap = x.s(1).real() - x.s(2).real(), close = 4e3 * f.epsilon() / t;
  const auto jvp = [&](SvdOptions o) { return (adjoint(x.U) * svd_jvp(f, x, &dA, o).U)(2, 1).real() * sign; };
  EXPECT_NEAR(jvp({}) * gap, 1, close);
  EXPECT_EQ(jvp({.tolerance = t}), 0);
  EXPECT_NEAR(jvp({.degeneracy = Degeneracy::broaden, .tolerance = t}), gap / (gap * gap + 4 * t * t), close / t);
  EXPECT_TRUE(std::isnan(jvp({.degeneracy = Degeneracy::fail, .tolerance = t})));
  const auto vjp = [&](SvdOptions o) { return svd_vjp(f, x, &gU, nullptr, nullptr, o); };
  const Gradient plain = vjp({}), masked = vjp({.tolerance = t});
  EXPECT_NEAR(std::abs(plain.A(2, 1) + plain.A(1, 2)) * gap, 1, close);
  EXPECT_TRUE(identical(plain.A, masked.A));
  EXPECT_EQ(plain.diagnoses[0].gauge, 0);
  EXPECT_GT(masked.diagnoses[0].gauge, 0.1);
  EXPECT_TRUE(all_nan(vjp({.degeneracy = Degeneracy::fail, .tolerance = t}).A.block(1, 1, 2, 2)));
}

TEST_P(Svd, not_finite) {
  const Flavour f = flavour();
  Random random(30, complex());
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    for (const auto [m, n] : {Extents{5, 5}, Extents{7, 4}, Extents{4, 7}}) {
      Dense A = random.batch(3, m, n);
      A(1, 2, 3) = bad;
      const Dense s = svd(f, A, {}, {false, true, false}).s;
      EXPECT_TRUE(all_nan(s.matrix(1)) && all_finite(s.matrix(0)));
      const Triplets x = svd(f, A);
      EXPECT_TRUE(all_nan(x.U.matrix(1)) && all_nan(x.s.matrix(1)) && all_nan(x.Vh.matrix(1)));
      EXPECT_EQ(x.diagnoses[1].nonfinite, 1);
      EXPECT_NE(explain(x.diagnoses[1]), "");
      EXPECT_EQ(explain(x.diagnoses[2]), "");
      const Dense dA = random.like(A), gU = random.like(x.U), gs = random.real_like(x.s), gVh = random.like(x.Vh);
      const Triplets dx = svd_jvp(f, x, &dA);
      EXPECT_TRUE(all_nan(dx.U.matrix(1)) && all_nan(dx.s.matrix(1)) && all_nan(dx.Vh.matrix(1)));
      EXPECT_TRUE(all_finite(dx.U.matrix(2)) && all_finite(dx.s.matrix(2)) && all_finite(dx.Vh.matrix(2)));
      for (const Gradient& g : {svd_vjp(f, x, &gU, &gs, &gVh), svd_vjp(f, x, nullptr, &gs, nullptr),
                                svd_vjp(f, x, nullptr, nullptr, &gVh), svd_vjp(f, x, &gU, nullptr, nullptr)}) {
        EXPECT_TRUE(all_nan(g.A.matrix(1)));
        EXPECT_TRUE(all_finite(g.A.matrix(2)));
      }
    }
}

TEST_P(Svd, any_scale) {
  const Flavour f = flavour();
  Random random(31, complex());
  for (const auto [m, n] : few_extents) {
    const Dense A = random.well_conditioned(m, n), dA = random.matrix(m, n);
    const Triplets x = svd(f, A);
    const Dense gU = random.like(x.U), gVh = random.like(x.Vh);
    const Triplets dx = svd_jvp(f, x, &dA);
    const Dense gA = svd_vjp(f, x, &gU, nullptr, &gVh).A;
    for (const int exponent : {-1, 1}) {
      const double scale = std::ldexp(1.0, exponent * (f.single() ? 90 : 660));
      const Triplets y = svd(f, Z(scale) * A);
      expect_same(f, Z(1 / scale) * y.s, x.s, "s");
      EXPECT_EQ(y.diagnoses[0].rank, std::min(m, n));
      const Triplets z{x.U, Z(scale) * x.s, x.Vh, {}};  // the same vectors
      const Dense dA_scaled = Z(scale) * dA, gU_scaled = Z(scale) * gU, gVh_scaled = Z(scale) * gVh;
      expect_same(f, svd_jvp(f, z, &dA_scaled).U, dx.U, "dU");
      expect_same(f, svd_vjp(f, z, &gU_scaled, nullptr, &gVh_scaled).A, gA, "gA");
    }
  }
}

}  // namespace
}  // namespace frechet::test
