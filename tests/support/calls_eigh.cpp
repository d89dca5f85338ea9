// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "site.hpp"

namespace frechet::test {

Spectrum eigh(const Flavour& flavour, const Dense& A, EighOptions o, Want want) {
  Spectrum r;
  on_site(flavour, A, [&](auto&& site) {
    const auto a = site.matrix(&A);
    const auto w = site.vector(r.w, want.first, A.rows);
    const auto V = site.matrix(r.V, want.second, A.rows, A.rows);
    o.diagnostics = site.diagnostics();
    frechet::eigh(site.exec, a, w, V, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Spectrum eigh_jvp(const Flavour& flavour, const Spectrum& x, Opt dA, EighOptions o, Want want) {
  Spectrum r;
  on_site(flavour, x.V, [&](auto&& site) {
    const auto w = site.vector(&x.w);
    const auto V = site.matrix(&x.V), da = site.matrix(dA);
    const auto dw = site.vector(r.w, want.first, x.V.rows);
    const auto dV = site.matrix(r.V, want.second, x.V.rows, x.V.rows);
    o.diagnostics = site.diagnostics();
    frechet::eigh_jvp(site.exec, w, V, da, dw, dV, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Gradient eigh_vjp(const Flavour& flavour, const Spectrum& x, Opt gw, Opt gV, EighOptions o, Opt start) {
  Gradient r;
  on_site(flavour, x.V, [&](auto&& site) {
    const auto w = site.vector(&x.w), cw = site.vector(gw);
    const auto V = site.matrix(&x.V), cV = site.matrix(gV);
    const auto gA = site.matrix(r.A, true, x.V.rows, x.V.rows, start);
    o.diagnostics = site.diagnostics();
    frechet::eigh_vjp(site.exec, w, V, cw, cV, gA, o);
    site.finish(r.diagnoses);
  });
  return r;
}

}  // namespace frechet::test
