// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_PERF_ENVIRONMENT_HPP
#define FRECHET_PERF_ENVIRONMENT_HPP

#include <nlohmann/json.hpp>

namespace perf {

/// The backend of the default execution space.
const char* backend();
/// Threads of the host.
int threads();
/// What a reader of the numbers has to know: versions, configuration, machine, date.
nlohmann::json context();

}  // namespace perf

#endif
