// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_QR_HPP
#define FRECHET_QR_HPP

#include <frechet/detail/arguments.hpp>
#include <frechet/driver.hpp>

namespace frechet {

/// Which of the equivalent factorisations: `lapack` takes the signs of Householder reflections as xGEQRF makes them (R
/// has a real diagonal of any sign), `positive` makes the diagonal of R nonnegative. The derivative rules hold for
/// both.
enum class QrSigns { lapack, positive };

/// Options of qr, qr_jvp and qr_vjp.
struct QrOptions {
  QrSigns signs = QrSigns::lapack;     ///< qr: which factorisation
  Store store = Store::overwrite;      ///< qr_vjp: gA = or gA +=
  Driver driver = Driver::automatic;   ///< who factorises
  DiagnosticsTarget diagnostics = {};  ///< one Diagnosis per matrix, or nothing
};

namespace detail {
template <class Exec, class S>
void qr(const Instance<Exec>&, Strided<const S> A, Strided<S> Q, Strided<S> R, const QrOptions&);
template <class Exec, class S>
void qr_jvp(const Instance<Exec>&, Strided<const S> Q, Strided<const S> R, Strided<const S> dA, Strided<S> dQ,
            Strided<S> dR, const QrOptions&);
template <class Exec, class S>
void qr_vjp(const Instance<Exec>&, Strided<const S> Q, Strided<const S> R, Strided<const S> gQ, Strided<const S> gR,
            Strided<S> gA, const QrOptions&);

/// m, n from the factors: Q is m x k and R is k x n with k = min(m, n).
template <class QView, class RView>
Shape qr_shape(const char* function, const QView& Q, const RView& R) {
  constexpr std::size_t b = QView::rank() - 2;
  const auto m = Q.extent(b), k = Q.extent(b + 1), n = R.extent(RView::rank() - 1);
  if (k != (m < n ? m : n)) throw_shape(function, "Q", describe(Q), "m x min(m,n) for R " + describe(R));
  return {b == 1, b == 1 ? static_cast<int>(Q.extent(0)) : 1, static_cast<int>(m), static_cast<int>(n)};
}
}  // namespace detail

/// Thin QR factorisation A = Q R, Q with orthonormal columns, R upper triangular (trapezoidal for m < n).
///
/// Shapes, with k = min(m, n): A m x n, Q m x k, R k x n; or all with a leading batch extent. Q or R may be `none`.
/// Errors: ArgumentError on extents that do not fit. A matrix that holds NaN or Inf gives NaN and a Diagnosis; rank
/// counts the columns that are not (to max(m,n) eps of their own length) in the span of those before them. Cost: one
/// geqrf, and one ungqr where Q is wanted.
template <class Exec, class AView, class QView, class RView>
void qr(const Exec& exec, const AView& A, const QView& Q, const RView& R, const QrOptions& options = {}) {
  using S = detail::Scalar<AView>;
  detail::Arguments<Exec> args("frechet::qr");
  detail::Shape a;
  const auto sA = args.template matrix<S>("A", A, a);
  const int k = a.rows < a.cols ? a.rows : a.cols;
  const auto sQ = args.template matrix<S>("Q", Q, a, a.rows, k);
  const auto sR = args.template matrix<S>("R", R, a, k, a.cols);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::qr<detail::Compiled<Exec>, S>(detail::instance(exec), sA, sQ, sR, options);
}

/// Tangents of qr: dQ, dR from dA. The diagonal of R stays real.
///
/// Shapes as in qr, dA m x n; dQ or dR may be `none`.
/// Restrictions: m >= n: full column rank; m < n: the first m columns of A independent. Otherwise NaN,
/// Diagnosis::deficient. Cost, m >= n: 1 trsm + 1 gemm, + 1 gemm for dQ, + 1 trmm for dR.
template <class Exec, class QView, class RView, class DAView, class DQView, class DRView>
void qr_jvp(const Exec& exec, const QView& Q, const RView& R, const DAView& dA, const DQView& dQ, const DRView& dR,
            const QrOptions& options = {}) {
  using S = detail::Scalar<QView>;
  detail::Arguments<Exec> args("frechet::qr_jvp");
  const detail::Shape a = detail::qr_shape("frechet::qr_jvp", Q, R);
  const int m = a.rows, n = a.cols, k = m < n ? m : n;
  const auto sQ = args.required("Q", args.template matrix<const S>("Q", Q, a, m, k));
  const auto sR = args.required("R", args.template matrix<const S>("R", R, a, k, n));
  const auto sdA = args.template matrix<const S>("dA", dA, a, m, n);
  const auto sdQ = args.template matrix<S>("dQ", dQ, a, m, k);
  const auto sdR = args.template matrix<S>("dR", dR, a, k, n);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::qr_jvp<detail::Compiled<Exec>, S>(detail::instance(exec), sQ, sR, sdA, sdQ, sdR, options);
}

/// Cotangent of qr: gA from gQ and gR. Entries of gR below the diagonal are not read as part of it.
///
/// Shapes as in qr, gA m x n; gQ or gR may be `none`.
/// Restrictions: as for qr_jvp.
/// Cost, m >= n: 1 trsm + 1 gemm, + 1 gemm for gQ, + 1 trmm for gR.
template <class Exec, class QView, class RView, class GQView, class GRView, class GAView>
void qr_vjp(const Exec& exec, const QView& Q, const RView& R, const GQView& gQ, const GRView& gR, const GAView& gA,
            const QrOptions& options = {}) {
  using S = detail::Scalar<QView>;
  detail::Arguments<Exec> args("frechet::qr_vjp");
  const detail::Shape a = detail::qr_shape("frechet::qr_vjp", Q, R);
  const int m = a.rows, n = a.cols, k = m < n ? m : n;
  const auto sQ = args.required("Q", args.template matrix<const S>("Q", Q, a, m, k));
  const auto sR = args.required("R", args.template matrix<const S>("R", R, a, k, n));
  const auto sgQ = args.template matrix<const S>("gQ", gQ, a, m, k);
  const auto sgR = args.template matrix<const S>("gR", gR, a, k, n);
  const auto sgA = args.required("gA", args.template matrix<S>("gA", gA, a, m, n));
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::qr_vjp<detail::Compiled<Exec>, S>(detail::instance(exec), sQ, sR, sgQ, sgR, sgA, options);
}

}  // namespace frechet

#endif
