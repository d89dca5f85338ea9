// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_DEGENERACY_HPP
#define FRECHET_SRC_DEGENERACY_HPP

#include "vocabulary.hpp"

// Quotients x / d of the rules of eigh and svd, where d is a difference (or sum) of eigenvalues or singular values.
//
// Reverse mode tests the numerator: a loss that is well defined at a repeated value has numerators of rounding size
// there, and such a numerator carries no information whatever d is; so it counts as zero, at any gap. All others are
// divided. For dual numbers the values decide; the tangent of a numerator that counts as zero need not be noise, and is
// divided unless the gap is within the tolerance. Forward mode has no such test, as a good loss may cancel what single
// tangents contain; it masks by the gap.

namespace frechet::detail {

/// How many units of rounding a numerator may have and still count as zero. Any value from 1 to 100 passes the golden
/// cases; 16 leaves room for the accumulation of products over a few thousand terms.
inline constexpr int noise_units = 16;

/// The part of the options a kernel needs. scale = largest value, so that tolerance * scale is a gap.
template <class R>
struct Quotient {
  Degeneracy policy;
  R tolerance;

  /// x / d in reverse mode. noise: rounding level of x.
  template <class S>
  KOKKOS_FUNCTION S reverse(const S& x, const Real<S>& d, R noise, R scale) const {
    if (abs1(x) <= noise) return without_value(x, d, scale);
    return divide(x, d, scale);
  }
  /// x / d in forward mode.
  template <class S>
  KOKKOS_FUNCTION S forward(const S& x, R d, R noise, R scale) const {
    if (policy == Degeneracy::mask && within(d, scale)) return S(0);
    if (abs1(x) <= noise && within(d, scale)) return S(0);
    return divide(x, d, scale);
  }
  template <class D>
  KOKKOS_FUNCTION bool within(const D& d, R scale) const {
    return Kokkos::fabs(primal(d)) <= tolerance * scale;
  }

