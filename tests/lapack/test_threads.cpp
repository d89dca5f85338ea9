// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <lapack/blas_threads.hpp>
#include <lapack/loops.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace frechet::backend::lapack {
namespace {

/// Each entry of C lies in exactly one piece, none is empty, and there are as many as asked for where that pays.
TEST(Grid, covers_a_product_once) {
  int split = 0, in_rows = 0, in_both = 0;
  for (const int m : {1, 15, 16, 17, 64, 100, 512, 2000})
    for (const int n : {1, 7, 8, 9, 64, 100, 512, 2000})
      for (const double k : {1.0, 32.0, 512.0})
        for (const int threads : {1, 2, 3, 7, 64}) {
          const Grid g = Grid::of_product(m, n, k, threads);
          ASSERT_GE(g.count(), 1);
          ASSERT_LE(g.count(), threads);
          for (const Pieces& p : {g.rows, g.cols}) {
            ASSERT_EQ(p.first(0), 0);
            ASSERT_EQ(p.first(p.count), p.extent);
            for (int i = 0; i < p.count; ++i) ASSERT_LT(p.first(i), p.first(i + 1)) << m << " x " << n;
          }
          split += g.count() > 1 ? 1 : 0;
          in_rows += g.rows.count > 1 && g.cols.count == 1 ? 1 : 0;
          in_both += g.rows.count > 1 && g.cols.count > 1 ? 1 : 0;
        }
  EXPECT_GT(split, 100);
  EXPECT_GT(in_rows, 10);
  EXPECT_GT(in_both, 10);
}

TEST(Grid, sizes) {
  EXPECT_EQ(Grid::of_product(64, 64, 64, 2).count(), 1);  // small
  EXPECT_EQ(Grid::of_product(96, 96, 96, 2).count(), 2);
  EXPECT_EQ(Grid::of_product(512, 512, 512, 2).count(), 1);  // left to its threads
  const Grid square = Grid::of_product(256, 256, 256, 16);
  EXPECT_EQ(square.rows.count, 4);
  EXPECT_EQ(square.cols.count, 4);
}

#if defined(_OPENMP)
TEST(OneThread, ends_with_its_scope) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  {
    const OneThread off(false);
    EXPECT_EQ(omp_get_max_threads(), 3);
    const OneThread on(true);
    EXPECT_EQ(omp_get_max_threads(), 1);
    EXPECT_EQ(threads_for_calls(), 1);
    const OneThread again(true);
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(before);
}
#endif

/// add_symmetric for every order and number of columns around its tiles, at several places in a vector; above the
/// diagonal there are NaN, and nothing is written beyond y.
template <class T>
class Symmetric : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Symmetric, Reals);

TYPED_TEST(Symmetric, product_of_columns) {
  using T = TypeParam;
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int m = 1; m <= 70; ++m)
    for (const int n : {1, 3, 4, 5, 8, 9, 12, 31, 70})
      for (const int row : {0, 1, 7, 13}) {
        if (n > m) continue;
        const int place = row % 3;
        const std::ptrdiff_t lda = m + place;
        std::vector<T> A(static_cast<std::size_t>(place + lda * n), std::numeric_limits<T>::quiet_NaN()), x, y;
        T* const a = A.data() + place;
        for (int j = 0; j < n; ++j)
          for (int i = j; i < m; ++i) a[i + j * lda] = static_cast<T>(uniform(generator));
        for (int i = 0; i <= m; ++i) {
          x.push_back(static_cast<T>(uniform(generator)));
          y.push_back(static_cast<T>(uniform(generator)));
        }
        std::vector<double> want(y.begin(), y.end());
        for (int j = 0; j < n; ++j)
          for (int i = j; i < m; ++i) {
            want[i] += double(a[i + j * lda]) * x[j];
            if (i > j) want[j] += double(a[i + j * lda]) * x[i];
          }
        add_symmetric(m, a, lda, n, x.data(), y.data(), row);
        for (int i = 0; i <= m; ++i)
          ASSERT_NEAR(y[i], want[i], 4 * (n + m) * std::numeric_limits<T>::epsilon())
              << "order " << m << ", columns " << n << ", row " << i;
      }
}

/// column_dots and add_columns where the first rows are read apart: nothing counts twice or not at all.
TYPED_TEST(Symmetric, long_columns) {
  using T = TypeParam;
  std::mt19937_64 generator(9);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const int m : {1, 15, 63, 64, 65, 127, 128, 131, 200})
    for (const int n : {1, 3, 4, 6, 8})
      for (const int row : {0, 1, 7, 8, 15, 16, 99}) {
        const std::ptrdiff_t lda = m + 3;
        const auto numbers = [&](std::ptrdiff_t count) {
          std::vector<T> x(static_cast<std::size_t>(count));
          for (T& t : x) t = static_cast<T>(uniform(generator));
          return x;
        };
        const auto A = numbers(lda * n), v = numbers(m), w = numbers(n);
        auto y = numbers(m + 1), dots = numbers(n);
        std::vector<double> sums(y.begin(), y.end()), products(static_cast<std::size_t>(n));
        for (int c = 0; c < n; ++c)
          for (int i = 0; i < m; ++i) {
            sums[i] += double(A[i + c * lda]) * w[c];
            products[c] += double(A[i + c * lda]) * v[i];
          }
        add_columns(m, A.data(), lda, n, w.data(), y.data(), row);
        column_dots(m, v.data(), A.data(), lda, n, dots.data(), row);
        const double bound = 4 * m * std::numeric_limits<T>::epsilon();
        for (int i = 0; i <= m; ++i) ASSERT_NEAR(y[i], sums[i], bound) << m << " x " << n << ", row " << i;
        for (int c = 0; c < n; ++c) ASSERT_NEAR(dots[c], products[c], bound) << m << " x " << n << ", column " << c;
      }
}

}  // namespace
}  // namespace frechet::backend::lapack
