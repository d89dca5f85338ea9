// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/detail/exec.hpp>

#include "checks.hpp"

#include <backend.hpp>

#include <algorithm>
#include <cmath>

// Every driver that the backend offers against the backward error of the routine it stands for, on matrices on which
// factorisations go wrong: clusters, graded and deficient ones, zeros, huge and tiny entries; sizes around each
// threshold. A driver that a table prefers elsewhere only is run as well.

namespace frechet::test {
namespace {

using Compiled = detail::Compiled<Kokkos::DefaultExecutionSpace>;

std::vector<Driver> offered(backend::Operation operation) {
  std::vector<Driver> all;
  for (int d = 1; d < driver_count; ++d)
    if (backend::drivers<Compiled>().offers(operation, static_cast<Driver>(d))) all.push_back(static_cast<Driver>(d));
  return all;
}

struct Named {
  std::string name;
  Dense A;
  double size = 1;  ///< what A has to be divided with before squares are taken
};

double huge(const Flavour& f) { return f.single() ? 1e36 : 1e303; }
double tiny(const Flavour& f) { return f.single() ? 1e-33 : 1e-300; }

std::vector<double> decaying(int n, double least) {
  std::vector<double> s(n);
  for (int i = 0; i < n; ++i) s[i] = std::pow(least, double(i) / std::max(1, n - 1));
  return s;
}

Dense tridiagonal(int n, const std::function<double(int)>& d, const std::function<double(int)>& e) {
  Dense A(n, n);
  for (int i = 0; i < n; ++i) {
    A(i, i) = d(i);
    if (i + 1 < n) A(i + 1, i) = A(i, i + 1) = e(i);
  }
  return A;
}

std::vector<Named> hermitian_matrices(const Flavour& f, Random& random, int n) {
  std::vector<Named> all;
  const auto add = [&](const char* name, const Dense& A) { all.push_back({name, A}); };
  const double eps = f.epsilon();
  std::vector<double> two(n, 1), close(n, 1);
  for (int i = 0; i < n; ++i) {
    if (i % 2 == 1) two[i] = -1;
    close[i] += i * eps;
  }
  const Dense plain = random.hermitian(n);
  add("random", plain);
  add("graded", random.hermitian_with(decaying(n, eps * eps)));
  add("two values", random.hermitian_with(two));
  add("close values", random.hermitian_with(close));
  add("zero", Dense(n, n));
  add("identity", identity(n));
  add("ones", constant(n, n, 1));
  add("Laplace", tridiagonal(
                     n, [](int) { return 2; }, [](int) { return -1; }));
  add("zero diagonal", tridiagonal(
                           n, [](int) { return 0; }, [](int) { return 1; }));
  add("Wilkinson", tridiagonal(
                       n, [n](int i) { return std::abs(i - n / 2); }, [](int) { return 1; }));
  add("glued", tridiagonal(
                   n, [](int i) { return std::abs(i % 21 - 10); }, [&](int i) { return i % 21 == 20 ? 8 * eps : 1; }));
  add("blocks", tridiagonal(
                    n, [](int i) { return i % 3; }, [](int i) { return i % 5 == 4 ? 0 : -0.5; }));
  all.push_back({"huge", huge(f) * plain, huge(f)});
  all.push_back({"tiny", tiny(f) * plain, tiny(f)});
  return all;
}

std::vector<Named> general_matrices(const Flavour& f, Random& random, int m, int n) {
  std::vector<Named> all;
  const auto add = [&](const char* name, const Dense& A) { all.push_back({name, A}); };
  const int k = std::min(m, n);
  const double eps = f.epsilon();
  std::vector<double> two(k, 1);
  for (int i = 0; i < k / 2; ++i) two[i] = 3;
  const Dense plain = random.matrix(m, n);
  Dense shift(m, n), columns = plain, upper(m, n), half = plain, denormal = plain;
  const double least = f.single() ? 1e-44 : 1e-322;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      if (j == i + 1) shift(i, j) = 1;
      if (j % 3 == 1) columns(i, j) = j % 2 == 0 ? Z(0) : columns(i, 0);
      if (i <= j) upper(i, j) = std::pow(0.8, i) * (i == j ? 1 : -0.6);  // Kahan
      if (j >= n / 2) half(i, j) = 0;
      if (std::min(i, j) < 3) denormal(i, j) = i == j ? Z(1) : i < j ? least * double(1 + (i + j) % 7) : Z(0);
    }
  add("random", plain);
  add("graded", random.with_singular_values(m, n, decaying(k, eps * eps)));
  add("two values", random.with_singular_values(m, n, two));
  add("zero", Dense(m, n));
  add("ones", constant(m, n, 1));
  add("shift", shift);
  add("repeated columns", columns);
  add("Kahan", upper);
  add("zero columns", half);
  add("reflectors from denormal numbers", denormal);
  all.push_back({"huge", huge(f) * plain, huge(f)});
  all.push_back({"tiny", tiny(f) * plain, tiny(f)});
  return all;
}

/// Real vector divided by a number.
Dense over(const Dense& x, double by) { return Z(1 / by) * x; }

class EveryDriver : public ScalarTest {
 protected:
  /// Kernels of one team per matrix are for small ones.
  static bool slow(Driver driver, int n) { return driver == Driver::reference && n > 65; }
};

TEST_P(EveryDriver, eigh) {
  Random random(211, complex());
  int checked = 0;
  for (const Driver driver : offered(backend::Operation::eigh))
    for (const int n : {1, 2, 16, 24, 25, 33, 49, 65, 101, 130, 258}) {
      if (slow(driver, n)) continue;
      for (const Named& a : hermitian_matrices(flavour(), random, n)) {
        const std::string what = std::string(name(driver)) + " " + a.name;
        const Spectrum x = eigh(flavour(), a.A, {.driver = driver});
        const Dense A = over(a.A, a.size), w = over(x.w, a.size);
        expect_small(flavour(), norm(A * x.V - scale_columns(x.V, w)), n, norm(A), what);
        expect_orthonormal(flavour(), x.V, what);
        for (int i = 0; i + 1 < n; ++i) EXPECT_LE(x.w(i).real(), x.w(i + 1).real()) << what << " n = " << n;
        ++checked;
      }
    }
  EXPECT_GT(checked, 100);
}

/// Eigenvalues without vectors are those that come with vectors, also where squares of entries are denormal.
TEST_P(EveryDriver, eigenvalues_alone) {
  Random random(214, complex());
  const double small = flavour().single() ? 1e-20 : 1e-158;
  const Dense hard = tridiagonal(
      3, [](int) { return 0; }, [small](int i) { return i == 0 ? small : 0.074582027490499414; });
  for (const int n : {3, 26, 65}) {
    auto all = hermitian_matrices(flavour(), random, n);
    // A vendor routine that is slower and less exact is no error of ours.
    if (n == 3 && backend::drivers<Compiled>().offers(backend::Operation::eigh, Driver::blocked))
      all.push_back({"denormal squares", hard});
    for (const Named& a : all) {
      const Spectrum both = eigh(flavour(), a.A), alone = eigh(flavour(), a.A, {}, {.second = false});
      expect_small(flavour(), norm(over(both.w, a.size) - over(alone.w, a.size)), n, norm(over(a.A, a.size)), a.name);
    }
  }
}

TEST_P(EveryDriver, svd) {
  Random random(212, complex());
  int checked = 0;
  for (const Driver driver : offered(backend::Operation::svd))
    for (const auto [m, n] : {Extents{1, 1}, {2, 2},   {24, 24}, {25, 25}, {26, 26}, {51, 51}, {97, 97},
                              {100, 1},      {1, 100}, {33, 26}, {34, 26}, {35, 26}, {51, 26}, {52, 26},
                              {53, 26},      {26, 33}, {26, 35}, {26, 52}, {90, 40}, {40, 90}, {61, 50}}) {
      if (slow(driver, std::max(m, n))) continue;
      for (const Named& a : general_matrices(flavour(), random, m, n)) {
        const std::string what = std::string(name(driver)) + " " + a.name + extents(m, n);
        const Triplets x = svd(flavour(), a.A, {.driver = driver});
        const Dense A = over(a.A, a.size), s = over(x.s, a.size);
        expect_small(flavour(), norm(A - scale_columns(x.U, s) * x.Vh), std::max(m, n), norm(A), what);
        expect_orthonormal(flavour(), x.U, what + " U");
        expect_orthonormal(flavour(), adjoint(x.Vh), what + " V");
        const int k = std::min(m, n);
        for (int i = 0; i + 1 < k; ++i) EXPECT_GE(x.s(i).real(), x.s(i + 1).real()) << what;
        for (int i = 0; i < k; ++i) EXPECT_FALSE(std::signbit(x.s(i).real())) << what;
        ++checked;
      }
    }
  EXPECT_GT(checked, 100);
}

TEST_P(EveryDriver, qr) {
  Random random(213, complex());
  int checked = 0;
  for (const Driver driver : offered(backend::Operation::qr))
    for (const auto [m, n] : {Extents{1, 1},
                              {2, 2},
                              {7, 7},
                              {8, 8},
                              {9, 9},
                              {16, 16},
                              {17, 17},
                              {47, 47},
                              {48, 48},
                              {65, 65},
                              {100, 100},
                              {100, 3},
                              {3, 100},
                              {90, 40},
                              {40, 90},
                              {97, 96},
                              {96, 97}}) {
      if (slow(driver, std::max(m, n))) continue;
      for (const Named& a : general_matrices(flavour(), random, m, n)) {
        const std::string what = std::string(name(driver)) + " " + a.name + extents(m, n);
        const OrthogonalTriangular x = qr(flavour(), a.A, {.driver = driver});
        const Dense A = over(a.A, a.size), R = over(x.R, a.size);
        expect_small(flavour(), norm(A - x.Q * R), std::max(m, n), norm(A), what);
        expect_orthonormal(flavour(), x.Q, what);
        EXPECT_EQ(norm(lower_triangle(R, -1)), 0) << what;
        for (int i = 0; i < R.rows; ++i) EXPECT_EQ(R(i, i).imag(), 0) << what;
        ++checked;
      }
    }
  EXPECT_GT(checked, 100);
}

/// Also with pivots below the smallest normal number, on which a vendor routine may fail, but not silently.
TEST_P(EveryDriver, lu) {
  Random random(215, complex());
  int checked = 0;
  const bool vendor = std::string(backend::name<Compiled>()) == "cuda";
  for (const Driver driver : offered(backend::Operation::lu))
    for (const auto [m, n] :
         {Extents{1, 1}, {2, 2}, {16, 16}, {17, 17}, {33, 33}, {65, 65}, {130, 130}, {90, 40}, {40, 90}}) {
      if (slow(driver, std::max(m, n))) continue;
      auto all = general_matrices(flavour(), random, m, n);
      for (const int at : {0, std::min(m, n) / 2}) {
        Dense A = random.matrix(m, n);
        for (int j = 0; j <= at; ++j)
          for (int i = j; i < m; ++i)
            A(i, j) = j < at ? Z(i == j) : Z(at + 2 * m - i);  // what the pivot is chosen from
        for (int i = at; i < m; ++i) A(i, at) *= flavour().single() ? 0x1p-146 : 0x1p-1071;
        all.push_back({"denormal pivot", A});
      }
      for (const Named& a : all) {
        const std::string what = std::string(name(driver)) + " " + a.name + extents(m, n);
        const Triangles x = lu(flavour(), a.A, {.driver = driver});
        ++checked;
        if (vendor && !explain(x.diagnoses[0]).empty() && a.name == "denormal pivot") continue;
        EXPECT_EQ(explain(x.diagnoses[0]), "") << what;
        const Dense A = over(a.A, a.size), U = over(x.U, a.size);
        expect_small(flavour(), norm(permute_rows(A, x.perm) - x.L * U), std::max(m, n), norm(x.L) * norm(U), what);
        EXPECT_LE(max_abs(x.L), flavour().complex() ? 1.5 : 1.0) << what;
      }
    }
  EXPECT_GT(checked, 80);
}

INSTANTIATE_TEST_SUITE_P(Scalars, EveryDriver, testing::ValuesIn(all_scalars), scalar_name);

}  // namespace
}  // namespace frechet::test
