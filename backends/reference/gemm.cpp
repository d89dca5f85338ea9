// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "vocabulary.hpp"

#include <KokkosBatched_Gemm_Decl.hpp>
#include <KokkosBatched_Gemm_Serial_Impl.hpp>

namespace frechet::backend {
namespace reference {

using NoTranspose = KokkosBatched::Trans::NoTranspose;
using Transpose = KokkosBatched::Trans::Transpose;

/// Rows [i, i + m) and columns [j, j + n) of matrix b, as Kokkos Kernels takes them.
template <class S>
KOKKOS_INLINE_FUNCTION auto tile(const Batch<S>& A, int b, int i, int j, int m, int n) {
  using View = Kokkos::View<S**, Kokkos::LayoutLeft, Kokkos::AnonymousSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return Kokkos::subview(View(&A(b, i, j), A.ld, n), Kokkos::pair<int, int>(0, m), Kokkos::ALL);
}
/// The same of op(A) before op, which swaps rows and columns.
template <class Trans, class S>
KOKKOS_INLINE_FUNCTION auto operand(const Batch<S>& A, int b, int i, int j, int m, int n) {
  return std::is_same_v<Trans, NoTranspose> ? tile(A, b, i, j, m, n) : tile(A, b, j, i, n, m);
}

/// Tile t of C: rows of op(A) times columns of op(B).
template <class TransA, class TransB, class S>
struct MultiplyTile {
  S alpha, beta;
  Batch<const S> A, B;
  Batch<S> C;
  int k, size, tiles_down;

  KOKKOS_FUNCTION void operator()(int b, int t) const {
    using Gemm = KokkosBatched::SerialGemm<TransA, TransB, KokkosBatched::Algo::Gemm::Blocked>;
    const int i = t % tiles_down * size, j = t / tiles_down * size;
    const int m = C.rows - i < size ? C.rows - i : size, n = C.cols - j < size ? C.cols - j : size;
    Gemm::invoke(alpha, operand<TransA>(A, b, i, 0, m, k), operand<TransB>(B, b, 0, j, k, n), beta,
                 tile(C, b, i, j, m, n));
  }
};

template <class TransA, class TransB, class Exec, class S>
void multiply(Context<Exec>& ctx, S alpha, Batch<const S> A, Batch<const S> B, int k, S beta, Batch<S> C) {
  const int size = detail::is_host<Exec> ? 64 : 8;
  const int down = (C.rows + size - 1) / size, across = (C.cols + size - 1) / size;
  const int work = (C.rows < size ? C.rows : size) * (C.cols < size ? C.cols : size);
  detail::for_each_column(ctx, "frechet::reference::gemm", work * (1 + (k < 4096 ? k : 4096) / 4), down * across,
                          C.count, MultiplyTile<TransA, TransB, S>{alpha, beta, A, B, C, k, size, down});
}

/// Kokkos Kernels 4.4 multiplies by transposes but not by adjoints: op(A) = conj(A)^T through a copy of conj(A), one
/// for all where the batch repeats one matrix.
template <class Exec, class S>
Batch<const S> conjugate_where_adjoint(Context<Exec>& ctx, Op op, Batch<const S> A) {
  if (!is_complex<S> || op != Op::adjoint) return A;
  const int different = A.stride == 0 && A.count > 0 ? 1 : A.count;
  const Batch<S> copy = ctx.template matrix<S>(A.rows, A.cols, different);
  detail::for_each_entry(
      ctx, "frechet::reference::conj", A.rows, A.cols, different,
      KOKKOS_LAMBDA(int b, int i, int j) { copy(b, i, j) = detail::conj(A(b, i, j)); });
  return {copy.data, A.rows, A.cols, copy.ld, A.count, A.stride == 0 ? 0 : copy.stride};
}

}  // namespace reference

template <class Exec, class S>
void gemm(Context<Exec>& ctx, Op opa, Op opb, S alpha, Batch<const S> A, Batch<const S> B, S beta, Batch<S> C) {
  using reference::multiply, reference::NoTranspose, reference::Transpose;
  if (C.rows == 0 || C.cols == 0 || C.count == 0) return;
  const detail::Scope scope(ctx);
  const int k = opa == Op::none ? A.cols : A.rows;
  A = reference::conjugate_where_adjoint(ctx, opa, A);
  B = reference::conjugate_where_adjoint(ctx, opb, B);
  if (opa == Op::none && opb == Op::none)
    multiply<NoTranspose, NoTranspose>(ctx, alpha, A, B, k, beta, C);
  else if (opa == Op::none)
    multiply<NoTranspose, Transpose>(ctx, alpha, A, B, k, beta, C);
  else if (opb == Op::none)
    multiply<Transpose, NoTranspose>(ctx, alpha, A, B, k, beta, C);
  else
    multiply<Transpose, Transpose>(ctx, alpha, A, B, k, beta, C);
}

#define FRECHET_GEMM(Exec, S) \
  template void gemm<Exec, S>(Context<Exec>&, Op, Op, S, Batch<const S>, Batch<const S>, S, Batch<S>);
FRECHET_REFERENCE_FOR_EACH_SCALAR(FRECHET_GEMM)

}  // namespace frechet::backend
