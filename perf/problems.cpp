// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problems.hpp"

#include <frechet/frechet.hpp>

#include "inputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace perf {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Space = Exec::memory_space;
using MatrixView = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
using VectorView = Kokkos::View<double*, Kokkos::LayoutLeft, Space>;
using ScalarView = Kokkos::View<double, Kokkos::LayoutLeft, Space>;
using frechet::inner;
using frechet::sum;

MatrixView matrix(const Matrix& A, int rows, int cols) {
  MatrixView view("perf", static_cast<std::size_t>(rows), static_cast<std::size_t>(cols));
  const auto host = Kokkos::create_mirror_view(view);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      host(i, j) = A[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)];
  Kokkos::deep_copy(view, host);
  return view;
}
VectorView vector(const Matrix& a) {
  VectorView view("perf", a.size());
  const auto host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < a.size(); ++i) host(i) = a[i];
  Kokkos::deep_copy(view, host);
  return view;
}
double get(const ScalarView& x) {
  double value = 0;
  Kokkos::deep_copy(value, x);
  return value;
}
/// A + h B
MatrixView moved(const MatrixView& A, double h, const MatrixView& B) {
  const MatrixView C("moved", A.extent(0), A.extent(1));
  Kokkos::parallel_for(
      "perf::move", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>({0, 0}, {A.extent(0), A.extent(1)}),
      KOKKOS_LAMBDA(std::size_t i, std::size_t j) { C(i, j) = A(i, j) + h * B(i, j); });
  return C;
}
double dot(const MatrixView& A, const MatrixView& B) {
  const auto a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), A);
  const auto b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), B);
  double s = 0;
  for (std::size_t j = 0; j < a.extent(1); ++j)
    for (std::size_t i = 0; i < a.extent(0); ++i) s += a(i, j) * b(i, j);
  return s;
}

/// f(A, constants...) -> scalar loss, differentiated with respect to A. Constants are inputs without tangent or
/// gradient.
template <class F, class... Constants>
class LossRunner final : public Runner {
 public:
  LossRunner(bool jvp, F f, MatrixView A, MatrixView dA, Constants... constants)
      : jvp_(jvp),
        f_(f),
        A_(std::move(A)),
        dA_(std::move(dA)),
        gA_("gA", A_.extent(0), A_.extent(1)),
        value_("value"),
        slope_("slope"),
        one_("one"),
        inputs_(A_, constants...),
        forward_(ad_.jvp_program(f, inputs_, frechet::wrt(0))),
        reverse_(ad_.vjp_program(f, inputs_, frechet::wrt(0))) {
    Kokkos::deep_copy(one_, 1.0);
    Kokkos::fence();
  }

  void run() override {
    jvp_ ? run_forward() : run_reverse();
    ad_.exec().fence("frechet_perf");
  }
  std::size_t workspace_bytes() override { return jvp_ ? forward_.workspace_bytes() : reverse_.workspace_bytes(); }
  double mode_error() override {
    run_forward();
    run_reverse();
    Kokkos::fence();
    const double forward = get(slope_), reverse = dot(gA_, dA_);
    return std::abs(forward - reverse) / std::max(std::abs(forward), std::abs(reverse));
  }
  double difference_error() override {
    run();
    const double derivative = jvp_ ? get(slope_) : dot(gA_, dA_);
    // Fourth order. A thousandth of A leaves truncation of order 1e-12 times high derivatives and rounding of order
    // 1e-13; where A is close to a singular matrix these derivatives are large and a smaller step is the better one.
    const double unit = std::sqrt(dot(A_, A_) / dot(dA_, dA_));
    double best = std::numeric_limits<double>::infinity();
    for (const double h : {1e-3 * unit, 1e-4 * unit, 1e-5 * unit}) {
      const double d = (8.0 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12.0 * h);
      best = std::min(best, std::abs(derivative - d) / std::max(std::abs(derivative), std::abs(d)));
      if (best < 1e-9) break;
    }
    return best;
  }

 private:
  void run_forward() { forward_(inputs_, tangents(std::index_sequence_for<Constants...>()), value_, slope_); }
  void run_reverse() { reverse_(inputs_, value_, one_, gradients(std::index_sequence_for<Constants...>())); }

  template <std::size_t... I>
  auto tangents(std::index_sequence<I...>) const {
    return std::tuple(dA_, ((void)I, frechet::none)...);
  }
  template <std::size_t... I>
  auto gradients(std::index_sequence<I...>) const {
    return std::tuple(gA_, ((void)I, frechet::none)...);
  }
  double loss(double h) {
    auto inputs = inputs_;
    std::get<0>(inputs) = moved(A_, h, dA_);
    return get(frechet::AdContext<Exec>().value(f_, inputs));
  }

