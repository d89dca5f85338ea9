// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_HOUSEHOLDER_HPP
#define FRECHET_BACKENDS_LAPACK_HOUSEHOLDER_HPP

#include <frechet/dual.hpp>

#include "fortran.hpp"
#include "loops.hpp"
#include "products.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

// Products of Householder reflectors at the speed of gemm: Q = H_1 ... H_k = I - V T V^H with T upper triangular
// (Schreiber & Van Loan 1989, SIAM J. Sci. Stat. Comput. 10:53). Storage and signs are those of LAPACK's geqrf, sytrd
// and gebrd: H_j = I - tau_j v_j v_j^H, v_j zero above entry j, one there, and its rest below the diagonal of A. V is
// copied out with its zeros and ones, so that all that is left are general products.

namespace frechet::backend::lapack {

/// sums[c] = v^H A(:, c), m > 0
template <class T>
void column_dots(int m, const Kokkos::complex<T>* v, const Kokkos::complex<T>* A, int lda, int n,
                 Kokkos::complex<T>* sums, int /* row */ = 0) {
  if (n == 0) return;
  using S = Kokkos::complex<T>;
  const char adjoint = 'C';
  const int one = 1;
  const S plus(1), zero(0);
  Routines<S>::gemv(&adjoint, &m, &n, &plus, A, &lda, v, &one, &zero, sums, &one, 1);
  for (int c = 0; c < n; ++c) sums[c] = conj(sums[c]);
}

/// A(:, c) -= v w[c]
template <class T>
void subtract_columns(int m, const Kokkos::complex<T>* v, Kokkos::complex<T>* A, int lda, int n,
                      const Kokkos::complex<T>* w) {
  if (n == 0) return;
  using S = Kokkos::complex<T>;
  const int one = 1;
  const S minus(-1);
  Routines<S>::geru(&m, &n, &minus, v, &one, w, &one, A, &lda);
}

/// x^H x
template <class S>
Real<S> sum_of_squares(int m, const S* x) {
  Real<S> sum = 0;
  const auto* const parts = reinterpret_cast<const Real<S>*>(x);
  const int n = is_complex<S> ? 2 * m : m;
  column_dots(n, parts, parts, n, 1, &sum);
  return sum;
}

/// H^H x = beta e_1: x becomes beta and the rest of v. Where squares may overflow or vanish LAPACK's routine does it.
template <class S>
void reflect(int m, S* x, S& tau) {
  using R = Real<S>;
  constexpr R least =
                  std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon() / std::numeric_limits<R>::epsilon(),
              largest = std::numeric_limits<R>::max() / 4;
  const R rest = m > 1 ? sum_of_squares(m - 1, x + 1) : R(0), all = rest + real(conj(x[0]) * x[0]);
  if (!(rest > least && all < largest)) {
    const int one = 1;
    Routines<S>::larfg(&m, x, x + (m > 1 ? 1 : 0), &one, &tau);
    return;
  }
  const R beta = -std::copysign(std::sqrt(all), real(x[0]));
  tau = (S(beta) - x[0]) / S(beta);
  const S factor = S(1) / (x[0] - S(beta));
  if constexpr (is_complex<S>)
    for (int i = 1; i < m; ++i) x[i] *= factor;
  else
    scale(m - 1, factor, x + 1);
  x[0] = S(beta);
}

/// One block of reflectors, in scratch memory.
template <class S>
class Reflectors {
 public:
  using R = Real<S>;

  /// Scratch entries for up to nb vectors of up to m entries that act on up to n columns.
  static std::size_t scratch(int m, int n, int nb) {
    return std::size_t(nb) * (std::size_t(m) + std::size_t(nb) + 2 * std::size_t(std::max(n, nb)));
  }
  Reflectors(int m, int n, int nb, S* work)
      : ldv_(std::max(m, 1)),
        nb_(nb),
        V_(work),
        T_(V_ + std::size_t(nb) * std::size_t(m)),
        W_(T_ + nb * nb),
        X_(W_ + std::size_t(nb) * std::size_t(std::max(n, nb))) {}

  /// QR of an m x n panel, m >= n, n <= nb: as geqrf leaves it, and the block of its reflectors.
  void factor(int m, int n, S* A, int lda, S* tau) {
    m_ = m;
    k_ = n;
    factor_part(0, n, A, lda, tau);
  }

