// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Model updating: find the stiffnesses of a chain of unit masses from its measured natural frequencies, by Newton's
// method. The code has its own assembly and the adjoint of it; Frechet supplies the derivatives of the eigenproblem in
// between.

#include <frechet/frechet.hpp>

#include <cmath>
#include <cstdio>

namespace {

using Exec = Kokkos::DefaultHostExecutionSpace;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Vector = Kokkos::View<double*, Kokkos::HostSpace>;

/// Spring i sits between masses i-1 and i; spring 0 is fixed to the wall.
void assemble(const Vector& k, const Matrix& K) {
  Kokkos::deep_copy(K, 0.0);
  for (std::size_t i = 0; i < k.extent(0); ++i) {
    K(i, i) += k(i);
    if (i == 0) continue;
    K(i - 1, i - 1) += k(i);
    K(i - 1, i) -= k(i);
    K(i, i - 1) -= k(i);
  }
}

/// The adjoint of assemble: gradient in k from the gradient in K.
void assemble_adjoint(const Matrix& gK, const Vector& gk) {
  for (std::size_t i = 0; i < gk.extent(0); ++i)
    gk(i) = i == 0 ? gK(0, 0) : gK(i, i) + gK(i - 1, i - 1) - gK(i - 1, i) - gK(i, i - 1);
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const Exec exec;
  const int n = 6;
  const Matrix K("K", n, n), dK("dK", n, n), V("V", n, n), gK("gK", n, n), J("J", n, n);
  const Vector w("w", n), dw("dw", n), measured("measured", n), k("k", n), gk("gk", n), r("r", n), step("step", n);
  const frechet::Diagnostics<Kokkos::HostSpace> diagnostics("diagnostics", 1);

  for (int i = 0; i < n; ++i) k(i) = 1.0 + 0.1 * std::sin(3.0 * i);  // the truth
  assemble(k, K);
  frechet::eigh(exec, K, measured, frechet::none);
  for (int i = 0; i < n; ++i) k(i) = 1.0 + 0.01 * i;  // the first guess

  double misfit = 1;
  for (int iteration = 0; iteration < 20 && misfit > 1e-12; ++iteration) {
    assemble(k, K);
    frechet::eigh(exec, K, w, V);
    misfit = 0;
    for (int i = 0; i < n; ++i) {
      r(i) = measured(i) - w(i);
      misfit = std::fmax(misfit, std::abs(r(i)));
    }
    std::printf("iteration %d, largest misfit of an eigenvalue %.2e\n", iteration, misfit);

    // The Jacobian dw/dk, column by column: the tangent of K for a unit change of one spring.
    for (int j = 0; j < n; ++j) {
      Kokkos::deep_copy(step, 0.0);
      step(j) = 1.0;
      assemble(step, dK);
      frechet::eigh_jvp(exec, w, V, dK, dw, frechet::none, {.diagnostics = diagnostics});
      frechet::check(exec, diagnostics, "spring chain");
      for (int i = 0; i < n; ++i) J(i, j) = dw(i);
    }
    // The same by the adjoint: J^T r in one call.
    frechet::eigh_vjp(exec, w, V, r, frechet::none, gK);
    assemble_adjoint(gK, gk);
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += J(i, j) * r(i);
      if (std::abs(sum - gk(j)) > 1e-13) return 1;
    }

    frechet::solve(exec, J, r, step, frechet::none, frechet::none, {.diagnostics = diagnostics});
    frechet::check(exec, diagnostics, "Newton step");
    for (int j = 0; j < n; ++j) k(j) += step(j);
  }
  std::printf("stiffnesses");
  for (int i = 0; i < n; ++i) std::printf(" %.4f", k(i));
  std::printf("\n");
  return misfit < 1e-12 ? 0 : 1;
}
