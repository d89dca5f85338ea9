// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_PERF_FLOOR_HPP
#define FRECHET_PERF_FLOOR_HPP

#include "problems.hpp"

#include <functional>

// What a problem cannot beat with this library underneath: the factorisation alone, and gemm for the flops that remain.
// Both are measured by calling the backend directly, in the same run as the rows.

namespace perf {

/// A closure that runs the bare factorisation of a Gaussian (for eigh: symmetric) matrix of size n and waits. Each call
/// works on a fresh copy, whose cost (n^2) is part of it: the library has to keep the input too.
std::function<void()> factorisation(Factorisation kind, int n);
/// A closure that runs one n x n x n product and waits: 2 n^3 flops.
std::function<void()> product(int n);

const char* name(Factorisation kind);

}  // namespace perf

#endif
