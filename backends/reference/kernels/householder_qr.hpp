// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_KERNELS_HOUSEHOLDER_QR_HPP
#define FRECHET_BACKENDS_REFERENCE_KERNELS_HOUSEHOLDER_QR_HPP

#include "matrix.hpp"

// Householder QR in LAPACK's storage: A = Q R, Q = H(0) H(1) ..., H(k) = I - tau(k) v v^H, v(0:k) = 0, v(k) = 1,
// v(k+1:) kept below the diagonal of column k. Golub & Van Loan, Matrix Computations (4th ed.), section 5.2; signs as
// in LAPACK's ?larfg.

namespace frechet::backend::reference {

template <class S>
struct Reflector {
  S tau, beta;
};

/// H^H x = beta e_0 with beta = -sign(Re x(0)) |x| real: v = x / (x(0) - beta) apart from v(0) = 1, tau = (beta - x(0))
/// / beta. v replaces x. No reflection (tau = 0) where x is a real multiple of e_0 already. Everything is computed on x
/// / 2^e, so that no square overflows or underflows.
template <class Member, class S>
KOKKOS_FUNCTION Reflector<S> make_reflector(const Member& member, int n, S* x) {
  using R = Real<S>;
  const S x0 = x[0];
  const R below = largest_entry(member, n - 1, x + 1);
  if (below == 0 && imag(x0) == 0) {
    member.once([&] { x[0] = S(1); });
    return {S(0), x0};
  }
  const R scale = power_of_two(below > abs1(x0) ? below : abs1(x0)), inverse = 1 / scale;
  const S alpha = inverse * x0;
  const auto squares = member.template reduce<detail::Sum<R>>(
      n - 1, [&](int i, detail::Sum<R>& acc) { acc.add(square(inverse * x[i + 1])); });
  const R beta = -Kokkos::copysign(Kokkos::sqrt(square(alpha) + squares.value), real(alpha));
  const S factor = S(1) / (alpha - beta);
  member.each(n, [&](int i) { x[i] = i == 0 ? S(1) : factor * (inverse * x[i]); });
  return {make_scalar<S>((beta - real(alpha)) / beta, -imag(alpha) / beta), S(scale * beta)};
}

/// C = (I - tau v v^H) C
template <class Member, class S>
KOKKOS_FUNCTION void apply_reflector(const Member& member, const S* v, S tau, const Matrix<S>& C) {
  if (tau == S(0)) return;
  member.threads(C.cols, [&](const auto& lanes, int j) {
    using Dot = detail::Sum<S>;
    S* const c = C.column(j);
    const auto dot = lanes.template reduce<Dot>(C.rows, [&](int i, Dot& acc) { acc.add(conj(v[i]) * c[i]); });
    const S w = tau * dot.value;
    lanes.each(C.rows, [&](int i) { c[i] -= v[i] * w; });
  });
}

/// Step k of the factorisation: A(k:, k:) = H(k)^H A(k:, k:)
template <class Member, class S>
KOKKOS_FUNCTION void eliminate_column(const Member& member, const Matrix<S>& A, int k, S* tau) {
  S* const v = A.column(k) + k;
  const Reflector<S> H = make_reflector(member, A.rows - k, v);
  apply_reflector(member, v, conj(H.tau), A.from(k, k + 1));
  member.once([&] {
    v[0] = H.beta;
    tau[k] = H.tau;
  });
}

template <class Member, class S>
KOKKOS_FUNCTION void householder_qr(const Member& member, const Matrix<S>& A, S* tau) {
  for (int k = 0; k < A.rows && k < A.cols; ++k) eliminate_column(member, A, k, tau);
}

/// A(:, order) = Q R with column pivoting: the remaining column of largest norm comes next, hence |R(k,k)| descends.
/// Golub & Van Loan, section 5.4.2; the norms (scratch for A.cols) are computed afresh at each step instead of updated.
template <class Member, class S>
KOKKOS_FUNCTION void pivoted_householder_qr(const Member& member, const Matrix<S>& A, S* tau, int* order,
                                            Real<S>* norms) {
  using Squares = detail::Sum<Real<S>>;
  member.each(A.cols, [&](int j) { order[j] = j; });
  for (int k = 0; k < A.rows && k < A.cols; ++k) {
    const Matrix<S> rest = A.from(k, k);
    member.threads(rest.cols, [&](const auto& lanes, int j) {
      const S* const c = rest.column(j);
      const auto squares =
          lanes.template reduce<Squares>(rest.rows, [&](int i, Squares& acc) { acc.add(square(c[i])); });
      lanes.once([&] { norms[j] = squares.value; });
    });
    const int next = k + locate_largest(member, rest.cols, [&](int j) { return norms[j]; }).index;
    if (next != k) {
      swap(member, A.rows, A.column(k), A.column(next));
      member.once([&] {
        const int j = order[k];
        order[k] = order[next];
        order[next] = j;
      });
    }
    eliminate_column(member, A, k, tau);
  }
}

/// C = H(0) ... H(k-1) C. Overwrites the first k diagonal entries of A, which hold v.
template <class Member, class S>
KOKKOS_FUNCTION void apply_q(const Member& member, const Matrix<S>& A, int k, const S* tau, const Matrix<S>& C) {
  for (int i = k - 1; i >= 0; --i) {
    member.once([&] { A(i, i) = S(1); });
    apply_reflector(member, A.column(i) + i, tau[i], C.from(i, 0));
  }
}

/// A = H(0) ... H(k-1) I(:, 0:A.cols) in place, backwards so that H(i) meets only columns from i on (LAPACK's ?org2r).
template <class Member, class S>
KOKKOS_FUNCTION void form_q(const Member& member, const Matrix<S>& A, int k, const S* tau) {
  member.threads(A.cols - k, [&](const auto& lanes, int j) {
    lanes.each(A.rows, [&](int i) { A(i, k + j) = i == k + j ? S(1) : S(0); });
  });
  for (int i = k - 1; i >= 0; --i) {
    S* const q = A.column(i);
    member.once([&] { q[i] = S(1); });
    apply_reflector(member, q + i, tau[i], A.from(i, i + 1));
    const S t = tau[i];  // H(i) e_i = e_i - tau v
    member.each(A.rows, [&](int r) { q[r] = r < i ? S(0) : r == i ? S(1) - t : -t * q[r]; });
  }
}

}  // namespace frechet::backend::reference

#endif
