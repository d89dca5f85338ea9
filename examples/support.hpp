// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_EXAMPLES_SUPPORT_HPP
#define FRECHET_EXAMPLES_SUPPORT_HPP

#include <frechet/frechet.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

// What the larger examples share: reading data, a generator of matrices, and the comparison with golden numbers.

#ifndef FRECHET_EXAMPLE_DATA
#define FRECHET_EXAMPLE_DATA "data"
#endif

namespace example {

using Exec = Kokkos::DefaultHostExecutionSpace;
using Scalar = Kokkos::View<double, Kokkos::HostSpace>;
using Vector = Kokkos::View<double*, Kokkos::HostSpace>;
using Matrix = Kokkos::View<double**, Kokkos::HostSpace>;

/// The data directory: the first argument of the program, or the one the examples were built with.
inline std::string data_directory(int argc, char** argv) { return argc > 1 ? argv[1] : FRECHET_EXAMPLE_DATA; }

inline std::ifstream open(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot open " + file);
  return in;
}

/// Numbers in text, row by row.
inline Matrix read_table(const std::string& file, int rows, int cols) {
  std::ifstream in = open(file);
  const Matrix A(file, rows, cols);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      if (!(in >> A(i, j))) throw std::runtime_error("too few numbers in " + file);
  return A;
}

/// Matrix Market, "array real symmetric": the lower triangle, column by column.
inline Matrix read_symmetric(const std::string& file) {
  std::ifstream in = open(file);
  std::string line;
  while (std::getline(in, line) && line[0] == '%') {
  }
  int rows = 0, cols = 0;
  if (!(std::istringstream(line) >> rows >> cols) || rows != cols)
    throw std::runtime_error("not a square matrix: " + file);
  const Matrix A(file, rows, cols);
  for (int j = 0; j < cols; ++j)
    for (int i = j; i < rows; ++i) {
      if (!(in >> A(i, j))) throw std::runtime_error("too few numbers in " + file);
      A(j, i) = A(i, j);
    }
  return A;
}

/// A reproducible matrix with entries in [-1, 1).
inline Matrix generate(int rows, int cols, std::uint64_t seed) {
  const Matrix X("X", rows, cols);
  std::uint64_t count = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) {
      std::uint64_t x = count++ * 6364136223846793005U + seed * 1442695040888963407U;
      x ^= x >> 33U;
      X(i, j) = (static_cast<double>(x % (1U << 20U)) - (1 << 19)) / (1 << 19);
    }
  return X;
}

/// (X + X^T) / 2 of the above.
inline Matrix generate_symmetric(int n, std::uint64_t seed) {
  const Matrix X = generate(n, n, seed), A("A", n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) A(i, j) = (X(i, j) + X(j, i)) / 2;
  return A;
}

/// <A, B> = sum of A_ij B_ij, for Views of any layout.
template <class A, class B>
double inner(const A& a, const B& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.extent(0); ++i)
    for (std::size_t j = 0; j < a.extent(1); ++j) sum += a(i, j) * b(i, j);
  return sum;
}

/// Compares numbers with expected ones, prints them, and counts those that are off.
class Checks {
 public:
  void operator()(const char* what, double got, double want, double tolerance) {
    report(what, got, want, want, tolerance);
  }

  /// The same for a matrix: the largest error of an entry, relative to the largest expected entry.
  template <class Got, class Want>
  void matrix(const char* what, const Got& got, const Want& want, int rows, int cols, double tolerance) {
    double size = 0;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j) size = std::max(size, std::abs(want(i, j)));
    int row = 0, col = 0;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j)
        if (!(std::abs(got(i, j) - want(i, j)) <= std::abs(got(row, col) - want(row, col)))) {
          row = i;
          col = j;
        }
    report(what, got(row, col), want(row, col), size, tolerance);
  }

  void that(const char* what, bool holds) {
    std::printf("  %-44s %s\n", what, holds ? "yes" : "NO");
    failures_ += !holds;
  }

  /// The exit status of the program.
  int status() const {
    if (failures_ > 0) std::printf("%d of the numbers are off\n", failures_);
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void report(const char* what, double got, double want, double size, double tolerance) {
    const double error = std::abs(got - want) / std::abs(size);
    const bool good = error <= tolerance;  // false for NaN
    std::printf("  %-44s % .15e  expected % .15e  relative error %.1e%s\n", what, got, want, error,
                good ? "" : "  OFF");
    failures_ += !good;
  }

  int failures_ = 0;
};

}  // namespace example

#endif
