// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

#include <algorithm>
#include <cmath>

// lu: P^T A = L U

namespace frechet::test {
namespace {

class Lu : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Lu, testing::ValuesIn(all_scalars), scalar_name);
/// Single precision has too few digits for differences.
class LuDifferences : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, LuDifferences, testing::ValuesIn(double_scalars), scalar_name);

void check_golden(const Flavour& f, const Stack& cases) {
  const Dense A = gather(cases, [](const Case& c) { return c.inputs.at("A"); });
  const Dense dA = gather(cases, [](const Case& c) { return c.tangents.at("dA"); });
  const Dense gL = gather(cases, [](const Case& c) { return c.weight("GL"); });
  const Dense gU = gather(cases, [](const Case& c) { return c.weight("GU"); });
  const Triangles x = lu(f, A);
  const Triangles dx = lu_jvp(f, x, &dA);
  const Gradient g = lu_vjp(f, x, &gL, &gU);
  for (std::size_t b = 0; b < cases.size(); ++b) {
    const Case& c = *cases[b];
    for (int i = 0; i < A.rows; ++i) EXPECT_EQ(x.perm(b, i, 0).real(), c.perm[i]) << c.id;
    const double value = inner(gL.matrix(b), x.L.matrix(b)) + inner(gU.matrix(b), x.U.matrix(b));
    const double jvp = inner(gL.matrix(b), dx.L.matrix(b)) + inner(gU.matrix(b), dx.U.matrix(b));
    expect_golden(f, c, "value", x.L.matrix(b), c.outputs.at("L"), "L");
    expect_golden(f, c, "value", x.U.matrix(b), c.outputs.at("U"), "U");
    expect_golden(f, c, "value", value, c.value);
    expect_golden(f, c, "jvp", dx.L.matrix(b), c.output_tangents.at("L"), "dL");
    expect_golden(f, c, "jvp", dx.U.matrix(b), c.output_tangents.at("U"), "dU");
    expect_golden(f, c, "jvp", jvp, c.jvp);
    expect_golden(f, c, "vjp", g.A.matrix(b), c.vjp.at("A"), "gA");
    expect_no_alarm(f, c, x.diagnoses[b]);
    expect_no_alarm(f, c, dx.diagnoses[b]);
    expect_no_alarm(f, c, g.diagnoses[b]);
  }
}

TEST_P(Lu, golden) {
  for_each_golden("lu", flavour(), {10, 10, 10}, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

// --- values ---------------------------------------------------------------------------------------------------------

void check_values(const Flavour& f, const Dense& A, const Triangles& x) {
  const int longest = std::max(A.rows, A.cols), k = std::min(A.rows, A.cols);
  EXPECT_EQ(max_abs(x.L - lower_triangle(x.L)), 0) << "L is lower triangular";
  EXPECT_EQ(max_abs(x.U - upper_triangle(x.U)), 0) << "U is upper triangular";
  for (int b = 0; b < A.count; ++b) {
    const Dense a = A.matrix(b), L = x.L.matrix(b), U = x.U.matrix(b), perm = x.perm.matrix(b);
    std::vector<int> seen(A.rows);
    for (int i = 0; i < A.rows; ++i) ++seen.at(static_cast<int>(perm(i).real()));
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int s) { return s == 1; })) << "a permutation";
    expect_small(f, norm(permute_rows(a, perm) - L * U), longest, norm(L) * norm(U), "P^T A - L U");
    for (int i = 0; i < k; ++i) EXPECT_EQ(L(i, i), Z(1)) << "unit diagonal";
    // partial pivoting compares |Re| + |Im|
    for (const Z& z : L.data) EXPECT_LE(std::abs(z), std::sqrt(2.0) * (1 + 4 * f.epsilon()));
    EXPECT_EQ(explain(x.diagnoses[b]), "");
  }
}

TEST_P(Lu, values) {
  const Flavour f = flavour();
  Random random(61, complex());
  for (const auto [m, n] : small_extents)
    for (const int count : batches) {
      const Dense A = many(count, [&, m = m, n = n] { return random.matrix(m, n); });
      const Triangles x = lu(f, A);
      check_values(f, A, x);
      EXPECT_TRUE(identical(lu(f, A, {}, {true, false, false}).L, x.L));
      EXPECT_TRUE(identical(lu(f, A, {}, {false, true, false}).U, x.U));
      EXPECT_TRUE(identical(lu(f, A, {}, {false, false, true}).perm, x.perm));
    }
  for (const auto [m, n] : large_extents) {
    const Dense A = random.matrix(m, n);
    check_values(f, A, lu(f, A));
  }
  check_values(f, Dense(0, 3, 2), lu(f, Dense(0, 3, 2)));
}

