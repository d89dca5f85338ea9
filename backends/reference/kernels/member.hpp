// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_KERNELS_MEMBER_HPP
#define FRECHET_BACKENDS_REFERENCE_KERNELS_MEMBER_HPP

#include "vocabulary.hpp"

// Parallel handles. A kernel on one matrix is written once, for any of them:
//   each(n, f)       f(i) for i in [0, n), over all lanes of all threads
//   threads(n, f)    f(inner, i), over threads; `inner` is the handle of the lanes of that thread
//   reduce<R>(n, f)  R acc; f(i, acc); the joined result goes to everyone. R has a neutral default value and a join().
//   once(f)          f() by one of them
// Everyone calls them with equal arguments, sees all that was written before, and leaves when all is written.

namespace frechet::backend::reference {

/// One thread does it all.
struct Alone {
  template <class F>
  KOKKOS_FUNCTION void each(int n, const F& f) const {
    for (int i = 0; i < n; ++i) f(i);
  }
  template <class F>
  KOKKOS_FUNCTION void threads(int n, const F& f) const {
    for (int i = 0; i < n; ++i) f(*this, i);
  }
  template <class R, class F>
  KOKKOS_FUNCTION R reduce(int n, const F& f) const {
    R total;
    for (int i = 0; i < n; ++i) f(i, total);
    return total;
  }
  template <class F>
  KOKKOS_FUNCTION void once(const F& f) const {
    f();
  }
};

/// The vector lanes of one thread of a Kokkos team, which run in step.
template <class TeamMember>
struct Lanes {
  const TeamMember& member;

  template <class F>
  KOKKOS_FUNCTION void each(int n, const F& f) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, n), f);
  }
  template <class R, class F>
  KOKKOS_FUNCTION R reduce(int n, const F& f) const {
    R total;
    Kokkos::parallel_reduce(Kokkos::ThreadVectorRange(member, n), f, detail::Join<R>(total));
    return total;
  }
  template <class F>
  KOKKOS_FUNCTION void once(const F& f) const {
    Kokkos::single(Kokkos::PerThread(member), f);
  }
};

/// A Kokkos team. The barrier before a loop lets everyone read what the loop overwrites.
template <class TeamMember>
struct Team {
  const TeamMember& member;

  template <class F>
  KOKKOS_FUNCTION void each(int n, const F& f) const {
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n), f);
    member.team_barrier();
  }
  template <class F>
  KOKKOS_FUNCTION void threads(int n, const F& f) const {
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, n), [&](int i) { f(Lanes<TeamMember>{member}, i); });
    member.team_barrier();
  }
  template <class R, class F>
  KOKKOS_FUNCTION R reduce(int n, const F& f) const {
    R total;
    Kokkos::parallel_reduce(Kokkos::TeamVectorRange(member, n), f, detail::Join<R>(total));
    member.team_barrier();
    return total;
  }
  template <class F>
  KOKKOS_FUNCTION void once(const F& f) const {
    member.team_barrier();
    Kokkos::single(Kokkos::PerTeam(member), f);
    member.team_barrier();
  }
};

}  // namespace frechet::backend::reference

#endif