  /// The block of k reflectors of length m below the diagonal of A; with `rows`, their adjoints right of it.
  void load(int m, int k, const S* A, int lda, const S* tau, bool rows = false) {
    m_ = m;
    k_ = k;
    for (int j = 0; j < k; ++j) {
      S* const v = V(0, j);
      std::fill_n(v, j, S(0));
      v[j] = S(1);
      if (rows)
        for (int i = j + 1; i < m; ++i) v[i] = conj(A[j + std::ptrdiff_t(i) * lda]);
      else
        std::copy(A + std::ptrdiff_t(j) * lda + j + 1, A + std::ptrdiff_t(j) * lda + m, v + j + 1);
    }
    combine(0, k, tau);
  }

  /// C = op(Q) C, C m x n
  void apply_left(bool adjoint, int n, S* C, int ldc) {
    gemm('C', 'N', k_, n, m_, S(1), V_, ldv_, C, ldc, S(0), W_, nb_);
    gemm(adjoint ? 'C' : 'N', 'N', k_, n, k_, S(1), T_, nb_, W_, nb_, S(0), X_, nb_);
    gemm('N', 'N', m_, n, k_, S(-1), V_, ldv_, X_, nb_, S(1), C, ldc);
  }

  /// The first k columns of Q into A (m x k), where the reflectors were, and C = Q C for the n columns beside it, of
  /// which the first k rows are zero (and need not be stored so).
  void form(int n, S* A, int lda) {
    S* const C = A + std::ptrdiff_t(k_) * lda;
    if (n > 0) {
      gemm('C', 'N', k_, n, m_ - k_, S(1), V(k_, 0), ldv_, C + k_, lda, S(0), W_, nb_);
      gemm('N', 'N', k_, n, k_, S(1), T_, nb_, W_, nb_, S(0), X_, nb_);
      for (int j = 0; j < n; ++j) std::fill_n(C + std::ptrdiff_t(j) * lda, k_, S(0));
      gemm('N', 'N', m_, n, k_, S(-1), V_, ldv_, X_, nb_, S(1), C, lda);
    }
    gemm('N', 'C', k_, k_, k_, S(1), T_, nb_, V_, ldv_, S(0), W_, nb_);
    gemm('N', 'N', m_, k_, k_, S(-1), V_, ldv_, W_, nb_, S(0), A, lda);
    for (int j = 0; j < k_; ++j) A[j + std::ptrdiff_t(j) * lda] += S(1);
  }

 private:
  static constexpr int base = 8;

  S* V(int i, int j) const { return V_ + i + std::ptrdiff_t(j) * ldv_; }
  S* T(int i, int j) const { return T_ + i + j * nb_; }

  /// Columns [i, i + n) of the panel whose column i is at A.
  void factor_part(int i, int n, S* A, int lda, S* tau) {
    if (n <= base) return factor_columns(i, n, A, lda, tau);
    const int h = (n / 2 + base - 1) / base * base, r = n - h, rows = m_ - i;
    factor_part(i, h, A, lda, tau);
    S* const C = A + std::ptrdiff_t(h) * lda;  // C -= V T^H V^H C
    gemm('C', 'N', h, r, rows, S(1), V(i, i), ldv_, C, lda, S(0), W_, nb_);
    gemm('C', 'N', h, r, h, S(1), T(i, i), nb_, W_, nb_, S(0), X_, nb_);
    gemm('N', 'N', rows, r, h, S(-1), V(i, i), ldv_, X_, nb_, S(1), C, lda);
    factor_part(i + h, r, C + h, lda, tau + h);
    join(i, h, r);
  }

  void factor_columns(int first, int n, S* A, int lda, S* tau) {
    S sums[base];
    for (int j = 0; j < n; ++j) {
      const int p = first + j, rows = m_ - p;
      S* const a = A + j + std::ptrdiff_t(j) * lda;
      reflect(rows, a, tau[j]);
      S* const v = V(p, p);
      std::fill_n(V(0, p), p, S(0));
      v[0] = S(1);
      std::copy_n(a + 1, rows - 1, v + 1);
      column_dots(rows, v, a + lda, lda, n - 1 - j, sums, p);
      for (int c = 0; c < n - 1 - j; ++c) sums[c] *= conj(tau[j]);
      subtract_columns(rows, v, a + lda, lda, n - 1 - j, sums);
      column_dots(rows, v, V(p, first), ldv_, j, sums, p);
      for (int c = 0; c < j; ++c) sums[c] = conj(sums[c]);
      extend(first, j, tau[j], sums);
    }
  }

