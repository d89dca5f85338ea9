// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "site.hpp"

#include <algorithm>

namespace frechet::test {

Triangles lu(const Flavour& flavour, const Dense& A, LuOptions o, Want want) {
  Triangles r;
  const int m = A.rows, n = A.cols, k = std::min(m, n);
  on_site(flavour, A, [&](auto&& site) {
    const auto a = site.matrix(&A);
    const auto L = site.matrix(r.L, want.first, m, k), U = site.matrix(r.U, want.second, k, n);
    const auto perm = site.indices(r.perm, want.third, m);
    o.diagnostics = site.diagnostics();
    frechet::lu(site.exec, a, L, U, perm, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Triangles lu_jvp(const Flavour& flavour, const Triangles& x, Opt dA, LuOptions o, Want want) {
  Triangles r;
  const int m = x.L.rows, n = x.U.cols, k = x.L.cols;
  on_site(flavour, x.L, [&](auto&& site) {
    const auto L = site.matrix(&x.L), U = site.matrix(&x.U), da = site.matrix(dA);
    const auto perm = site.indices(x.perm);
    const auto dL = site.matrix(r.L, want.first, m, k), dU = site.matrix(r.U, want.second, k, n);
    o.diagnostics = site.diagnostics();
    frechet::lu_jvp(site.exec, L, U, perm, da, dL, dU, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Gradient lu_vjp(const Flavour& flavour, const Triangles& x, Opt gL, Opt gU, LuOptions o, Opt start) {
  Gradient r;
  on_site(flavour, x.L, [&](auto&& site) {
    const auto L = site.matrix(&x.L), U = site.matrix(&x.U), cL = site.matrix(gL), cU = site.matrix(gU);
    const auto perm = site.indices(x.perm);
    const auto gA = site.matrix(r.A, true, x.L.rows, x.U.cols, start);
    o.diagnostics = site.diagnostics();
    frechet::lu_vjp(site.exec, L, U, perm, cL, cU, gA, o);
    site.finish(r.diagnoses);
  });
  return r;
}

}  // namespace frechet::test
