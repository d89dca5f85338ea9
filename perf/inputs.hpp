// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_PERF_INPUTS_HPP
#define FRECHET_PERF_INPUTS_HPP

#include <cstdint>
#include <vector>

// Reproducible inputs of the suites, row-major on the host. peers/inputs.py makes the same numbers.

namespace perf {

using Matrix = std::vector<double>;

/// ((x mod 1024) - 512) / 512 with x = i * 6364136223846793005 + seed * 1442695040888963407 mod 2^64, i the row-major
/// index. Repeats with period 1024, so a square matrix of this kind has rank 4 or less at n = 256 and 512.
Matrix data(int rows, int cols, std::uint64_t seed);
/// 0.05 data + diag(1 + j/n)
Matrix well_conditioned(int n, std::uint64_t seed);
/// W^T W + I with W = well_conditioned
Matrix spd(int n, std::uint64_t seed);
/// Standard normal numbers: Box-Muller over splitmix64.
Matrix gaussian(int rows, int cols, std::uint64_t seed);

}  // namespace perf

#endif
