// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_KERNELS_JACOBI_EIGH_HPP
#define FRECHET_BACKENDS_REFERENCE_KERNELS_JACOBI_EIGH_HPP

#include "jacobi.hpp"

namespace frechet::backend::reference {

/// One pair of columns of a round: its rotation if it needs one, and its largest departure from convergence in this
/// sweep.
template <class S>
struct EighPair {
  Pair at;
  bool active;
  Rotation<S> J;
  Real<S> worst;
};

/// Scratch of one matrix of order n: H is even(n) square, with even(n)/2 pairs.
template <class S>
struct EighScratch {
  Matrix<S> H;
  EighPair<S>* pairs;
};

/// H = (lower triangle of A) / scale, mirrored; rows and columns beyond A are zero and never rotate.
template <class Member, class S>
KOKKOS_FUNCTION void load_hermitian(const Member& member, const Matrix<S>& A, Real<S> scale, const Matrix<S>& H) {
  const Real<S> inverse = 1 / scale;
  member.threads(H.cols, [&](const auto& lanes, int j) {
    lanes.each(H.rows, [&](int i) {
      const bool inside = i < A.rows && j < A.rows;
      H(i, j) = !inside  ? S(0)
                : i == j ? make_scalar<S>(inverse * real(A(i, i)), 0)
                : i > j  ? inverse * A(i, j)
                         : inverse * conj(A(j, i));
    });
  });
}

/// The rotation for the pair k of a round: needed unless |h_pq| <= eps sqrt(|h_pp h_qq|), the criterion which keeps
/// small eigenvalues of scaled diagonally dominant matrices accurate. Demmel & Veselic, SIAM J. Matrix Anal. Appl. 13
/// (1992) 1204.
template <class S>
KOKKOS_FUNCTION void choose_rotation(const Matrix<S>& H, Pair at, EighPair<S>& pair) {
  using R = Real<S>;
  const R a = real(H(at.p, at.p)), d = real(H(at.q, at.q));
  const S b = H(at.p, at.q);
  const R size = Kokkos::abs(b);
  const R departure = size / (Kokkos::sqrt(Kokkos::fabs(a)) * Kokkos::sqrt(Kokkos::fabs(d)));
  pair.at = at;
  pair.active = size > safe_minimum<S> / detail::epsilon<S> && departure > detail::epsilon<S>;
  if (!pair.active) return;
  pair.J = diagonalizing_rotation(a, b, d);
  if (departure > pair.worst) pair.worst = departure;
}

/// The 2 x 2 block of H at rows k and columns l becomes J_k^H block J_l, its mirror image the adjoint.
template <class S>
KOKKOS_FUNCTION void rotate_block(const Matrix<S>& H, const EighPair<S>& k, const EighPair<S>& l) {
  if (!k.active && !l.active) return;
  S pp = H(k.at.p, l.at.p), pq = H(k.at.p, l.at.q), qp = H(k.at.q, l.at.p), qq = H(k.at.q, l.at.q);
  if (l.active) {
    rotate(l.J, pp, pq);
    rotate(l.J, qp, qq);
  }
  if (k.active) {  // J^H [x; y] = conj of [conj(x) conj(y)] J
    const Rotation<S> Jbar{k.J.h, k.J.shift, conj(k.J.s)};
    rotate(Jbar, pp, qp);
    rotate(Jbar, pq, qq);
  }
  H(k.at.p, l.at.p) = pp;
  H(k.at.p, l.at.q) = pq;
  H(k.at.q, l.at.p) = qp;
  H(k.at.q, l.at.q) = qq;
  H(l.at.p, k.at.p) = conj(pp);
  H(l.at.q, k.at.p) = conj(pq);
  H(l.at.p, k.at.q) = conj(qp);
  H(l.at.q, k.at.q) = conj(qq);
}

/// The block of a pair with itself becomes diagonal.
template <class S>
KOKKOS_FUNCTION void rotate_diagonal_block(const Matrix<S>& H, const EighPair<S>& k) {
  if (!k.active) return;
  H(k.at.p, k.at.p) -= k.J.shift;
  H(k.at.q, k.at.q) += k.J.shift;
  H(k.at.p, k.at.q) = S(0);
  H(k.at.q, k.at.p) = S(0);
}

/// All pairs of one round, which are disjoint, at once: H = J^H H J and V = V J.
template <class Member, class S>
KOKKOS_FUNCTION void rotate_round(const Member& member, int round, const EighScratch<S>& scratch, const Matrix<S>& V) {
  using Count = detail::Sum<int>;
  const Matrix<S> H = scratch.H;
  EighPair<S>* const pairs = scratch.pairs;
  const int half = H.rows / 2;
  member.each(half, [&](int k) { choose_rotation(H, pair_of_round(H.rows, round, k), pairs[k]); });
  const auto active = member.template reduce<Count>(half, [&](int k, Count& acc) { acc.add(pairs[k].active ? 1 : 0); });
  if (active.value == 0) return;
  member.threads(half, [&](const auto& lanes, int l) {
    lanes.each(l, [&](int k) { rotate_block(H, pairs[k], pairs[l]); });
    lanes.once([&] { rotate_diagonal_block(H, pairs[l]); });
  });
  if (!V) return;
  member.threads(half, [&](const auto& lanes, int k) {
    const Pair at = pairs[k].at;
    if (pairs[k].active) rotate_columns(lanes, V.rows, pairs[k].J, V.column(at.p), V.column(at.q));
  });
}

/// A = V diag(w) V^H from the lower triangle of A by cyclic Jacobi; with vectors V replaces A. A round of n/2 disjoint
/// rotations is applied at once; sweeps of n - 1 rounds until nothing is left to rotate. Golub & Van Loan, Matrix
/// Computations (4th ed.), sections 8.5.3 and 8.5.5. Returns 0, or 1 if it did not converge or A is not finite.
template <class Member, class S>
KOKKOS_FUNCTION int jacobi_eigh(const Member& member, bool vectors, const Matrix<S>& A, Real<S>* w,
                                const EighScratch<S>& scratch) {
  using R = Real<S>;
  using Largest = detail::Max<R>;
  const Matrix<S> H = scratch.H;
  const int n = A.rows, half = H.rows / 2;
  const R largest = member
                        .template reduce<Largest>(
                            n, [&](int j, Largest& acc) { acc.add(largest_entry(Alone{}, n - j, A.column(j) + j)); })
                        .value();
  if (!detail::finite(largest)) {
    member.each(n, [&](int i) { w[i] = detail::not_a_number<R>(); });
    fill(member, A, detail::not_a_number<S>());
    return 1;
  }
  const R scale = power_of_two(largest);
  load_hermitian(member, A, scale, H);
  const Matrix<S> V = vectors ? A : Matrix<S>{};
  if (V) set_identity(member, V);

  // A sweep that met nothing above `settled` has rotated away what it met: no need for another one.
  const R settled = 8 * detail::epsilon<S>;
  R worst = 1;
  for (int sweep = 0; worst > settled && sweep < most_sweeps; ++sweep) {
    member.each(half, [&](int k) { scratch.pairs[k].worst = 0; });
    for (int round = 0; round + 1 < H.rows; ++round) rotate_round(member, round, scratch, V);
    worst =
        member.template reduce<Largest>(half, [&](int k, Largest& acc) { acc.add(scratch.pairs[k].worst); }).value();
  }
  member.each(n, [&](int i) { w[i] = scale * real(H(i, i)); });
  sort_columns(member, n, w, -1, V, Matrix<S>{});
  return worst > settled ? 1 : 0;
}

}  // namespace frechet::backend::reference

#endif
