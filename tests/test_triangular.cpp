// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Triangular solves and products of the backend, and products of triangles, on triangles that are hard: the residual
// has to be that of a backward stable solve whatever the condition.

#include "support/views.hpp"

#include <context.hpp>
#include <gtest/gtest.h>
#include <kernels.hpp>

namespace frechet::test {
namespace {

using detail::Batch;
using detail::Context;
using detail::Diag;
using detail::Side;
using detail::Uplo;

template <class S>
Batch<S> batch_of(const Matrix<S>& A) {
  const int rows = int(A.extent(0)), cols = int(A.extent(1));
  return {A.data(), rows, cols, std::max(1, rows), 1, 0};
}

enum class Kind { random, dominant, minus_ones, kahan, graded };

/// The full matrix; only one of its triangles is meant, the other holds rubbish that may not be read.
Dense triangle(Kind kind, int n, Uplo uplo, Diag diag, bool complex, double c = 0.3) {
  Random random(7, complex);
  Dense A = random.matrix(n, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const bool inside = uplo == Uplo::lower ? i > j : i < j;
      const double s = std::sqrt(1 - c * c);
      const int row = uplo == Uplo::lower ? n - 1 - i : i;
      if (i == j) {
        if (diag == Diag::unit)
          A(i, i) = Z(std::nan(""));  // may not be read
        else if (kind == Kind::dominant)
          A(i, i) = Z(n);
        else if (kind == Kind::kahan)
          A(i, i) = std::pow(s, row);
        else if (kind == Kind::graded)
          A(i, i) = std::pow(10.0, -i / 8.0);
        else if (kind == Kind::minus_ones)
          A(i, i) = 1;
      } else if (inside) {
        if (kind == Kind::minus_ones) A(i, j) = -1;
        if (kind == Kind::kahan) A(i, j) = -c * std::pow(s, row);
        if (kind == Kind::graded) A(i, j) *= 0.25 * std::pow(10.0, -i / 8.0);
        if (kind == Kind::random && diag == Diag::unit) A(i, j) *= 0.5;
      } else {
        A(i, j) = Z(std::nan(""));  // beyond the triangle
      }
    }
  return A;
}

/// op of the triangle, as a matrix with zeros.
Dense expand(const Dense& A, Uplo uplo, Diag diag, Op op) {
  Dense T(A.rows, A.cols);
  for (int j = 0; j < A.cols; ++j)
    for (int i = 0; i < A.rows; ++i)
      if (i == j)
        T(i, i) = diag == Diag::unit ? Z(1) : A(i, i);
      else if (uplo == Uplo::lower ? i > j : i < j)
        T(i, j) = A(i, j);
  return op == Op::none ? T : op == Op::transpose ? transpose(T) : adjoint(T);
}

Dense times(Side side, const Dense& T, const Dense& X) { return side == Side::left ? T * X : X * T; }

template <class S>
class Triangular : public testing::Test {};
using Scalars = testing::Types<float, double, Kokkos::complex<float>, Kokkos::complex<double>>;
TYPED_TEST_SUITE(Triangular, Scalars);

template <class S>
double epsilon() {
  return std::is_same_v<Real<S>, float> ? 0x1p-23 : 0x1p-52;
}

TYPED_TEST(Triangular, SolvesAreBackwardStable) {
  using S = TypeParam;
  Context<Compiled> ctx{Compiled()};
  Random random(8, is_complex<S>);
  double worst = 0;
  int ran = 0;
  for (const Kind kind : {Kind::random, Kind::dominant, Kind::minus_ones, Kind::kahan, Kind::graded})
    for (const int n : {1, 15, 16, 17, 31, 32, 33, 50, 97})
      for (const int sides : {1, 15, 16, 21})
        for (const Side side : {Side::left, Side::right})
          for (const Uplo uplo : {Uplo::lower, Uplo::upper})
            for (const Op op : {Op::none, Op::transpose, Op::adjoint})
              for (const Diag diag : {Diag::unit, Diag::nonunit}) {
                if (n == 97 && (op == Op::transpose || sides == 15)) continue;
                // Random triangles without a dominant diagonal have solutions of size 2^n.
                if (kind == Kind::random && n > 33) continue;
                const Dense A = triangle(kind, n, uplo, diag, is_complex<S>);
                const auto a = put<Matrix<S>>(A);
                Dense B = side == Side::left ? random.matrix(n, sides) : random.matrix(sides, n);
                // A right side with a solution of its own size shows what a product with an inverse would lose.
                if (sides != 16) B = times(side, expand(fetch(a), uplo, diag, op), B);
                const auto x = put<Matrix<S>>(B);
                detail::trsm<Compiled, S>(ctx, side, uplo, op, diag, S(1), batch_of(a), batch_of(x));
                const Dense X = fetch(x), T = expand(fetch(a), uplo, diag, op), B0 = fetch(put<Matrix<S>>(B));
                const Dense R = times(side, T, X) - B0;
                const double error = max_abs(R) / (n * epsilon<S>() * (max_abs(T) * max_abs(X) + max_abs(B0)));
                worst = std::max(worst, std::isfinite(error) ? error : HUGE_VAL);
                ASSERT_LE(error, 4) << "kind " << int(kind) << " n " << n << " sides " << sides << " side " << int(side)
                                    << " uplo " << int(uplo) << " op " << int(op) << " diag " << int(diag);
                ++ran;
              }
  std::printf("[ trsm     ] %d solves, largest residual %.2f n eps |A| |X|\n", ran, worst);
  EXPECT_GT(ran, 2000);
}

TYPED_TEST(Triangular, LargeSolvesAreBackwardStable) {
  using S = TypeParam;
  Context<Compiled> ctx{Compiled()};
  Random random(9, is_complex<S>);
  // Around the sizes of tiles and blocks; right sides that fill whole tiles and such that do not.
  for (const int n : {64, 127, 128, 129, 257, 383, 384, 401})
    for (const Kind kind : {Kind::dominant, Kind::kahan})
      for (const Side side : {Side::left, Side::right})
        for (const Uplo uplo : {Uplo::lower, Uplo::upper})
          for (const Op op : {Op::none, Op::adjoint})
            for (const int sides : {17, 64}) {
              const Diag used = kind == Kind::dominant || uplo == Uplo::upper ? Diag::nonunit : Diag::unit;
              const Dense A = triangle(kind, n, uplo, used, is_complex<S>, 0.1);
              const Dense B = side == Side::left ? random.matrix(n, sides) : random.matrix(sides, n);
              const auto a = put<Matrix<S>>(A), x = put<Matrix<S>>(B);
              detail::trsm<Compiled, S>(ctx, side, uplo, op, used, S(1), batch_of(a), batch_of(x));
              const Dense X = fetch(x), T = expand(fetch(a), uplo, used, op), B0 = fetch(put<Matrix<S>>(B));
              const Dense R = (side == Side::left ? T * X : X * T) - B0;
              EXPECT_LE(max_abs(R), 4 * n * epsilon<S>() * (max_abs(T) * max_abs(X) + max_abs(B0)))
                  << n << " " << int(kind) << " " << int(side) << " " << int(uplo) << " " << int(op) << " " << sides;
            }
}

/// Blocks of larger matrices: the same solutions as alone, and nothing around them is read or written.
TYPED_TEST(Triangular, SolvesOfBlocksStayInThem) {
  using S = TypeParam;
  Context<Compiled> ctx{Compiled()};
  Random random(11, is_complex<S>);
  for (const int n : {5, 16, 40, 128, 150})
    for (const int sides : {3, 16, 19, 64})
      for (const Side side : {Side::left, Side::right})
        for (const Uplo uplo : {Uplo::lower, Uplo::upper})
          for (const Op op : {Op::none, Op::adjoint}) {
            const int rows = side == Side::left ? n : sides, cols = side == Side::left ? sides : n;
            const auto a = put<Matrix<S>>(triangle(Kind::dominant, n, uplo, Diag::nonunit, is_complex<S>));
            const Dense B = random.matrix(rows, cols), nan = constant(rows + 5, cols + 4, std::nan(""));
            const auto alone = put<Matrix<S>>(B), whole = put<Matrix<S>>(nan);
            Kokkos::deep_copy(Kokkos::subview(whole, std::pair(2, 2 + rows), std::pair(1, 1 + cols)), alone);
            const auto solve = [&](const Batch<S>& X) {
              detail::trsm<Compiled, S>(ctx, side, uplo, op, Diag::nonunit, S(1), batch_of(a), X);
            };
            solve(batch_of(alone));
            solve(batch_of(whole).block(2, 1, rows, cols));
            const Dense X = fetch(alone), W = fetch(whole);
            double apart = 0;
            int outside = 0;
            for (int j = 0; j < W.cols; ++j)
              for (int i = 0; i < W.rows; ++i)
                if (i >= 2 && i < 2 + rows && j >= 1 && j < 1 + cols)
                  apart = std::max(apart, std::abs(W(i, j) - X(i - 2, j - 1)));
                else
                  outside += std::isnan(W(i, j).real());
            EXPECT_LE(apart, 8 * epsilon<S>() * max_abs(X)) << n << " " << sides << " " << int(side);
            EXPECT_EQ(outside, W.rows * W.cols - rows * cols) << n << " " << sides << " " << int(side);
          }
}

TYPED_TEST(Triangular, SingularTrianglesGiveInfinities) {
  using S = TypeParam;
  Context<Compiled> ctx{Compiled()};
  for (const int n : {8, 40}) {
    Dense A = identity(n);
    A(n / 2, n / 2) = 0;
    const auto a = put<Matrix<S>>(A), x = put<Matrix<S>>(constant(n, 20, 1));
    detail::trsm<Compiled, S>(ctx, Side::left, Uplo::upper, Op::none, Diag::nonunit, S(1), batch_of(a), batch_of(x));
    const Dense X = fetch(x);
    EXPECT_FALSE(std::isfinite(std::abs(X(n / 2, 3))));
    EXPECT_EQ(X(n - 1, 3), Z(1)) << "rows that do not depend on the zero pivot";
  }
}

TYPED_TEST(Triangular, ProductsOfTriangles) {
  using S = TypeParam;
  Context<Compiled> ctx{Compiled()};
  Random random(10, is_complex<S>);
  for (const int n : {1, 2, 63, 64, 65, 100, 150})
    for (const bool left : {true, false})
      for (const Uplo uplo : {Uplo::lower, Uplo::upper})
        for (const Op op : {Op::none, Op::transpose, Op::adjoint})
          for (const Diag diag : {Diag::unit, Diag::nonunit}) {
            const Dense A = triangle(Kind::random, n, uplo, diag, is_complex<S>);
            const Dense B = left ? lower_triangle(random.matrix(n, n)) : upper_triangle(random.matrix(n, n));
            const auto a = put<Matrix<S>>(A), b = put<Matrix<S>>(B);
            detail::multiply_triangles<Compiled, S>(ctx, left ? Side::left : Side::right, uplo, op, diag, batch_of(a),
                                                    batch_of(b));
            const Dense T = expand(fetch(a), uplo, diag, op), B0 = fetch(put<Matrix<S>>(B)), C = fetch(b);
            const Dense exact = left ? T * B0 : B0 * T;
            const Dense wanted = left ? lower_triangle(exact) : upper_triangle(exact);
            const Dense got = left ? lower_triangle(C) : upper_triangle(C);
            EXPECT_LE(max_abs(got - wanted), 4 * n * epsilon<S>() * max_abs(T) * max_abs(B0)) << n;
            const bool same = left == ((uplo == Uplo::lower) == (op == Op::none));
            EXPECT_TRUE(!same || norm(C - got) == 0) << "zeros stay zero, n = " << n;
          }
}

}  // namespace
}  // namespace frechet::test
