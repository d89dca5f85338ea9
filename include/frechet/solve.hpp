// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SOLVE_HPP
#define FRECHET_SOLVE_HPP

#include <frechet/detail/arguments.hpp>
#include <frechet/driver.hpp>

namespace frechet {

/// Options of solve, solve_jvp and solve_vjp. `op` must be the same in all three.
struct SolveOptions {
  Op op = Op::none;                    ///< op(A) X = B
  Store store = Store::overwrite;      ///< solve_vjp: gA =, gB = or gA +=, gB +=
  Driver driver = Driver::automatic;   ///< who factorises
  DiagnosticsTarget diagnostics = {};  ///< one Diagnosis per matrix, or nothing
};

namespace detail {
template <class Exec, class S>
void solve(const Instance<Exec>&, Strided<const S> A, Strided<const S> B, Strided<S> X, Strided<S> LU,
           Strided<int> perm, const SolveOptions&);
template <class Exec, class S>
void solve_jvp(const Instance<Exec>&, Strided<const S> LU, Strided<const int> perm, Strided<const S> X,
               Strided<const S> dA, Strided<const S> dB, Strided<S> dX, const SolveOptions&);
template <class Exec, class S>
void solve_vjp(const Instance<Exec>&, Strided<const S> LU, Strided<const int> perm, Strided<const S> X,
               Strided<const S> gX, Strided<S> gA, Strided<S> gB, const SolveOptions&);
}  // namespace detail

/// Solves op(A) X = B by LU with partial pivoting.
///
/// Shapes: A n x n, B and X n x r, or both n (one right side as a vector); LU n x n (L below the diagonal, U on and
/// above it) and perm n (int) are the factorisation of A for the derivative rules, and may be `none`; or all with a
/// leading batch extent. r = 0 is legal. Errors: ArgumentError on extents that do not fit. A singular matrix (info >
/// 0: a pivot is below the smallest normal number), or one that holds NaN or Inf, gives NaN in X. Cost: one getrf, 2
/// trsm with r columns.
template <class Exec, class AView, class BView, class XView, class LUView = None, class PView = None>
void solve(const Exec& exec, const AView& A, const BView& B, const XView& X, const LUView& LU = {},
           const PView& perm = {}, const SolveOptions& options = {}) {
  using S = detail::Scalar<AView>;
  detail::Arguments<Exec> args("frechet::solve");
  detail::Shape a;
  const auto sA = args.template matrix<S>("A", A, a);
  if (a.rows != a.cols) detail::throw_shape("frechet::solve", "A", detail::describe(A), "a square matrix");
  const int r = args.template right_sides<AView>("B", B);
  const auto sB = args.required("B", args.template right_side<const S>("B", B, a, a.rows, r));
  const auto sX = args.required("X", args.template right_side<S>("X", X, a, a.rows, r));
  const auto sLU = args.template matrix<S>("LU", LU, a, a.rows, a.rows);
  const auto sp = args.template vector<int>("perm", perm, a, a.rows);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::solve<detail::Compiled<Exec>, S>(detail::instance(exec), sA, sB, sX, sLU, sp, options);
}

/// Tangent of solve: dX from dA and dB, with the factorisation made by solve.
///
/// Shapes as in solve; dA or dB may be `none`.
/// Restrictions: A non-singular; otherwise NaN, Diagnosis::deficient.
/// Cost: 2 trsm with r columns, 1 gemm (n x n x r) for dA.
template <class Exec, class LUView, class PView, class XView, class DAView, class DBView, class DXView>
void solve_jvp(const Exec& exec, const LUView& LU, const PView& perm, const XView& X, const DAView& dA,
               const DBView& dB, const DXView& dX, const SolveOptions& options = {}) {
  using S = detail::Scalar<LUView>;
  detail::Arguments<Exec> args("frechet::solve_jvp");
  detail::Shape a;
  const auto sLU = args.template matrix<S>("LU", LU, a);
  if (a.rows != a.cols) detail::throw_shape("frechet::solve_jvp", "LU", detail::describe(LU), "a square matrix");
  const auto sp = args.required("perm", args.template vector<const int>("perm", perm, a, a.rows));
  const int r = args.template right_sides<LUView>("dX", dX);
  const auto sX = args.template right_side<const S>("X", X, a, a.rows, r);
  const auto sdA = args.template matrix<const S>("dA", dA, a, a.rows, a.rows);
  const auto sdB = args.template right_side<const S>("dB", dB, a, a.rows, r);
  const auto sdX = args.required("dX", args.template right_side<S>("dX", dX, a, a.rows, r));
  if (sdA) args.required("X", sX);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::solve_jvp<detail::Compiled<Exec>, S>(detail::instance(exec), sLU, sp, sX, sdA, sdB, sdX, options);
}

/// Cotangents of solve: gA and gB from gX, with the factorisation made by solve.
///
/// Shapes as in solve; gX, gA or gB may be `none`; X is needed for gA only.
/// Restrictions: as for solve_jvp.
/// Cost: 2 trsm with r columns, 1 gemm (n x r x n) for gA.
template <class Exec, class LUView, class PView, class XView, class GXView, class GAView, class GBView>
void solve_vjp(const Exec& exec, const LUView& LU, const PView& perm, const XView& X, const GXView& gX,
               const GAView& gA, const GBView& gB, const SolveOptions& options = {}) {
  using S = detail::Scalar<LUView>;
  detail::Arguments<Exec> args("frechet::solve_vjp");
  detail::Shape a;
  const auto sLU = args.template matrix<S>("LU", LU, a);
  if (a.rows != a.cols) detail::throw_shape("frechet::solve_vjp", "LU", detail::describe(LU), "a square matrix");
  const auto sp = args.required("perm", args.template vector<const int>("perm", perm, a, a.rows));
  int r = args.template right_sides<LUView>("gB", gB);
  if (r < 0) r = args.template right_sides<LUView>("gX", gX);
  if (r < 0) r = args.template right_sides<LUView>("X", X);
  const auto sX = args.template right_side<const S>("X", X, a, a.rows, r);
  const auto sgX = args.template right_side<const S>("gX", gX, a, a.rows, r);
  const auto sgA = args.template matrix<S>("gA", gA, a, a.rows, a.rows);
  const auto sgB = args.template right_side<S>("gB", gB, a, a.rows, r);
  if (sgX && sgA) args.required("X", sX);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::solve_vjp<detail::Compiled<Exec>, S>(detail::instance(exec), sLU, sp, sX, sgX, sgA, sgB, options);
}

}  // namespace frechet

#endif
