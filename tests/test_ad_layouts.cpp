// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/dense.hpp"
#include "support/views.hpp"

#include <gtest/gtest.h>

// Elementwise operations of AdContext on operands of any strides, mixed, around the sizes at which loops change.

namespace frechet::test {
namespace {

using Odd = Kokkos::View<double**, Kokkos::LayoutStride, Space>;

struct Strides {
  int row, col;
};

/// Columns and rows together, apart, and neither.
std::vector<Strides> strides_for(int m, int n) { return {{1, m}, {1, m + 3}, {n, 1}, {n + 2, 1}, {2, 2 * m + 1}}; }

/// Kept together with its memory, in which all that is not the matrix is NaN.
struct Placed {
  Vector<double> memory;
  Odd view;
  Placed(int m, int n, Strides s) : memory("memory", std::size_t(m) * s.row + std::size_t(n) * s.col) {
    Kokkos::deep_copy(memory, std::numeric_limits<double>::quiet_NaN());
    view = Odd(memory.data(), Kokkos::LayoutStride(m, s.row, n, s.col));
  }
  Placed(const Dense& A, Strides s) : Placed(A.rows, A.cols, s) { Kokkos::deep_copy(view, put<Matrix<double>>(A)); }
  /// The matrix, and whether the rest of the memory is as it was.
  Dense read(bool* untouched) const {
    const Matrix<double> copy("copy", view.extent(0), view.extent(1));
    Kokkos::deep_copy(copy, view);
    const Dense A = fetch(copy), all = fetch(memory);
    std::size_t numbers = 0;
    for (int i = 0; i < all.rows; ++i) numbers += std::isnan(all(i).real()) ? 0 : 1;
    *untouched = numbers == copy.size();
    return A;
  }
};

Dense ones(int m, int n) {
  Dense A(m, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) A(i, j) = 1;
  return A;
}

TEST(AdLayouts, ElementwiseOperations) {
  struct Extents {
    int m, n;
  };
  Random random(31);
  AdContext<Exec> ad;
  const auto loss = [](auto X, auto Y) { return sum(2.0 * X - Y) + inner(X, Y) + sum(transpose(X)); };
  const auto matrix = [](auto X, auto Y) { return std::tuple(0.5 * X + Y, transpose(X), inner(X, Y) * X); };
  for (const auto [m, n] : {Extents{1, 1}, {1, 9}, {9, 1}, {8, 8}, {7, 17}, {200, 190}}) {
    const Dense A = random.matrix(m, n), B = random.matrix(m, n), one = ones(m, n), gA = Z(3) * one + B, gB = A - one;
    const double product = inner(A, B), value = 3 * inner(one, A) - inner(one, B) + product, size = 4 * m * n;
    for (const Strides s : strides_for(m, n))
      for (const Strides t : strides_for(m, n)) {
        const std::string where = std::to_string(m) + " x " + std::to_string(n) + ", strides " + std::to_string(s.row) +
                                  " " + std::to_string(s.col) + " and " + std::to_string(t.row) + " " +
                                  std::to_string(t.col);
        const Placed a(A, s), b(B, t), da(B, t), db(A, s), ga(m, n, t), gb(m, n, s);
        const auto [v, slope] = ad.jvp(loss, std::tie(a.view, b.view), std::tie(da.view, db.view));
        EXPECT_NEAR(number(v), value, 1e-13 * size) << where;
        EXPECT_NEAR(number(slope), inner(gA, B) + inner(gB, A), 1e-13 * size) << where;
        auto [w, pullback] = ad.vjp(loss, std::tie(a.view, b.view));
        pullback(1.0, std::tie(ga.view, gb.view));
        bool untouched = false;
        EXPECT_LT(norm(ga.read(&untouched) - gA), 1e-13 * size) << where;
        EXPECT_TRUE(untouched) << where;
        EXPECT_LT(norm(gb.read(&untouched) - gB), 1e-13 * size) << where;
        EXPECT_TRUE(untouched) << where;
        const Placed sum_of(m, n, t), transposed(n, m, {t.col, t.row}), scaled(m, n, s);
        ad.value_program(matrix, std::tie(a.view, b.view))(std::tie(a.view, b.view),
                                                           std::tie(sum_of.view, transposed.view, scaled.view));
        EXPECT_LT(norm(sum_of.read(&untouched) - (Z(0.5) * A + B)), 1e-14 * size) << where;
        EXPECT_TRUE(untouched) << where;
        EXPECT_TRUE(identical(transposed.read(&untouched), transpose(A))) << where;
        EXPECT_TRUE(untouched) << where;
        EXPECT_LT(norm(scaled.read(&untouched) - Z(product) * A), 1e-13 * size * (1 + std::abs(product))) << where;
        EXPECT_TRUE(untouched) << where;
      }
  }
}

/// The same input at another address gives the same bits: sums are grouped by rows, not by where lines of memory begin.
TEST(Address, does_not_change_results) {
  const Exec exec;
  for (const int n : {65, 128, 200}) {
    const Vector<double> w("w", n), first("first", n), memory("memory", n * n + 8), vectors("vectors", n * n + 8);
    for (int offset = 0; offset < 8; ++offset) {
      using Unmanaged = Kokkos::View<double**, Kokkos::LayoutLeft, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      const Unmanaged A(memory.data() + offset, n, n), V(vectors.data() + offset, n, n);
      const auto host = Kokkos::create_mirror_view(A);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) host(i, j) = std::sin(1.0 + i * j) + std::cos(1.0 + i + j);
      Kokkos::deep_copy(A, host);
      frechet::eigh(exec, A, w, V);
      exec.fence();
      if (offset == 0) Kokkos::deep_copy(first, w);
      EXPECT_TRUE(identical(fetch(w), fetch(first))) << "n = " << n << ", offset " << offset;
    }
  }
}

}  // namespace
}  // namespace frechet::test
