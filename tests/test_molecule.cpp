// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "json.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

// Benzene, restricted Hartree-Fock: F C = S C diag(e), P = C_occ C_occ^T. The spectrum has pairs that are degenerate to
// about 1e-12 only, as in real self-consistent matrices; the density matrix is well conditioned all the same.

namespace frechet::test {
namespace {

/// Matrix Market, "array real symmetric": the lower triangle, column by column.
Dense read_symmetric(const std::string& file) {
  std::ifstream in(std::string(FRECHET_EXAMPLE_DATA) + "/" + file);
  std::string line;
  while (std::getline(in, line) && line[0] == '%') {
  }
  std::istringstream sizes(line);
  int rows = 0, cols = 0;
  sizes >> rows >> cols;
  Dense A(rows, cols);
  for (int j = 0; j < cols; ++j)
    for (int i = j; i < rows; ++i) {
      double x = 0;
      in >> x;
      A(i, j) = A(j, i) = x;
    }
  EXPECT_TRUE(in.good() || in.eof());
  return A;
}

/// The reproducible symmetric matrices of the golden values.
Dense symmetric(int n, std::uint64_t seed) {
  Dense X(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      std::uint64_t x = (std::uint64_t(i) * n + j) * 6364136223846793005u + seed * 1442695040888963407u;
      x ^= x >> 33;
      X(i, j) = (static_cast<double>(x % (1u << 20)) - (1 << 19)) / (1 << 19);
    }
  return Z(0.5) * (X + transpose(X));
}

TEST(Molecule, density_matrix_of_benzene) {
  const Flavour f;
  const nlohmann::json golden = read_json("molecules.json")["benzene"];
  const Dense F = read_symmetric("benzene_fock.mtx"), S = read_symmetric("benzene_overlap.mtx");
  const int n = F.rows, occupied = golden["occupied"];
  ASSERT_EQ(n, golden["n"].get<int>());
  const Dense dF = symmetric(n, 1), G = symmetric(n, 2);
  const Spectrum s = eigh(f, S);  // X = S^-1/2
  Dense root = s.w;
  for (int i = 0; i < n; ++i) root(i) = 1 / std::sqrt(s.w(i).real());
  const Dense X = scale_columns(s.V, root) * adjoint(s.V);
  const Spectrum x = eigh(f, X * F * X);
  Dense filled(n, 1);  // one for the occupied orbitals, zero for the others
  for (int i = 0; i < occupied; ++i) filled(i) = 1;
  const Dense C = X * x.V, P = scale_columns(C, filled) * adjoint(C);
  const double loss = golden["loss"];
  EXPECT_NEAR(inner(G, P), loss, 1e-12 * std::abs(loss) * 100);
  // loss = <G, P>: gC = 2 G C_occ
  const Dense gV = X * scale_columns(Z(2) * G * C, filled);
  const Gradient g = eigh_vjp(f, x, nullptr, &gV);
  const Dense gF = X * g.A * X;
  EXPECT_EQ(explain(g.diagnoses[0]), "");
  const double slope = golden["jvp_dF"];
  EXPECT_NEAR(inner(gF, dF), slope, 1e-12 * std::abs(slope));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_NEAR(gF(i, j).real(), golden["vjp_F_corner"][i][j].get<double>(), 1e-12);
  const Dense dA = X * dF * X;
  const Spectrum d = eigh_jvp(f, x, &dA);
  EXPECT_NEAR(inner(gV, d.V), slope, 1e-11 * std::abs(slope));
  // sum of the occupied orbital energies
  EXPECT_NEAR(inner(filled, x.w), golden["sum_occupied"].get<double>(), 1e-11);
  EXPECT_NEAR(inner(filled, d.w), golden["sum_occupied_jvp_dF"].get<double>(), 1e-12);
  const Gradient g_energy = eigh_vjp(f, x, &filled, nullptr);
  EXPECT_EQ(explain(g_energy.diagnoses[0]), "");
  EXPECT_NEAR(inner(X * g_energy.A * X, dF), golden["sum_occupied_jvp_dF"].get<double>(), 1e-12);
}

}  // namespace
}  // namespace frechet::test
