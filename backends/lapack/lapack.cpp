// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "context.hpp"
#include "fortran.hpp"
#include "householder.hpp"
#include "instantiate.hpp"
#include "pivoted.hpp"
#include "products.hpp"
#include "triangular.hpp"

#include <backend.hpp>

#include <algorithm>

// Host backend over any BLAS and LAPACK. A batch is a loop: the library underneath has the threads.

namespace frechet::backend {
namespace {

using detail::is_host;
using detail::Scope;
using lapack::Routines;
using lapack::workspace;

char letter(Op op) { return op == Op::none ? 'N' : op == Op::transpose ? 'T' : 'C'; }
char letter(Side side) { return side == Side::left ? 'L' : 'R'; }
char letter(Uplo uplo) { return uplo == Uplo::lower ? 'L' : 'U'; }
char letter(Diag diag) { return diag == Diag::unit ? 'U' : 'N'; }

/// Real routines know no 'C'.
template <class S>
char letter_for(Op op) {
  return op == Op::adjoint && !is_complex<S> ? 'T' : letter(op);
}

}  // namespace

template <class Exec>
const char* name() {
  return "lapack";
}

template <class Exec>
const DriverTable& drivers() {
  static const DriverTable table(R"(
# Measured on one thread of an AMD EPYC, Zen 4 (Debian's OpenBLAS 0.3.21).
eigh * * * blocked; eigh * * * syevd
svd  * * * blocked; svd  * * * gesdd; svd * * * gesvd
lu   c64 64 * getrf; lu c128 * * getrf; lu * * * blocked
qr   c128 95 * geqrf; qr * * * blocked
)");
  return table;
}

template <class Exec, class S>
void gemm(Context<Exec>&, Op opa, Op opb, S alpha, Batch<const S> A, Batch<const S> B, S beta, Batch<S> C) {
  static_assert(is_host<Exec>);
  if (C.rows == 0 || C.cols == 0) return;
  const int k = opa == Op::none ? A.cols : A.rows, one = 1;
  const char ta = letter_for<S>(opa), tb = letter_for<S>(opb);
  // One column of C is a matrix-vector product; op(B) is a column as it stands, unless it has to be conjugated.
  const bool vector = C.cols == 1 && k > 0 && (opb != Op::adjoint || !is_complex<S>);
  const int incb = opb == Op::none ? 1 : B.ld;
  for (int b = 0; b < C.count; ++b) {
    if (vector && beta == S(0)) std::fill_n(C.matrix(b), C.rows, S(0));  // gemv may multiply NaN by zero
    if (vector)
      Routines<S>::gemv(&ta, &A.rows, &A.cols, &alpha, A.matrix(b), &A.ld, B.matrix(b), &incb, &beta, C.matrix(b), &one,
                        1);
    else
      lapack::gemm(ta, tb, C.rows, C.cols, k, alpha, A.matrix(b), A.ld, B.matrix(b), B.ld, beta, C.matrix(b), C.ld);
  }
}

template <class Exec, class S>
void trsm(Context<Exec>& ctx, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  if (B.rows == 0 || B.cols == 0) return;
  const char letters[] = {letter(side), letter(uplo), letter_for<S>(op), letter(diag)};
  const bool vector = side == Side::left && B.cols == 1 && alpha == S(1);
  const int one = 1, n = side == Side::left ? B.rows : B.cols, sides = side == Side::left ? B.cols : B.rows;
  using Blocked = lapack::BlockedTrsm<S>;
  const bool blocked = alpha == S(1) && Blocked::pays(n, sides);
  Scope scope(ctx);
  S* const work = blocked ? ctx.template take<S>(Blocked::scratch(n, sides)) : nullptr;
  const auto loop = lapack::loop_on(ctx);
  for (int b = 0; b < B.count; ++b) {
    if (vector)
      Routines<S>::trsv(&letters[1], &letters[2], &letters[3], &B.rows, A.matrix(b), &A.ld, B.matrix(b), &one, 1, 1, 1);
    else if (blocked)
      Blocked(side, uplo, op, diag, letters, A.matrix(b), A.ld, B.matrix(b), B.ld, n, sides, work, loop).run();
    else
      Routines<S>::trsm(&letters[0], &letters[1], &letters[2], &letters[3], &B.rows, &B.cols, &alpha, A.matrix(b),
                        &A.ld, B.matrix(b), &B.ld, 1, 1, 1, 1);
  }
}

template <class Exec, class S>
void trmm(Context<Exec>&, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  if (B.rows == 0 || B.cols == 0) return;
  const char s = letter(side), u = letter(uplo), t = letter_for<S>(op), d = letter(diag);
  const int n = side == Side::left ? B.rows : B.cols, sides = side == Side::left ? B.cols : B.rows;
  const lapack::OneThread small(double(n) * n * sides < 64 * 64 * 64);
  for (int b = 0; b < B.count; ++b)
    Routines<S>::trmm(&s, &u, &t, &d, &B.rows, &B.cols, &alpha, A.matrix(b), &A.ld, B.matrix(b), &B.ld, 1, 1, 1, 1);
}

template <class Exec, class S>
void getrf(Context<Exec>& ctx, Batch<S> A, int* pivots, int* info, Driver driver) {
  const int k = std::min(A.rows, A.cols);
  const bool blocked = choose<Exec, S>(Operation::lu, driver, A.rows, A.cols, A.count) == Driver::blocked;
  std::fill_n(info, A.count, 0);
  if (k == 0) return;
  Scope scope(ctx);
  S* const work = ctx.template take<S>(lapack::PivotedLu<S>::scratch(A.rows, A.cols));
  S* const before = ctx.template take<S>(blocked ? 0 : std::size_t(A.rows) * A.cols);
  const auto loop = lapack::loop_on(ctx);
  for (int b = 0; b < A.count; ++b) {
    int* piv = pivots + std::size_t(b) * k;
    const auto factor = [&] { info[b] = lapack::PivotedLu<S>(A.matrix(b), A.ld, piv, work, loop).run(A.rows, A.cols); };
    if (blocked) {
      factor();
      continue;
    }
    lapack::copy_matrix(A.rows, A.cols, A.matrix(b), A.ld, before, A.rows);
    Routines<S>::getrf(&A.rows, &A.cols, A.matrix(b), &A.ld, piv, info + b);
    for (int i = 0; i < k; ++i) --piv[i];  // LAPACK counts from one
    if (lapack::denormal_pivot(k, A.matrix(b), A.ld)) {
      lapack::copy_matrix(A.rows, A.cols, before, A.rows, A.matrix(b), A.ld);
      factor();
    }
  }
}

template <class Exec, class S>
void geqrf(Context<Exec>& ctx, Batch<S> A, S* tau, Driver driver) {
  const int k = std::min(A.rows, A.cols);
  if (k == 0 || A.count == 0) return;
  Scope scope(ctx);
  if (choose<Exec, S>(Operation::qr, driver, A.rows, A.cols, A.count) == Driver::blocked) {
    S* const work = ctx.template take<S>(lapack::qr_scratch<S>(A.rows, A.cols));
    for (int b = 0; b < A.count; ++b)
      lapack::factor_qr(A.rows, A.cols, A.matrix(b), A.ld, tau + std::size_t(b) * k, work);
    return;
  }
  S query{};
  int lwork = -1, info = 0;
  Routines<S>::geqrf(&A.rows, &A.cols, A.data, &A.ld, tau, &query, &lwork, &info);
  lwork = workspace(query);
  S* work = ctx.template take<S>(lwork);
  for (int b = 0; b < A.count; ++b)
    Routines<S>::geqrf(&A.rows, &A.cols, A.matrix(b), &A.ld, tau + std::size_t(b) * k, work, &lwork, &info);
}

template <class Exec, class S>
void ungqr(Context<Exec>& ctx, Batch<S> A, int k, const S* tau, Driver driver) {
  if (A.cols == 0 || A.count == 0) return;
  Scope scope(ctx);
  if (k > 0 && choose<Exec, S>(Operation::qr, driver, A.rows, A.cols, A.count) == Driver::blocked) {
    S* const work = ctx.template take<S>(lapack::qr_scratch<S>(A.rows, A.cols));
    for (int b = 0; b < A.count; ++b)
      lapack::form_q(A.rows, A.cols, k, A.matrix(b), A.ld, tau + std::size_t(b) * k, work);
    return;
  }
  S query{};
  int lwork = -1, info = 0;
  Routines<S>::ungqr(&A.rows, &A.cols, &k, A.data, &A.ld, tau, &query, &lwork, &info);
  lwork = workspace(query);
  S* work = ctx.template take<S>(lwork);
  for (int b = 0; b < A.count; ++b)
    Routines<S>::ungqr(&A.rows, &A.cols, &k, A.matrix(b), &A.ld, tau + std::size_t(b) * k, work, &lwork, &info);
}

#define FRECHET_LAPACK(EXEC, S)                                                                        \
  template void gemm<EXEC, S>(Context<EXEC>&, Op, Op, S, Batch<const S>, Batch<const S>, S, Batch<S>); \
  template void trsm<EXEC, S>(Context<EXEC>&, Side, Uplo, Op, Diag, S, Batch<const S>, Batch<S>);      \
  template void trmm<EXEC, S>(Context<EXEC>&, Side, Uplo, Op, Diag, S, Batch<const S>, Batch<S>);      \
  template void getrf<EXEC, S>(Context<EXEC>&, Batch<S>, int*, int*, Driver);                          \
  template void geqrf<EXEC, S>(Context<EXEC>&, Batch<S>, S*, Driver);                                  \
  template void ungqr<EXEC, S>(Context<EXEC>&, Batch<S>, int, const S*, Driver);
FRECHET_FOR_EACH_HOST_SCALAR(FRECHET_LAPACK)
#define FRECHET_LAPACK_NAME(EXEC)    \
  template const char* name<EXEC>(); \
  template const DriverTable& drivers<EXEC>();
FRECHET_FOR_EACH_HOST_EXEC(FRECHET_LAPACK_NAME)

}  // namespace frechet::backend