  /// Column first + j of T, from sums = V^H v_j over the j columns before it.
  void extend(int first, int j, const S& tau, const S* sums) {
    S* const t = T(first, first + j);
    for (int i = 0; i < j; ++i) {
      S sum(0);
      for (int l = i; l < j; ++l) sum += *T(first + i, first + l) * sums[l];
      t[i] = -tau * sum;
    }
    t[j] = tau;
    for (int i = j + 1; i < nb_ - first; ++i) t[i] = S(0);
  }

  /// T of reflectors [i, i + h + r) from those of both parts: T12 = -T11 (V1^H V2) T22.
  void join(int i, int h, int r) {
    const int p = i + h;
    gemm('C', 'N', h, r, m_ - p, S(1), V(p, i), ldv_, V(p, p), ldv_, S(0), W_, nb_);
    gemm('N', 'N', h, r, h, S(-1), T(i, i), nb_, W_, nb_, S(0), X_, nb_);
    gemm('N', 'N', h, r, r, S(1), X_, nb_, T(p, p), nb_, S(0), T(i, p), nb_);
  }

  /// T of reflectors [i, i + n) from V and tau.
  void combine(int i, int n, const S* tau) {
    if (n > base) {
      const int h = (n / 2 + base - 1) / base * base;
      combine(i, h, tau);
      combine(i + h, n - h, tau);
      return join(i, h, n - h);
    }
    S sums[base];
    for (int j = 0; j < n; ++j) {
      column_dots(m_ - i - j, V(i + j, i + j), V(i + j, i), ldv_, j, sums, i + j);
      for (int c = 0; c < j; ++c) sums[c] = conj(sums[c]);
      extend(i, j, tau[i + j], sums);
    }
  }

  int ldv_, nb_, m_ = 0, k_ = 0;
  S *V_, *T_, *W_, *X_;
};

/// Reflectors of k that are taken together, in a factorisation and where they are applied: measured.
inline int factor_block(int k) { return k < 48 ? 16 : 32; }
inline int apply_block(int k) { return k < 48 ? 16 : k < 384 ? 32 : 64; }

/// Scratch of factor_qr and form_q for an m x n matrix.
template <class S>
std::size_t qr_scratch(int m, int n) {
  return Reflectors<S>::scratch(m, n, factor_block(std::min(m, n)));
}
/// Scratch of apply_q for up to k reflectors of length m on n columns.
template <class S>
std::size_t apply_scratch(int m, int n, int k) {
  return Reflectors<S>::scratch(m, n, apply_block(k));
}

/// geqrf
template <class S>
void factor_qr(int m, int n, S* A, int lda, S* tau, S* work) {
  const int k = std::min(m, n), nb = factor_block(k);
  Reflectors<S> block(m, n, nb, work);
  for (int i = 0; i < k; i += nb) {
    const int w = std::min(nb, k - i);
    S* const a = A + i + std::ptrdiff_t(i) * lda;
    block.factor(m - i, w, a, lda, tau + i);
    if (i + w < n) block.apply_left(true, n - i - w, a + std::ptrdiff_t(w) * lda, lda);
  }
}

/// ungqr: the first n columns of H_1 ... H_k, k <= n <= m
template <class S>
void form_q(int m, int n, int k, S* A, int lda, const S* tau, S* work) {
  const int nb = factor_block(std::min(m, n));
  Reflectors<S> block(m, n, nb, work);
  for (int j = k; j < n; ++j) {
    std::fill_n(A + std::ptrdiff_t(j) * lda, m, S(0));
    A[j + std::ptrdiff_t(j) * lda] = S(1);
  }
  for (int i = (k - 1) / nb * nb; i >= 0; i -= nb) {
    const int w = std::min(nb, k - i);
    S* const a = A + i + std::ptrdiff_t(i) * lda;
    block.load(m - i, w, a, lda, tau + i);
    block.form(n - i - w, a, lda);
    for (int j = i; j < i + w; ++j) std::fill_n(A + std::ptrdiff_t(j) * lda, i, S(0));
  }
}

/// C = H_1 ... H_k C, C m x n; the reflectors are below the diagonal of A or, with `rows`, their adjoints right of it.
template <class S>
void apply_q(int m, int n, int k, const S* A, int lda, const S* tau, S* C, int ldc, S* work, bool rows = false) {
  const int nb = apply_block(k);
  Reflectors<S> block(m, n, nb, work);
  for (int i = (std::max(k, 1) - 1) / nb * nb; i >= 0 && k > 0; i -= nb) {
    block.load(m - i, std::min(nb, k - i), A + i + std::ptrdiff_t(i) * lda, lda, tau + i, rows);
    block.apply_left(false, n, C + i, ldc);
  }
}

}  // namespace frechet::backend::lapack

#endif
