// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/svd.hpp>

#include "adapt.hpp"
#include "instantiate.hpp"
#include "kernels.hpp"
#include "rules.hpp"

// A = U diag(s) V^H, thin, s descending, k = min(m,n). Vh = V^H is what is stored. Both rules split the textbook
// quotient over s_j^2 - s_i^2 into partial fractions over s_j - s_i and s_j + s_i: no squares, so no overflow, and the
// two ways to fail (equal singular values, two zero ones) are seen apart.

namespace frechet::detail {
namespace {

/// Zero without a sign: iterations flip signs of singular values, of zero too. Those of the caller stay as they are.
template <class R>
KOKKOS_INLINE_FUNCTION void drop_sign_of_zero(R& x) {
  if (x == R(0)) x = R(0);
}
template <class R>
KOKKOS_INLINE_FUNCTION void drop_sign_of_zero(const R&) {}

/// Counts singular values above max(m,n) eps times the largest. T = R or const R: of those just computed a zero loses
/// its sign, the first one, which all compare with, at the end.
template <class Exec, class R, class T>
void note_rank(Context<Exec>& ctx, const Batch<T>& s, int longest, Diagnosis* d) {
  reduce_matrices<Sum<int>>(
      ctx, "frechet::svd::rank", s.rows, 1, s.count,
      KOKKOS_LAMBDA(int b, int i, int, Sum<int>& acc) {
        acc.add(s(b, i, 0) > R(longest) * epsilon<R> * s(b, 0, 0) ? 1 : 0);
        if (i > 0) drop_sign_of_zero(s(b, i, 0));
      },
      KOKKOS_LAMBDA(int b, const Sum<int>& acc) {
        d[b].rank = acc.value;
        if (s.rows > 0) drop_sign_of_zero(s(b, 0, 0));
      });
}

/// to(b, i, j) = from(b, i, j) * scale(b, along rows ? i : j)
template <class Exec, class S>
void scale_by(Context<Exec>& ctx, bool rows, const Batch<const S>& from, const Batch<const Real<S>>& scale,
              const Batch<S>& to) {
  for_each_entry(
      ctx, "frechet::svd::scale", to.rows, to.cols, to.count,
      KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) = from(b, i, j) * scale(b, rows ? i : j, 0); });
}

/// norms(b, i, 0) = 2-norm of row i.
template <class Exec, class S>
void row_norms(Context<Exec>& ctx, const Batch<const S>& A, const Batch<Real<S>>& norms) {
  using R = Real<S>;
  for_each_column(
      ctx, "frechet::svd::row_norms", A.cols, A.rows, A.count, KOKKOS_LAMBDA(int b, int i) {
        Norm<R> acc;
        for (int j = 0; j < A.cols; ++j) {
          acc.add(real(A(b, i, j)));
          if (is_complex<S>) acc.add(imag(A(b, i, j)));
        }
        norms(b, i, 0) = acc.value();
      });
}

/// Divides a projected residual by the singular value of its column (or row), reverse mode: noise counts as zero.
/// level(b, i, 0): norm of the cotangent's column (row).
template <class Exec, class S>
void divide_residual_reverse(Context<Exec>& ctx, bool rows, const Batch<S>& W, const Batch<const Real<S>>& s,
                             const Batch<const Level<S>>& level, Level<S> rank_tolerance, Diagnosis* d) {
  using R = Level<S>;
  reduce_matrices<Max<R>>(
      ctx, "frechet::svd::residual", W.rows, W.cols, W.count,
      KOKKOS_LAMBDA(int b, int i, int j, Max<R>& acc) {
        const int c = rows ? i : j;
        const S x = W(b, i, j);
        const R noise = R(noise_units) * epsilon<S> * level(b, c, 0), top = primal(s(b, 0, 0));
        const Quotient<R> q{Degeneracy::mask, rank_tolerance};
        W(b, i, j) = q.reverse(x, s(b, c, 0), noise, top);
        if (!(abs1(x) <= noise) && q.within(s(b, c, 0), top)) acc.add(abs1(x) / level(b, c, 0));
      },
      KOKKOS_LAMBDA(int b, const Max<R>& acc) {
        d[b].gauge = Kokkos::fmax(d[b].gauge, static_cast<double>(acc.value()));
      });
}

