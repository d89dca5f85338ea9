// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_PERF_OVERHEAD_HPP
#define FRECHET_PERF_OVERHEAD_HPP

#include <iosfwd>
#include <vector>

namespace perf {

/// What a traced program costs beyond the calls on Views that it consists of, for the ten problems of linalg_jvp_vjp:
/// medians over interleaved samples, as a table.
void overhead(const std::vector<int>& sizes, std::ostream& out);

}  // namespace perf

#endif
