// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/check.hpp>
#include <frechet/eigh.hpp>
#include <frechet/lu.hpp>
#include <frechet/qr.hpp>
#include <frechet/solve.hpp>
#include <frechet/svd.hpp>

#include <gtest/gtest.h>

// Arguments that do not fit: the message names the function, the argument and both extents.

namespace frechet::test {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
using Matrix = Kokkos::View<double**, Memory>;
using Matrices = Kokkos::View<double***, Memory>;
using Vector = Kokkos::View<double*, Memory>;
using Vectors = Kokkos::View<double**, Memory>;
using Indices = Kokkos::View<int*, Memory>;

Matrix matrix(int m, int n) { return Matrix("matrix", m, n); }
Matrices matrices(int b, int m, int n) { return Matrices("matrices", b, m, n); }
Vector vector(int n) { return Vector("vector", n); }

/// The message of the ArgumentError that f throws.
template <class F>
std::string message(const F& f) {
  try {
    const Exec exec;
    f(exec);
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST(Arguments, eigh) {
  const Matrix A = matrix(3, 3);
  EXPECT_EQ(message([](auto& x) { eigh(x, matrix(3, 4), none, none); }),
            "frechet::eigh: A is 3 x 4, expected a square matrix");
  EXPECT_EQ(message([&](auto& x) { eigh(x, A, vector(4), none); }), "frechet::eigh: w is 4, expected 3");
  EXPECT_EQ(message([&](auto& x) { eigh(x, A, none, matrix(3, 2)); }), "frechet::eigh: V is 3 x 2, expected 3 x 3");
  EXPECT_EQ(message([&](auto& x) { eigh(x, A, none, A); }), "frechet::eigh: output V shares its memory with A");
  EXPECT_EQ(message([](auto& x) { eigh(x, matrices(2, 3, 3), Vectors("w", 3, 3), none); }),
            "frechet::eigh: w is 3 x 3, expected 2 x 3");
  EXPECT_EQ(message([](auto& x) { eigh(x, matrices(2, 3, 3), none, matrix(3, 3)); }),
            "frechet::eigh: V is 3 x 3, expected 2 x 3 x 3");
  EXPECT_EQ(message([](auto& x) {
              eigh(x, matrices(2, 3, 3), none, none, {.diagnostics = Diagnostics<Memory>("diagnostics", 1)});
            }),
            "frechet::eigh: diagnostics is 1, expected at least 2");
}

TEST(Arguments, eigh_rules) {
  const Matrix V = matrix(3, 3);
  const Vector w = vector(3);
  EXPECT_EQ(message([&](auto& x) { eigh_jvp(x, w, V, matrix(2, 3), none, none); }),
            "frechet::eigh_jvp: dA is 2 x 3, expected 3 x 3");
  EXPECT_EQ(message([&](auto& x) { eigh_jvp(x, Vector(), V, matrix(3, 3), none, none); }),
            "frechet::eigh_jvp: w is required here but absent");
  EXPECT_EQ(message([&](auto& x) { eigh_vjp(x, w, matrix(3, 2), none, none, V); }),
            "frechet::eigh_vjp: V is 3 x 2, expected a square matrix");
  EXPECT_EQ(message([&](auto& x) { eigh_vjp(x, w, V, none, none, none); }),
            "frechet::eigh_vjp: gA is required here but absent");
  EXPECT_EQ(message([&](auto& x) { eigh_vjp(x, w, V, none, none, V); }),
            "frechet::eigh_vjp: output gA shares its memory with V");
  EXPECT_EQ(message([&](auto& x) { eigh_vjp(x, w, V, vector(2), none, matrix(3, 3)); }),
            "frechet::eigh_vjp: gw is 2, expected 3");
}

TEST(Arguments, svd) {
  const Matrix A = matrix(4, 3), U = matrix(4, 3), Vh = matrix(3, 3);
  const Vector s = vector(3);
  EXPECT_EQ(message([&](auto& x) { svd(x, A, matrix(4, 4), none, none); }), "frechet::svd: U is 4 x 4, expected 4 x 3");
  EXPECT_EQ(message([&](auto& x) { svd(x, A, none, vector(4), none); }), "frechet::svd: s is 4, expected 3");
  EXPECT_EQ(message([&](auto& x) { svd(x, A, none, none, matrix(4, 3)); }),
            "frechet::svd: Vh is 4 x 3, expected 3 x 3");
  EXPECT_EQ(message([&](auto& x) { svdvals(x, A, vector(2)); }), "frechet::svd: s is 2, expected 3");
  EXPECT_EQ(message([&](auto& x) { svd_jvp(x, U, s, matrix(3, 5), A, none, none, none); }),
            "frechet::svd_jvp: U is 4 x 3, expected m x min(m,n) for Vh 3 x 5");
  EXPECT_EQ(message([&](auto& x) { svd_vjp(x, U, s, Vh, none, none, none, matrix(3, 4)); }),
            "frechet::svd_vjp: gA is 3 x 4, expected 4 x 3");
  EXPECT_EQ(message([&](auto& x) { svd_vjp(x, U, s, Vh, A, none, none, A); }),
            "frechet::svd_vjp: output gA shares its memory with gU");
}

TEST(Arguments, qr) {
  const Matrix A = matrix(4, 3), Q = matrix(4, 3), R = matrix(3, 3);
  EXPECT_EQ(message([&](auto& x) { qr(x, A, matrix(4, 4), none); }), "frechet::qr: Q is 4 x 4, expected 4 x 3");
  EXPECT_EQ(message([&](auto& x) { qr(x, A, none, matrix(4, 3)); }), "frechet::qr: R is 4 x 3, expected 3 x 3");
  EXPECT_EQ(message([&](auto& x) { qr_jvp(x, matrix(4, 2), R, A, none, none); }),
            "frechet::qr_jvp: Q is 4 x 2, expected m x min(m,n) for R 3 x 3");
  EXPECT_EQ(message([&](auto& x) { qr_jvp(x, Q, R, A, A, none); }),
            "frechet::qr_jvp: output dQ shares its memory with dA");
  EXPECT_EQ(message([&](auto& x) { qr_vjp(x, Q, R, none, matrix(3, 4), A); }),
            "frechet::qr_vjp: gR is 3 x 4, expected 3 x 3");
}

TEST(Arguments, lu) {
  const Matrix A = matrix(4, 3), L = matrix(4, 3), U = matrix(3, 3);
  const Indices perm("perm", 4);
  EXPECT_EQ(message([&](auto& x) { lu(x, A, matrix(4, 4), none, none); }), "frechet::lu: L is 4 x 4, expected 4 x 3");
  EXPECT_EQ(message([&](auto& x) { lu(x, A, none, none, Indices("perm", 3)); }), "frechet::lu: perm is 3, expected 4");
  EXPECT_EQ(message([&](auto& x) { lu_jvp(x, L, matrix(2, 3), perm, A, none, none); }),
            "frechet::lu_jvp: U is 2 x 3, expected 3 x 3");
  EXPECT_EQ(message([&](auto& x) { lu_jvp(x, L, U, Indices(), A, none, none); }),
            "frechet::lu_jvp: perm is required here but absent");
  EXPECT_EQ(message([&](auto& x) { lu_vjp(x, L, U, perm, none, matrix(4, 3), A); }),
            "frechet::lu_vjp: gU is 4 x 3, expected 3 x 3");
}

TEST(Arguments, solve) {
  const Matrix A = matrix(3, 3), B = matrix(3, 2), X = matrix(3, 2);
  const Indices perm("perm", 3);
  EXPECT_EQ(message([&](auto& x) { solve(x, matrix(3, 2), B, X); }),
            "frechet::solve: A is 3 x 2, expected a square matrix");
  EXPECT_EQ(message([&](auto& x) { solve(x, A, matrix(4, 2), X); }), "frechet::solve: B is 4 x 2, expected 3 x 2");
  EXPECT_EQ(message([&](auto& x) { solve(x, A, B, matrix(3, 1)); }), "frechet::solve: X is 3 x 1, expected 3 x 2");
  EXPECT_EQ(message([&](auto& x) { solve(x, A, B, vector(3)); }), "frechet::solve: X is 3, expected 3 x 2");
  EXPECT_EQ(message([&](auto& x) { solve(x, A, B, B); }), "frechet::solve: output X shares its memory with B");
  EXPECT_EQ(message([&](auto& x) { solve(x, A, B, X, matrix(3, 3), Indices("perm", 2)); }),
            "frechet::solve: perm is 2, expected 3");
  EXPECT_EQ(message([&](auto& x) { solve_jvp(x, A, perm, none, matrix(3, 3), none, X); }),
            "frechet::solve_jvp: X is required here but absent");
  EXPECT_EQ(message([&](auto& x) { solve_vjp(x, A, perm, none, B, matrix(3, 3), none); }),
            "frechet::solve_vjp: X is required here but absent");
  EXPECT_EQ(message([&](auto& x) { solve_vjp(x, A, perm, X, matrix(3, 1), none, matrix(3, 2)); }),
            "frechet::solve_vjp: gX is 3 x 1, expected 3 x 2");
}

// --- check() --------------------------------------------------------------------------------------------------------

TEST(Check, throws_with_the_index_and_the_cause) {
  const Exec exec;
  const Diagnostics<Memory> d("diagnostics", 3);
  EXPECT_NO_THROW(check(exec, d));
  const Matrices A = matrices(3, 2, 2), B = matrices(3, 2, 1), X = matrices(3, 2, 1);
  const auto host = Kokkos::create_mirror_view(A);
  for (int b = 0; b < 3; ++b) host(b, 0, 0) = host(b, 1, 1) = 1;
  host(2, 1, 1) = 0;
  Kokkos::deep_copy(A, host);
  solve(exec, A, B, X, none, none, {.diagnostics = d});
  try {
    check(exec, d, "my solver");
    FAIL() << "a singular matrix passed";
  } catch (const NumericalError& e) {
    EXPECT_STREQ(e.what(), "my solver: matrix 2: singular or not converged (info = 2)");
  }
}

TEST(Check, explains_each_field) {
  EXPECT_EQ(explain({}), "");
  EXPECT_NE(explain({.info = 1}), "");
  EXPECT_NE(explain({.nonfinite = 1}).find("NaN"), std::string::npos);
  EXPECT_NE(explain({.rank = 2, .deficient = 1}).find("rank 2"), std::string::npos);
  EXPECT_NE(explain({.gauge = 0.5}).find("phase"), std::string::npos);
  EXPECT_NE(explain({.spread = 0.5}).find("differently"), std::string::npos);
  EXPECT_EQ(explain({.coupling = 0.5}), "");
  EXPECT_NE(explain({.coupling = 0.5}, true).find("splits"), std::string::npos);
}

}  // namespace
}  // namespace frechet::test
