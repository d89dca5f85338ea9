// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SVD_HPP
#define FRECHET_SVD_HPP

#include <frechet/detail/arguments.hpp>
#include <frechet/driver.hpp>

namespace frechet {

/// Options of svd, svdvals, svd_jvp and svd_vjp.
struct SvdOptions {
  Degeneracy degeneracy = Degeneracy::mask;  ///< what to do at (nearly) equal singular values
  double tolerance = -1;                     ///< relative to the largest; < 0: default_degeneracy_tolerance
  Store store = Store::overwrite;            ///< svd_vjp: gA = or gA +=
  Driver driver = Driver::automatic;         ///< who factorises
  DiagnosticsTarget diagnostics = {};        ///< one Diagnosis per matrix, or nothing
};

namespace detail {
template <class Exec, class S>
void svd(const Instance<Exec>&, Strided<const S> A, Strided<S> U, Strided<Real<S>> s, Strided<S> Vh, const SvdOptions&);
template <class Exec, class S>
void svd_jvp(const Instance<Exec>&, Strided<const S> U, Strided<const Real<S>> s, Strided<const S> Vh,
             Strided<const S> dA, Strided<S> dU, Strided<Real<S>> ds, Strided<S> dVh, const SvdOptions&);
template <class Exec, class S>
void svd_vjp(const Instance<Exec>&, Strided<const S> U, Strided<const Real<S>> s, Strided<const S> Vh,
             Strided<const S> gU, Strided<const Real<S>> gs, Strided<const S> gVh, Strided<S> gA, const SvdOptions&);

/// k = min(m, n) from the factors: U is m x k and Vh is k x n.
template <class UView, class VView>
Shape svd_shape(const char* function, const UView& U, const VView& Vh) {
  constexpr std::size_t b = UView::rank() - 2;
  const auto m = U.extent(b), k = U.extent(b + 1), n = Vh.extent(VView::rank() - 1);
  if (k != (m < n ? m : n)) throw_shape(function, "U", describe(U), "m x min(m,n) for Vh " + describe(Vh));
  return {b == 1, b == 1 ? static_cast<int>(U.extent(0)) : 1, static_cast<int>(m), static_cast<int>(n)};
}
}  // namespace detail

/// Thin singular value decomposition A = U diag(s) Vh.
///
/// Shapes, with k = min(m, n): A m x n, U m x k, s k (real, descending), Vh k x n (the adjoint of V, as in LAPACK); or
/// all with a leading batch extent. Each of U, s, Vh may be `none`; without U and Vh only singular values are computed.
/// Errors: ArgumentError on extents that do not fit. A matrix that holds NaN or Inf, or does not converge, gives NaN
/// and a Diagnosis (nonfinite, info); rank counts singular values above max(m,n) eps times the largest. Cost: one
/// gesvd.
template <class Exec, class AView, class UView, class SView, class VView>
void svd(const Exec& exec, const AView& A, const UView& U, const SView& s, const VView& Vh,
         const SvdOptions& options = {}) {
  using S = detail::Scalar<AView>;
  detail::Arguments<Exec> args("frechet::svd");
  detail::Shape a;
  const auto sA = args.template matrix<S>("A", A, a);
  const int k = a.rows < a.cols ? a.rows : a.cols;
  const auto sU = args.template matrix<S>("U", U, a, a.rows, k);
  const auto ss = args.template vector<Real<S>>("s", s, a, k);
  const auto sV = args.template matrix<S>("Vh", Vh, a, k, a.cols);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::svd<detail::Compiled<Exec>, S>(detail::instance(exec), sA, sU, ss, sV, options);
}

/// Singular values only: svd(exec, A, none, s, none).
template <class Exec, class AView, class SView>
void svdvals(const Exec& exec, const AView& A, const SView& s, const SvdOptions& options = {}) {
  svd(exec, A, none, s, none, options);
}

/// Tangents of svd: dU, ds, dVh from dA. Gauge (complex): the phase of each pair of vectors is shared evenly.
///
/// Shapes as in svd, dA m x n; each of dU, ds, dVh may be `none`. U and Vh are needed for ds too.
/// Restrictions: dU and dVh exist only for distinct singular values, and for columns that belong to non-zero ones.
/// Where they do not, see SvdOptions::degeneracy and Diagnosis: gap, rank, coupling. Cost, in gemm of m x n x k: ds
/// only 1; otherwise 2 + one for each of dU, dVh (two where its factor is not square).
template <class Exec, class UView, class SView, class VView, class DAView, class DUView, class DSView, class DVView>
void svd_jvp(const Exec& exec, const UView& U, const SView& s, const VView& Vh, const DAView& dA, const DUView& dU,
             const DSView& ds, const DVView& dVh, const SvdOptions& options = {}) {
  using S = detail::Scalar<UView>;
  detail::Arguments<Exec> args("frechet::svd_jvp");
  const detail::Shape a = detail::svd_shape("frechet::svd_jvp", U, Vh);
  const int m = a.rows, n = a.cols, k = m < n ? m : n;
  const auto sU = args.required("U", args.template matrix<const S>("U", U, a, m, k));
  const auto ss = args.required("s", args.template vector<const Real<S>>("s", s, a, k));
  const auto sV = args.required("Vh", args.template matrix<const S>("Vh", Vh, a, k, n));
  const auto sdA = args.template matrix<const S>("dA", dA, a, m, n);
  const auto sdU = args.template matrix<S>("dU", dU, a, m, k);
  const auto sds = args.template vector<Real<S>>("ds", ds, a, k);
  const auto sdV = args.template matrix<S>("dVh", dVh, a, k, n);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::svd_jvp<detail::Compiled<Exec>, S>(detail::instance(exec), sU, ss, sV, sdA, sdU, sds, sdV, options);
}

/// Cotangent of svd: gA from gU, gs, gVh (the cotangent of Vh as stored: gVh = gV^H).
///
/// Shapes as in svd, gA m x n; each of gU, gs, gVh may be `none`.
/// Restrictions: the loss must not depend on the common phase of a pair of vectors, nor on the choice of basis within a
/// group of equal singular values, nor on vectors that belong to zero singular values. Where it does, the Diagnosis
/// says so (gauge, spread, rank) and the quotients are those of the formula. Cost, in gemm of m x n x k: gs only 1;
/// otherwise 2 + one for each of gU, gVh (two where its factor is not square).
template <class Exec, class UView, class SView, class VView, class GUView, class GSView, class GVView, class GAView>
void svd_vjp(const Exec& exec, const UView& U, const SView& s, const VView& Vh, const GUView& gU, const GSView& gs,
             const GVView& gVh, const GAView& gA, const SvdOptions& options = {}) {
  using S = detail::Scalar<UView>;
  detail::Arguments<Exec> args("frechet::svd_vjp");
  const detail::Shape a = detail::svd_shape("frechet::svd_vjp", U, Vh);
  const int m = a.rows, n = a.cols, k = m < n ? m : n;
  const auto sU = args.required("U", args.template matrix<const S>("U", U, a, m, k));
  const auto ss = args.required("s", args.template vector<const Real<S>>("s", s, a, k));
  const auto sV = args.required("Vh", args.template matrix<const S>("Vh", Vh, a, k, n));
  const auto sgU = args.template matrix<const S>("gU", gU, a, m, k);
  const auto sgs = args.template vector<const Real<S>>("gs", gs, a, k);
  const auto sgV = args.template matrix<const S>("gVh", gVh, a, k, n);
  const auto sgA = args.required("gA", args.template matrix<S>("gA", gA, a, m, n));
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::svd_vjp<detail::Compiled<Exec>, S>(detail::instance(exec), sU, ss, sV, sgU, sgs, sgV, sgA, options);
}

}  // namespace frechet

#endif
