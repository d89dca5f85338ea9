// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_LU_HPP
#define FRECHET_LU_HPP

#include <frechet/detail/arguments.hpp>
#include <frechet/driver.hpp>

namespace frechet {

/// Options of lu, lu_jvp and lu_vjp.
struct LuOptions {
  Store store = Store::overwrite;      ///< lu_vjp: gA = or gA +=
  Driver driver = Driver::automatic;   ///< who factorises
  DiagnosticsTarget diagnostics = {};  ///< one Diagnosis per matrix, or nothing
};

namespace detail {
template <class Exec, class S>
void lu(const Instance<Exec>&, Strided<const S> A, Strided<S> L, Strided<S> U, Strided<int> perm, const LuOptions&);
template <class Exec, class S>
void lu_jvp(const Instance<Exec>&, Strided<const S> L, Strided<const S> U, Strided<const int> perm, Strided<const S> dA,
            Strided<S> dL, Strided<S> dU, const LuOptions&);
template <class Exec, class S>
void lu_vjp(const Instance<Exec>&, Strided<const S> L, Strided<const S> U, Strided<const int> perm, Strided<const S> gL,
            Strided<const S> gU, Strided<S> gA, const LuOptions&);

/// m, n from the factors: L is m x k and U is k x n with k = min(m, n).
template <class LView, class UView>
Shape lu_shape(const char* function, const LView& L, const UView& U) {
  constexpr std::size_t b = LView::rank() - 2;
  const auto m = L.extent(b), k = L.extent(b + 1), n = U.extent(UView::rank() - 1);
  if (k != (m < n ? m : n)) throw_shape(function, "L", describe(L), "m x min(m,n) for U " + describe(U));
  return {b == 1, b == 1 ? static_cast<int>(L.extent(0)) : 1, static_cast<int>(m), static_cast<int>(n)};
}
}  // namespace detail

/// LU factorisation with partial pivoting, P^T A = L U: row i of L U is row perm(i) of A.
///
/// Shapes, with k = min(m, n): A m x n, L m x k (unit lower trapezoidal), U k x n (upper trapezoidal), perm m (int); or
/// all with a leading batch extent. Each of L, U, perm may be `none`. Errors: ArgumentError on extents that do not fit.
/// A matrix that holds NaN or Inf gives NaN in L and U (nonfinite). A zero pivot is no error here: L and U are right,
/// and Diagnosis::zero_pivot is its 1-based position, as LAPACK's info. A pivot below the smallest normal number counts
/// as zero. Cost: one getrf.
template <class Exec, class AView, class LView, class UView, class PView>
void lu(const Exec& exec, const AView& A, const LView& L, const UView& U, const PView& perm,
        const LuOptions& options = {}) {
  using S = detail::Scalar<AView>;
  detail::Arguments<Exec> args("frechet::lu");
  detail::Shape a;
  const auto sA = args.template matrix<S>("A", A, a);
  const int k = a.rows < a.cols ? a.rows : a.cols;
  const auto sL = args.template matrix<S>("L", L, a, a.rows, k);
  const auto sU = args.template matrix<S>("U", U, a, k, a.cols);
  const auto sp = args.template vector<int>("perm", perm, a, a.rows);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::lu<detail::Compiled<Exec>, S>(detail::instance(exec), sA, sL, sU, sp, options);
}

/// Tangents of lu: dL, dU from dA, with the pivots held fixed.
///
/// Shapes as in lu, dA m x n; dL or dU may be `none`.
/// Restrictions: the leading k x k block of P^T A must be non-singular, but for m <= n its last pivot may be zero.
/// Otherwise NaN, Diagnosis::deficient. Cost, square: twice that of the factorisation, 4/3 n^3.
template <class Exec, class LView, class UView, class PView, class DAView, class DLView, class DUView>
void lu_jvp(const Exec& exec, const LView& L, const UView& U, const PView& perm, const DAView& dA, const DLView& dL,
            const DUView& dU, const LuOptions& options = {}) {
  using S = detail::Scalar<LView>;
  detail::Arguments<Exec> args("frechet::lu_jvp");
  const detail::Shape a = detail::lu_shape("frechet::lu_jvp", L, U);
  const int m = a.rows, n = a.cols, k = m < n ? m : n;
  const auto sL = args.required("L", args.template matrix<const S>("L", L, a, m, k));
  const auto sU = args.required("U", args.template matrix<const S>("U", U, a, k, n));
  const auto sp = args.required("perm", args.template vector<const int>("perm", perm, a, m));
  const auto sdA = args.template matrix<const S>("dA", dA, a, m, n);
  const auto sdL = args.template matrix<S>("dL", dL, a, m, k);
  const auto sdU = args.template matrix<S>("dU", dU, a, k, n);
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::lu_jvp<detail::Compiled<Exec>, S>(detail::instance(exec), sL, sU, sp, sdA, sdL, sdU, options);
}

/// Cotangent of lu: gA from gL and gU, with the pivots held fixed. Entries of gL on and above the diagonal and of gU
/// below it are not read as part of them.
///
/// Shapes as in lu, gA m x n; gL or gU may be `none`.
/// Restrictions: as for lu_jvp.
/// Cost, square: twice that of the factorisation, 4/3 n^3.
template <class Exec, class LView, class UView, class PView, class GLView, class GUView, class GAView>
void lu_vjp(const Exec& exec, const LView& L, const UView& U, const PView& perm, const GLView& gL, const GUView& gU,
            const GAView& gA, const LuOptions& options = {}) {
  using S = detail::Scalar<LView>;
  detail::Arguments<Exec> args("frechet::lu_vjp");
  const detail::Shape a = detail::lu_shape("frechet::lu_vjp", L, U);
  const int m = a.rows, n = a.cols, k = m < n ? m : n;
  const auto sL = args.required("L", args.template matrix<const S>("L", L, a, m, k));
  const auto sU = args.required("U", args.template matrix<const S>("U", U, a, k, n));
  const auto sp = args.required("perm", args.template vector<const int>("perm", perm, a, m));
  const auto sgL = args.template matrix<const S>("gL", gL, a, m, k);
  const auto sgU = args.template matrix<const S>("gU", gU, a, k, n);
  const auto sgA = args.required("gA", args.template matrix<S>("gA", gA, a, m, n));
  args.diagnostics(options.diagnostics, a.count);
  args.check_aliases();
  detail::lu_vjp<detail::Compiled<Exec>, S>(detail::instance(exec), sL, sU, sp, sgL, sgU, sgA, options);
}

}  // namespace frechet

#endif
