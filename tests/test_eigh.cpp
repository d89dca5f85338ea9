// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

#include <cmath>

// eigh: A = V diag(w) V^H

namespace frechet::test {
namespace {

class Eigh : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Eigh, testing::ValuesIn(all_scalars), scalar_name);
/// Single precision has too few digits for differences.
class EighDifferences : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, EighDifferences, testing::ValuesIn(double_scalars), scalar_name);

/// Value and cotangents of a loss that does not see phases: sum a_k w_k + sum c_k Re(v_k^H W v_k).
struct Loss {
  double value = 0;
  Dense gw, gV;
  bool vectors = false;
};

Loss loss_of(const Dense& a, Opt c, Opt W, const Dense& w, const Dense& V) {
  Loss l{0, a, Dense(V.rows, V.cols), c != nullptr};
  for (int k = 0; k < w.rows; ++k) l.value += a(k).real() * w(k).real();
  if (!c) return l;
  const Dense WV = *W * V;
  l.value += inner(scale_columns(V, *c), WV);
  l.gV = scale_columns(WV + adjoint(*W) * V, *c);
  return l;
}

Loss loss_of(const Case& c, const Dense& w, const Dense& V) {
  if (c.loss != "values_squared") {
    const bool vectors = c.has("c");
    return loss_of(c.weight("a"), vectors ? &c.weight("c") : nullptr, vectors ? &c.weight("W") : nullptr, w, V);
  }
  Dense weights = w;  // sum a_k w_k^2
  double value = 0;
  for (int k = 0; k < w.rows; ++k) {
    value += c.weight("a")(k).real() * w(k).real() * w(k).real();
    weights(k) *= 2.0 * c.weight("a")(k);
  }
  Loss l = loss_of(weights, nullptr, nullptr, w, V);
  l.value = value;
  return l;
}

void check_golden(const Flavour& f, const Stack& cases) {
  const Dense A = gather(cases, [](const Case& c) { return c.inputs.at("A"); });
  const Dense dA = gather(cases, [](const Case& c) { return c.tangents.at("dA"); });
  const Spectrum x = eigh(f, A);
  std::vector<Loss> losses;
  bool vectors = false;
  for (std::size_t b = 0; b < cases.size(); ++b) {
    losses.push_back(loss_of(*cases[b], x.w.matrix(b), x.V.matrix(b)));
    vectors |= losses.back().vectors;
  }
  std::size_t at = 0;
  const Dense gw = gather(cases, [&](const Case&) { return losses[at++].gw; });
  at = 0;
  const Dense gV = gather(cases, [&](const Case&) { return losses[at++].gV; });
  const Spectrum dx = eigh_jvp(f, x, &dA, {}, {true, vectors});
  const Gradient g = eigh_vjp(f, x, &gw, vectors ? &gV : nullptr);
  const Gradient g_lower = eigh_vjp(f, x, &gw, vectors ? &gV : nullptr, {.hermitian = Hermitian::lower});
  for (std::size_t b = 0; b < cases.size(); ++b) {
    const Case& c = *cases[b];
    expect_golden(f, c, "value", x.w.matrix(b), c.outputs.at("w"), "w");
    expect_golden(f, c, "value", losses[b].value, c.value);
    double jvp = inner(losses[b].gw, dx.w.matrix(b));
    if (losses[b].vectors) jvp += inner(losses[b].gV, dx.V.matrix(b));
    expect_golden(f, c, "jvp", jvp, c.jvp);
    if (c.output_tangents.count("w")) expect_golden(f, c, "jvp", dx.w.matrix(b), c.output_tangents.at("w"), "dw");
    expect_golden(f, c, "vjp", g.A.matrix(b), c.vjp.at("A"), "gA");
    expect_golden(f, c, "vjp", g_lower.A.matrix(b), c.vjp_lower.at("A"), "gA of the lower triangle");
    EXPECT_TRUE(identical(g.A.matrix(b), adjoint(g.A.matrix(b)))) << "gA is Hermitian to the last bit";
    expect_no_alarm(f, c, x.diagnoses[b]);
    expect_no_alarm(f, c, dx.diagnoses[b]);
    expect_no_alarm(f, c, g.diagnoses[b]);
  }
}

