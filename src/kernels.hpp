// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_KERNELS_HPP
#define FRECHET_SRC_KERNELS_HPP

#include "operands.hpp"

// The products and triangular solves of the rules: those of the backend, and their derivatives for matrices of dual
// numbers, with X' the tangent of X. Coefficients are constants. Constrained, so that these are the ones called where a
// Side among the arguments brings those of namespace backend into the overload set.

namespace frechet::detail {

/// C = alpha op(A) op(B) + beta C
template <class Exec, class S>
requires(!is_dual<S>) void gemm(Context<Exec>& ctx, Op opa, Op opb, S alpha, Batch<const S> A, Batch<const S> B, S beta,
                                Batch<S> C) {
  backend::gemm<Exec, S>(ctx, opa, opb, alpha, A, B, beta, C);
}

/// B = alpha op(A)^-1 B (left) or alpha B op(A)^-1 (right); only the named triangle of A is read.
template <class Exec, class S>
requires(!is_dual<S>) void trsm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A,
                                Batch<S> B) {
  backend::trsm<Exec, S>(ctx, side, uplo, op, diag, alpha, A, B);
}

/// B = alpha op(A) B (left) or alpha B op(A) (right); only the named triangle of A is read.
template <class Exec, class S>
requires(!is_dual<S>) void trmm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A,
                                Batch<S> B) {
  backend::trmm<Exec, S>(ctx, side, uplo, op, diag, alpha, A, B);
}

/// C = beta C, where beta == 0 does not read C.
template <class Exec, class T>
void scale_in_place(Context<Exec>& ctx, T beta, const Batch<T>& C) {
  if (beta == T(1)) return;
  const bool clear = beta == T(0);
  for_each_entry(
      ctx, "frechet::scale", C.rows, C.cols, C.count,
      KOKKOS_LAMBDA(int b, int i, int j) { C(b, i, j) = clear ? T(0) : beta * C(b, i, j); });
}

/// Z = x X + y Y + z Z
template <class Exec, class T, class OfX, class OfY>
void linear_combination(Context<Exec>& ctx, T x, const Batch<OfX>& X, T y, const Batch<OfY>& Y, T z,
                        const Batch<T>& Z) {
  for_each_entry(
      ctx, "frechet::combine", Z.rows, Z.cols, Z.count,
      KOKKOS_LAMBDA(int b, int i, int j) { Z(b, i, j) = x * X(b, i, j) + y * Y(b, i, j) + z * Z(b, i, j); });
}

// C' = alpha op(A') op(B) + alpha op(A) op(B') + beta C'
template <class Exec, class S>
requires is_dual<S>
void gemm(Context<Exec>& ctx, Op opa, Op opb, S alpha, Batch<const S> A, Batch<const S> B, S beta, Batch<S> C) {
  using T = typename PartOf<S>::type;
  if (C.tangent) {
    T keep = beta.value;
    if (A.tangent) {
      gemm<Exec, T>(ctx, opa, opb, alpha.value, A.tangent, B.value, keep, C.tangent);
      keep = T(1);
    }
    if (B.tangent)
      gemm<Exec, T>(ctx, opa, opb, alpha.value, A.value, B.tangent, keep, C.tangent);
    else
      scale_in_place(ctx, keep, C.tangent);
  }
  gemm<Exec, T>(ctx, opa, opb, alpha.value, A.value, B.value, beta.value, C.value);
}

// X = alpha op(A)^-1 B:  X' = op(A)^-1 (alpha B' - op(A') X), on the right likewise; a unit diagonal has no tangent, so
// X is subtracted from the product by unit(A').
template <class Exec, class S>
requires is_dual<S>
void trsm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  using T = typename PartOf<S>::type;
  trsm<Exec, T>(ctx, side, uplo, op, diag, alpha.value, A.value, B.value);
  if (!B.tangent) return;
  T factor = alpha.value;
  if (A.tangent) {
    Scope scope(ctx);
    const auto W = ctx.template matrix<T>(B.rows, B.cols, B.count);
    copy(ctx, B.value, W);
    trmm<Exec, T>(ctx, side, uplo, op, diag, T(1), A.tangent, W);
    linear_combination(ctx, T(-1), W, T(diag == Diag::unit), B.value, factor, B.tangent);
    factor = T(1);
  }
  trsm<Exec, T>(ctx, side, uplo, op, diag, factor, A.value, B.tangent);
}

