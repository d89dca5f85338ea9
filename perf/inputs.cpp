// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inputs.hpp"

#include <cmath>

namespace perf {
namespace {

std::size_t size(int rows, int cols) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols); }

/// Steele, Lea & Flood 2014, Fast splittable pseudorandom number generators.
double uniform(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1p-53;
}

}  // namespace

Matrix data(int rows, int cols, std::uint64_t seed) {
  Matrix A(size(rows, cols));
  for (std::size_t i = 0; i < A.size(); ++i) {
    const std::uint64_t x = i * 6364136223846793005ULL + seed * 1442695040888963407ULL;
    A[i] = (static_cast<double>(x % 1024) - 512.0) / 512.0;
  }
  return A;
}

Matrix well_conditioned(int n, std::uint64_t seed) {
  Matrix A = data(n, n, seed);
  for (double& a : A) a *= 0.05;
  for (int j = 0; j < n; ++j) A[size(j, n) + static_cast<std::size_t>(j)] += 1.0 + static_cast<double>(j) / n;
  return A;
}

Matrix spd(int n, std::uint64_t seed) {
  const Matrix W = well_conditioned(n, seed);
  Matrix A(size(n, n), 0.0);
  const auto N = static_cast<std::size_t>(n);
  for (std::size_t k = 0; k < N; ++k)
    for (std::size_t i = 0; i < N; ++i)
      for (std::size_t j = 0; j < N; ++j) A[i * N + j] += W[k * N + i] * W[k * N + j];
  for (std::size_t i = 0; i < N; ++i) A[i * N + i] += 1.0;
  return A;
}

Matrix gaussian(int rows, int cols, std::uint64_t seed) {
  constexpr double two_pi = 6.283185307179586476925286766559;
  Matrix A(size(rows, cols));
  for (std::size_t i = 0; i < A.size(); i += 2) {
    const double u1 = uniform(seed), u2 = uniform(seed), r = std::sqrt(-2.0 * std::log(1.0 - u1));
    A[i] = r * std::cos(two_pi * u2);
    if (i + 1 < A.size()) A[i + 1] = r * std::sin(two_pi * u2);
  }
  return A;
}

}  // namespace perf
