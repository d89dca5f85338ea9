// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_PERF_TUNE_HPP
#define FRECHET_PERF_TUNE_HPP

#include <iosfwd>
#include <vector>

namespace perf {

/// Measures every driver of the default execution space's backend for each operation, scalar (f64, f32), size and a few
/// batches, and prints the table of the fastest ones, as FRECHET_DRIVERS takes it. Drivers whose results are not right
/// are left out, and said so.
void tune(const std::vector<int>& sizes, std::ostream& out);

}  // namespace perf

#endif
