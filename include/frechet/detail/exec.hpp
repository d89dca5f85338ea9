// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_DETAIL_EXEC_HPP
#define FRECHET_DETAIL_EXEC_HPP

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace frechet::detail {

/// The library is compiled once per kind of memory: all host execution spaces share the code of the default one.
template <class Exec>
inline constexpr bool is_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible&&
    std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

template <class Exec>
using Compiled = std::conditional_t<is_host<Exec>, Kokkos::DefaultHostExecutionSpace, Exec>;

/// An instance as the compiled code takes it, with the wish of a caller on another host space (Serial) for plain loops.
template <class Exec>
struct Instance {
  Exec exec;
  bool inline_loops = false;
};

template <class Exec>
Instance<Compiled<Exec>> instance(const Exec& exec) {
  if constexpr (std::is_same_v<Exec, Compiled<Exec>>)
    return {exec, false};
  else
    return {Compiled<Exec>{}, true};
}

}  // namespace frechet::detail

#endif