/// The largest entry of a residual, and of its part that belongs to zero singular values.
template <class R>
struct Largest {
  R all = 0, masked = 0;
  KOKKOS_FUNCTION void join(const Largest& o) {
    all = Kokkos::fmax(all, o.all);
    masked = Kokkos::fmax(masked, o.masked);
  }
};

/// The same in forward mode: columns (rows) of numerically zero singular values count as zero.
template <class Exec, class S>
void divide_residual_forward(Context<Exec>& ctx, bool rows, const Batch<S>& W, const Batch<const Real<S>>& s,
                             Real<S> rank_tolerance, Diagnosis* d) {
  using R = Real<S>;
  reduce_matrices<Largest<R>>(
      ctx, "frechet::svd::residual", W.rows, W.cols, W.count,
      KOKKOS_LAMBDA(int b, int i, int j, Largest<R>& acc) {
        const int c = rows ? i : j;
        const S x = W(b, i, j);
        const bool zero = s(b, c, 0) <= rank_tolerance * s(b, 0, 0);
        W(b, i, j) = zero ? S(0) : x / s(b, c, 0);
        acc.all = Kokkos::fmax(acc.all, abs1(x));
        if (zero) acc.masked = Kokkos::fmax(acc.masked, abs1(x));
      },
      KOKKOS_LAMBDA(int b, const Largest<R>& acc) {
        if (acc.masked > R(0)) d[b].coupling = Kokkos::fmax(d[b].coupling, static_cast<double>(acc.masked / acc.all));
      });
}

}  // namespace

template <class Exec, class S>
void svd(Context<Exec>& ctx, Strided<const S> A, Strided<S> U, Strided<Real<S>> s, Strided<S> Vh, const SvdOptions& o) {
  using R = Real<S>;
  require_driver<Exec>("frechet::svd", backend::Operation::svd, o.driver);
  Scope scope(ctx);
  const int m = A.rows, n = A.cols, k = m < n ? m : n, count = A.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> left(ctx, U), right(ctx, Vh);
  Output<Exec, R> values(ctx, s);
  const auto work = ctx.template matrix<S>(m, n, count);
  load_checked(ctx, A, work, d, true);
  const bool vectors = left || right;
  const Batch<S> u = left ? left.batch : vectors ? ctx.template matrix<S>(m, k, count) : Batch<S>{};
  const Batch<S> v = right ? right.batch : vectors ? ctx.template matrix<S>(k, n, count) : Batch<S>{};
  const Batch<R> ss = values ? values.batch : ctx.template matrix<R>(k, 1, count);
  int* info = ctx.template take<int>(count);
  backend::gesvd<Exec, S>(ctx, work, u, ss, v, info, o.driver);
  record_info(ctx, info, d, count);
  note_rank<Exec, R>(ctx, ss, m > n ? m : n, d);
  left.commit(d);
  values.commit(d);
  right.commit(d);
}

