// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "context.hpp"
#include "fortran.hpp"
#include "instantiate.hpp"
#include "triangular.hpp"

#include <backend.hpp>

#include <algorithm>

// Host backend over any BLAS and LAPACK. A batch is a loop: the library underneath has the threads.

namespace frechet::backend {
namespace {

using detail::is_host;
using detail::Scope;
using lapack::Routines;

char letter(Op op) { return op == Op::none ? 'N' : op == Op::transpose ? 'T' : 'C'; }
char letter(Side side) { return side == Side::left ? 'L' : 'R'; }
char letter(Uplo uplo) { return uplo == Uplo::lower ? 'L' : 'U'; }
char letter(Diag diag) { return diag == Diag::unit ? 'U' : 'N'; }

/// Real routines know no 'C'.
template <class S>
char letter_for(Op op) {
  return op == Op::adjoint && !is_complex<S> ? 'T' : letter(op);
}

/// The size a workspace query left in the first entry, rounded up where a float can't hold it exactly.
template <class S>
int workspace(const S& first) {
  double n;
  if constexpr (is_complex<S>)
    n = first.real();
  else
    n = first;
  return static_cast<int>(n * (sizeof(Real<S>) == 4 ? 1.0001 : 1.0)) + 1;
}

}  // namespace

template <class Exec>
const char* name() {
  return "lapack";
}

template <class Exec>
const DriverTable& drivers() {
  static const DriverTable table("eigh * * * syevd; svd * * * gesdd; lu * * * getrf; qr * * * geqrf");
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
      Routines<S>::gemm(&ta, &tb, &C.rows, &C.cols, &k, &alpha, A.matrix(b), &A.ld, B.matrix(b), &B.ld, &beta,
                        C.matrix(b), &C.ld, 1, 1);
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
  for (int b = 0; b < B.count; ++b) {
    if (vector)
      Routines<S>::trsv(&letters[1], &letters[2], &letters[3], &B.rows, A.matrix(b), &A.ld, B.matrix(b), &one, 1, 1, 1);
    else if (blocked)
      Blocked(side, uplo, op, diag, letters, A.matrix(b), A.ld, B.matrix(b), B.ld, n, sides, work).run();
    else
      Routines<S>::trsm(&letters[0], &letters[1], &letters[2], &letters[3], &B.rows, &B.cols, &alpha, A.matrix(b),
                        &A.ld, B.matrix(b), &B.ld, 1, 1, 1, 1);
  }
}

template <class Exec, class S>
void trmm(Context<Exec>&, Side side, Uplo uplo, Op op, Diag diag, S alpha, Batch<const S> A, Batch<S> B) {
  if (B.rows == 0 || B.cols == 0) return;
  const char s = letter(side), u = letter(uplo), t = letter_for<S>(op), d = letter(diag);
  for (int b = 0; b < B.count; ++b)
    Routines<S>::trmm(&s, &u, &t, &d, &B.rows, &B.cols, &alpha, A.matrix(b), &A.ld, B.matrix(b), &B.ld, 1, 1, 1, 1);
}

template <class Exec, class S>
void getrf(Context<Exec>&, Batch<S> A, int* pivots, int* info, Driver) {
  const int k = std::min(A.rows, A.cols);
  for (int b = 0; b < A.count; ++b) {
    int* piv = pivots + std::size_t(b) * k;
    info[b] = 0;
    if (k == 0) continue;
    Routines<S>::getrf(&A.rows, &A.cols, A.matrix(b), &A.ld, piv, info + b);
    for (int i = 0; i < k; ++i) --piv[i];  // LAPACK counts from one
  }
}

template <class Exec, class S>
void geqrf(Context<Exec>& ctx, Batch<S> A, S* tau, Driver) {
  const int k = std::min(A.rows, A.cols);
  if (k == 0 || A.count == 0) return;
  Scope scope(ctx);
  S query{};
  int lwork = -1, info = 0;
  Routines<S>::geqrf(&A.rows, &A.cols, A.data, &A.ld, tau, &query, &lwork, &info);
  lwork = workspace(query);
  S* work = ctx.template take<S>(lwork);
  for (int b = 0; b < A.count; ++b)
    Routines<S>::geqrf(&A.rows, &A.cols, A.matrix(b), &A.ld, tau + std::size_t(b) * k, work, &lwork, &info);
}

template <class Exec, class S>
void ungqr(Context<Exec>& ctx, Batch<S> A, int k, const S* tau, Driver) {
  if (A.cols == 0 || A.count == 0) return;
  Scope scope(ctx);
  S query{};
  int lwork = -1, info = 0;
  Routines<S>::ungqr(&A.rows, &A.cols, &k, A.data, &A.ld, tau, &query, &lwork, &info);
  lwork = workspace(query);
  S* work = ctx.template take<S>(lwork);
  for (int b = 0; b < A.count; ++b)
    Routines<S>::ungqr(&A.rows, &A.cols, &k, A.matrix(b), &A.ld, tau + std::size_t(b) * k, work, &lwork, &info);
}

template <class Exec, class S>
void heevd(Context<Exec>& ctx, bool vectors, Batch<S> A, Batch<Real<S>> w, int* info, Driver) {
  using R = Real<S>;
  std::fill(info, info + A.count, 0);
  const int n = A.rows;
  if (n == 0 || A.count == 0) return;
  Scope scope(ctx);
  const char job = vectors ? 'V' : 'N', lower = 'L';
  const auto call = [&](S* a, R* values, S* work, int lwork, R* rwork, int lrwork, int* iwork, int liwork,
                        int* result) {
    if constexpr (is_complex<S>)
      Routines<S>::heevd(&job, &lower, &n, a, &A.ld, values, work, &lwork, rwork, &lrwork, iwork, &liwork, result, 1,
                         1);
    else
      Routines<S>::heevd(&job, &lower, &n, a, &A.ld, values, work, &lwork, iwork, &liwork, result, 1, 1);
  };
  S query{};
  R rquery{};
  int iquery = 0, status = 0;
  call(A.data, w.data, &query, -1, &rquery, -1, &iquery, -1, &status);
  const int lwork = workspace(query), lrwork = workspace(rquery), liwork = iquery;
  S* work = ctx.template take<S>(lwork);
  R* rwork = ctx.template take<R>(is_complex<S> ? lrwork : 0);
  int* iwork = ctx.template take<int>(liwork);
  for (int b = 0; b < A.count; ++b) call(A.matrix(b), w.matrix(b), work, lwork, rwork, lrwork, iwork, liwork, info + b);
}

template <class Exec, class S>
void gesvd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info, Driver) {
  using R = Real<S>;
  std::fill(info, info + A.count, 0);
  const int m = A.rows, n = A.cols, least = std::min(m, n), most = std::max(m, n), one = 1;
  if (least == 0 || A.count == 0) return;
  Scope scope(ctx);
  const char job = U ? 'S' : 'N';
  const int ldu = U ? U.ld : one, ldv = Vh ? Vh.ld : one;
  // Sizes as the manual page of xGESDD states them; the complex routine has no query for rwork.
  const std::size_t mn = least, mx = most;
  const std::size_t lrwork = !is_complex<S> ? 0
                             : U            ? std::max(5 * mn * mn + 5 * mn, 2 * mx * mn + 2 * mn * mn + mn)
                                            : 7 * mn;
  R* rwork = ctx.template take<R>(lrwork);
  int* iwork = ctx.template take<int>(8 * mn);
  const auto call = [&](S* a, S* u, R* values, S* v, S* work, int lwork, int* result) {
    if constexpr (is_complex<S>)
      Routines<S>::gesdd(&job, &m, &n, a, &A.ld, values, u, &ldu, v, &ldv, work, &lwork, rwork, iwork, result, 1);
    else
      Routines<S>::gesdd(&job, &m, &n, a, &A.ld, values, u, &ldu, v, &ldv, work, &lwork, iwork, result, 1);
  };
  S query{};
  int status = 0;
  call(A.data, U.data, s.data, Vh.data, &query, -1, &status);
  const int lwork = workspace(query);
  S* work = ctx.template take<S>(lwork);
  for (int b = 0; b < A.count; ++b)
    call(A.matrix(b), U ? U.matrix(b) : nullptr, s.matrix(b), Vh ? Vh.matrix(b) : nullptr, work, lwork, info + b);
}

