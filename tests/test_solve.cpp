// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

#include <algorithm>
#include <cmath>

// solve: op(A) X = B

namespace frechet::test {
namespace {

class Solve : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Solve, testing::ValuesIn(all_scalars), scalar_name);
/// Single precision has too few digits for differences.
class SolveDifferences : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, SolveDifferences, testing::ValuesIn(double_scalars), scalar_name);

void check_golden(const Flavour& f, const Stack& cases) {
  const auto input = [&](const char* key) { return gather(cases, [key](const Case& c) { return c.inputs.at(key); }); };
  const auto tangent = [&](const char* key) {
    return gather(cases, [key](const Case& c) { return c.tangents.at(key); });
  };
  const Dense A = input("A"), B = input("B"), dA = tangent("dA"), dB = tangent("dB");
  const Dense gX = gather(cases, [](const Case& c) { return c.weight("G"); });
  const std::string trans = cases[0]->options.at("trans");
  const SolveOptions o{.op = trans == "N" ? Op::none : trans == "T" ? Op::transpose : Op::adjoint};
  const Solution x = solve(f, A, B, o);
  const Solution dx = solve_jvp(f, x, &dA, &dB, o);
  const Gradient g = solve_vjp(f, x, &gX, o);
  for (std::size_t b = 0; b < cases.size(); ++b) {
    const Case& c = *cases[b];
    expect_golden(f, c, "value", x.X.matrix(b), c.outputs.at("X"), "X");
    expect_golden(f, c, "value", inner(gX.matrix(b), x.X.matrix(b)), c.value);
    expect_golden(f, c, "jvp", dx.X.matrix(b), c.output_tangents.at("X"), "dX");
    expect_golden(f, c, "jvp", inner(gX.matrix(b), dx.X.matrix(b)), c.jvp);
    expect_golden(f, c, "vjp", g.A.matrix(b), c.vjp.at("A"), "gA");
    expect_golden(f, c, "vjp", g.B.matrix(b), c.vjp.at("B"), "gB");
    expect_no_alarm(f, c, x.diagnoses[b]);
    expect_no_alarm(f, c, dx.diagnoses[b]);
    expect_no_alarm(f, c, g.diagnoses[b]);
  }
}

TEST_P(Solve, golden) {
  for_each_golden("solve", flavour(), complex() ? Counts{31, 31, 30} : Counts{21, 21, 20},
                  [&](const Stack& cases) { check_golden(flavour(), cases); });
}

constexpr Op all_ops[] = {Op::none, Op::transpose, Op::adjoint};

Dense apply(Op op, const Dense& A) { return op == Op::none ? A : op == Op::transpose ? transpose(A) : adjoint(A); }

// --- values ---------------------------------------------------------------------------------------------------------

void check_values(const Flavour& f, const Dense& A, const Dense& B, const Solution& x, Op op) {
  for (int b = 0; b < A.count; ++b) {
    const Dense a = A.matrix(b), X = x.X.matrix(b), LU = x.LU.matrix(b), B_b = B.matrix(b);
    expect_small(f, norm(apply(op, a) * X - B_b), A.rows, norm(a) * norm(X) + norm(B_b), "op(A) X - B");
    const Dense L = lower_triangle(LU, -1) + identity(A.rows), U = upper_triangle(LU);
    expect_small(f, norm(permute_rows(a, x.perm.matrix(b)) - L * U), A.rows, norm(L) * norm(U), "P^T A - L U");
    EXPECT_EQ(explain(x.diagnoses[b]), "");
  }
}

TEST_P(Solve, values) {
  const Flavour f = flavour();
  Random random(81, complex());
  for (const Op op : all_ops) {
    for (const int n : small_sizes)
      for (const int r : {0, 1, 3, 17})
        for (const int count : batches) {
          const Dense A = many(count, [&] { return random.well_conditioned(n, n); });
          const Dense B = random.like(many(count, [&] { return Dense(n, r); }));
          const Solution x = solve(f, A, B, {.op = op});
          check_values(f, A, B, x, op);
          EXPECT_TRUE(identical(solve(f, A, B, {.op = op}, {false, false}).X, x.X)) << "factorisation not wanted";
        }
    const Dense large = random.well_conditioned(190, 190), right = random.matrix(190, 180);
    check_values(f, large, right, solve(f, large, right, {.op = op}), op);
    const Dense A(0, 3, 3), B(0, 3, 2);
    check_values(f, A, B, solve(f, A, B, {.op = op}), op);
  }
}