// P = U^H dA V,  ds = Re diag P,  a = (P + P^H)/2,  b = (P - P^H)/2 and for i != j
//   U^H dU = K,  K_ij = a_ij / (s_j - s_i) + b_ij / (s_j + s_i),  K_ii = b_ii / (2 s_i)
//   V^H dV = L,  L_ij = a_ij / (s_j - s_i) - b_ij / (s_j + s_i),  L_ii = -K_ii
//   dU = U K + (I - U U^H) dA V S^-1,   dV^H = L^H V^H + S^-1 U^H dA (I - V V^H).
// Townsend, Differentiating the singular value decomposition; complex: Wan & Zhang 2019, arXiv:1909.02659.
template <class Exec, class S>
void svd_jvp(Context<Exec>& ctx, Strided<const S> U, Strided<const Real<S>> s, Strided<const S> Vh, Strided<const S> dA,
             Strided<S> dU, Strided<Real<S>> ds, Strided<S> dVh, const SvdOptions& o) {
  using R = Real<S>;
  Scope scope(ctx);
  const int m = U.rows, n = Vh.cols, k = U.cols, count = U.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> left(ctx, dU), right(ctx, dVh);
  Output<Exec, R> values(ctx, ds);
  if (!left && !values && !right) return;
  if (!dA) {
    left.commit_zero();
    values.commit_zero();
    right.commit_zero();
    return;
  }
  const auto vU = input(ctx, U);
  const auto vV = input(ctx, Vh);
  const auto vs = input(ctx, s);
  note_factor(ctx, vs, d);
  const auto vA = input(ctx, dA);
  note_rank<Exec, R>(ctx, vs, m > n ? m : n, d);
  const auto T = ctx.template matrix<S>(m, k, count);
  gemm<Exec, S>(ctx, Op::none, Op::adjoint, S(1), vA, vV, S(0), T);  // dA V
  if (!left && !right) {
    const auto to = values.batch;
    reduce_columns<Sum<R>>(
        ctx, "frechet::svd::ds", m, k, count,
        KOKKOS_LAMBDA(int b, int i, int j, Sum<R>& acc) { acc.add(real(conj(vU(b, i, j)) * T(b, i, j))); },
        KOKKOS_LAMBDA(int b, int j, const Sum<R>& acc) { to(b, j, 0) = acc.value; });
    values.commit();
    return;
  }
  const auto P = ctx.template matrix<S>(k, k, count);
  gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vU, T, S(0), P);
  if (values) {
    const auto to = values.batch;
    for_each_column(
        ctx, "frechet::svd::ds", 1, k, count, KOKKOS_LAMBDA(int b, int j) { to(b, j, 0) = real(P(b, j, j)); });
    values.commit();
  }
  const auto sizes = ctx.template matrix<R>(k, 1, count);
  column_norms<Exec, S>(ctx, P, sizes);
  const auto K = ctx.template matrix<S>(k, k, count), L = ctx.template matrix<S>(k, k, count);
  const auto q = quotient<S>(o.degeneracy, o.tolerance);
  const R rank_tolerance = R(m > n ? m : n) * epsilon<S>;
  const Quotient<R> zero{o.degeneracy, rank_tolerance};
  reduce_matrices<Hidden<R>>(
      ctx, "frechet::svd::quotients", k, k, count,
      KOKKOS_LAMBDA(int b, int i, int j, Hidden<R>& acc) {
        const R top = vs(b, 0, 0), gap = vs(b, j, 0) - vs(b, i, 0), sum = vs(b, j, 0) + vs(b, i, 0);
        const R size = sizes(b, i, 0) + sizes(b, j, 0), noise = R(noise_units) * epsilon<S> * size;
        const S p = R(0.5) * P(b, i, j), ph = R(0.5) * conj(P(b, j, i));
        const S even = i == j ? S(0) : p + ph, odd = p - ph;
        const S across = i == j ? S(0) : q.forward(even, gap, noise, top);
        const S along = i == j && !is_complex<S> ? S(0) : zero.forward(odd, sum, noise, top);
        K(b, i, j) = across + along;
        L(b, i, j) = across - along;
        if (i != j) acc.gap = Kokkos::fmin(acc.gap, relative(gap, top));
        if (i != j && q.within(gap, top) && abs1(even) > noise)
          acc.coupling = Kokkos::fmax(acc.coupling, abs1(even) / size);
        if (zero.within(sum, top) && abs1(odd) > noise) acc.coupling = Kokkos::fmax(acc.coupling, abs1(odd) / size);
      },
      KOKKOS_LAMBDA(int b, const Hidden<R>& acc) { acc.store(d[b]); });
  if (left) {
    if (m == k) {
      gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vU, K, S(0), left.batch);
    } else {  // T - U P, divided, then + U K
      copy(ctx, T, left.batch);
      gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), vU, P, S(1), left.batch);
      divide_residual_forward<Exec, S>(ctx, false, left.batch, vs, rank_tolerance, d);
      gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vU, K, S(1), left.batch);
    }
    left.commit();
  }
  if (right) {
    if (n == k) {
      gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), L, vV, S(0), right.batch);
    } else {  // U^H dA - P V^H, divided, then + L^H V^H
      gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vU, vA, S(0), right.batch);
      gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), P, vV, S(1), right.batch);
      divide_residual_forward<Exec, S>(ctx, true, right.batch, vs, rank_tolerance, d);
      gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), L, vV, S(1), right.batch);
    }
    right.commit();
  }
}

