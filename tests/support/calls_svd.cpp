// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "site.hpp"

#include <algorithm>

namespace frechet::test {

Triplets svd(const Flavour& flavour, const Dense& A, SvdOptions o, Want want) {
  Triplets r;
  const int m = A.rows, n = A.cols, k = std::min(m, n);
  on_site(flavour, A, [&](auto&& site) {
    const auto a = site.matrix(&A);
    const auto U = site.matrix(r.U, want.first, m, k), Vh = site.matrix(r.Vh, want.third, k, n);
    const auto s = site.vector(r.s, want.second, k);
    o.diagnostics = site.diagnostics();
    frechet::svd(site.exec, a, U, s, Vh, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Triplets svd_jvp(const Flavour& flavour, const Triplets& x, Opt dA, SvdOptions o, Want want) {
  Triplets r;
  const int m = x.U.rows, n = x.Vh.cols, k = x.U.cols;
  on_site(flavour, x.U, [&](auto&& site) {
    const auto U = site.matrix(&x.U), Vh = site.matrix(&x.Vh), da = site.matrix(dA);
    const auto s = site.vector(&x.s);
    const auto dU = site.matrix(r.U, want.first, m, k), dVh = site.matrix(r.Vh, want.third, k, n);
    const auto ds = site.vector(r.s, want.second, k);
    o.diagnostics = site.diagnostics();
    frechet::svd_jvp(site.exec, U, s, Vh, da, dU, ds, dVh, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Gradient svd_vjp(const Flavour& flavour, const Triplets& x, Opt gU, Opt gs, Opt gVh, SvdOptions o, Opt start) {
  Gradient r;
  on_site(flavour, x.U, [&](auto&& site) {
    const auto U = site.matrix(&x.U), Vh = site.matrix(&x.Vh), cU = site.matrix(gU), cVh = site.matrix(gVh);
    const auto s = site.vector(&x.s), cs = site.vector(gs);
    const auto gA = site.matrix(r.A, true, x.U.rows, x.Vh.cols, start);
    o.diagnostics = site.diagnostics();
    frechet::svd_vjp(site.exec, U, s, Vh, cU, cs, cVh, gA, o);
    site.finish(r.diagnoses);
  });
  return r;
}

}  // namespace frechet::test