// (alpha op(A) B)' = alpha op(A) B' + alpha op(A') B, on the right likewise; a unit diagonal as above.
template <class Exec, class S>
requires is_dual<S>
void trmm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  using T = typename PartOf<S>::type;
  if (B.tangent) trmm<Exec, T>(ctx, side, uplo, op, diag, alpha.value, A.value, B.tangent);
  if (B.tangent && A.tangent) {
    Scope scope(ctx);
    const auto W = ctx.template matrix<T>(B.rows, B.cols, B.count);
    copy(ctx, B.value, W);
    trmm<Exec, T>(ctx, side, uplo, op, diag, alpha.value, A.tangent, W);
    linear_combination(ctx, T(1), W, diag == Diag::unit ? -alpha.value : T(0), B.value, T(1), B.tangent);
  }
  trmm<Exec, T>(ctx, side, uplo, op, diag, alpha.value, A.value, B.value);
}

/// Columns that are multiplied at once where a triangle of n columns is.
template <class Exec>
int block_step(int n) {
  constexpr int nb = 64;
  // A device runs one large product faster than several small ones.
  constexpr int whole = device_loops<Exec> ? 1024 : nb;
  return n <= whole ? n : n > 4 * nb ? (n + 7) / 8 : (n + 3) / 4;
}

/// The triangle of C = op(A) op(B) + beta C, C square: by block columns, so that little beyond it is computed. What
/// lies on its other side is unspecified.
template <class Exec, class S>
void gemm_triangle(Context<Exec>& ctx, Uplo uplo, Op opa, Op opb, S alpha, Batch<const S> A, Batch<const S> B, S beta,
                   Batch<S> C) {
  const int n = C.rows, k = opa == Op::none ? A.cols : A.rows, step = block_step<Exec>(n);
  for (int j = 0; j < n; j += step) {
    const int w = n - j < step ? n - j : step;
    const int i = uplo == Uplo::lower ? j : 0, h = uplo == Uplo::lower ? n - j : j + w;
    const auto Ai = opa == Op::none ? A.block(i, 0, h, k) : A.block(0, i, k, h);
    const auto Bj = opb == Op::none ? B.block(0, j, k, w) : B.block(j, 0, w, k);
    gemm<Exec, S>(ctx, opa, opb, alpha, Ai, Bj, beta, C.block(i, j, h, w));
  }
}

/// Order of the triangles on the diagonal that products by halves take whole, and of the first half.
template <class Exec>
int whole_triangle() {
  return device_loops<Exec> ? 1024 : 32;  // a device runs one large product faster than several small ones
}
inline int first_half(int n) { return (n / 2 + 15) / 16 * 16; }

/// C = alpha A W + C for upper triangular W with zeros stored below: by halves, [A1 A2] [W1 V; 0 W2].
template <class Exec, class S>
void gemm_by_upper(Context<Exec>& ctx, S alpha, Batch<const S> A, Batch<const S> W, Batch<S> C) {
  const int n = W.cols, m = A.rows;
  if (n <= whole_triangle<Exec>()) return gemm<Exec, S>(ctx, Op::none, Op::none, alpha, A, W, S(1), C);
  const int h = first_half(n), r = n - h;
  const auto A1 = A.block(0, 0, m, h);
  const auto C2 = C.block(0, h, m, r);
  gemm_by_upper<Exec, S>(ctx, alpha, A1, W.block(0, 0, h, h), C.block(0, 0, m, h));
  gemm<Exec, S>(ctx, Op::none, Op::none, alpha, A1, W.block(0, h, h, r), S(1), C2);
  gemm_by_upper<Exec, S>(ctx, alpha, A.block(0, h, m, r), W.block(h, h, r, r), C2);
}