// U = U Q, V^H = Q^H V^H, see adapt.hpp.
template <class Exec, class S>
void svd_adapt(Context<Exec>& ctx, Strided<S> U, Strided<const Real<S>> s, Strided<S> Vh, Strided<const S> dA,
               const SvdOptions& o) {
  using R = Real<S>;
  const int m = U.rows, n = Vh.cols, k = U.cols, count = U.count;
  Scope scope(ctx);
  const auto vs = input(ctx, s);
  const auto q = quotient<S>(o.degeneracy, o.tolerance);
  const R rank_tolerance = R(m > n ? m : n) * epsilon<S>;
  if (!dA || !U || !Vh || o.degeneracy != Degeneracy::mask || k < 2 || !any_group<Exec>(vs, q, rank_tolerance)) return;
  const auto vU = input<Exec, S>(ctx, U), vV = input<Exec, S>(ctx, Vh);
  const auto left = ctx.template matrix<S>(m, k, count), right = ctx.template matrix<S>(k, n, count);
  const auto P = ctx.template matrix<S>(k, k, count), Q = ctx.template matrix<S>(k, k, count);
  gemm<Exec, S>(ctx, Op::none, Op::adjoint, S(1), input(ctx, dA), vV, S(0), left);
  gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vU, left, S(0), P);
  diagonalise_groups<Exec, S>(ctx, vs, q, rank_tolerance, P, Q, Driver::automatic);
  gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vU, Q, S(0), left);
  gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), Q, vV, S(0), right);
  copy(ctx, left, U);
  copy(ctx, right, Vh);
}

