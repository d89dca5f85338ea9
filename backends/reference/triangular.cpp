// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "vocabulary.hpp"

// trsm and trmm in plain loops: SerialTrsm of Kokkos Kernels 4.4 knows no adjoint, SerialTrmm reads the diagonal of a
// unit triangle. All cases of side, uplo and op come down to one: B op(A) = (op(A)^T B^T)^T, so a row of B on the right
// is as a column on the left, and a transpose swaps the strides of the triangle and makes lower upper.

namespace frechet::backend {
namespace reference {

/// T with x = T^-1 b or x = T b for every vector x of B (a column on the left, a row on the right); entries of T by
/// strides.
template <class S>
struct Triangle {
  Batch<const S> A;
  Batch<S> B;
  S alpha;
  std::int64_t down, across;  // strides of T
  std::int64_t along, next;   // strides of B within a vector and from one to the next
  int n, vectors;
  bool lower, unit, conjugate;

  Triangle(Side side, Uplo uplo, Op op, Diag diag, S factor, Batch<const S> a, Batch<S> b) : A(a), B(b), alpha(factor) {
    const bool transposed = (op != Op::none) != (side == Side::right);
    down = transposed ? A.ld : 1;
    across = transposed ? 1 : A.ld;
    along = side == Side::left ? 1 : B.ld;
    next = side == Side::left ? B.ld : 1;
    n = A.rows;
    vectors = side == Side::left ? B.cols : B.rows;
    lower = (uplo == Uplo::lower) != transposed;
    unit = diag == Diag::unit;
    conjugate = is_complex<S> && op == Op::adjoint;
  }
  KOKKOS_FUNCTION S entry(int b, int i, int j) const {
    const S t = A.matrix(b)[i * down + j * across];
    return conjugate ? detail::conj(t) : t;
  }
  KOKKOS_FUNCTION S& x(int b, int v, int i) const { return B.matrix(b)[v * next + i * along]; }
  /// sum_j T(i,j) x(j) over the entries of row i beside the diagonal
  KOKKOS_FUNCTION S beside(int b, int v, int i) const {
    S sum(0);
    const int from = lower ? 0 : i + 1, to = lower ? i : n;
    for (int j = from; j < to; ++j) sum += entry(b, i, j) * x(b, v, j);
    return sum;
  }
};

/// Forward substitution for lower T, back substitution for upper T. Golub & Van Loan, section 3.1.
template <class S>
struct Solve {
  Triangle<S> T;
  KOKKOS_FUNCTION void operator()(int b, int v) const {
    for (int step = 0; step < T.n; ++step) {
      const int i = T.lower ? step : T.n - 1 - step;
      const S rest = T.alpha * T.x(b, v, i) - T.beside(b, v, i);
      T.x(b, v, i) = T.unit ? rest : rest / T.entry(b, i, i);
    }
  }
};

/// In the opposite order, so that a row only needs entries which still hold the old vector.
template <class S>
struct Multiply {
  Triangle<S> T;
  KOKKOS_FUNCTION void operator()(int b, int v) const {
    for (int step = 0; step < T.n; ++step) {
      const int i = T.lower ? T.n - 1 - step : step;
      const S old = T.x(b, v, i);
      T.x(b, v, i) = T.alpha * ((T.unit ? old : T.entry(b, i, i) * old) + T.beside(b, v, i));
    }
  }
};

/// B = 0 without reading A, as in BLAS.
template <class Exec, class S>
bool zero_factor(Context<Exec>& ctx, const char* label, S alpha, Batch<S> B) {
  if (alpha != S(0)) return false;
  detail::for_each_entry(
      ctx, label, B.rows, B.cols, B.count, KOKKOS_LAMBDA(int b, int i, int j) { B(b, i, j) = S(0); });
  return true;
}

}  // namespace reference

template <class Exec, class S>
void trsm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  const char* label = "frechet::reference::trsm";
  if (reference::zero_factor(ctx, label, alpha, B)) return;
  const reference::Triangle<S> T(side, uplo, op, diag, alpha, A, B);
  detail::for_each_column(ctx, label, T.n * T.n, T.vectors, B.count, reference::Solve<S>{T});
}

template <class Exec, class S>
void trmm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  const char* label = "frechet::reference::trmm";
  if (reference::zero_factor(ctx, label, alpha, B)) return;
  const reference::Triangle<S> T(side, uplo, op, diag, alpha, A, B);
  detail::for_each_column(ctx, label, T.n * T.n, T.vectors, B.count, reference::Multiply<S>{T});
}

#define FRECHET_TRIANGULAR(Exec, S)                                                               \
  template void trsm<Exec, S>(Context<Exec>&, Side, Uplo, Op, Diag, S, Batch<const S>, Batch<S>); \
  template void trmm<Exec, S>(Context<Exec>&, Side, Uplo, Op, Diag, S, Batch<const S>, Batch<S>);
FRECHET_REFERENCE_FOR_EACH_SCALAR(FRECHET_TRIANGULAR)

}  // namespace frechet::backend
