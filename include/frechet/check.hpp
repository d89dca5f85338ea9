// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_CHECK_HPP
#define FRECHET_CHECK_HPP

#include <frechet/types.hpp>

#include <string>

namespace frechet {

/// What a Diagnosis objects to, in words; empty where the result can be trusted. In forward mode a tangent that splits
/// a degenerate group (coupling) is no error by itself, as the loss need not see it: it is reported only with `strict`.
std::string explain(const Diagnosis& diagnosis, bool strict = false);

namespace detail {
[[noreturn]] void throw_diagnosis(const std::string& what, std::size_t matrix, const std::string& cause);
}

/// Waits for the instance, reads the diagnoses and throws NumericalError with the matrix index and the cause where one
/// of them objects. `what` goes in front of the message.
template <class Exec, class T, class... P>
void check(const Exec& exec, const Kokkos::View<T, P...>& diagnostics, const std::string& what = "frechet",
           bool strict = false) {
  static_assert(std::is_same_v<T, Diagnosis*>, "frechet: check() takes a Diagnostics View");
  const auto host = Kokkos::create_mirror_view(Kokkos::HostSpace(), diagnostics);
  Kokkos::deep_copy(exec, host, diagnostics);
  exec.fence("frechet::check");
  for (std::size_t i = 0; i < host.extent(0); ++i)
    if (const std::string cause = explain(host(i), strict); !cause.empty()) detail::throw_diagnosis(what, i, cause);
}

}  // namespace frechet

#endif
