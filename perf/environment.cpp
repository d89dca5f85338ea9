// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "environment.hpp"

#include <frechet/version.hpp>

#include <Kokkos_Core.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <type_traits>

namespace perf {
namespace {

std::string cpu() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string now() {
  const std::time_t t = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&t));
  return text.data();
}

}  // namespace

int threads() { return Kokkos::DefaultHostExecutionSpace().concurrency(); }

const char* backend() {
  constexpr bool on_host = std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>;
  return on_host ? frechet::host_backend() : frechet::device_backend();
}

nlohmann::json context() {
  const auto version = [](int v) {
    return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." + std::to_string(v % 100);
  };
  nlohmann::json c = {
      {"frechet", std::to_string(FRECHET_VERSION_MAJOR) + "." + std::to_string(FRECHET_VERSION_MINOR) + "." +
                      std::to_string(FRECHET_VERSION_PATCH)},
      {"git", FRECHET_PERF_GIT},
      {"backend", backend()},
      {"lapack", FRECHET_PERF_LAPACK},
      {"kokkos", version(KOKKOS_VERSION)},
      {"execution_space", Kokkos::DefaultExecutionSpace::name()},
      {"threads", threads()},
      {"compiler", FRECHET_PERF_COMPILER},
      {"build_type", FRECHET_PERF_BUILD_TYPE},
      {"cpu", cpu()},
      {"date", now()},
  };
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_NUM_THREADS"})
    if (const char* value = std::getenv(name)) c["environment"][name] = value;
  return c;
}

}  // namespace perf