 private:
  /// x / d where the value of x counts as zero.
  template <class S>
  KOKKOS_FUNCTION S without_value(const S& x, const Real<S>& d, R scale) const {
    if constexpr (is_dual<S>)
      if (!within(d, scale)) return S(decltype(x.value)(0), divide(x.tangent, d.value, scale));
    return S(0);
  }
  template <class S>
  KOKKOS_FUNCTION S divide(const S& x, const Real<S>& d, R scale) const {
    const R t = tolerance * scale;
    if (policy == Degeneracy::broaden) {
      // d / (d^2 + t^2) without squares of huge or tiny numbers
      const R m = Kokkos::fmax(Kokkos::fabs(primal(d)), t);
      if (m == R(0)) return S(0);
      const Real<S> u = d / m;
      const R v = t / m;
      return (x / m) * (u / (u * u + v * v));
    }
    if (policy == Degeneracy::fail && within(d, scale)) return not_a_number<S>();
    return x / d;
  }
};

template <class S>
Quotient<Level<S>> quotient(Degeneracy policy, double tolerance) {
  return {policy, static_cast<Level<S>>(tolerance >= 0 ? tolerance : default_degeneracy_tolerance<Primal<S>>)};
}

/// Running 2-norm without overflow or underflow: scale * sqrt(sum).
template <class R>
struct Norm {
  R scale = 0, sum = 0;
  KOKKOS_FUNCTION void add(R x) {
    x = Kokkos::fabs(x);
    if (x == R(0)) return;
    if (scale < x) {
      const R q = scale / x;
      sum = R(1) + sum * q * q;
      scale = x;
    } else {
      const R q = x / scale;
      sum += q * q;
    }
  }
  KOKKOS_FUNCTION void join(const Norm& other) {
    if (other.scale == R(0)) return;
    if (scale < other.scale) {
      const R q = scale / other.scale;
      sum = other.sum + sum * q * q;
      scale = other.scale;
    } else {
      const R q = other.scale / scale;
      sum += other.sum * q * q;
    }
  }
  KOKKOS_FUNCTION R value() const { return scale * Kokkos::sqrt(sum); }
};

/// norms(b, j, 0) = 2-norm of column j.
template <class Exec, class S>
void column_norms(Context<Exec>& ctx, const Batch<const S>& A, const Batch<Real<S>>& norms) {
  using R = Real<S>;
  reduce_columns<Norm<R>>(
      ctx, "frechet::column_norms", A.rows, A.cols, A.count,
      KOKKOS_LAMBDA(int b, int i, int j, Norm<R>& acc) {
        acc.add(real(A(b, i, j)));
        if (is_complex<S>) acc.add(imag(A(b, i, j)));
      },
      KOKKOS_LAMBDA(int b, int j, const Norm<R>& acc) { norms(b, j, 0) = acc.value(); });
}

/// What masks may hide, per matrix: see Diagnosis.
template <class R>
struct Hidden {
  R gap = Kokkos::Experimental::infinity_v<R>;
  R gauge = 0, spread = 0, coupling = 0;
  bool degenerate = false;
  KOKKOS_FUNCTION void join(const Hidden& o) {
    gap = Kokkos::fmin(gap, o.gap);
    gauge = Kokkos::fmax(gauge, o.gauge);
    spread = Kokkos::fmax(spread, o.spread);
    coupling = Kokkos::fmax(coupling, o.coupling);
  }
  KOKKOS_FUNCTION void store(Diagnosis& d) const {
    d.gap = static_cast<double>(gap);
    d.gauge = static_cast<double>(gauge);
    d.spread = static_cast<double>(spread);
    d.coupling = static_cast<double>(coupling);
  }
};

/// max |value| per matrix; eigenvalues and singular values are sorted, so it is at one of the ends.
template <class S>
KOKKOS_INLINE_FUNCTION Level<S> largest(const Batch<const S>& w, int b) {
  return Kokkos::fmax(Kokkos::fabs(primal(w(b, 0, 0))), Kokkos::fabs(primal(w(b, w.rows - 1, 0))));
}

/// A gap in units of the largest value; zero where all values are, NaN where they are.
template <class D, class R>
KOKKOS_INLINE_FUNCTION R relative(const D& gap, R scale) {
  return scale > R(0) ? Kokkos::fabs(primal(gap)) / scale : scale == R(0) ? R(0) : scale;
}

/// Factors of a failed factorisation are NaN, and so will be what is made of them.
template <class Exec, class S>
void note_factor(Context<Exec>& ctx, const Batch<const S>& A, Diagnosis* d) {
  if (A.rows == 0 || A.cols == 0) return;
  for_each_column(
      ctx, "frechet::factor", 1, 1, A.count, KOKKOS_LAMBDA(int b, int) {
        if (!finite(A(b, 0, 0))) d[b].nonfinite = 1;
      });
}

template <class R>
struct Spread {
  R gap = Kokkos::Experimental::infinity_v<R>;
  R difference = 0, size = 0;
  KOKKOS_FUNCTION void join(const Spread& o) {
    gap = Kokkos::fmin(gap, o.gap);
    difference = Kokkos::fmax(difference, o.difference);
    size = Kokkos::fmax(size, o.size);
  }
};

/// Diagnosis of value cotangents that differ within a group of (nearly) equal values: what such a loss means by the
/// off-diagonal part of the group cannot be said in terms of values and vectors, so no rule can return it.
template <class Exec, class R, class Q>
void note_spread(Context<Exec>& ctx, const Batch<const R>& w, const Batch<const R>& gw, const Q& q, Diagnosis* d) {
  reduce_matrices<Spread<R>>(
      ctx, "frechet::spread", w.rows, 1, w.count,
      KOKKOS_LAMBDA(int b, int i, int, Spread<R>& acc) {
        acc.size = Kokkos::fmax(acc.size, Kokkos::fabs(gw(b, i, 0)));
        if (i + 1 == w.rows) return;
        const R scale = largest(w, b), gap = Kokkos::fabs(w(b, i + 1, 0) - w(b, i, 0));
        acc.gap = Kokkos::fmin(acc.gap, relative(gap, scale));
        if (q.within(gap, scale))
          acc.difference = Kokkos::fmax(acc.difference, Kokkos::fabs(gw(b, i + 1, 0) - gw(b, i, 0)));
      },
      KOKKOS_LAMBDA(int b, const Spread<R>& acc) {
        d[b].gap = static_cast<double>(acc.gap);
        if (acc.difference > R(0)) d[b].spread = static_cast<double>(acc.difference / acc.size);
      });
}

}  // namespace frechet::detail

#endif
