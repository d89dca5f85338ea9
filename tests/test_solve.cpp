// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

// solve: op(A) X = B

namespace frechet::test {
namespace {

class Solve : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Solve, testing::ValuesIn(all_scalars), scalar_name);

void check_golden(const Flavour& f, const Stack& cases) {
  const auto input = [&](const char* key) {
    return gather(cases, [key](const Case& c) { return c.inputs.at(key); });
  };
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
    expect_no_alarm(c, x.diagnoses[b]);
    expect_no_alarm(c, dx.diagnoses[b]);
    expect_no_alarm(c, g.diagnoses[b]);
  }
}

TEST_P(Solve, golden) {
  for_each_golden("solve", flavour(), complex() ? 31 : 21, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

}  // namespace
}  // namespace frechet::test
