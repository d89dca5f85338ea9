// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

// lu: P^T A = L U

namespace frechet::test {
namespace {

class Lu : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Lu, testing::ValuesIn(all_scalars), scalar_name);

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
    expect_no_alarm(c, x.diagnoses[b]);
    expect_no_alarm(c, dx.diagnoses[b]);
    expect_no_alarm(c, g.diagnoses[b]);
  }
}

TEST_P(Lu, golden) {
  for_each_golden("lu", flavour(), 10, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

}  // namespace
}  // namespace frechet::test
