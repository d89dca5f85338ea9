// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_GESVD_HPP
#define FRECHET_BACKENDS_REFERENCE_GESVD_HPP

#include "kernels/jacobi_svd.hpp"
#include "launch.hpp"

namespace frechet::backend::reference {

template <class S>
struct Gesvd {
  Batch<S> A, U;
  Batch<Real<S>> s;
  Batch<S> Vh;
  int* info;
  Batch<S> X;
  S* tau;
  int* order;
  Real<S>* norms;
  Real<S>* worst;
  template <class Member>
  KOKKOS_FUNCTION int solve(const Member& member, int b) const {
    const std::int64_t at = std::int64_t(b) * A.cols;
    const SvdScratch<S> scratch{matrix(X, b), tau + at, order + at, norms + at,
                                worst + std::int64_t(b) * even(A.cols) / 2};
    return jacobi_svd(member, matrix(A, b), matrix(U, b), s.matrix(b), matrix(Vh, b), scratch);
  }
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    const int result = solve(member, b);
    member.once([&] { info[b] = result; });
  }
};

/// The same where another driver has failed (info != 0). info becomes -info of that driver.
template <class S>
struct RetryGesvd {
  Gesvd<S> gesvd;
  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    const int before = gesvd.info[b];
    if (before == 0) return;
    const int result = gesvd.solve(member, b);
    member.once([&] { gesvd.info[b] = result == 0 ? -Kokkos::abs(before) : result; });
  }
};

template <class Exec, class S>
Gesvd<S> gesvd_kernel(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info) {
  const std::size_t n = A.cols, all = n * A.count;
  return {A,
          U,
          s,
          Vh,
          info,
          ctx.template matrix<S>(A.cols, A.cols, A.count),
          ctx.template take<S>(all),
          ctx.template take<int>(all),
          ctx.template take<Real<S>>(all),
          ctx.template take<Real<S>>((n + 1) / 2 * A.count)};
}

/// m >= n
template <class Exec, class S>
void tall_svd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info) {
  const detail::Scope scope(ctx);
  for_each_matrix(ctx, "frechet::reference::gesvd", A.rows * A.cols, A.count, gesvd_kernel(ctx, A, U, s, Vh, info));
}

/// m >= n, for what another driver left in U, s and Vh; A is a copy of the matrix and destroyed. Costs a launch where
/// nothing failed, and never waits.
template <class Exec, class S>
void retry_tall_svd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info) {
  const detail::Scope scope(ctx);
  for_each_matrix(ctx, "frechet::reference::gesvd", A.rows * A.cols, A.count,
                  RetryGesvd<S>{gesvd_kernel(ctx, A, U, s, Vh, info)});
}

/// B = A^H
template <class Exec, class S>
void adjoint(Context<Exec>& ctx, Batch<const S> A, Batch<S> B) {
  detail::for_each_entry(
      ctx, "frechet::reference::adjoint", B.rows, B.cols, B.count,
      KOKKOS_LAMBDA(int b, int i, int j) { B(b, i, j) = detail::conj(A(b, j, i)); });
}

/// Any extents: `tall(A, U, s, Vh)` solves for m >= n, a wide A goes there as A^H = V diag(s) U^H.
template <class Exec, class S, class Tall>
void svd_by_tall(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, const Tall& tall) {
  const detail::Scope scope(ctx);
  if (A.rows >= A.cols) return tall(A, U, s, Vh);
  const Batch<S> Ah = ctx.template matrix<S>(A.cols, A.rows, A.count);
  adjoint<Exec, S>(ctx, A, Ah);
  const Batch<S> V = Vh ? ctx.template matrix<S>(A.cols, A.rows, A.count) : Batch<S>{};
  const Batch<S> Uh = U ? ctx.template matrix<S>(A.rows, A.rows, A.count) : Batch<S>{};
  tall(Ah, V, s, Uh);
  if (!U) return;
  adjoint<Exec, S>(ctx, Uh, U);
  adjoint<Exec, S>(ctx, V, Vh);
}

template <class Exec, class S>
void gesvd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info) {
  svd_by_tall(ctx, A, U, s, Vh,
              [&](const Batch<S>& X, const Batch<S>& left, const Batch<Real<S>>& values, const Batch<S>& right) {
                tall_svd(ctx, X, left, values, right, info);
              });
}

}  // namespace frechet::backend::reference

#endif
