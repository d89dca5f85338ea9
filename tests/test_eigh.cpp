// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

// eigh: A = V diag(w) V^H

namespace frechet::test {
namespace {

class Eigh : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Eigh, testing::ValuesIn(all_scalars), scalar_name);

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
    expect_no_alarm(c, x.diagnoses[b]);
    expect_no_alarm(c, dx.diagnoses[b]);
    expect_no_alarm(c, g.diagnoses[b]);
  }
}

TEST_P(Eigh, golden) {
  for_each_golden("eigh", flavour(), 21, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

}  // namespace
}  // namespace frechet::test
