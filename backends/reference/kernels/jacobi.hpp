// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_KERNELS_JACOBI_HPP
#define FRECHET_BACKENDS_REFERENCE_KERNELS_JACOBI_HPP

#include "matrix.hpp"

// What the Jacobi methods for eigenvalues and singular values share.

namespace frechet::backend::reference {

/// Rotations converge quadratically, in 6 to 12 sweeps in practice; more than this is a failure (info > 0).
inline constexpr int most_sweeps = 40;

/// J = [c s; -conj(s) c] with J^H [a b; conj(b) d] J = diag(a - shift, d + shift). Kept as h = 1 - c: with small angles
/// the error of c^2 + |s|^2 = 1 is then far below eps, and V stays orthogonal over thousands of rotations (the idea of
/// Rutishauser, Numer. Math. 9 (1966) 1).
template <class S>
struct Rotation {
  Real<S> h, shift;
  S s;
};

/// t = tan(angle) is the smaller root of t^2 + 2 zeta t = 1, zeta = (d - a) / 2|b|. Golub & Van Loan, Matrix
/// Computations (4th ed.), section 8.5.2, with the phase of b moved into s. Needs b != 0.
template <class S>
KOKKOS_FUNCTION Rotation<S> diagonalizing_rotation(Real<S> a, S b, Real<S> d) {
  using R = Real<S>;
  const R size = Kokkos::abs(b), zeta = (d - a) / (2 * size);
  const R t = Kokkos::copysign(R(1), zeta) / (Kokkos::fabs(zeta) + Kokkos::hypot(R(1), zeta));
  const R c = 1 / Kokkos::sqrt(1 + t * t), s = t * c;
  return {s * s / (1 + c), t * size, s * (b / size)};
}

/// [x y] = [x y] J
template <class S>
KOKKOS_INLINE_FUNCTION void rotate(const Rotation<S>& J, S& x, S& y) {
  const S dx = J.h * x + conj(J.s) * y, dy = J.s * x - J.h * y;
  x -= dx;
  y += dy;
}

template <class Member, class S>
KOKKOS_FUNCTION void rotate_columns(const Member& member, int n, const Rotation<S>& J, S* x, S* y) {
  member.each(n, [&](int i) { rotate(J, x[i], y[i]); });
}

struct Pair {
  int p, q;  // p < q
};

/// Round-robin tournament of an even number n of columns: n - 1 rounds of n/2 disjoint pairs; every pair meets once.
/// Brent & Luk, SIAM J. Sci. Stat. Comput. 6 (1985) 69.
KOKKOS_INLINE_FUNCTION Pair pair_of_round(int n, int round, int k) {
  const int a = k == 0 ? n - 1 : (round + k) % (n - 1);
  const int b = (round + n - 1 - k) % (n - 1);
  return a < b ? Pair{a, b} : Pair{b, a};
}
KOKKOS_INLINE_FUNCTION int even(int n) { return n + n % 2; }

/// Sorts the keys by selection, descending (sign = 1) or ascending (sign = -1), and takes the columns of A and B along.
template <class Member, class S>
KOKKOS_FUNCTION void sort_columns(const Member& member, int n, Real<S>* keys, int sign, const Matrix<S>& A,
                                  const Matrix<S>& B) {
  for (int k = 0; k + 1 < n; ++k) {
    const int next = k + locate_largest(member, n - k, [&](int i) { return sign * keys[k + i]; }).index;
    if (next == k) continue;
    swap(member, 1, keys + k, keys + next);
    if (A) swap(member, A.rows, A.column(k), A.column(next));
    if (B) swap(member, B.rows, B.column(k), B.column(next));
  }
}

}  // namespace frechet::backend::reference

#endif
