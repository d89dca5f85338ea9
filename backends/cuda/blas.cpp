// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "glue.hpp"

namespace frechet::backend {
namespace {

using cuda::array;

template <class Exec, class S>
void scale(Context<Exec>& ctx, S beta, const Batch<S>& C) {
  detail::for_each_entry(
      ctx, "frechet::cuda::scale", C.rows, C.cols, C.count,
      KOKKOS_LAMBDA(int b, int i, int j) { C(b, i, j) = beta == S(0) ? S(0) : beta * C(b, i, j); });
}

template <class S>
cuda::Triangle triangle(Side side, Uplo uplo, Op op, Diag diag) {
  return {side == Side::left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,
          uplo == Uplo::lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER, cuda::operation(op, is_complex<S>),
          diag == Diag::unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT};
}

/// The triangle as a matrix, for products in one call.
template <class Exec, class S>
Batch<const S> as_matrix(Context<Exec>& ctx, Uplo uplo, Diag diag, const Batch<const S>& A) {
  const int different = A.stride == 0 ? 1 : A.count;
  const Batch<S> T = ctx.template matrix<S>(A.rows, A.cols, different);
  detail::for_each_entry(
      ctx, "frechet::cuda::triangle", A.rows, A.cols, different, KOKKOS_LAMBDA(int b, int i, int j) {
        const bool inside = uplo == Uplo::lower ? i > j : i < j;
        T(b, i, j) = i == j ? (diag == Diag::unit ? S(1) : A(b, i, j)) : inside ? A(b, i, j) : S(0);
      });
  return {T.data, A.rows, A.cols, T.ld, A.count, A.stride == 0 ? 0 : T.stride};
}

}  // namespace

template <class Exec, class S>
void gemm(Context<Exec>& ctx, Op opa, Op opb, S alpha, Batch<const S> A, Batch<const S> B, S beta, Batch<S> C) {
  if (C.rows == 0 || C.cols == 0 || C.count == 0) return;
  const int k = opa == Op::none ? A.cols : A.rows;
  if (k == 0) return scale(ctx, beta, C);
  const auto handles = cuda::handles(ctx);
  cuda::gemm(*handles, cuda::operation(opa, is_complex<S>), cuda::operation(opb, is_complex<S>), k,
             cuda::vendor_scalar(alpha), array(A), array(B), cuda::vendor_scalar(beta), array(C));
}

template <class Exec, class S>
void trsm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  if (B.rows == 0 || B.cols == 0 || B.count == 0) return;
  const detail::Scope scope(ctx);
  const auto handles = cuda::handles(ctx);
  const auto t = triangle<S>(side, uplo, op, diag);
  if (choose<Exec, S>(Operation::trsm, Driver::automatic, B.rows, B.cols, B.count) == Driver::trsm_batched)
    cuda::trsm_batched(*handles, t, cuda::vendor_scalar(alpha),
                       reinterpret_cast<const cuda::Vendor<S>* const*>(cuda::pointers(ctx, A)), A.ld,
                       reinterpret_cast<cuda::Vendor<S>* const*>(cuda::pointers(ctx, B)), array(B));
  else
    cuda::trsm(*handles, t, cuda::vendor_scalar(alpha), array(A), array(B));
}

template <class Exec, class S>
void trmm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  constexpr int one_by_one = 4;  // matrices; cuBLAS has no trmm for batches
  if (B.rows == 0 || B.cols == 0 || B.count == 0) return;
  const detail::Scope scope(ctx);
  if (B.count <= one_by_one) {
    const auto handles = cuda::handles(ctx);
    return cuda::trmm(*handles, triangle<S>(side, uplo, op, diag), cuda::vendor_scalar(alpha), array(A), array(B));
  }
  const Batch<const S> T = as_matrix<Exec, S>(ctx, uplo, diag, A);
  const Batch<S> X = ctx.template matrix<S>(B.rows, B.cols, B.count);
  detail::copy(ctx, B, X);
  if (side == Side::left)
    gemm<Exec, S>(ctx, op, Op::none, alpha, T, X, S(0), B);
  else
    gemm<Exec, S>(ctx, Op::none, op, alpha, X, T, S(0), B);
}

#define FRECHET_CUDA_BLAS(EXEC, S)                                                                     \
  template void gemm<EXEC, S>(Context<EXEC>&, Op, Op, S, Batch<const S>, Batch<const S>, S, Batch<S>); \
  template void trsm<EXEC, S>(Context<EXEC>&, Side, Uplo, Op, Diag, S, Batch<const S>, Batch<S>);      \
  template void trmm<EXEC, S>(Context<EXEC>&, Side, Uplo, Op, Diag, S, Batch<const S>, Batch<S>);
FRECHET_CUDA_FOR_EACH_SCALAR(FRECHET_CUDA_BLAS)

}  // namespace frechet::backend
