// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad.hpp>
#include <frechet/eigh.hpp>

// Calls the compiler must refuse, one per SNIPPET; 0 is the correct one. Never run.

using Exec = Kokkos::DefaultExecutionSpace;

void call(const Exec& exec, const Kokkos::View<double**>& A, const Kokkos::View<double*>& w,
          const Kokkos::View<double**>& V) {
#if SNIPPET == 0
  frechet::eigh(exec, A, w, V);
#elif SNIPPET == 1
  frechet::eigh(exec, A, Kokkos::View<float*>(), V);
#elif SNIPPET == 2
  frechet::eigh(exec, A, w, Kokkos::View<const double**>(V));
#elif SNIPPET == 3
  frechet::eigh(exec, w, w, V);
#elif SNIPPET == 4
  frechet::eigh(exec, Kokkos::View<int**>(), w, V);
#elif SNIPPET == 5
  frechet::AdContext<Exec>(exec).value([](auto X) { return frechet::sum(X) > 0.0 ? X : 2.0 * X; }, A);
#elif SNIPPET == 6
  frechet::AdContext<Exec>(exec).value([](auto X) { return X * X; }, A);
#elif SNIPPET == 7
  frechet::AdContext<Exec>(exec).vjp_program([](auto X) { return X; }, A)(A, V, std::tie(V, V), V);
#elif SNIPPET == 8
  frechet::AdContext<Exec>(exec).jvp([](auto x) { return x * x; }, Kokkos::View<double>("x"), 1.0);
#endif
}
