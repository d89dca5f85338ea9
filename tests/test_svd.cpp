// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

// svd: A = U diag(s) Vh

namespace frechet::test {
namespace {

class Svd : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Svd, testing::ValuesIn(all_scalars), scalar_name);

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
    expect_no_alarm(c, x.diagnoses[b]);
    expect_no_alarm(c, dx.diagnoses[b]);
    expect_no_alarm(c, g.diagnoses[b]);
  }
}

TEST_P(Svd, golden) {
  for_each_golden("svd", flavour(), 29, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

}  // namespace
}  // namespace frechet::test
