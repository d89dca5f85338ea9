// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_EIGH_HPP
#define FRECHET_EIGH_HPP

#include <frechet/detail/arguments.hpp>
#include <frechet/driver.hpp>

namespace frechet {

/// Options of eigh, eigh_jvp and eigh_vjp.
struct EighOptions {
  Hermitian hermitian = Hermitian::part;     ///< which entries of A (and dA) are read; form of gA
  Degeneracy degeneracy = Degeneracy::mask;  ///< what to do at (nearly) equal eigenvalues
  double tolerance = -1;                     ///< relative to max|w|; < 0: default_degeneracy_tolerance
  Store store = Store::overwrite;            ///< eigh_vjp: gA = or gA +=
  Driver driver = Driver::automatic;         ///< who factorises
  DiagnosticsTarget diagnostics = {};        ///< one Diagnosis per matrix, or nothing
};

namespace detail {
template <class Exec, class S>
void eigh(const Instance<Exec>&, Strided<const S> A, Strided<Real<S>> w, Strided<S> V, const EighOptions&);
template <class Exec, class S>
void eigh_jvp(const Instance<Exec>&, Strided<const Real<S>> w, Strided<const S> V, Strided<const S> dA,
              Strided<Real<S>> dw, Strided<S> dV, const EighOptions&);
template <class Exec, class S>
void eigh_vjp(const Instance<Exec>&, Strided<const Real<S>> w, Strided<const S> V, Strided<const Real<S>> gw,
              Strided<const S> gV, Strided<S> gA, const EighOptions&);
}  // namespace detail

/// Eigenvalues and eigenvectors of a Hermitian matrix, A = V diag(w) V^H.
///
/// Shapes: A n x n, w n (real, ascending), V n x n; or all with a leading batch extent. w or V may be `none`.
/// Errors: ArgumentError on extents that do not fit. A matrix that holds NaN or Inf, or does not converge, gives NaN in
/// w and V and a Diagnosis (nonfinite, info). Cost: one heevd; without V eigenvalues only.
template <class Exec, class AView, class WView, class VView>
void eigh(const Exec& exec, const AView& A, const WView& w, const VView& V, const EighOptions& options = {}) {
  using S = detail::Scalar<AView>;
  detail::Arguments<Exec> args("frechet::eigh");
  detail::Shape a;
  const auto sA = args.template matrix<S>("A", A, a);
  if (a.rows != a.cols) detail::throw_shape("frechet::eigh", "A", detail::describe(A), "a square matrix");
  const auto sw = args.template vector<Real<S>>("w", w, a, a.rows);
  const auto sV = args.template matrix<S>("V", V, a, a.rows, a.rows);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::eigh<detail::Compiled<Exec>, S>(detail::instance(exec), sA, sw, sV, options);
}

/// Tangents of eigh: dw, dV from dA. The gauge is diag(V^H dV) = 0.
///
/// Shapes: w n, V n x n (from eigh), dA n x n (its Hermitian part counts), dw n, dV n x n; dw or dV may be `none`.
/// Restrictions: dV exists only for distinct eigenvalues. Pairs closer than the tolerance are treated as `degeneracy`
/// says; the result then serves losses that do not look inside the group. Diagnosis: gap, coupling (a tangent that
/// splits a group). Cost: dw only: 1 gemm; with dV: 3 gemm.
template <class Exec, class WView, class VView, class DAView, class DWView, class DVView>
void eigh_jvp(const Exec& exec, const WView& w, const VView& V, const DAView& dA, const DWView& dw, const DVView& dV,
              const EighOptions& options = {}) {
  using S = detail::Scalar<VView>;
  detail::Arguments<Exec> args("frechet::eigh_jvp");
  detail::Shape v;
  const auto sV = args.template matrix<S>("V", V, v);
  if (v.rows != v.cols) detail::throw_shape("frechet::eigh_jvp", "V", detail::describe(V), "a square matrix");
  const auto sw = args.required("w", args.template vector<const Real<S>>("w", w, v, v.rows));
  const auto sdA = args.template matrix<const S>("dA", dA, v, v.rows, v.rows);
  const auto sdw = args.template vector<Real<S>>("dw", dw, v, v.rows);
  const auto sdV = args.template matrix<S>("dV", dV, v, v.rows, v.rows);
  args.diagnostics(options.diagnostics, v.count);
  args.check_aliases();
  detail::eigh_jvp<detail::Compiled<Exec>, S>(detail::instance(exec), sw, sV, sdA, sdw, sdV, options);
}

/// Cotangent of eigh: gA from gw and gV. gA is Hermitian (see Hermitian for the derivative of a stored triangle).
///
/// Shapes: w n, V n x n (from eigh), gw n, gV n x n, gA n x n; gw or gV may be `none`.
/// Restrictions: the loss must not depend on the phase of an eigenvector, nor, within a group of equal eigenvalues, on
/// the choice of the basis. Where it does, numerators above rounding noise are divided all the same, and the Diagnosis
/// says so: gauge, and spread for eigenvalue cotangents that differ within a group. Cost: gw only: 0.6 gemm; with
/// gV: 2.6 gemm.
template <class Exec, class WView, class VView, class GWView, class GVView, class GAView>
void eigh_vjp(const Exec& exec, const WView& w, const VView& V, const GWView& gw, const GVView& gV, const GAView& gA,
              const EighOptions& options = {}) {
  using S = detail::Scalar<VView>;
  detail::Arguments<Exec> args("frechet::eigh_vjp");
  detail::Shape v;
  const auto sV = args.template matrix<S>("V", V, v);
  if (v.rows != v.cols) detail::throw_shape("frechet::eigh_vjp", "V", detail::describe(V), "a square matrix");
  const auto sw = args.required("w", args.template vector<const Real<S>>("w", w, v, v.rows));
  const auto sgw = args.template vector<const Real<S>>("gw", gw, v, v.rows);
  const auto sgV = args.template matrix<const S>("gV", gV, v, v.rows, v.rows);
  const auto sgA = args.required("gA", args.template matrix<S>("gA", gA, v, v.rows, v.rows));
  args.diagnostics(options.diagnostics, v.count);
  args.check_aliases();
  detail::eigh_vjp<detail::Compiled<Exec>, S>(detail::instance(exec), sw, sV, sgw, sgV, sgA, options);
}

}  // namespace frechet

#endif
