// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_RULES_HPP
#define FRECHET_SRC_RULES_HPP

#include <frechet/eigh.hpp>
#include <frechet/lu.hpp>
#include <frechet/qr.hpp>
#include <frechet/solve.hpp>
#include <frechet/svd.hpp>

#include "context.hpp"

// The operations as AdContext calls them: with a Context of its own instead of an execution-space instance. Shapes,
// meaning and errors as in the public headers.
//
// Those in reverse mode (_vjp) exist for S = Dual of a scalar too: from values and tangents of their arguments,
// gradients and the tangents of these. An argument with a tangent has a value; an absent tangent counts as zero as an
// argument and is not written as a result. Masks, ranks and diagnoses come from values.

namespace frechet::detail {

/// Runs f(context) with a Context borrowed for one call at level 1.
template <class Exec, class F>
void with_context(const Instance<Exec>& instance, const F& f) {
  Borrowed<Exec> borrowed(instance);
  f(*borrowed);
}

template <class Exec, class S>
void eigh(Context<Exec>&, Strided<const S> A, Strided<Real<S>> w, Strided<S> V, const EighOptions&);
template <class Exec, class S>
void eigh_jvp(Context<Exec>&, Strided<const Real<S>> w, Strided<const S> V, Strided<const S> dA, Strided<Real<S>> dw,
              Strided<S> dV, const EighOptions&);
template <class Exec, class S>
void eigh_vjp(Context<Exec>&, Strided<const Real<S>> w, Strided<const S> V, Strided<const Real<S>> gw,
              Strided<const S> gV, Strided<S> gA, const EighOptions&);

/// For second derivatives: turns V, within groups of equal eigenvalues, into the basis that continues along A + t dA.
template <class Exec, class S>
void eigh_adapt(Context<Exec>&, Strided<const Real<S>> w, Strided<S> V, Strided<const S> dA, const EighOptions&);

template <class Exec, class S>
void svd(Context<Exec>&, Strided<const S> A, Strided<S> U, Strided<Real<S>> s, Strided<S> Vh, const SvdOptions&);
template <class Exec, class S>
void svd_jvp(Context<Exec>&, Strided<const S> U, Strided<const Real<S>> s, Strided<const S> Vh, Strided<const S> dA,
             Strided<S> dU, Strided<Real<S>> ds, Strided<S> dVh, const SvdOptions&);
template <class Exec, class S>
void svd_vjp(Context<Exec>&, Strided<const S> U, Strided<const Real<S>> s, Strided<const S> Vh, Strided<const S> gU,
             Strided<const Real<S>> gs, Strided<const S> gVh, Strided<S> gA, const SvdOptions&);

/// The same for U and Vh within groups of equal singular values.
template <class Exec, class S>
void svd_adapt(Context<Exec>&, Strided<S> U, Strided<const Real<S>> s, Strided<S> Vh, Strided<const S> dA,
               const SvdOptions&);

template <class Exec, class S>
void qr(Context<Exec>&, Strided<const S> A, Strided<S> Q, Strided<S> R, const QrOptions&);
template <class Exec, class S>
void qr_jvp(Context<Exec>&, Strided<const S> Q, Strided<const S> R, Strided<const S> dA, Strided<S> dQ, Strided<S> dR,
            const QrOptions&);
template <class Exec, class S>
void qr_vjp(Context<Exec>&, Strided<const S> Q, Strided<const S> R, Strided<const S> gQ, Strided<const S> gR,
            Strided<S> gA, const QrOptions&);

template <class Exec, class S>
void lu(Context<Exec>&, Strided<const S> A, Strided<S> L, Strided<S> U, Strided<int> perm, const LuOptions&);
template <class Exec, class S>
void lu_jvp(Context<Exec>&, Strided<const S> L, Strided<const S> U, Strided<const int> perm, Strided<const S> dA,
            Strided<S> dL, Strided<S> dU, const LuOptions&);
template <class Exec, class S>
void lu_vjp(Context<Exec>&, Strided<const S> L, Strided<const S> U, Strided<const int> perm, Strided<const S> gL,
            Strided<const S> gU, Strided<S> gA, const LuOptions&);

template <class Exec, class S>
void solve(Context<Exec>&, Strided<const S> A, Strided<const S> B, Strided<S> X, Strided<S> LU, Strided<int> perm,
           const SolveOptions&);
template <class Exec, class S>
void solve_jvp(Context<Exec>&, Strided<const S> LU, Strided<const int> perm, Strided<const S> X, Strided<const S> dA,
               Strided<const S> dB, Strided<S> dX, const SolveOptions&);
/// With S a Dual the value of LU holds the factors of A, its tangent the tangent of A itself.
template <class Exec, class S>
void solve_vjp(Context<Exec>&, Strided<const S> LU, Strided<const int> perm, Strided<const S> X, Strided<const S> gX,
               Strided<S> gA, Strided<S> gB, const SolveOptions&);

}  // namespace frechet::detail

#endif
