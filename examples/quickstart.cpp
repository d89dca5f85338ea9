// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The first steps: a decomposition, its rules on Views, and a whole function through AdContext.

#include <frechet/frechet.hpp>

#include <cmath>
#include <cstdio>
#include <tuple>

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const Kokkos::DefaultHostExecutionSpace exec;
  using Matrix = Kokkos::View<double**, Kokkos::HostSpace>;  // any layout
  using Vector = Kokkos::View<double*, Kokkos::HostSpace>;

  const int n = 4;
  const Matrix A("A", n, n), V("V", n, n), dA("dA", n, n), gA("gA", n, n);
  const Vector w("w", n), dw("dw", n), gw("gw", n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      A(i, j) = i == j ? i + 2.0 : 1.0 / (1 + i + j);
      dA(i, j) = std::cos(i * j);
    }

  // Level 1: values and rules on Views. The largest eigenvalue: how it moves along dA, and its gradient.
  frechet::eigh(exec, A, w, V);
  frechet::eigh_jvp(exec, w, V, dA, dw, frechet::none);
  gw(n - 1) = 1.0;
  frechet::eigh_vjp(exec, w, V, gw, frechet::none, gA);  // no cotangent on V: no gaps, no NaN
  double inner = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) inner += gA(i, j) * dA(i, j);
  std::printf("largest eigenvalue %.6f, slope %.6f, <gradient, dA> %.6f\n", w(n - 1), dw(n - 1), inner);

  // Level 2: a whole function. The nuclear norm of X^-1 B, differentiated in X; B is a constant.
  frechet::AdContext ad(exec);
  const auto f = [](auto X, auto B) { return frechet::sum(frechet::svdvals(frechet::solve(X, B))); };
  const auto [value, slope] = ad.jvp(f, std::tie(A, V), std::tuple(dA, frechet::none));
  auto [same, pullback] = ad.vjp(f, std::tie(A, V), frechet::wrt(0));
  pullback(1.0, std::tuple(gA, frechet::none));
  double again = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) again += gA(i, j) * dA(i, j);
  std::printf("f = %.6f (%.6f), slope %.6f, <gradient, dA> %.6f\n", value(), same(), slope(), again);

  return std::abs(inner - dw(n - 1)) < 1e-12 && std::abs(again - slope()) < 1e-12 * std::abs(slope()) + 1e-12 ? 0 : 1;
}
