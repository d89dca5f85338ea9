// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "golden.hpp"

// qr: A = Q R

namespace frechet::test {
namespace {

class Qr : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(, Qr, testing::ValuesIn(all_scalars), scalar_name);

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
    expect_no_alarm(c, x.diagnoses[b]);
    expect_no_alarm(c, dx.diagnoses[b]);
    expect_no_alarm(c, g.diagnoses[b]);
  }
}

TEST_P(Qr, golden) {
  for_each_golden("qr", flavour(), 31, [&](const Stack& cases) { check_golden(flavour(), cases); });
}

}  // namespace
}  // namespace frechet::test