  bool jvp_;
  F f_;
  MatrixView A_, dA_, gA_;
  ScalarView value_, slope_, one_;
  std::tuple<MatrixView, Constants...> inputs_;
  frechet::AdContext<Exec> ad_;
  decltype(std::declval<frechet::AdContext<Exec>>().jvp_program(std::declval<F>(), inputs_)) forward_;
  decltype(std::declval<frechet::AdContext<Exec>>().vjp_program(std::declval<F>(), inputs_)) reverse_;
};

/// Value, gradient and Hessian times tangent of f(A).
template <class F>
class HvpRunner final : public Runner {
 public:
  HvpRunner(F f, MatrixView A, MatrixView dA)
      : A_(std::move(A)),
        dA_(std::move(dA)),
        gA_("gA", A_.extent(0), A_.extent(1)),
        hA_("hA", A_.extent(0), A_.extent(1)),
        value_("value"),
        one_("one"),
        program_(ad_.hvp_program(f, A_)),
        gradient_(ad_.vjp_program(f, A_)) {
    Kokkos::deep_copy(one_, 1.0);
    Kokkos::fence();
  }
  void run() override {
    program_(A_, dA_, value_, one_, gA_, hA_);
    ad_.exec().fence("frechet_perf");
  }
  /// Symmetry of the Hessian, with the gradient as the other direction.
  std::size_t workspace_bytes() override { return program_.workspace_bytes(); }
  double mode_error() override {
    run();
    const MatrixView v = moved(gA_, 0, gA_), Hv("Hv", v.extent(0), v.extent(1));
    const double forward = dot(hA_, v);
    program_(A_, v, value_, one_, gA_, Hv);
    ad_.exec().fence("frechet_perf");
    const double reverse = dot(Hv, dA_);
    return std::abs(forward - reverse) / std::max(std::abs(forward), std::abs(reverse));
  }
  /// <H dA, dA> against a difference of <gradient, dA>.
  double difference_error() override {
    run();
    const double derivative = dot(hA_, dA_);
    const double h = 3e-4 * std::sqrt(dot(A_, A_) / dot(dA_, dA_));
    const double d = (8.0 * (slope(h) - slope(-h)) - (slope(2 * h) - slope(-2 * h))) / (12.0 * h);
    // Where the terms of the inner product cancel: relative to their size.
    const double size = 1e-2 * std::sqrt(dot(hA_, hA_) * dot(dA_, dA_));
    return std::abs(derivative - d) / std::max(size, std::max(std::abs(derivative), std::abs(d)));
  }

 private:
  double slope(double h) {
    const MatrixView at = moved(A_, h, dA_), g("g", A_.extent(0), A_.extent(1));
    gradient_(at, value_, one_, g);
    ad_.exec().fence("frechet_perf");
    return dot(g, dA_);
  }

  MatrixView A_, dA_, gA_, hA_;
  ScalarView value_, one_;
  frechet::AdContext<Exec> ad_;
  decltype(std::declval<frechet::AdContext<Exec>>().hvp_program(std::declval<F>(), A_)) program_;
  decltype(std::declval<frechet::AdContext<Exec>>().vjp_program(std::declval<F>(), A_)) gradient_;
};

template <class F, class... Constants>
std::unique_ptr<Runner> runner(bool jvp, F f, const MatrixView& A, const MatrixView& dA,
                               const Constants&... constants) {
  return std::make_unique<LossRunner<F, Constants...>>(jvp, f, A, dA, constants...);
}

// --- linalg_jvp_vjp: the published problems
// --------------------------------------------------------------------------------

/// Two seeds per problem: large sizes, small ones.
std::uint64_t pick(int n, std::uint64_t large, std::uint64_t small) { return n > 8 ? large : small; }
MatrixView tangent(int n, std::uint64_t seed) { return matrix(data(n, n, seed + 1000), n, n); }

template <bool Jvp>
std::unique_ptr<Runner> eigh(int n) {
  const auto seed = pick(n, 27, 5);
  return runner(
      Jvp, [](auto A) { return sum(frechet::eigh(A).w); }, matrix(spd(n, seed), n, n), tangent(n, seed));
}
template <bool Jvp>
std::unique_ptr<Runner> lu(int n) {
  const auto seed = pick(n, 54, 52);
  return runner(
      Jvp,
      [](auto A) {
        const auto f = frechet::lu(A);
        return sum(f.L) + sum(f.U);
      },
      matrix(well_conditioned(n, seed), n, n), tangent(n, seed));
}
template <bool Jvp>
std::unique_ptr<Runner> qr(int n) {
  const auto seed = pick(n, 26, 4);
  return runner(
      Jvp,
      [](auto A) {
        const auto f = frechet::qr(A);
        return sum(f.Q) + sum(f.R);
      },
      matrix(well_conditioned(n, seed), n, n), tangent(n, seed));
}
template <bool Jvp>
std::unique_ptr<Runner> solve(int n) {
  const auto seed = pick(n, 35, 11);
  return runner(
      Jvp, [](auto A, auto b) { return sum(frechet::solve(A, b)); }, matrix(spd(n, seed), n, n), tangent(n, seed),
      matrix(data(n, 1, seed + 1), n, 1));
}
template <bool Jvp>
std::unique_ptr<Runner> svd_s(int n) {
  const auto seed = pick(n, 34, 10);
  return runner(
      Jvp, [](auto A) { return sum(frechet::svdvals(A)); }, matrix(well_conditioned(n, seed), n, n), tangent(n, seed));
}