/// Sizes whose blocks are smaller than those of their parts, beside others: scratch has to suffice for both.
TEST_P(Lu, values_where_blocks_change) {
  const Flavour f = flavour();
  Random random(66, complex());
  for (const int n : {129, 145, 257, 258, 273}) {
    const Dense A = random.matrix(n, n);
    check_values(f, A, lu(f, A));
  }
  const Dense wide = random.matrix(129, 260);
  check_values(f, wide, lu(f, wide));
}

// --- derivatives against each other ---------------------------------------------------------------------------------

/// A matrix whose leading block has well-conditioned factors, rows in random order.
Dense good_matrix(Random& random, int m, int n) {
  const int k = std::min(m, n);
  Dense L = lower_triangle(Z(0.5 / std::max(k, 1)) * random.matrix(m, k), -1),
        U = Z(0.5 / std::max(k, 1)) * random.matrix(k, n);
  U = upper_triangle(U, 1);
  for (int i = 0; i < k; ++i) {
    L(i, i) = 1;
    U(i, i) = random.uniform(1, 2);
  }
  Dense order(m, 1);
  for (int i = 0; i < m; ++i) order(i) = i;
  for (int i = m - 1; i > 0; --i) std::swap(order(i), order(static_cast<int>(random.uniform(0, i + 1))));
  return permute_rows(L * U, order);
}

void check_adjoint(const Flavour& f, const Triangles& x, const Dense& dA, const Dense& gL, const Dense& gU) {
  const std::string size = extents(dA.rows, dA.cols);
  const Triangles full = lu_jvp(f, x, &dA), none = lu_jvp(f, x, nullptr);
  expect_same(f, lu_jvp(f, x, &dA, {}, {true, false}).L, full.L, "dL alone", 0);
  expect_same(f, lu_jvp(f, x, &dA, {}, {false, true}).U, full.U, "dU alone", 0);
  EXPECT_EQ(max_abs(none.L) + max_abs(none.U), 0) << "no tangent";
  EXPECT_EQ(max_abs(lu_vjp(f, x, nullptr, nullptr).A), 0) << "no cotangent";
  EXPECT_EQ(max_abs(full.L - lower_triangle(full.L, -1)), 0) << "dL is strictly lower triangular";
  EXPECT_EQ(max_abs(full.U - upper_triangle(full.U)), 0) << "dU is upper triangular";
  for (int subset = 1; subset < 4; ++subset) {
    const bool l = subset & 1, u = subset & 2;
    const Gradient g = lu_vjp(f, x, l ? &gL : nullptr, u ? &gU : nullptr);
    Pairing forward, reverse;
    if (l) forward.add(&full.L, &gL);
    if (u) forward.add(&full.U, &gU);
    reverse.add(&dA, &g.A);
    expect_adjoint(f, forward, reverse, "lu " + present(l, u) + size);
  }
}

TEST_P(Lu, jvp_and_vjp_are_adjoint) {
  const Flavour f = flavour();
  Random random(62, complex());
  for (const auto [m, n] : small_extents)
    for (const int count : batches) {
      const Dense A = many(count, [&, m = m, n = n] { return good_matrix(random, m, n); });
      const Triangles x = lu(f, A);
      check_adjoint(f, x, random.like(A), random.like(x.L), random.like(x.U));
    }
  for (const auto [m, n] : large_extents) {
    const Triangles x = lu(f, good_matrix(random, m, n));
    check_adjoint(f, x, random.matrix(m, n), random.like(x.L), random.like(x.U));
  }
  check_adjoint(f, lu(f, Dense(0, 3, 2)), Dense(0, 3, 2), Dense(0, 3, 2), Dense(0, 2, 2));
}

