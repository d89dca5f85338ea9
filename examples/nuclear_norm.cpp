// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The nuclear norm |A|_* (the sum of the singular values) and its gradient U V^T, and what it is good for: filling in
// the missing entries of a matrix that is known to be close to one of low rank.

#include "support.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <tuple>

using namespace example;

namespace {

struct NuclearNorm {
  template <class M>
  auto operator()(M A) const {
    return sum(svdvals(A));
  }
};

/// |mask o (X - A)|^2 / 2 + lambda |X|_*, where the mask is one for known entries of A and zero for the others.
struct Completion {
  static constexpr double lambda = 0.1;

  template <class M>
  auto operator()(M X, M mask, M A) const {
    const auto R = multiply(mask, X - A);
    return 0.5 * inner(R, R) + lambda * sum(svdvals(X));
  }
};

Matrix matrix(int rows, int cols, std::initializer_list<double> entries) {
  Matrix A("A", rows, cols);
  std::copy(entries.begin(), entries.end(), A.data());  // row by row: the layout of Views on the host
  return A;
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  frechet::AdContext ad{Exec()};
  Checks check;

  // Golden numbers from differences in 110-digit arithmetic, without any derivative formula.
  const auto compare = [&](const Matrix& A, const Matrix& dA, double norm, double slope, const Matrix& gA) {
    const int m = static_cast<int>(A.extent(0)), n = static_cast<int>(A.extent(1));
    std::printf("nuclear norm of a %d x %d matrix\n", m, n);
    const auto [value, gradient] = ad.value_and_grad(NuclearNorm(), A);
    check("norm", value(), norm, 1e-12);
    check.matrix("gradient", gradient, gA, m, n, 1e-12);
    check("derivative along dA", ad.jvp(NuclearNorm(), A, dA).second(), slope, 1e-12);
  };
  compare(matrix(6, 3,
                 {1.3605562868718628, 1.1487365612162006, 0.7968056176053724,      //
                  -0.3158847438364627, -1.2864277118237433, 1.242268174254973,     //
                  0.5309317785417549, 0.19736395071200852, -0.030553909229816822,  //
                  0.9913150979505448, -0.361537797427949, -1.06942571899233,       //
                  -0.8997234803966518, -0.3099302656792027, -0.13647189485144318,  //
                  -1.0714767971173638, -0.0500487387734696, 0.9221644573134471}),
          matrix(6, 3,
                 {0.7811092615358168, 0.3774702789107416, -0.31858053449416124,   //
                  -0.6489732061287852, -0.5580135259741992, 0.4313287547068958,   //
                  -0.20236168835874957, -0.5257232175982129, 0.759179440507205,   //
                  0.4294655975724153, 0.3211394854691798, -0.17507221694088648,   //
                  0.6329495472360886, -0.040900218510812936, 0.3801301081477615,  //
                  -0.027805918828322618, -0.5798275843798226, 0.9531329082301561}),
          5.944917002663051, 1.214919408097907,
          matrix(6, 3,
                 {0.5637990030308948, 0.5081008648287693, 0.4845926065447421,         //
                  0.11926709751184454, -0.7675627331765603, 0.6146056208624524,       //
                  0.23392696736164686, 0.04445184235380218, 0.019426494954662983,     //
                  0.4759655723112566, -0.3644065794601036, -0.46686642620188157,      //
                  -0.41301840220301905, -0.058369416979778474, -0.12786862846054767,  //
                  -0.4648190949063253, 0.12044024044216221, 0.3908169670335848}));
  // The singular values 3, 3, 1, 1 are repeated: the singular vectors have no derivative, the norm has.
  compare(matrix(4, 4,
                 {-0.5, -0.5, -1.5, -1.5,  //
                  1.5, -1.5, 0.5, -0.5,    //
                  -0.5, -0.5, 1.5, 1.5,    //
                  1.5, -1.5, -0.5, 0.5}),
          matrix(4, 4,
                 {0.11301051544622664, -0.23422254003059328, 0.7701137333517776, 0.019993019150109204,   //
                  0.0009258701370293831, 0.6270402379484905, -0.29481184142703487, 0.08447329767855694,  //
                  0.5847676255828809, 0.8322994678450477, -0.09610118020566816, 0.5137010063117919,      //
                  0.11719812778237326, 0.027633757611179366, 0.2848006408664858, 0.6392459952941463}),
          8.0, -1.1148758887787618,
          matrix(4, 4,
                 {-0.5, -0.5, -0.5, -0.5,  //
                  0.5, -0.5, 0.5, -0.5,    //
                  -0.5, -0.5, 0.5, 0.5,    //
                  0.5, -0.5, -0.5, 0.5}));

  // A 30 x 20 matrix of rank 2, of which seven entries in ten are known. Gradient steps from zeros in the unknown ones:
  // the first term alone would leave them there, the nuclear norm moves them to where the rank is low.
  const int m = 30, n = 20, steps = 50;
  const Matrix A("A", m, n), mask("mask", m, n), X("X", m, n);
  const Matrix left = generate(m, 2, 1), right = generate(2, n, 2), random = generate(m, n, 3);
  double unknown = 0;  // |A|^2 over the unknown entries
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      A(i, j) = left(i, 0) * right(0, j) + left(i, 1) * right(1, j);
      mask(i, j) = random(i, j) < 0.4 ? 1 : 0;
      X(i, j) = mask(i, j) * A(i, j);
      unknown += (1 - mask(i, j)) * A(i, j) * A(i, j);
    }
  std::printf("matrix completion, %d known entries of %d\n", static_cast<int>(inner(mask, mask)), m * n);
  bool down = true;
  double last = std::numeric_limits<double>::infinity(), error = 1;
  for (int step = 0; step <= steps; ++step) {
    const auto [value, gradients] = ad.value_and_grad(Completion(), std::tie(X, mask, A), frechet::wrt(0));
    const auto gX = std::get<0>(gradients);  // those of the constants are empty
    down = down && value() < last;
    last = value();
    error = 0;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        error += (1 - mask(i, j)) * (X(i, j) - A(i, j)) * (X(i, j) - A(i, j));
        X(i, j) -= gX(i, j);
      }
    error = std::sqrt(error / unknown);
    if (step % 10 == 0) std::printf("  step %2d  loss %.8f  error of the unknown entries %.3f\n", step, last, error);
  }
  check.that("the loss went down in every step", down);
  check.that("unknown entries found to within a third", error < 1.0 / 3);
  return check.status();
}