// --- linalg_jvp_vjp_random: Gaussian inputs, a random cotangent on every output
// ---------------------------------------------

MatrixView gaussian_matrix(int rows, int cols, std::uint64_t seed) {
  return matrix(gaussian(rows, cols, seed), rows, cols);
}
VectorView gaussian_vector(int n, std::uint64_t seed) { return vector(gaussian(n, 1, seed)); }

template <bool Jvp>
std::unique_ptr<Runner> random_eigh(int n) {
  constexpr std::uint64_t seed = 100;
  const Matrix G = gaussian(n, n, seed);
  Matrix A = G;
  const auto N = static_cast<std::size_t>(n);
  for (std::size_t i = 0; i < N; ++i)
    for (std::size_t j = 0; j < N; ++j) A[i * N + j] = 0.5 * (G[i * N + j] + G[j * N + i]);
  return runner(
      Jvp,
      [](auto X, auto cw, auto cV) {
        const auto f = frechet::eigh(X);
        return inner(cw, f.w) + inner(cV, f.V);
      },
      matrix(A, n, n), gaussian_matrix(n, n, seed + 1000), gaussian_vector(n, seed + 2000),
      gaussian_matrix(n, n, seed + 2001));
}
template <bool Jvp>
std::unique_ptr<Runner> random_lu(int n) {
  constexpr std::uint64_t seed = 101;
  return runner(
      Jvp,
      [](auto X, auto cL, auto cU) {
        const auto f = frechet::lu(X);
        return inner(cL, f.L) + inner(cU, f.U);
      },
      gaussian_matrix(n, n, seed), gaussian_matrix(n, n, seed + 1000), gaussian_matrix(n, n, seed + 2000),
      gaussian_matrix(n, n, seed + 2001));
}
template <bool Jvp>
std::unique_ptr<Runner> random_qr(int n) {
  constexpr std::uint64_t seed = 102;
  return runner(
      Jvp,
      [](auto X, auto cQ, auto cR) {
        const auto f = frechet::qr(X);
        return inner(cQ, f.Q) + inner(cR, f.R);
      },
      gaussian_matrix(n, n, seed), gaussian_matrix(n, n, seed + 1000), gaussian_matrix(n, n, seed + 2000),
      gaussian_matrix(n, n, seed + 2001));
}
template <bool Jvp>
std::unique_ptr<Runner> random_solve(int n) {
  constexpr std::uint64_t seed = 103;
  Matrix A = gaussian(n, n, seed);
  for (double& a : A) a /= std::sqrt(static_cast<double>(n));
  for (std::size_t i = 0; i < A.size(); i += static_cast<std::size_t>(n) + 1) A[i] += 2.0;
  return runner(
      Jvp, [](auto X, auto b, auto c) { return inner(c, frechet::solve(X, b)); }, matrix(A, n, n),
      gaussian_matrix(n, n, seed + 1000), gaussian_matrix(n, 1, seed + 1), gaussian_matrix(n, 1, seed + 2000));
}
template <bool Jvp>
std::unique_ptr<Runner> random_svd(int n) {
  constexpr std::uint64_t seed = 104;
  return runner(
      Jvp,
      [](auto X, auto cU, auto cs, auto cV) {
        const auto f = frechet::svd(X);
        return inner(cU, f.U) + inner(cs, f.s) + inner(cV, f.Vh);
      },
      gaussian_matrix(n, n, seed), gaussian_matrix(n, n, seed + 1000), gaussian_matrix(n, n, seed + 2000),
      gaussian_vector(n, seed + 2001), gaussian_matrix(n, n, seed + 2002));
}

// --- second_order: Hessian times tangent

