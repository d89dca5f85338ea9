// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The density matrix of benzene and of C60, and its derivatives. A Hartree-Fock calculation solves, for a Fock matrix F
// in a basis with overlap S,
//
//   F C = S C diag(e),   C^T S C = I,   P = C_occ C_occ^T   (the columns of the lowest orbital energies e)
//
// With S = L L^T this is an ordinary symmetric problem: F' = L^-1 F L^-T = V diag(e) V^T and C = L^-T V. The symmetry
// of the molecules makes orbital energies coincide (in pairs in benzene, up to five in C60), to about 1e-12 as
// computed. Within such a group the orbitals are arbitrary and have no derivative. P does not depend on the choice as
// long as a group is filled or empty as a whole; its derivatives exist, and no option is needed to get them.

#include "support.hpp"

#include <tuple>

using namespace example;

namespace {

/// The inverse of the lower Cholesky factor of S = L L^T.
Matrix inverse_cholesky(const Matrix& S) {
  const int n = static_cast<int>(S.extent(0));
  const Matrix L("L", n, n);
  Matrix X("X", n, n);
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      double x = S(i, j);
      for (int k = 0; k < j; ++k) x -= L(i, k) * L(j, k);
      L(i, j) = i == j ? std::sqrt(x) : x / L(j, j);
    }
  for (int j = 0; j < n; ++j)  // L X = I
    for (int i = j; i < n; ++i) {
      double x = i == j ? 1 : 0;
      for (int k = j; k < i; ++k) x -= L(i, k) * X(k, j);
      X(i, j) = x / L(i, i);
    }
  return X;
}

/// <G, P> and the sum of the occupied orbital energies, as a traced function of F; X = L^-1.
struct Molecule {
  int occupied;

  template <class M>
  auto operator()(M F, M X, M G) const {
    const auto [e, V] = eigh(matmul(matmul(X, F), transpose(X)));
    const auto C = matmul(transpose(X), slice(V, 0, 0, V.rows(), occupied));
    const auto P = matmul(C, transpose(C));
    return std::tuple(inner(G, P), sum(slice(e, 0, occupied)));
  }
};

struct Golden {
  const char* name;
  int occupied;
  double loss, loss_slope, energy, energy_slope;
  double corner[3][3];  // of the gradient of <G, P> in F

  double operator()(int i, int j) const { return corner[i][j]; }
};

// Golden numbers, computed without Frechet and confirmed by finite differences; see data/README.md.
const Golden molecules[] = {{"benzene",
                             21,
                             0.22933643413299487,
                             42.54535730627084,
                             -75.4736359251481,
                             -0.9222841911675222,
                             {{0.029611759714527817, -0.07674793369403596, -0.04145061255659824},
                              {-0.07674793369403596, -0.19915029907293316, 0.18276672780210845},
                              {-0.04145061255659824, 0.18276672780210845, -0.49266897968300727}}},
                            {"c60",
                             180,
                             -8.556168058854965,
                             2779.622092920455,
                             -741.4858583339053,
                             -6.408069431747712,
                             {{0.11266439454534091, -0.454342352760772, -0.01803841974107654},
                              {-0.454342352760772, 0.9472359109095563, -0.397073709710063},
                              {-0.01803841974107654, -0.397073709710063, -1.1088178228863403}}}};

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const std::string data = data_directory(argc, argv);
  frechet::AdContext ad{Exec()};
  Checks check;

  for (const Golden& golden : molecules) {
    const Matrix F = read_symmetric(data + "/" + golden.name + "_fock.mtx");
    const Matrix X = inverse_cholesky(read_symmetric(data + "/" + golden.name + "_overlap.mtx"));
    const int n = static_cast<int>(F.extent(0));
    const Matrix dF = generate_symmetric(n, 1), G = generate_symmetric(n, 2), gF("gF", n, n);
    const Molecule f{golden.occupied};
    std::printf("%s: %d basis functions, %d occupied orbitals\n", golden.name, n, golden.occupied);

    // Forward: both results and their derivatives along dF. X and G are constants.
    const auto [values, slopes] = ad.jvp(f, std::tie(F, X, G), std::tuple(dF, frechet::none, frechet::none));
    check("<G, P>", std::get<0>(values)(), golden.loss, 1e-10);
    check("its derivative along dF", std::get<0>(slopes)(), golden.loss_slope, 1e-10);
    check("sum of the occupied energies", std::get<1>(values)(), golden.energy, 1e-10);
    check("its derivative along dF", std::get<1>(slopes)(), golden.energy_slope, 1e-10);

    // Reverse: one run forward, one pullback for each result.
    auto [same, pullback] = ad.vjp(f, std::tie(F, X, G), frechet::wrt(0));
    pullback(std::tuple(1.0, frechet::none), std::tuple(gF, frechet::none, frechet::none));
    pullback.check();  // throws if the loss depended on the choice of orbitals within a group
    check.matrix("gradient of <G, P>, leading 3 x 3", gF, golden, 3, 3, 1e-10);
    check("<gradient, dF>", inner(gF, dF), golden.loss_slope, 1e-10);
    pullback(std::tuple(frechet::none, 1.0), std::tuple(gF, frechet::none, frechet::none));
    pullback.check();
    check("<gradient of the energies, dF>", inner(gF, dF), golden.energy_slope, 1e-10);
    check("<gradient of the energies, G> = <G, P>", inner(gF, G), golden.loss, 1e-10);  // as d(sum e) = <P, dF>
  }
  return check.status();
}