// aU = skew(U^H gU), aV = skew(V^H gV),
//   G_ij = (aU + aV)_ij / (s_j - s_i) + (aU - aV)_ij / (s_j + s_i),  G_ii = gs_i + (aU - aV)_ii / (2 s_i)
//   gA = U G V^H + (I - U U^H) gU S^-1 V^H + U S^-1 gV^H (I - V V^H).
// Townsend (above), Liao et al. 2019, arXiv:1903.09650; complex: Wan & Zhang 2019. The projectors vanish for square
// factors.
template <class Exec, class S>
void svd_vjp(Context<Exec>& ctx, Strided<const S> U, Strided<const Real<S>> s, Strided<const S> Vh, Strided<const S> gU,
             Strided<const Real<S>> gs, Strided<const S> gVh, Strided<S> gA, const SvdOptions& o) {
  using R = Level<S>;
  Scope scope(ctx);
  const int m = U.rows, n = Vh.cols, k = U.cols, count = U.count;
  Diagnosis* d = diagnoses(ctx, o.diagnostics, count);
  Output<Exec, S> out(ctx, gA, o.store, true);
  if (!gU && !gs && !gVh) return out.commit_zero();
  const auto vU = input(ctx, U);
  const auto vV = input(ctx, Vh);
  const auto vs = input(ctx, s);
  note_factor(ctx, values_of(vs), d);
  const auto vg = input(ctx, gs);
  note_rank<Exec, R>(ctx, values_of(vs), m > n ? m : n, d);
  const auto q = quotient<S>(o.degeneracy, o.tolerance);
  if (!gU && !gVh) {           // gA = U diag(gs) V^H: no gaps
    const bool rows = m >= n;  // scale the smaller factor
    const auto T = rows ? ctx.template matrix<S>(k, n, count) : ctx.template matrix<S>(m, k, count);
    scale_by<Exec, S>(ctx, rows, rows ? vV : vU, vg, T);
    gemm<Exec, S>(ctx, Op::none, Op::none, S(1), rows ? vU : Batch<const S>(T), rows ? Batch<const S>(T) : vV, out.beta,
                  out.batch);
    note_spread(ctx, values_of(vs), values_of(vg), q, d);
    return out.commit();
  }
  const auto vGU = input(ctx, gU);
  const auto vGV = input(ctx, gVh);
  const auto level_u = ctx.template matrix<R>(k, 1, count), level_v = ctx.template matrix<R>(k, 1, count);
  Batch<S> X, Z;
  if (vGU) {
    X = ctx.template matrix<S>(k, k, count);
    gemm<Exec, S>(ctx, Op::adjoint, Op::none, S(1), vU, vGU, S(0), X);
    column_norms<Exec, Primal<S>>(ctx, values_of(vGU), level_u);
  }
  if (vGV) {  // Z = gV^H V, so that aV = -skew(Z)
    Z = ctx.template matrix<S>(k, k, count);
    gemm<Exec, S>(ctx, Op::none, Op::adjoint, S(1), vGV, vV, S(0), Z);
    row_norms<Exec, Primal<S>>(ctx, values_of(vGV), level_v);
  }
  const auto G = ctx.template matrix<S>(k, k, count);
  const R rank_tolerance = R(m > n ? m : n) * epsilon<S>;
  const Quotient<R> zero{o.degeneracy, rank_tolerance};
  reduce_matrices<Hidden<R>>(
      ctx, "frechet::svd::quotients", k, k, count,
      KOKKOS_LAMBDA(int b, int i, int j, Hidden<R>& acc) {
        const R top = primal(vs(b, 0, 0));
        const Real<S> gap = vs(b, j, 0) - vs(b, i, 0), sum = vs(b, j, 0) + vs(b, i, 0);
        const R size =
            (X ? level_u(b, i, 0) + level_u(b, j, 0) : R(0)) + (Z ? level_v(b, i, 0) + level_v(b, j, 0) : R(0));
        const R noise = R(noise_units) * epsilon<S> * size;
        const S aU = X ? R(0.5) * X(b, i, j) - R(0.5) * conj(X(b, j, i)) : S(0);
        const S aV = Z ? R(0.5) * conj(Z(b, j, i)) - R(0.5) * Z(b, i, j) : S(0);
        const S even = aU + aV, odd = aU - aV;
        S g = zero.reverse(odd, sum, noise, top);
        if (i == j)
          g = (is_complex<S> ? g : S(0)) + (vg ? vg(b, i, 0) : R(0));  // `even` is the dependence on the common phase
        else
          g += q.reverse(even, gap, noise, top);
        G(b, i, j) = g;
        if (i != j) acc.gap = Kokkos::fmin(acc.gap, relative(gap, top));
        if ((i == j || q.within(gap, top)) && abs1(even) > noise)
          acc.gauge = Kokkos::fmax(acc.gauge, abs1(even) / size);
        if (zero.within(sum, top) && abs1(odd) > noise) acc.gauge = Kokkos::fmax(acc.gauge, abs1(odd) / size);
      },
      KOKKOS_LAMBDA(int b, const Hidden<R>& acc) { acc.store(d[b]); });
  if (vg) note_spread(ctx, values_of(vs), values_of(vg), q, d);
  if (m >= n) {  // V is square: gA = (U G + (gU - U X) S^-1) V^H
    const auto T = ctx.template matrix<S>(m, k, count);
    const bool residual = vGU && m > k;
    if (residual) {
      copy(ctx, vGU, T);
      gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), vU, X, S(1), T);
      divide_residual_reverse<Exec, S>(ctx, false, T, vs, level_u, rank_tolerance, d);
    }
    gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vU, G, S(residual), T);
    gemm<Exec, S>(ctx, Op::none, Op::none, S(1), T, vV, out.beta, out.batch);
  } else {  // U is square: gA = U (G V^H + S^-1 (gV^H - Z V^H))
    const auto T = ctx.template matrix<S>(k, n, count);
    if (vGV) {
      copy(ctx, vGV, T);
      gemm<Exec, S>(ctx, Op::none, Op::none, S(-1), Z, vV, S(1), T);
      divide_residual_reverse<Exec, S>(ctx, true, T, vs, level_v, rank_tolerance, d);
    }
    gemm<Exec, S>(ctx, Op::none, Op::none, S(1), G, vV, S(bool(vGV)), T);
    gemm<Exec, S>(ctx, Op::none, Op::none, S(1), vU, T, out.beta, out.batch);
  }
  out.commit();
}

