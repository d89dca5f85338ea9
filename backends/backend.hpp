// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_BACKEND_HPP
#define FRECHET_BACKENDS_BACKEND_HPP

#include <frechet/detail/batch.hpp>

#include "drivers.hpp"

// Who does the flops. Every backend defines these kernels on the normal form for the execution space it serves and the
// four scalars, by explicit instantiation; exactly one host backend and at most one device backend are linked, so the
// linker is the dispatcher.
//
// Common contract:
//  * matrices are column-major; every operand of one call has the same count; inputs may repeat with stride 0;
//  * extents of zero are legal everywhere (k = 0 in gemm scales C by beta);
//  * outputs never overlap inputs unless the routine works in place;
//  * work is submitted to ctx.exec() and nothing synchronises; scratch comes from ctx;
//  * `info` points to `count` ints where the data lives and follows LAPACK: 0, or > 0 for a numerical failure; < 0
//    where a first driver failed with -info and another one gave the result;
//  * beta == 0 means that C is written, never read (it may hold NaN).

namespace frechet::detail {
template <class Exec>
class Context;
}

namespace frechet::backend {

using detail::Batch;
using detail::Context;

enum class Side { left, right };
enum class Uplo { lower, upper };
enum class Diag { nonunit, unit };

/// The name of the backend that serves Exec: "lapack", "reference", ...
template <class Exec>
const char* name();

/// The drivers of the backend that serves Exec and what it takes them for. Kernels that take a Driver look it up here
/// for Driver::automatic; others are among those offered.
template <class Exec>
const DriverTable& drivers();

/// What a kernel takes for its argument `driver`.
template <class Exec, class S>
Driver choose(Operation operation, Driver driver, int rows, int cols, int count) {
  if (driver != Driver::automatic) return driver;
  return drivers<Exec>().find(operation, scalar_index<S>, rows > cols ? rows : cols, count);
}

/// C = alpha op(A) op(B) + beta C
template <class Exec, class S>
void gemm(Context<Exec>& ctx, Op opa, Op opb, S alpha, Batch<const S> A, Batch<const S> B, S beta, Batch<S> C);

/// B = alpha op(A)^-1 B (left) or alpha B op(A)^-1 (right); only the named triangle of A is read.
template <class Exec, class S>
void trsm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B);

/// B = alpha op(A) B (left) or alpha B op(A) (right); only the named triangle of A is read.
template <class Exec, class S>
void trmm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B);

/// Partial pivoting in place: A = P L U, m x n. pivots: min(m,n) per matrix, 0-based rows exchanged at each step,
/// matrix b at pivots + b * min(m,n). info k > 0: U(k-1,k-1) is exactly zero.
template <class Exec, class S>
void getrf(Context<Exec>& ctx, Batch<S> A, int* pivots, int* info, Driver driver);

/// Householder QR in place, LAPACK's geqrf storage and signs (R(k,k) real). tau: min(m,n) per matrix, as for pivots.
template <class Exec, class S>
void geqrf(Context<Exec>& ctx, Batch<S> A, S* tau, Driver driver);

/// The first A.cols columns of Q (A.cols <= A.rows) in place of the first `k` reflectors left by geqrf; tau holds `k`
/// per matrix.
template <class Exec, class S>
void ungqr(Context<Exec>& ctx, Batch<S> A, int k, const S* tau, Driver driver);

/// Hermitian eigenproblem in place: lower triangle of A read, eigenvalues ascending into w (A.rows x 1). With vectors A
/// becomes V, otherwise its contents are lost. A must be finite.
template <class Exec, class S>
void heevd(Context<Exec>& ctx, bool vectors, Batch<S> A, Batch<Real<S>> w, int* info, Driver driver);

/// Thin SVD A = U diag(s) Vh, s descending, k = min(m,n): U m x k, Vh k x n. A is destroyed. U and Vh both present or
/// both absent (values only). A must be finite.
template <class Exec, class S>
void gesvd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info, Driver driver);

}  // namespace frechet::backend

#endif
