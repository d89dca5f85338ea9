// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "site.hpp"

#include <algorithm>

namespace frechet::test {

OrthogonalTriangular qr(const Flavour& flavour, const Dense& A, QrOptions o, Want want) {
  OrthogonalTriangular r;
  const int m = A.rows, n = A.cols, k = std::min(m, n);
  on_site(flavour, A, [&](auto&& site) {
    const auto a = site.matrix(&A);
    const auto Q = site.matrix(r.Q, want.first, m, k), R = site.matrix(r.R, want.second, k, n);
    o.diagnostics = site.diagnostics();
    frechet::qr(site.exec, a, Q, R, o);
    site.finish(r.diagnoses);
  });
  return r;
}

OrthogonalTriangular qr_jvp(const Flavour& flavour, const OrthogonalTriangular& x, Opt dA, QrOptions o, Want want) {
  OrthogonalTriangular r;
  const int m = x.Q.rows, n = x.R.cols, k = x.Q.cols;
  on_site(flavour, x.Q, [&](auto&& site) {
    const auto Q = site.matrix(&x.Q), R = site.matrix(&x.R), da = site.matrix(dA);
    const auto dQ = site.matrix(r.Q, want.first, m, k), dR = site.matrix(r.R, want.second, k, n);
    o.diagnostics = site.diagnostics();
    frechet::qr_jvp(site.exec, Q, R, da, dQ, dR, o);
    site.finish(r.diagnoses);
  });
  return r;
}

Gradient qr_vjp(const Flavour& flavour, const OrthogonalTriangular& x, Opt gQ, Opt gR, QrOptions o, Opt start) {
  Gradient r;
  on_site(flavour, x.Q, [&](auto&& site) {
    const auto Q = site.matrix(&x.Q), R = site.matrix(&x.R), cQ = site.matrix(gQ), cR = site.matrix(gR);
    const auto gA = site.matrix(r.A, true, x.Q.rows, x.R.cols, start);
    o.diagnostics = site.diagnostics();
    frechet::qr_vjp(site.exec, Q, R, cQ, cR, gA, o);
    site.finish(r.diagnoses);
  });
  return r;
}

}  // namespace frechet::test