/// P^T dA = dL U + L dU
TEST_P(Lu, tangents_of_the_factors_multiply_out) {
  const Flavour f = flavour();
  Random random(63, complex());
  for (const auto [m, n] : few_extents) {
    const Triangles x = lu(f, random.matrix(m, n));
    const Dense dA = random.matrix(m, n);
    const Triangles d = lu_jvp(f, x, &dA);
    const double scale = norm(d.L) * norm(x.U) + norm(x.L) * norm(d.U);
    expect_small(f, norm(d.L * x.U + x.L * d.U - permute_rows(dA, x.perm)), std::max(m, n), scale, "d(LU)");
  }
}

TEST_P(LuDifferences, central_differences) {
  const Flavour f = flavour();
  Random random(64, complex());
  for (const auto [m, n] : few_extents) {
    const Dense A = good_matrix(random, m, n), dA = random.matrix(m, n);
    const Triangles x = lu(f, A);
    const Dense gL = random.like(x.L), gU = random.like(x.U);
    const auto loss = [&](double t) {
      const Triangles y = lu(f, A + Z(t) * dA);
      return inner(gL, y.L) + inner(gU, y.U);
    };
    const double slope = inner(lu_vjp(f, x, &gL, &gU).A, dA);
    EXPECT_NEAR(central_difference(loss), slope, 1e-6 * (1 + std::abs(slope))) << m << " x " << n;
  }
}

TEST_P(Lu, accumulates) {
  const Flavour f = flavour();
  Random random(65, complex());
  for (const auto [m, n] : few_extents) {
    const Triangles x = lu(f, many(2, [&, m = m, n = n] { return good_matrix(random, m, n); }));
    const Dense gL = random.like(x.L), gU = random.like(x.U), start = random.batch(2, m, n);
    for (int subset = 0; subset < 4; ++subset) {
      const Opt l = subset & 1 ? &gL : nullptr, u = subset & 2 ? &gU : nullptr;
      const Dense g = lu_vjp(f, x, l, u).A;
      expect_same(f, lu_vjp(f, x, l, u, {.store = Store::accumulate}, &start).A, start + g, "start + gA", 4);
    }
  }
}

TEST_P(Lu, entries_outside_the_triangles_do_not_count) {
  const Flavour f = flavour();
  Random random(66, complex());
  for (const auto [m, n] : few_extents) {
    const Triangles x = lu(f, good_matrix(random, m, n));
    const Dense gL = lower_triangle(random.like(x.L), -1), gU = upper_triangle(random.like(x.U));
    Dense dirty_l = gL, dirty_u = gU;
    for (int j = 0; j < dirty_l.cols; ++j)
      for (int i = 0; i <= j; ++i) dirty_l(i, j) = std::nan("");
    for (int j = 0; j < dirty_u.cols; ++j)
      for (int i = j + 1; i < dirty_u.rows; ++i) dirty_u(i, j) = std::nan("");
    EXPECT_TRUE(identical(lu_vjp(f, x, &dirty_l, &dirty_u).A, lu_vjp(f, x, &gL, &gU).A)) << m << " x " << n;
  }
}

// --- what has no answer ---------------------------------------------------------------------------------------------

double denormal(const Flavour& f) { return f.single() ? 1e-40 : 1e-310; }

/// A zero last pivot is no obstacle for m <= n; for m > n, or elsewhere, it is.
TEST_P(Lu, zero_pivots) {
  const Flavour f = flavour();
  Random random(67, complex());
  for (const auto [m, n] : few_extents)
    for (int at = 0; at < 2 * std::min(m, n); ++at) {
      const int k = std::min(m, n), zero = at / 2;
      const double pivot = at % 2 == 0 ? 0 : denormal(f);
      Dense L = lower_triangle(Z(0.25) * random.matrix(m, k), -1), U = upper_triangle(random.matrix(k, n), 1);
      for (int i = 0; i < k; ++i) {
        L(i, i) = 1;
        U(i, i) = i == zero ? pivot : 2;
      }
      if (zero + 1 < k)  // what the elimination would find below a zero pivot is zero too
        for (int i = zero + 1; i < m; ++i) L(i, zero) = 0;
      const bool last = zero == k - 1;
      if (last && m > n)
        for (int i = k; i < m; ++i) L(i, zero) = 0;
      Triangles x{L, U, Dense(m, 1), {}};
      for (int i = 0; i < m; ++i) x.perm(i) = i;
      const Dense dA = random.matrix(m, n), gL = random.like(L), gU = random.like(U);
      const Triangles d = lu_jvp(f, x, &dA);
      const Gradient g = lu_vjp(f, x, &gL, &gU);
      if (last && m <= n) {
        EXPECT_EQ(explain(d.diagnoses[0]) + explain(g.diagnoses[0]), "");
        const double scale = norm(d.L) * norm(x.U) + norm(x.L) * norm(d.U);
        expect_small(f, norm(d.L * x.U + x.L * d.U - dA), std::max(m, n), scale, "d(LU)");
        Pairing forward, reverse;
        forward.add(&d.L, &gL);
        forward.add(&d.U, &gU);
        reverse.add(&dA, &g.A);
        expect_adjoint(f, forward, reverse, "lu with a zero last pivot");
      } else {
        EXPECT_TRUE(all_nan(d.L) && all_nan(d.U) && all_nan(g.A)) << m << " x " << n << ", pivot " << zero;
        EXPECT_EQ(d.diagnoses[0].deficient + g.diagnoses[0].deficient, 2);
      }
    }
}

