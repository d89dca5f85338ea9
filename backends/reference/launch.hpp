// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_LAUNCH_HPP
#define FRECHET_BACKENDS_REFERENCE_LAUNCH_HPP

#include "kernels/matrix.hpp"

namespace frechet::backend::reference {

template <class Kernel>
struct OneThread {
  Kernel kernel;
  KOKKOS_FUNCTION void operator()(int b, int) const { kernel(Alone{}, b); }
};

template <class Exec, class Kernel>
struct OneTeam {
  using TeamMember = typename Kokkos::TeamPolicy<Exec>::member_type;
  Kernel kernel;
  KOKKOS_FUNCTION void operator()(const TeamMember& member) const {
    kernel(Team<TeamMember>{member}, member.league_rank());
  }
};

/// kernel(member, b) for every matrix of the batch, each of `entries` entries: by one thread per matrix on the host and
/// where matrices are tiny, else by one team per matrix.
template <class Exec, class Kernel>
void for_each_matrix(Context<Exec>& ctx, const char* label, int entries, int count, const Kernel& kernel) {
  constexpr int tiny = 64, lanes = 8;
  if (count == 0) return;
  if (detail::is_host<Exec> || entries <= tiny)
    detail::for_each_column(ctx, label, entries, 1, count, OneThread<Kernel>{kernel});
  else if constexpr (!detail::is_host<Exec>)
    Kokkos::parallel_for(label, Kokkos::TeamPolicy<Exec>(ctx.exec(), count, Kokkos::AUTO, lanes),
                         OneTeam<Exec, Kernel>{kernel});
}

}  // namespace frechet::backend::reference

#endif
