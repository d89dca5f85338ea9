// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "kernels/jacobi_svd.hpp"
#include "launch.hpp"

namespace frechet::backend {
namespace reference {

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
  KOKKOS_FUNCTION void operator()(const Member& member, int b) const {
    const std::int64_t at = std::int64_t(b) * A.cols;
    const SvdScratch<S> scratch{matrix(X, b), tau + at, order + at, norms + at,
                                worst + std::int64_t(b) * even(A.cols) / 2};
    const int result = jacobi_svd(member, matrix(A, b), matrix(U, b), s.matrix(b), matrix(Vh, b), scratch);
    member.once([&] { info[b] = result; });
  }
};

/// m >= n
template <class Exec, class S>
void tall_svd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info) {
  const std::size_t n = A.cols, all = n * A.count;
  const Batch<S> X = ctx.template matrix<S>(A.cols, A.cols, A.count);
  const Gesvd<S> kernel{A,
                        U,
                        s,
                        Vh,
                        info,
                        X,
                        ctx.template take<S>(all),
                        ctx.template take<int>(all),
                        ctx.template take<Real<S>>(all),
                        ctx.template take<Real<S>>((n + 1) / 2 * A.count)};
  for_each_matrix(ctx, "frechet::reference::gesvd", A.rows * A.cols, A.count, kernel);
}

/// B = A^H
template <class Exec, class S>
void adjoint(Context<Exec>& ctx, Batch<S> A, Batch<S> B) {
  detail::for_each_entry(
      ctx, "frechet::reference::gesvd", B.rows, B.cols, B.count,
      KOKKOS_LAMBDA(int b, int i, int j) { B(b, i, j) = detail::conj(A(b, j, i)); });
}

}  // namespace reference

template <class Exec, class S>
void gesvd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info) {
  const detail::Scope scope(ctx);
  if (A.rows >= A.cols) {
    reference::tall_svd(ctx, A, U, s, Vh, info);
    return;
  }
  // A^H = V diag(s) U^H
  const Batch<S> adjoint = ctx.template matrix<S>(A.cols, A.rows, A.count);
  reference::adjoint(ctx, A, adjoint);
  const Batch<S> V = Vh ? ctx.template matrix<S>(A.cols, A.rows, A.count) : Batch<S>{};
  const Batch<S> Uh = U ? ctx.template matrix<S>(A.rows, A.rows, A.count) : Batch<S>{};
  reference::tall_svd(ctx, adjoint, V, s, Uh, info);
  if (!U) return;
  reference::adjoint(ctx, Uh, U);
  reference::adjoint(ctx, V, Vh);
}

#define FRECHET_GESVD(Exec, S) \
  template void gesvd<Exec, S>(Context<Exec>&, Batch<S>, Batch<S>, Batch<Real<S>>, Batch<S>, int*);
FRECHET_FOR_EACH_SCALAR(FRECHET_GESVD)

}  // namespace frechet::backend