TEST_P(Lu, singular_value_is_still_right) {
  const Flavour f = flavour();
  Dense A(2, 2);
  A.data = {1, 2, 2, 4};
  const Triangles x = lu(f, A);
  EXPECT_EQ(max_abs(permute_rows(A, x.perm) - x.L * x.U), 0);
  EXPECT_EQ(x.diagnoses[0].zero_pivot, 2);
  EXPECT_EQ(explain(x.diagnoses[0]), "");
  Dense small = identity(3);
  small(1, 1) = denormal(f);
  EXPECT_EQ(lu(f, small).diagnoses[0].zero_pivot, 2);
  EXPECT_EQ(lu(f, identity(3)).diagnoses[0].zero_pivot, 0);
}

TEST_P(Lu, not_finite) {
  const Flavour f = flavour();
  Random random(68, complex());
  for (const double bad : {std::nan(""), HUGE_VAL})
    for (const auto [m, n] : few_extents) {
      Dense A = many(3, [&, m = m, n = n] { return good_matrix(random, m, n); });
      A(1, m - 1, 0) = bad;
      const Triangles x = lu(f, A);
      EXPECT_TRUE(all_nan(x.L.matrix(1)) && all_nan(x.U.matrix(1)));
      EXPECT_EQ(x.diagnoses[1].nonfinite, 1);
      EXPECT_NE(explain(x.diagnoses[1]), "");
      for (const int b : {0, 2}) EXPECT_TRUE(all_finite(x.L.matrix(b)) && explain(x.diagnoses[b]).empty());
      const Dense dA = random.like(A), gL = random.like(x.L), gU = random.like(x.U);
      const Triangles d = lu_jvp(f, x, &dA);
      const Gradient g = lu_vjp(f, x, &gL, &gU);
      EXPECT_TRUE(all_nan(d.L.matrix(1)) && all_nan(d.U.matrix(1)) && all_nan(g.A.matrix(1))) << m << " x " << n;
      EXPECT_TRUE(all_finite(d.L.matrix(2)) && all_finite(d.U.matrix(2)) && all_finite(g.A.matrix(2)));
    }
}

TEST_P(Lu, any_scale) {
  const Flavour f = flavour();
  Random random(69, complex());
  for (const auto [m, n] : few_extents) {
    const Dense A = good_matrix(random, m, n), dA = random.matrix(m, n);
    const Triangles x = lu(f, A);
    const Dense gL = random.like(x.L);
    const Dense dL = lu_jvp(f, x, &dA).L, gA = lu_vjp(f, x, &gL, nullptr).A;
    for (const int exponent : {-1, 1}) {
      const double scale = std::ldexp(1.0, exponent * (f.single() ? 90 : 660));
      const Triangles y = lu(f, Z(scale) * A);
      expect_same(f, y.L, x.L, "L");
      expect_same(f, Z(1 / scale) * y.U, x.U, "U");
      const Dense dA_scaled = Z(scale) * dA, gL_scaled = Z(scale) * gL;
      expect_same(f, lu_jvp(f, y, &dA_scaled).L, dL, "dL");
      expect_same(f, lu_vjp(f, y, &gL_scaled, nullptr).A, gA, "gA");
    }
  }
}

}  // namespace
}  // namespace frechet::test
