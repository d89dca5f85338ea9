// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_KERNELS_JACOBI_SVD_HPP
#define FRECHET_BACKENDS_REFERENCE_KERNELS_JACOBI_SVD_HPP

#include "householder_qr.hpp"
#include "jacobi.hpp"

namespace frechet::backend::reference {

/// Scratch of one m x n matrix, m >= n: X is n x n, worst holds even(n)/2 entries, the others n.
template <class S>
struct SvdScratch {
  Matrix<S> X;
  S* tau;
  int* order;
  Real<S>* norms;
  Real<S>* worst;
};

/// Squared norms from here on keep their digits; columns below count as zero next to a matrix of norm >= 1.
template <class S>
inline constexpr Real<S> smallest_square = safe_minimum<S> / detail::epsilon<S>;

/// [x y]^H [x y]
template <class S>
struct Gram {
  Real<S> xx = 0, yy = 0;
  S xy = S(0);
  KOKKOS_FUNCTION void add(const S& x, const S& y) {
    xx += square(x);
    yy += square(y);
    xy += conj(x) * y;
  }
  KOKKOS_FUNCTION void join(const Gram& other) {
    xx += other.xx;
    yy += other.yy;
    xy += other.xy;
  }
};

/// Makes columns p and q of X orthogonal and lets J follow. Returns the cosine of the angle they had.
template <class Member, class S>
KOKKOS_FUNCTION Real<S> orthogonalize(const Member& member, const Matrix<S>& X, Pair at, Real<S> tolerance,
                                      const Matrix<S>& J) {
  S* const x = X.column(at.p);
  S* const y = X.column(at.q);
  const auto gram = member.template reduce<Gram<S>>(X.rows, [&](int i, Gram<S>& acc) { acc.add(x[i], y[i]); });
  if (!(gram.xx > smallest_square<S> && gram.yy > smallest_square<S>)) return 0;
  const Real<S> cosine = Kokkos::abs(gram.xy) / (Kokkos::sqrt(gram.xx) * Kokkos::sqrt(gram.yy));
  if (!(cosine > tolerance)) return cosine;
  const auto rotation = diagonalizing_rotation(gram.xx, gram.xy, gram.yy);
  rotate_columns(member, X.rows, rotation, x, y);
  if (J) rotate_columns(member, J.rows, rotation, J.column(at.p), J.column(at.q));
  return cosine;
}

/// One-sided Jacobi (Hestenes): X = X J with orthogonal columns. J accumulates the rotations where it is wanted.
/// Rotations are decided by the cosine of two columns, hence small singular values keep their digits. Demmel & Veselic,
/// SIAM J. Matrix Anal. Appl. 13 (1992) 1204, section 4. Returns 0, or 1 if it did not converge.
template <class Member, class S>
KOKKOS_FUNCTION int orthogonalize_columns(const Member& member, const Matrix<S>& X, const Matrix<S>& J,
                                          Real<S>* worst_of_pair) {
  using R = Real<S>;
  using Largest = detail::Max<R>;
  const int n = even(X.cols), half = n / 2;
  // Cosines carry the rounding of inner products; a sweep that met none above `settled` has rotated away what it met.
  const R tolerance = detail::epsilon<S>, settled = 8 * Kokkos::sqrt(R(X.rows)) * tolerance;
  R worst = 1;
  for (int sweep = 0; worst > settled && sweep < most_sweeps; ++sweep) {
    member.each(half, [&](int k) { worst_of_pair[k] = 0; });
    for (int round = 0; round + 1 < n; ++round)
      member.threads(half, [&](const auto& lanes, int k) {
        const Pair at = pair_of_round(n, round, k);
        if (at.q >= X.cols) return;
        const R cosine = orthogonalize(lanes, X, at, tolerance, J);
        lanes.once([&] {
          if (cosine > worst_of_pair[k]) worst_of_pair[k] = cosine;
        });
      });
    worst = member.template reduce<Largest>(half, [&](int k, Largest& acc) { acc.add(worst_of_pair[k]); }).value();
  }
  return worst > settled ? 1 : 0;
}

/// Columns [known, W.cols) of W become orthonormal and orthogonal to the known orthonormal ones. Each starts as the
/// unit vector e_i farthest from the span so far: |e_i - W W^H e_i|^2 = 1 - |W(i,:)|^2 >= 1 - known / rows for the best
/// i, so that two rounds of Gram-Schmidt suffice. Parlett, The Symmetric Eigenvalue Problem, section 6.9 ("twice is
/// enough").
template <class Member, class S>
KOKKOS_FUNCTION void complete_basis(const Member& member, const Matrix<S>& W, int known) {
  using Dot = detail::Sum<S>;
  for (int k = known; k < W.cols; ++k) {
    const auto farthest = locate_largest(member, W.rows, [&](int i) {
      Real<S> covered = 0;
      for (int j = 0; j < k; ++j) covered += square(W(i, j));
      return -covered;
    });
    S* const x = W.column(k);
    member.each(W.rows, [&](int i) { x[i] = i == farthest.index ? S(1) : S(0); });
    for (int j = 0; j < 2 * k; ++j) {
      const S* const y = W.column(j % k);
      const auto dot = member.template reduce<Dot>(W.rows, [&](int i, Dot& acc) { acc.add(conj(y[i]) * x[i]); });
      member.each(W.rows, [&](int i) { x[i] -= dot.value * y[i]; });
    }
    const Real<S> inverse = 1 / norm(member, W.rows, x);
    member.each(W.rows, [&](int i) { x[i] *= inverse; });
  }
}

/// Thin SVD A = U diag(s) Vh of an m x n matrix, m >= n, which is destroyed; U and Vh absent for values only.
///   A P = Q R               column pivoting, so that R^H is much closer to orthogonal columns than R or A
///   R^H J = W diag(s)       one-sided Jacobi
///   A = (Q J) diag(s) (P W)^H
/// Drmac & Veselic, SIAM J. Matrix Anal. Appl. 29 (2008) 1322. Returns 0, or 1 if it did not converge or A is not
/// finite.
template <class Member, class S>
KOKKOS_FUNCTION int jacobi_svd(const Member& member, const Matrix<S>& A, const Matrix<S>& U, Real<S>* s,
                               const Matrix<S>& Vh, const SvdScratch<S>& scratch) {
  using R = Real<S>;
  using Largest = detail::Max<R>;
  const int m = A.rows, n = A.cols;
  const R largest =
      member.template reduce<Largest>(n, [&](int j, Largest& acc) { acc.add(largest_entry(Alone{}, m, A.column(j))); })
          .value();
  if (!detail::finite(largest)) {
    member.each(n, [&](int i) { s[i] = detail::not_a_number<R>(); });
    if (U) fill(member, U, detail::not_a_number<S>());
    if (Vh) fill(member, Vh, detail::not_a_number<S>());
    return 1;
  }
  const R scale = power_of_two(largest), inverse = 1 / scale;
  member.threads(n, [&](const auto& lanes, int j) { lanes.each(m, [&](int i) { A(i, j) *= inverse; }); });

  pivoted_householder_qr(member, A, scratch.tau, scratch.order, scratch.norms);
  const Matrix<S> W = scratch.X;
  member.threads(
      n, [&](const auto& lanes, int j) { lanes.each(n, [&](int i) { W(i, j) = i >= j ? conj(A(j, i)) : S(0); }); });
  const Matrix<S> J = U ? Matrix<S>{U.data, n, n, U.ld} : Matrix<S>{};
  if (U) set_identity(member, U);
  const int info = orthogonalize_columns(member, W, J, scratch.worst);

  R* const norms = scratch.norms;
  member.threads(n, [&](const auto& lanes, int j) {
    const R length = norm(lanes, n, W.column(j));
    lanes.once([&] { norms[j] = length; });
  });
  sort_columns(member, n, norms, 1, W, J);
  member.each(n, [&](int j) { s[j] = scale * norms[j]; });
  if (!U) return info;

  const R smallest = 2 * Kokkos::sqrt(smallest_square<S>);
  int rank = 0;
  while (rank < n && norms[rank] > smallest) ++rank;
  member.threads(rank, [&](const auto& lanes, int j) {
    const R length = norms[j];
    lanes.each(n, [&](int i) { W(i, j) /= length; });
  });
  complete_basis(member, W, rank);
  apply_q(member, A, n, scratch.tau, U);
  member.threads(
      n, [&](const auto& lanes, int i) { lanes.each(n, [&](int j) { Vh(j, scratch.order[i]) = conj(W(i, j)); }); });
  return info;
}

}  // namespace frechet::backend::reference

#endif