/// log |det A| from the factors.
std::unique_ptr<Runner> logdet_hvp(int n) {
  const auto f = [](auto A) { return sum(log(abs(diag(frechet::lu(A).U)))); };
  return std::make_unique<HvpRunner<decltype(f)>>(f, matrix(spd(n, pick(n, 27, 5)), n, n), tangent(n, pick(n, 27, 5)));
}
/// Sum of squared eigenvalues.
std::unique_ptr<Runner> eigh_hvp(int n) {
  const auto f = [](auto A) {
    const auto w = frechet::eigh(A).w;
    return inner(w, w);
  };
  return std::make_unique<HvpRunner<decltype(f)>>(f, matrix(spd(n, pick(n, 27, 5)), n, n), tangent(n, pick(n, 27, 5)));
}

const std::string second_order = "second_order";
const std::string published = "linalg_jvp_vjp", random_suite = "linalg_jvp_vjp_random";

}  // namespace

std::vector<std::string> suites() { return {published, random_suite, second_order}; }

std::vector<int> default_sizes(const std::string& suite) {
  if (suite == second_order) return {8, 64, 256};
  return suite == published ? std::vector<int>{2, 4, 8, 256, 512}
                            : std::vector<int>{8, 32, 64, 128, 256, 512, 1024, 2048};
}

std::vector<Problem> problems(const std::string& suite, const std::vector<int>& sizes) {
  struct Row {
    const char* name;
    Factorisation factorisation;
    double n3, n2;  ///< flops of the rule: n3 n^3 + n2 n^2; triangles and Hermitian halves are not counted twice
    std::unique_ptr<Runner> (*make)(int);
  };
  using F = Factorisation;
  // eigh  values: dA V | V diag(g) V^T, half.   full: dA V, V^T T half, V K | V^T gV, V G, T V^T half
  // lu    twice the flops of the factorisation: its derivative by blocks
  // qr    trsm, Q^T B, Q W with W triangular, W R | gR R^T, Q^T gQ half, Q Y, trsm
  // solve right sides: 2 n^2 for the value, the same again and dA x | g x^T
  // svd   values: dA V | U diag(g) V^T.   full: dA V, U^T T, U K, L V^T | U^T gU, gV^T V, U G, T V^T
  const std::vector<Row> rows =
      suite == published
          ? std::vector<Row>{{"eigh_jvp", F::eigh, 2, 0, eigh<true>},  {"eigh_vjp", F::eigh, 1, 0, eigh<false>},
                             {"lu_jvp", F::lu, 4.0 / 3, 0, lu<true>},  {"lu_vjp", F::lu, 4.0 / 3, 0, lu<false>},
                             {"qr_jvp", F::qr, 13.0 / 3, 0, qr<true>}, {"qr_vjp", F::qr, 13.0 / 3, 0, qr<false>},
                             {"solve_jvp", F::lu, 0, 6, solve<true>},  {"solve_vjp", F::lu, 0, 5, solve<false>},
                             {"svd_s_jvp", F::svd, 2, 0, svd_s<true>}, {"svd_s_vjp", F::svd, 2, 0, svd_s<false>}}
      : suite == random_suite ? std::vector<Row>{{"eigh_jvp", F::eigh, 5, 0, random_eigh<true>},
                                                 {"eigh_vjp", F::eigh, 5, 0, random_eigh<false>},
                                                 {"lu_jvp", F::lu, 4.0 / 3, 0, random_lu<true>},
                                                 {"lu_vjp", F::lu, 4.0 / 3, 0, random_lu<false>},
                                                 {"qr_jvp", F::qr, 13.0 / 3, 0, random_qr<true>},
                                                 {"qr_vjp", F::qr, 13.0 / 3, 0, random_qr<false>},
                                                 {"solve_jvp", F::lu, 0, 6, random_solve<true>},
                                                 {"solve_vjp", F::lu, 0, 5, random_solve<false>},
                                                 {"svd_jvp", F::svd, 8, 0, random_svd<true>},
                                                 {"svd_vjp", F::svd, 8, 0, random_svd<false>}}
      : suite == second_order
          // logdet: A^-1 and A^-1 dA A^-1.   eigh: dA V, and the tangents of V diag(g) V^T
          ? std::vector<Row>{{"logdet_hvp", F::lu, 16.0 / 3, 0, logdet_hvp}, {"eigh_hvp", F::eigh, 8, 0, eigh_hvp}}
          : throw std::invalid_argument("unknown suite " + suite + ", known: " + published + ", " + random_suite +
                                        ", " + second_order);
  std::vector<Problem> all;
  for (const int n : sizes) {
    const double x = n;
    for (const Row& r : rows)
      // Differences of the random suite say little: vectors of Gaussian matrices turn, and pivots change, within any
      // step that is large enough to be measured. There the other mode is the check.
      all.push_back(
          {suite, r.name, n, r.factorisation, r.n3 * x * x * x + r.n2 * x * x, suite != random_suite, r.make});
  }
  return all;
}

}  // namespace perf