template <class Exec, class S>
void svd(const Instance<Exec>& x, Strided<const S> A, Strided<S> U, Strided<Real<S>> s, Strided<S> Vh,
         const SvdOptions& o) {
  with_context(x, [&](auto& ctx) { svd(ctx, A, U, s, Vh, o); });
}
template <class Exec, class S>
void svd_jvp(const Instance<Exec>& x, Strided<const S> U, Strided<const Real<S>> s, Strided<const S> Vh,
             Strided<const S> dA, Strided<S> dU, Strided<Real<S>> ds, Strided<S> dVh, const SvdOptions& o) {
  with_context(x, [&](auto& ctx) { svd_jvp(ctx, U, s, Vh, dA, dU, ds, dVh, o); });
}
template <class Exec, class S>
void svd_vjp(const Instance<Exec>& x, Strided<const S> U, Strided<const Real<S>> s, Strided<const S> Vh,
             Strided<const S> gU, Strided<const Real<S>> gs, Strided<const S> gVh, Strided<S> gA, const SvdOptions& o) {
  with_context(x, [&](auto& ctx) { svd_vjp(ctx, U, s, Vh, gU, gs, gVh, gA, o); });
}

#define FRECHET_SVD_VJP_AT(WHERE, S)                                                                         \
  template void svd_vjp(WHERE, Strided<const S>, Strided<const Real<S>>, Strided<const S>, Strided<const S>, \
                        Strided<const Real<S>>, Strided<const S>, Strided<S>, const SvdOptions&);
#define FRECHET_SVD_AT(WHERE, S)                                                                             \
  template void svd(WHERE, Strided<const S>, Strided<S>, Strided<Real<S>>, Strided<S>, const SvdOptions&);   \
  template void svd_jvp(WHERE, Strided<const S>, Strided<const Real<S>>, Strided<const S>, Strided<const S>, \
                        Strided<S>, Strided<Real<S>>, Strided<S>, const SvdOptions&);                        \
  FRECHET_SVD_VJP_AT(WHERE, S)
#define FRECHET_SVD(EXEC, S)                                                                                \
  FRECHET_SVD_AT(Context<EXEC>&, S)                                                                         \
  FRECHET_SVD_AT(const Instance<EXEC>&, S)                                                                  \
  template void svd_adapt(Context<EXEC>&, Strided<S>, Strided<const Real<S>>, Strided<S>, Strided<const S>, \
                          const SvdOptions&);                                                               \
  FRECHET_SVD_VJP_AT(Context<EXEC>&, Dual<S>)
FRECHET_FOR_EACH_SCALAR(FRECHET_SVD)

}  // namespace frechet::detail