// --- derivatives against each other ---------------------------------------------------------------------------------

/// <dX, gX> = <dA, gA> + <dB, gB> for each subset of tangents and of gradients.
void check_adjoint(const Flavour& f, const Solution& x, const Dense& dA, const Dense& dB, const Dense& gX, Op op) {
  const SolveOptions o{.op = op};
  const Gradient full = solve_vjp(f, x, &gX, o);
  // Not to the last bit: what is not wanted lives in scratch, and a BLAS may round by the alignment of its operands.
  expect_same(f, solve_vjp(f, x, &gX, o, {true, false}).A, full.A, "gA alone");
  expect_same(f, solve_vjp(f, x, &gX, o, {false, true}).B, full.B, "gB alone");
  const Gradient none = solve_vjp(f, x, nullptr, o);
  EXPECT_EQ(max_abs(none.A) + max_abs(none.B), 0) << "no cotangent";
  EXPECT_EQ(max_abs(solve_vjp(f, x, nullptr, o, {true, false}).A), 0) << "neither cotangent nor gB";
  EXPECT_EQ(max_abs(solve_jvp(f, x, nullptr, nullptr, o).X), 0) << "no tangent";
  for (int subset = 1; subset < 4; ++subset) {
    const bool a = subset & 1, b = subset & 2;
    const Solution d = solve_jvp(f, x, a ? &dA : nullptr, b ? &dB : nullptr, o);
    Pairing forward, reverse;
    forward.add(&d.X, &gX);
    if (a) reverse.add(&dA, &full.A);
    if (b) reverse.add(&dB, &full.B);
    expect_adjoint(f, forward, reverse, "solve " + present(a, b) + " n = " + std::to_string(dA.rows));
  }
}

TEST_P(Solve, jvp_and_vjp_are_adjoint) {
  const Flavour f = flavour();
  Random random(82, complex());
  for (const Op op : all_ops) {
    for (const int n : small_sizes)
      for (const int r : {0, 1, 3})
        for (const int count : batches) {
          const Dense A = many(count, [&] { return random.well_conditioned(n, n); });
          const Dense B = random.like(many(count, [&] { return Dense(n, r); }));
          const Solution x = solve(f, A, B, {.op = op});
          check_adjoint(f, x, random.like(A), random.like(B), random.like(B), op);
        }
    const Dense right = random.matrix(190, 180);
    const Solution large = solve(f, random.well_conditioned(190, 190), right, {.op = op});
    check_adjoint(f, large, random.matrix(190, 190), random.like(right), random.like(right), op);
    const Dense A(0, 3, 3), B(0, 3, 2);
    check_adjoint(f, solve(f, A, B, {.op = op}), A, B, B, op);
  }
}

TEST_P(SolveDifferences, central_differences) {
  const Flavour f = flavour();
  Random random(83, complex());
  for (const Op op : all_ops) {
    const Dense A = random.well_conditioned(5, 5), B = random.matrix(5, 2), G = random.matrix(5, 2);
    const Dense dA = random.like(A), dB = random.like(B);
    const auto loss = [&](double t) { return inner(G, solve(f, A + Z(t) * dA, B + Z(t) * dB, {.op = op}).X); };
    const Gradient g = solve_vjp(f, solve(f, A, B, {.op = op}), &G, {.op = op});
    const double slope = inner(g.A, dA) + inner(g.B, dB);
    EXPECT_NEAR(central_difference(loss), slope, 1e-6 * (1 + std::abs(slope)));
  }
}

TEST_P(Solve, accumulates) {
  const Flavour f = flavour();
  Random random(84, complex());
  for (const Op op : all_ops)
    for (const bool present : {false, true}) {
      const Dense A = many(2, [&] { return random.well_conditioned(5, 5); }), B = random.batch(2, 5, 3),
                  gX = random.like(B);
      const Dense start_a = random.like(A), start_b = random.like(B);
      const Solution x = solve(f, A, B, {.op = op});
      const Opt cotangent = present ? &gX : nullptr;
      const Gradient g = solve_vjp(f, x, cotangent, {.op = op});
      const Gradient sum = solve_vjp(f, x, cotangent, {.op = op, .store = Store::accumulate}, {}, &start_a, &start_b);
      expect_same(f, sum.A, start_a + g.A, "start + gA", 8);
      expect_same(f, sum.B, start_b + g.B, "start + gB", 8);
    }
}

// --- what has no answer ---------------------------------------------------------------------------------------------