TEST_P(Eigh, golden) {
  for_each_golden("eigh", flavour(), {21, 21, 18}, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

// --- values ---------------------------------------------------------------------------------------------------------

void check_values(const Flavour& f, const Dense& A, const Spectrum& x) {
  const int n = A.rows;
  expect_orthonormal(f, x.V, "V");
  for (int b = 0; b < A.count; ++b) {
    const Dense a = A.matrix(b), w = x.w.matrix(b), V = x.V.matrix(b);
    expect_small(f, norm(a * V - scale_columns(V, w)), n, norm(a), "A V - V w");
    for (int i = 1; i < n; ++i) EXPECT_LE(w(i - 1).real(), w(i).real()) << "ascending";
    EXPECT_EQ(explain(x.diagnoses[b]), "");
  }
}

TEST_P(Eigh, values) {
  const Flavour f = flavour();
  Random random(11, complex());
  for (const int n : small_sizes)
    for (const int count : batches) {
      const Dense A = many(count, [&] { return random.hermitian(n); });
      const Spectrum x = eigh(f, A);
      check_values(f, A, x);
      const Dense w = eigh(f, A, {}, {true, false}).w;  // without vectors another algorithm may run
      expect_small(f, norm(w - x.w), n, norm(A), "eigenvalues alone");
      EXPECT_TRUE(identical(eigh(f, A, {}, {false, true}).V, x.V));
    }
  for (const int n : large_sizes) {
    const Dense A = random.hermitian(n);
    check_values(f, A, eigh(f, A));
  }
  check_values(f, Dense(0, 3, 3), eigh(f, Dense(0, 3, 3)));
}

TEST_P(Eigh, reads_the_part_it_is_told) {
  const Flavour f = flavour();
  Random random(12, complex());
  const Dense A = random.matrix(5, 5), rest = Z(0.5) * (A + adjoint(A));
  check_values(f, rest, eigh(f, A));
  for (const Hermitian h : {Hermitian::lower, Hermitian::upper}) {
    const bool lower = h == Hermitian::lower;
    const Dense half = lower ? lower_triangle(A, -1) : upper_triangle(A, 1);
    Dense full = half + adjoint(half);
    for (int i = 0; i < 5; ++i) full(i, i) = A(i, i).real();
    Dense unread = A;
    for (int j = 0; j < 5; ++j)
      for (int i = 0; i < 5; ++i)
        if (i != j && lower == (i < j)) unread(i, j) = std::nan("");
    check_values(f, full, eigh(f, unread, {.hermitian = h}));
  }
}

// --- derivatives against each other ---------------------------------------------------------------------------------

/// <dw, gw> + <dV, gV> = <dA, gA> for each subset of what is there; and what is there does not depend on what is not.
void check_adjoint(const Flavour& f, const Spectrum& x, const Dense& dA, const Dense& gw, const Dense& gV,
                   EighOptions o = {}) {
  const Spectrum full = eigh_jvp(f, x, &dA, o);
  const Spectrum only_w = eigh_jvp(f, x, &dA, o, {true, false}), only_V = eigh_jvp(f, x, &dA, o, {false, true});
  expect_small(f, norm(only_w.w - full.w), dA.rows, norm(dA), "dw alone");
  EXPECT_TRUE(identical(only_V.V, full.V));
  EXPECT_EQ(max_abs(eigh_jvp(f, x, nullptr, o).w) + max_abs(eigh_jvp(f, x, nullptr, o).V), 0) << "no tangent";
  EXPECT_EQ(max_abs(eigh_vjp(f, x, nullptr, nullptr, o).A), 0) << "no cotangent";
  for (const bool values : {false, true})
    for (const bool vectors : {false, true}) {
      if (!values && !vectors) continue;
      const Gradient g = eigh_vjp(f, x, values ? &gw : nullptr, vectors ? &gV : nullptr, o);
      Pairing forward, reverse;
      if (values) forward.add(&full.w, &gw);
      if (vectors) forward.add(&full.V, &gV);
      reverse.add(&dA, &g.A);
      expect_adjoint(f, forward, reverse, "eigh " + present(values, vectors) + " n = " + std::to_string(dA.rows));
    }
}

TEST_P(Eigh, jvp_and_vjp_are_adjoint) {
  const Flavour f = flavour();
  Random random(13, complex());
  for (const int n : small_sizes)
    for (const int count : batches) {
      const Dense A = many(count, [&] { return random.hermitian_with(random.separated(n, -1, 1)); });
      const Spectrum x = eigh(f, A);
      const Dense dA = random.like(A), gw = random.real_like(x.w), gV = random.like(A);  // dA need not be Hermitian
      check_adjoint(f, x, dA, gw, gV);
      if (n > 8) continue;
      check_adjoint(f, x, dA, gw, gV, {.hermitian = Hermitian::lower});
      check_adjoint(f, x, dA, gw, gV, {.hermitian = Hermitian::upper});
    }
  for (const int n : large_sizes) {
    const Spectrum x = eigh(f, random.hermitian_with(random.separated(n, -1, 1)));
    check_adjoint(f, x, random.like(x.V), random.real_like(x.w), random.like(x.V));
  }
  const Spectrum empty = eigh(f, Dense(0, 3, 3));
  check_adjoint(f, empty, Dense(0, 3, 3), Dense(0, 3, 1), Dense(0, 3, 3));
}

TEST_P(EighDifferences, central_differences) {
  const Flavour f = flavour();
  Random random(14, complex());
  for (const int n : {1, 2, 3, 6}) {
    const Dense A = random.hermitian_with(random.separated(n, -1, 1)), dA = random.hermitian(n),
                W = random.matrix(n, n);
    const Dense a = random.real_like(Dense(n, 1)), c = random.real_like(Dense(n, 1));
    const auto loss = [&](double t) {
      const Spectrum y = eigh(f, A + Z(t) * dA);
      return loss_of(a, &c, &W, y.w, y.V).value;
    };
    const Spectrum x = eigh(f, A);
    const Loss l = loss_of(a, &c, &W, x.w, x.V);
    const double slope = inner(eigh_vjp(f, x, &l.gw, &l.gV).A, dA);
    EXPECT_NEAR(central_difference(loss), slope, 1e-6 * (1 + std::abs(slope))) << n;
  }
}

TEST_P(Eigh, accumulates) {
  const Flavour f = flavour();
  Random random(15, complex());
  const Dense A = many(2, [&] { return random.hermitian_with(random.separated(6, -1, 1)); });
  const Spectrum x = eigh(f, A);
  const Dense gw = random.real_like(x.w), gV = random.like(A), start = random.like(A);
  for (const Hermitian h : {Hermitian::part, Hermitian::lower, Hermitian::upper})
    for (const bool vectors : {false, true}) {
      const Dense g = eigh_vjp(f, x, &gw, vectors ? &gV : nullptr, {.hermitian = h}).A;
      const Dense sum =
          eigh_vjp(f, x, &gw, vectors ? &gV : nullptr, {.hermitian = h, .store = Store::accumulate}, &start).A;
      expect_same(f, sum, start + g, "start + gA", 4);
    }
  const Dense kept = eigh_vjp(f, x, nullptr, nullptr, {.store = Store::accumulate}, &start).A;
  expect_same(f, kept, start, "nothing added", 1);
}

// --- what has no answer ---------------------------------------------------------------------------------------------

TEST_P(Eigh, two_by_two_of_the_documentation) {
  const Flavour f = flavour();
  Dense A(2, 2), gw(2, 1);
  A.data = {2, 1, 1, 3};
  gw(1) = 1;
  const Spectrum x = eigh(f, A);
  Dense part(2, 2), lower(2, 2), upper(2, 2);
  const double a = 0.276393202250021, b = 0.447213595499958, c = 0.723606797749979;
  part.data = {a, b, b, c};
  lower.data = {a, 2 * b, 0, c};
  upper.data = {a, 0, 2 * b, c};
  expect_same(f, eigh_vjp(f, x, &gw, nullptr).A, part, "part", 8);
  expect_same(f, eigh_vjp(f, x, &gw, nullptr, {.hermitian = Hermitian::lower}).A, lower, "lower", 8);
  expect_same(f, eigh_vjp(f, x, &gw, nullptr, {.hermitian = Hermitian::upper}).A, upper, "upper", 8);
}

TEST_P(Eigh, reports_a_loss_that_depends_on_the_phase) {
  const Flavour f = flavour();
  Random random(16, complex());
  const Dense A = random.hermitian_with(random.separated(4, -1, 1));
  const Spectrum x = eigh(f, A);
  Dense gV(4, 4);
  gV(1, 2) = 1;  // loss = Re V(1,2)
  const Diagnosis d = eigh_vjp(f, x, nullptr, &gV).diagnoses[0];
  EXPECT_EQ(d.gauge > 0.01, complex()) << d.gauge;
  EXPECT_EQ(explain(d).empty(), !complex());
}

TEST_P(Eigh, reports_what_a_repeated_eigenvalue_cannot_tell) {
  const Flavour f = flavour();
  Random random(17, complex());
  const Dense A = random.hermitian_with({-1, 2, 2, 2});
  const Spectrum x = eigh(f, A);
  const double noise = f.single() ? 1e-4 : 1e-12;
  // A loss that looks inside the group: Re v_1^H W v_1
  const Dense W = random.matrix(4, 4), WV = W * x.V + adjoint(W) * x.V;
  Dense gV(4, 4), zero(4, 1);
  for (int i = 0; i < 4; ++i) gV(i, 1) = WV(i, 1);
  const Diagnosis basis = eigh_vjp(f, x, nullptr, &gV).diagnoses[0];
  EXPECT_GT(basis.gauge, 1e-3);
  EXPECT_LT(basis.gap, noise);
  EXPECT_NE(explain(basis).find("basis"), std::string::npos) << explain(basis);
  // The same for all of the group: well defined
  const Dense one = scale_columns(WV, [] {
    Dense c(4, 1);
    c(1) = c(2) = c(3) = 1;
    return c;
  }());
  const Gradient projector = eigh_vjp(f, x, nullptr, &one);
  EXPECT_EQ(explain(projector.diagnoses[0]), "");
  EXPECT_TRUE(all_finite(projector.A));
  // Eigenvalue cotangents that differ within the group
  Dense gw(4, 1);
  gw(0) = 5, gw(1) = 1, gw(2) = 1, gw(3) = 2;
  const Diagnosis spread = eigh_vjp(f, x, &gw, nullptr).diagnoses[0];
  EXPECT_NEAR(spread.spread, 0.2, 1e-6);
  EXPECT_NE(explain(spread).find("differently"), std::string::npos) << explain(spread);
  const Diagnosis both = eigh_vjp(f, x, &gw, &one).diagnoses[0];
  EXPECT_NEAR(both.spread, 0.2, 1e-6);
  gw(3) = 1;
  EXPECT_EQ(explain(eigh_vjp(f, x, &gw, nullptr).diagnoses[0]), "");
  // A tangent that splits the group
  const Dense dA = random.hermitian(4), harmless = x.V * adjoint(x.V);
  const Diagnosis split = eigh_jvp(f, x, &dA).diagnoses[0];
  EXPECT_GT(split.coupling, 1e-3);
  EXPECT_LT(split.gap, noise);
  EXPECT_EQ(explain(split), "");
  EXPECT_NE(explain(split, true), "");
  EXPECT_EQ(explain(eigh_jvp(f, x, &harmless).diagnoses[0], true), "");
}

TEST_P(Eigh, degeneracy_policies) {
  const Flavour f = flavour();
  const double t = 1e-3;  // relative to max|w| = 2
  Dense A(3, 3);
  A(0, 0) = 1, A(1, 1) = 1 + t / 2, A(2, 2) = 2;
  const Spectrum x = eigh(f, A);
  Dense dA(3, 3), gV(3, 3);
  dA(1, 0) = dA(0, 1) = dA(1, 2) = dA(2, 1) = 1;
  gV(1, 0) = gV(1, 2) = 1;
  const double v0 = x.V(0, 0).real(), v2 = x.V(2, 2).real(), sign0 = v0 * x.V(1, 1).real();
  const double gap = x.w(1).real() - x.w(0).real(), wide = x.w(2).real() - x.w(1).real();
  const auto jvp = [&](EighOptions o) { return (adjoint(x.V) * eigh_jvp(f, x, &dA, o).V)(0, 1).real() * sign0; };
  const auto vjp = [&](EighOptions o) { return eigh_vjp(f, x, nullptr, &gV, o); };
  const double close = 4e3 * f.epsilon() / t;
  // forward, default tolerance: the gap is wide enough
  EXPECT_NEAR(jvp({}) * gap, 1, close);
  // forward, tolerance above the gap
  EXPECT_EQ(jvp({.tolerance = t}), 0);
  EXPECT_NEAR(jvp({.degeneracy = Degeneracy::broaden, .tolerance = t}), gap / (gap * gap + 4 * t * t), close / t);
  EXPECT_TRUE(std::isnan(jvp({.degeneracy = Degeneracy::fail, .tolerance = t})));
  EXPECT_NEAR(jvp({.degeneracy = Degeneracy::fail, .tolerance = t / 8}) * gap, 1, close);
  // reverse: a numerator above noise is divided by default, and shows in the diagnosis when the gap is within the
  // tolerance
  const Gradient masked = vjp({.tolerance = t}), plain = vjp({});
  EXPECT_NEAR(plain.A(0, 1).real() * v0 * gap * 2, -1, close);
  EXPECT_NEAR(plain.A(2, 1).real() * v2 * wide * 2, 1, 1e-5);
  EXPECT_TRUE(identical(masked.A, plain.A));
  EXPECT_EQ(plain.diagnoses[0].gauge, 0);
  EXPECT_GT(masked.diagnoses[0].gauge, 0.1);
  const Dense broad = vjp({.degeneracy = Degeneracy::broaden, .tolerance = t}).A;
  EXPECT_NEAR(broad(0, 1).real() * v0, -0.5 * gap / (gap * gap + 4 * t * t), close / t);
  EXPECT_TRUE(all_nan(vjp({.degeneracy = Degeneracy::fail, .tolerance = t}).A.block(0, 0, 2, 2)));
  EXPECT_TRUE(identical(vjp({.degeneracy = Degeneracy::fail, .tolerance = t / 8}).A, plain.A));
}

/// Of the Hermitian part the imaginary part of the diagonal is none, unless it is not finite; a triangle is read
/// without.
TEST_P(Eigh, not_finite_on_the_diagonal) {
  if (!complex()) return;
  Random random(19, true);
  for (const double bad : {std::nan(""), HUGE_VAL})
    for (const int n : {1, 6, 40}) {
      Dense A = random.hermitian(n);
      A(n / 2, n / 2) = Z(1, bad);
      const Spectrum x = eigh(flavour(), A);
      EXPECT_TRUE(all_nan(x.w) && all_nan(x.V)) << n;
      EXPECT_EQ(x.diagnoses[0].nonfinite, 1) << n;
      EXPECT_TRUE(all_finite(eigh(flavour(), A, {.hermitian = Hermitian::lower}).w)) << n;
    }
}

TEST_P(Eigh, not_finite) {
  const Flavour f = flavour();
  Random random(18, complex());
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    for (const bool vectors : {false, true}) {
      Dense A = many(3, [&] { return random.hermitian(6); });
      A(1, 2, 3) = A(1, 3, 2) = bad;
      const Spectrum x = eigh(f, A, {}, {true, vectors});
      EXPECT_TRUE(all_nan(x.w.matrix(1)));
      EXPECT_TRUE(!vectors || all_nan(x.V.matrix(1)));
      EXPECT_EQ(x.diagnoses[1].nonfinite, 1);
      EXPECT_NE(explain(x.diagnoses[1]), "");
      for (const int b : {0, 2}) {
        EXPECT_TRUE(all_finite(x.w.matrix(b)));
        EXPECT_EQ(explain(x.diagnoses[b]), "");
      }
      if (!vectors) continue;
      // and on it goes through the rules
      const Dense dA = random.like(A), gw = random.real_like(x.w), gV = random.like(A);
      const Spectrum dx = eigh_jvp(f, x, &dA);
      EXPECT_TRUE(all_nan(dx.w.matrix(1)) && all_nan(dx.V.matrix(1)));
      EXPECT_TRUE(all_finite(dx.w.matrix(2)) && all_finite(dx.V.matrix(2)));
      for (const Gradient& g : {eigh_vjp(f, x, &gw, &gV), eigh_vjp(f, x, &gw, nullptr)}) {
        EXPECT_TRUE(all_nan(g.A.matrix(1)));
        EXPECT_TRUE(all_finite(g.A.matrix(2)));
      }
    }
}

TEST_P(Eigh, any_scale) {
  const Flavour f = flavour();
  Random random(19, complex());
  const Dense A = random.hermitian_with(random.separated(5, 0.5, 1.5)), dA = random.hermitian(5),
              gV = random.matrix(5, 5);
  const Spectrum x = eigh(f, A);
  const Dense dV = eigh_jvp(f, x, &dA).V, gA = eigh_vjp(f, x, nullptr, &gV).A;
  for (const int exponent : {-1, 1}) {
    const double scale = std::ldexp(1.0, exponent * (f.single() ? 90 : 660));  // about 1e27, 1e200
    const Spectrum y = eigh(f, Z(scale) * A);
    expect_same(f, Z(1 / scale) * y.w, x.w, "w");
    // Vectors up to their phase: compare rules at the same vectors.
    const Spectrum z{Z(scale) * x.w, x.V, {}};
    const Dense dA_scaled = Z(scale) * dA, gV_scaled = Z(scale) * gV;
    expect_same(f, eigh_jvp(f, z, &dA_scaled).V, dV, "dV");
    expect_same(f, eigh_vjp(f, z, nullptr, &gV_scaled).A, gA, "gA");
    EXPECT_EQ(explain(y.diagnoses[0]), "");
  }
}

TEST_P(Eigh, zero_and_identity) {
  const Flavour f = flavour();
  for (const double value : {0.0, 1.0}) {
    const Dense A = Z(value) * identity(4);
    const Spectrum x = eigh(f, A);
    check_values(f, A, x);
    const Dense gw = constant(4, 1, 1), gV(4, 4), dA = constant(4, 4, 1);
    const Gradient g = eigh_vjp(f, x, &gw, &gV);  // zero cotangents on degenerate vectors: no 0 * Inf
    expect_same(f, g.A, identity(4), "gradient of the trace");
    EXPECT_EQ(explain(g.diagnoses[0]), "");
    const Spectrum dx = eigh_jvp(f, x, &dA);
    EXPECT_TRUE(all_finite(dx.w) && all_finite(dx.V));
  }
}

}  // namespace
}  // namespace frechet::test
