// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "site.hpp"

namespace frechet::test {

Solution solve(const Flavour& flavour, const Dense& A, const Dense& B, SolveOptions o, Want want) {
  Solution r;
  const int n = A.rows;
  on_site(flavour, A, [&](auto&& site) {
    const auto a = site.matrix(&A), b = site.matrix(&B);
    const auto X = site.matrix(r.X, true, n, B.cols), LU = site.matrix(r.LU, want.first, n, n);
    const auto perm = site.indices(r.perm, want.second, n);
    o.diagnostics = site.diagnostics();
    frechet::solve(site.exec, a, b, X, LU, perm, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Solution solve_jvp(const Flavour& flavour, const Solution& x, Opt dA, Opt dB, SolveOptions o) {
  Solution r;
  on_site(flavour, x.LU, [&](auto&& site) {
    const auto LU = site.matrix(&x.LU), X = site.matrix(&x.X), da = site.matrix(dA), db = site.matrix(dB);
    const auto perm = site.indices(x.perm);
    const auto dX = site.matrix(r.X, true, x.X.rows, x.X.cols);
    o.diagnostics = site.diagnostics();
    frechet::solve_jvp(site.exec, LU, perm, X, da, db, dX, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Gradient solve_vjp(const Flavour& flavour, const Solution& x, Opt gX, SolveOptions o, Want want, Opt start_a,
                   Opt start_b) {
  Gradient r;
  const int n = x.LU.rows;
  on_site(flavour, x.LU, [&](auto&& site) {
    const auto LU = site.matrix(&x.LU), X = site.matrix(&x.X), cX = site.matrix(gX);
    const auto perm = site.indices(x.perm);
    const auto gA = site.matrix(r.A, want.first, n, n, start_a);
    const auto gB = site.matrix(r.B, want.second, n, x.X.cols, start_b);
    o.diagnostics = site.diagnostics();
    frechet::solve_vjp(site.exec, LU, perm, X, cX, gA, gB, o);
    site.finish(r.diagnoses);
  });
  return r;
}

}  // namespace frechet::test