#define FRECHET_LAPACK(EXEC, S)                                                                        \
  template void gemm<EXEC, S>(Context<EXEC>&, Op, Op, S, Batch<const S>, Batch<const S>, S, Batch<S>); \
  template void trsm<EXEC, S>(Context<EXEC>&, Side, Uplo, Op, Diag, S, Batch<const S>, Batch<S>);      \
  template void trmm<EXEC, S>(Context<EXEC>&, Side, Uplo, Op, Diag, S, Batch<const S>, Batch<S>);      \
  template void getrf<EXEC, S>(Context<EXEC>&, Batch<S>, int*, int*, Driver);                          \
  template void geqrf<EXEC, S>(Context<EXEC>&, Batch<S>, S*, Driver);                                  \
  template void ungqr<EXEC, S>(Context<EXEC>&, Batch<S>, int, const S*, Driver);                       \
  template void heevd<EXEC, S>(Context<EXEC>&, bool, Batch<S>, Batch<Real<S>>, int*, Driver);          \
  template void gesvd<EXEC, S>(Context<EXEC>&, Batch<S>, Batch<S>, Batch<Real<S>>, Batch<S>, int*, Driver);
FRECHET_FOR_EACH_HOST_SCALAR(FRECHET_LAPACK)
#define FRECHET_LAPACK_NAME(EXEC)    \
  template const char* name<EXEC>(); \
  template const DriverTable& drivers<EXEC>();
FRECHET_FOR_EACH_HOST_EXEC(FRECHET_LAPACK_NAME)

}  // namespace frechet::backend
