// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_COUNTING_HPP
#define FRECHET_TESTS_SUPPORT_COUNTING_HPP

#include <Kokkos_Core.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace frechet::test {

/// Counts allocations, fences and kernels of Kokkos while it lives; who listened before still does.
class Counting {
 public:
  Counting() : before_(Kokkos::Tools::Experimental::get_callbacks()) {
    namespace Tools = Kokkos::Tools::Experimental;
    allocations = fences = kernels = 0;
    previous = before_;
    Tools::set_allocate_data_callback(
        [](Kokkos::Tools::SpaceHandle space, const char* label, const void* data, std::uint64_t bytes) {
          ++allocations;
          if (previous.allocate_data) previous.allocate_data(space, label, data, bytes);
        });
    // Kokkos itself fences around kernels while somebody counts them.
    Tools::set_begin_fence_callback([](const char* label, std::uint32_t, std::uint64_t*) {
      if (std::string_view(label).find("Profile") == std::string_view::npos) ++fences;
    });
    Tools::set_begin_parallel_for_callback([](const char*, std::uint32_t, std::uint64_t*) { ++kernels; });
    Tools::set_begin_parallel_reduce_callback([](const char*, std::uint32_t, std::uint64_t*) { ++kernels; });
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() { Kokkos::Tools::Experimental::set_callbacks(before_); }

  inline static std::atomic<int> allocations, fences, kernels;

 private:
  inline static Kokkos::Tools::Experimental::EventSet previous;
  Kokkos::Tools::Experimental::EventSet before_;
};

}  // namespace frechet::test

#endif