/// C = alpha W B + C for lower triangular W with zeros stored above: by halves, [W1 0; V W2] [B1; B2].
template <class Exec, class S>
void gemm_by_lower(Context<Exec>& ctx, S alpha, Batch<const S> W, Batch<const S> B, Batch<S> C) {
  const int n = W.rows, m = B.cols;
  if (n <= whole_triangle<Exec>()) return gemm<Exec, S>(ctx, Op::none, Op::none, alpha, W, B, S(1), C);
  const int h = first_half(n), r = n - h;
  const auto B1 = B.block(0, 0, h, m);
  const auto C2 = C.block(h, 0, r, m);
  gemm_by_lower<Exec, S>(ctx, alpha, W.block(0, 0, h, h), B1, C.block(0, 0, h, m));
  gemm<Exec, S>(ctx, Op::none, Op::none, alpha, W.block(h, 0, r, h), B1, S(1), C2);
  gemm_by_lower<Exec, S>(ctx, alpha, W.block(h, h, r, r), B.block(h, 0, r, m), C2);
}

/// Product of triangles: B = op(A) B for lower triangular B (left), B = B op(A) for upper triangular B (right). Zeros
/// have to be stored beyond the triangle of B; only that triangle of the result is computed. Beyond it zeros stay where
/// op(A) has the same triangle, else the entries are unspecified. n^3 / 2 operations instead of n^3: by halves, trmm
/// and gemm for the blocks beside the diagonal.
template <class Exec, class S>
void multiply_triangles(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, Batch<const S> A, Batch<S> B) {
  constexpr int nb = 64;
  const int n = B.rows;
  if (device_loops<Exec> || n <= nb) return trmm<Exec, S>(ctx, side, uplo, op, diag, S(1), A, B);
  const int h = first_half(n), r = n - h;
  const auto A1 = A.block(0, 0, h, h), A2 = A.block(h, h, r, r);
  const auto off = uplo == Uplo::lower ? A.block(h, 0, r, h) : A.block(0, h, h, r);
  const bool lower = (uplo == Uplo::lower) == (op == Op::none);  // op(A)
  const auto B1 = B.block(0, 0, h, h), B2 = B.block(h, h, r, r);
  const auto diagonal = [&](const auto& Ai, const auto& Bi) {
    multiply_triangles<Exec, S>(ctx, side, uplo, op, diag, Ai, Bi);
  };
  if (side == Side::left) {
    const auto C = B.block(h, 0, r, h);
    if (lower) {  // [A1 0; o A2] [B1 0; C B2]
      trmm<Exec, S>(ctx, side, uplo, op, diag, S(1), A2, C);
      gemm<Exec, S>(ctx, op, Op::none, S(1), off, B1, S(1), C);
      diagonal(A1, B1);
    } else {  // [A1 o; 0 A2] [B1 0; C B2]
      diagonal(A1, B1);
      gemm_triangle<Exec, S>(ctx, Uplo::lower, op, Op::none, S(1), off, C, S(1), B1);
      trmm<Exec, S>(ctx, side, uplo, op, diag, S(1), A2, C);
    }
    diagonal(A2, B2);
  } else {
    const auto C = B.block(0, h, h, r);
    if (lower) {  // [B1 C; 0 B2] [A1 0; o A2]
      diagonal(A1, B1);
      gemm_triangle<Exec, S>(ctx, Uplo::upper, Op::none, op, S(1), C, off, S(1), B1);
      trmm<Exec, S>(ctx, side, uplo, op, diag, S(1), A2, C);
    } else {  // [B1 C; 0 B2] [A1 o; 0 A2]
      trmm<Exec, S>(ctx, side, uplo, op, diag, S(1), A2, C);
      gemm<Exec, S>(ctx, Op::none, op, S(1), B1, off, S(1), C);
      diagonal(A1, B1);
    }
    diagonal(A2, B2);
  }
}

/// C = op(A) op(B) for a product known to be Hermitian: the lower triangle is multiplied, the rest is mirrored, so that
/// the result is Hermitian to the last bit.
template <class Exec, class S>
void gemm_hermitian(Context<Exec>& ctx, Op opa, Op opb, Batch<const S> A, Batch<const S> B, Batch<S> C) {
  const int n = C.rows;
  gemm_triangle<Exec, S>(ctx, Uplo::lower, opa, opb, S(1), A, B, S(0), C);
  for_each_part_across(
      ctx, "frechet::mirror", n, n, C.count, KOKKOS_LAMBDA(int b, int i, int j) { C(b, i, j) = conj(C(b, j, i)); },
      KOKKOS_LAMBDA(int b, int i, int j) { C(b, i, j) = make_scalar<S>(real(C(b, i, j)), 0); },
      KOKKOS_LAMBDA(int, int, int){});
}

}  // namespace frechet::detail

#endif
