// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/solve.hpp>

#include "instantiate.hpp"
#include "kernels.hpp"
#include "pivoting.hpp"
#include "rules.hpp"

// op(A) X = B with P^T A = L U, both factors in one array.

namespace frechet::detail {
namespace {

template <class Exec, class S>
void conjugate_in_place(Context<Exec>& ctx, const Batch<S>& X) {
  if (!is_complex<S>) return;
  for_each_entry(
      ctx, "frechet::solve::conj", X.rows, X.cols, X.count,
      KOKKOS_LAMBDA(int b, int i, int j) { X(b, i, j) = conj(X(b, i, j)); });
}

/// to = op(A)^-1 from, or conj(A)^-1 from with `conjugate` (op none). `to` may not overlap `from`.
template <class Exec, class S, class From>
void apply_inverse(Context<Exec>& ctx, Op op, bool conjugate, const Batch<const S>& LU, const Batch<const int>& perm,
                   const From& from, const Batch<S>& to) {
  if (op == Op::none) {  // A^-1 = U^-1 L^-1 P^T
    gather_rows(ctx, perm, from, to);
    if (conjugate) conjugate_in_place(ctx, to);
    trsm<Exec, S>(ctx, Side::left, Uplo::lower, op, Diag::unit, S(1), LU, to);
    trsm<Exec, S>(ctx, Side::left, Uplo::upper, op, Diag::nonunit, S(1), LU, to);
    if (conjugate) conjugate_in_place(ctx, to);
  } else {  // A^-T = P L^-T U^-T
    Scope scope(ctx);
    const auto Y = ctx.template matrix<S>(to.rows, to.cols, to.count);
    copy(ctx, from, Y);
    trsm<Exec, S>(ctx, Side::left, Uplo::upper, op, Diag::nonunit, S(1), LU, Y);
    trsm<Exec, S>(ctx, Side::left, Uplo::lower, op, Diag::unit, S(1), LU, Y);
    scatter_rows(ctx, perm, Y, to.strided(), Store::overwrite);
  }
}
// (A^-1 B)' = A^-1 (B' - A' A^-1 B), with op(A) or conj(A) for A. The tangent of LU is A'.
template <class Exec, class S, class From>
requires is_dual<S>
void apply_inverse(Context<Exec>& ctx, Op op, bool conjugate, const Batch<const S>& LU, const Batch<const int>& perm,
                   const From& from, const Batch<S>& to) {
  using T = typename PartOf<S>::type;
  apply_inverse<Exec, T>(ctx, op, conjugate, LU.value, perm, from.value, to.value);
  if (!LU.tangent && !from.tangent) return fill(ctx, to.tangent, T(0));
  Scope scope(ctx);
  const auto W = ctx.template matrix<T>(to.rows, to.cols, to.count);
  if (from.tangent) copy(ctx, from.tangent, W);
  if (LU.tangent) {
    Batch<T> X = to.value;
    if (conjugate) {  // conj(A') X = conj(A' conj(X))
      X = ctx.template matrix<T>(to.rows, to.cols, to.count);
      copy(ctx, to.value, X);
      conjugate_in_place(ctx, X);
      if (from.tangent) conjugate_in_place(ctx, W);
    }
    gemm<Exec, T>(ctx, op, Op::none, T(-1), LU.tangent, X, T(bool(from.tangent)), W);
    if (conjugate) conjugate_in_place(ctx, W);
  }
  apply_inverse<Exec, T>(ctx, op, conjugate, LU.value, perm, W, to.tangent);
}

}  // namespace

template <class Exec, class S>
void solve(Context<Exec>& ctx, Strided<const S> A, Strided<const S> B, Strided<S> X, Strided<S> LU, Strided<int> perm,
           const SolveOptions& o) {
  require_driver<Exec>("frechet::solve", backend::Operation::lu, o.driver);
  Scope scope(ctx);
  const int n = A.rows, count = A.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> f(ctx, LU), x(ctx, X);
  Output<Exec, int> p(ctx, perm);
  const Batch<S> factor = f ? f.batch : ctx.template matrix<S>(n, n, count);
  const Batch<int> rows = p ? p.batch : ctx.template matrix<int>(n, 1, count);
  load_checked(ctx, A, factor, d, false);
  int* pivots = ctx.template take<int>(static_cast<std::size_t>(n) * count);
  int* info = ctx.template take<int>(count);
  backend::getrf<Exec, S>(ctx, factor, pivots, info, o.driver);
  note_pivots(ctx, factor, info, true, d);
  permutation(ctx, pivots, n, rows);
  if (x) apply_inverse<Exec, S>(ctx, o.op, false, factor, rows, B, x.batch);
  x.commit(d);
  f.commit();
  p.commit();
}

// dX = op(A)^-1 (dB - op(dA) X).   Giles 2008, NA-08/01, 2.3.1
template <class Exec, class S>
void solve_jvp(Context<Exec>& ctx, Strided<const S> LU, Strided<const int> perm, Strided<const S> X,
               Strided<const S> dA, Strided<const S> dB, Strided<S> dX, const SolveOptions& o) {
  Scope scope(ctx);
  const int n = LU.rows, r = dX.cols, count = LU.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> x(ctx, dX);
  if (!dA && !dB) return x.commit_zero();
  if (!x) return;
  const auto factor = input(ctx, LU);
  require_pivots<Exec, S>(ctx, factor, n, d);
  const auto W = ctx.template matrix<S>(n, r, count);
  if (dB) copy(ctx, dB, W);
  if (dA) gemm<Exec, S>(ctx, o.op, Op::none, S(-1), input(ctx, dA), input(ctx, X), S(bool(dB)), W);
  apply_inverse<Exec, S>(ctx, o.op, false, factor, input(ctx, perm), W, x.batch);
  x.commit(d);
}

// gB = op(A)^-H gX;  gA = -gB X^H (none),  -X gB^H (adjoint),  -conj(X) gB^T (transpose).   Giles 2008, 2.3.1
template <class Exec, class S>
void solve_vjp(Context<Exec>& ctx, Strided<const S> LU, Strided<const int> perm, Strided<const S> X,
               Strided<const S> gX, Strided<S> gA, Strided<S> gB, const SolveOptions& o) {
  Scope scope(ctx);
  const int n = LU.rows, count = LU.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> a(ctx, gA, o.store, true), g(ctx, gB, o.store);
  if (!gX) {
    a.commit_zero();
    g.commit_zero();
    return;
  }
  const auto factor = input(ctx, LU);
  require_pivots<Exec, Primal<S>>(ctx, values_of(factor), n, d);
  const Batch<S> W = g ? g.batch : ctx.template matrix<S>(n, gX.cols, count);
  const bool transposed = o.op == Op::transpose;
  apply_inverse<Exec, S>(ctx, o.op == Op::none ? Op::adjoint : Op::none, transposed, factor, input(ctx, perm), gX, W);
  if (a) {
    Batch<const S> vX = input(ctx, X);
    if (transposed && is_complex<S>) {
      const auto bar = ctx.template matrix<S>(n, gX.cols, count);
      for_each_entry(
          ctx, "frechet::solve::conj", n, gX.cols, count,
          KOKKOS_LAMBDA(int b, int i, int j) { bar(b, i, j) = conj(X(b, i, j)); });
      vX = bar;
    }
    if (o.op == Op::none)
      gemm<Exec, S>(ctx, Op::none, Op::adjoint, S(-1), W, vX, a.beta, a.batch);
    else
      gemm<Exec, S>(ctx, Op::none, transposed ? Op::transpose : Op::adjoint, S(-1), vX, W, a.beta, a.batch);
  }
  a.commit(d);
  g.commit(d);
}

template <class Exec, class S>
void solve(const Instance<Exec>& x, Strided<const S> A, Strided<const S> B, Strided<S> X, Strided<S> LU,
           Strided<int> perm, const SolveOptions& o) {
  with_context(x, [&](auto& ctx) { solve(ctx, A, B, X, LU, perm, o); });
}
template <class Exec, class S>
void solve_jvp(const Instance<Exec>& x, Strided<const S> LU, Strided<const int> perm, Strided<const S> X,
               Strided<const S> dA, Strided<const S> dB, Strided<S> dX, const SolveOptions& o) {
  with_context(x, [&](auto& ctx) { solve_jvp(ctx, LU, perm, X, dA, dB, dX, o); });
}
template <class Exec, class S>
void solve_vjp(const Instance<Exec>& x, Strided<const S> LU, Strided<const int> perm, Strided<const S> X,
               Strided<const S> gX, Strided<S> gA, Strided<S> gB, const SolveOptions& o) {
  with_context(x, [&](auto& ctx) { solve_vjp(ctx, LU, perm, X, gX, gA, gB, o); });
}

#define FRECHET_SOLVE_VJP_AT(WHERE, S)                                                                                 \
  template void solve_vjp(WHERE, Strided<const S>, Strided<const int>, Strided<const S>, Strided<const S>, Strided<S>, \
                          Strided<S>, const SolveOptions&);
#define FRECHET_SOLVE_AT(WHERE, S)                                                                         \
  template void solve(WHERE, Strided<const S>, Strided<const S>, Strided<S>, Strided<S>, Strided<int>,     \
                      const SolveOptions&);                                                                \
  template void solve_jvp(WHERE, Strided<const S>, Strided<const int>, Strided<const S>, Strided<const S>, \
                          Strided<const S>, Strided<S>, const SolveOptions&);                              \
  FRECHET_SOLVE_VJP_AT(WHERE, S)
#define FRECHET_SOLVE(EXEC, S)               \
  FRECHET_SOLVE_AT(Context<EXEC>&, S)        \
  FRECHET_SOLVE_AT(const Instance<EXEC>&, S) \
  FRECHET_SOLVE_VJP_AT(Context<EXEC>&, Dual<S>)
FRECHET_FOR_EACH_SCALAR(FRECHET_SOLVE)

}  // namespace frechet::detail
