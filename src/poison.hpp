// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_POISON_HPP
#define FRECHET_SRC_POISON_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>

// What the address sanitizer knows of memory that is carved by hand: without these calls a kernel that runs out of its
// piece of scratch would only meet the next piece. Nothing in other builds and on devices.

#ifdef __has_feature
#define FRECHET_HAS_FEATURE(x) __has_feature(x)
#else
#define FRECHET_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || FRECHET_HAS_FEATURE(address_sanitizer)
#define FRECHET_POISONS 1
#include <sanitizer/asan_interface.h>
#else
#define FRECHET_POISONS 0
#endif

namespace frechet::detail {

/// From here on nobody may touch these bytes.
template <class Space>
void asan_poison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if FRECHET_POISONS
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, Space>::accessible) __asan_poison_memory_region(p, bytes);
#endif
}
/// And now they may be used.
template <class Space>
void asan_unpoison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if FRECHET_POISONS
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, Space>::accessible)
    __asan_unpoison_memory_region(p, bytes);
#endif
}

}  // namespace frechet::detail

#endif