TEST_P(Solve, singular) {
  const Flavour f = flavour();
  Random random(85, complex());
  const double denormal = f.single() ? 1e-40 : 1e-310;
  for (int run = 0; run < 2 * static_cast<int>(std::size(all_ops)); ++run) {
    const Op op = all_ops[run / 2];
    Dense A = many(3, [&] { return random.well_conditioned(4, 4); });
    const Dense B = random.batch(3, 4, 2), gX = random.like(B), dA = random.like(A), dB = random.like(B);
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 4; ++i)
        if (i == 2 || j == 2) A(1, i, j) = run % 2 == 1 && i == j ? denormal : 0;
    const Solution x = solve(f, A, B, {.op = op});
    EXPECT_TRUE(all_nan(x.X.matrix(1)));
    EXPECT_GT(x.diagnoses[1].info, 0);
    EXPECT_NE(explain(x.diagnoses[1]).find("singular"), std::string::npos);
    const Solution dx = solve_jvp(f, x, &dA, &dB, {.op = op}), db = solve_jvp(f, x, nullptr, &dB, {.op = op});
    const Gradient g = solve_vjp(f, x, &gX, {.op = op});
    EXPECT_TRUE(all_nan(dx.X.matrix(1)) && all_nan(db.X.matrix(1)) && all_nan(g.A.matrix(1)) && all_nan(g.B.matrix(1)));
    EXPECT_NE(explain(g.diagnoses[1]), "");
    EXPECT_NE(explain(dx.diagnoses[1]), "");
    for (const int b : {0, 2}) {
      EXPECT_TRUE(all_finite(x.X.matrix(b)) && all_finite(dx.X.matrix(b)) && all_finite(g.A.matrix(b)));
      EXPECT_EQ(explain(x.diagnoses[b]) + explain(dx.diagnoses[b]) + explain(g.diagnoses[b]), "");
    }
  }
}

TEST_P(Solve, not_finite) {
  const Flavour f = flavour();
  Random random(86, complex());
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    for (const Op op : all_ops) {
      Dense A = many(3, [&] { return random.well_conditioned(4, 4); });
      const Dense B = random.batch(3, 4, 2), gX = random.like(B), dA = random.like(A), dB = random.like(B);
      A(1, 3, 0) = bad;
      const Solution x = solve(f, A, B, {.op = op});
      EXPECT_TRUE(all_nan(x.X.matrix(1)) && all_finite(x.X.matrix(0)));
      EXPECT_EQ(x.diagnoses[1].nonfinite, 1);
      EXPECT_NE(explain(x.diagnoses[1]), "");
      const Solution dx = solve_jvp(f, x, &dA, &dB, {.op = op}), db = solve_jvp(f, x, nullptr, &dB, {.op = op});
      const Gradient g = solve_vjp(f, x, &gX, {.op = op});
      EXPECT_TRUE(all_nan(dx.X.matrix(1)) && all_nan(db.X.matrix(1)));
      EXPECT_TRUE(all_nan(g.A.matrix(1)) && all_nan(g.B.matrix(1)));
      EXPECT_TRUE(all_finite(dx.X.matrix(2)) && all_finite(g.A.matrix(2)));
    }
}

TEST_P(Solve, not_finite_right_side) {
  const Flavour f = flavour();
  Random random(87, complex());
  const Dense A = random.well_conditioned(4, 4);
  Dense B = random.matrix(4, 2);
  B(2, 1) = std::nan("");
  const Solution x = solve(f, A, B);
  EXPECT_TRUE(all_nan(x.X.block(0, 1, 4, 1)));
}

TEST_P(Solve, any_scale) {
  const Flavour f = flavour();
  Random random(88, complex());
  const Dense A = random.well_conditioned(5, 5), B = random.matrix(5, 2), gX = random.matrix(5, 2);
  const Solution x = solve(f, A, B);
  const Gradient g = solve_vjp(f, x, &gX);
  for (const int exponent : {-1, 1}) {
    const double scale = std::ldexp(1.0, exponent * (f.single() ? 90 : 660));
    const Dense gX_scaled = Z(scale) * gX;
    const Solution y = solve(f, Z(scale) * A, Z(scale) * B);
    expect_same(f, y.X, x.X, "X");
    const Gradient h = solve_vjp(f, y, &gX_scaled);
    expect_same(f, h.A, g.A, "gA");
    expect_same(f, h.B, g.B, "gB");
  }
}

}  // namespace
}  // namespace frechet::test
