// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bidiagonal.hpp"
#include "fortran.hpp"
#include "householder.hpp"
#include "instantiate.hpp"
#include "reduction.hpp"
#include "symmetric.hpp"
#include "threads.hpp"
#include "tridiagonal.hpp"
#include "vocabulary.hpp"

#include <backend.hpp>

#include <algorithm>
#include <limits>

// Eigenvalues and singular values on the host.

namespace frechet::backend {
namespace {

using detail::Scope;
using lapack::Routines;
using lapack::workspace;

/// Up to this order LAPACK's reductions are as fast on one thread as on two, or faster.
constexpr int reduction_on_threads = 256;

/// What to multiply a matrix with, the largest entry of which is `largest`, so that squares neither overflow nor
/// vanish.
template <class R>
R safe_scale(R largest) {
  const R small = std::sqrt(std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon()), big = 1 / small;
  return largest > 0 && largest < small ? small / largest : largest > big ? big / largest : R(1);
}

/// Scales A (of which the part below the diagonal counts, or all) to a safe size; what it was multiplied with.
template <class S>
Real<S> scale_safely(bool lower, int m, int n, S* A, int lda) {
  Real<S> largest = 0;
  for (int j = 0; j < n; ++j)
    for (int i = lower ? j : 0; i < m; ++i) largest = std::max(largest, detail::abs1(A[i + std::ptrdiff_t(j) * lda]));
  const Real<S> factor = safe_scale(largest);
  if (factor != Real<S>(1))
    for (int j = 0; j < n; ++j)
      for (int i = lower ? j : 0; i < m; ++i) A[i + std::ptrdiff_t(j) * lda] *= factor;
  return factor;
}

/// Divides a diagonal and the one beside it by their largest entry, which is returned.
template <class R>
R normalize(int n, R* d, R* e) {
  R size = 0;
  for (int i = 0; i < n; ++i) size = std::max({size, std::abs(d[i]), i + 1 < n ? std::abs(e[i]) : R(0)});
  if (size > 0) {
    for (int i = 0; i < n; ++i) d[i] /= size;
    for (int i = 0; i + 1 < n; ++i) e[i] /= size;
  }
  return size;
}

/// Tridiagonal form (that of complex matrices by LAPACK), divide and conquer, and the reflectors applied to its
/// vectors. Without vectors: QL and QR iteration with rotations. LAPACK's routine for that (sterf) squares the entries
/// beside the diagonal, and where squares become denormal it loses all but a few digits without saying so.
template <class S>
class BlockedEigen {
 public:
  using R = Real<S>;

  template <class Exec>
  BlockedEigen(Context<Exec>& ctx, bool vectors, const Batch<S>& A)
      : vectors_(vectors), n_(A.rows), lda_(A.ld), loop_(lapack::loop_on(ctx)) {
    const std::size_t n = A.rows;
    tau_ = ctx.template take<S>(n);
    e_ = ctx.template take<R>(n);
    Z_ = ctx.template take<R>(vectors ? n * n : 0);
    divide_ = ctx.template take<R>(vectors ? Divide::scratch(n_) : 0);
    integers_ = ctx.template take<int>(vectors ? Divide::integer_scratch(n_) : 0);
    lwork_ = static_cast<int>(std::max(reduction_scratch(n_), vectors ? lapack::apply_scratch<S>(n_, n_, n_) : 0));
    work_ = ctx.template take<S>(lwork_);
  }

  int run(S* A, R* w) const {
    const R factor = scale_safely(true, n_, n_, A, lda_);
    int info = 0;
    reduce(A, w);
    const R size = normalize(n_, w, e_);
    if (!vectors_) {
      const char none = 'N';
      const int one = 1;
      R unused;
      lapack::RealRoutines<R>::steqr(&none, &n_, w, e_, &unused, &one, &unused, &info, 1);
      for (int j = 0; j < n_; ++j) w[j] = w[j] * size / factor;
      return info;
    }
    Divide divide(n_, w, e_, Z_, n_, divide_, integers_, loop_);
    info = divide.solve(n_);
    if (info != 0) return info;
    S* const C = reinterpret_cast<S*>(divide_);  // sorted, in the memory of the work that is done
    const int* const order = divide.order();
    for (int j = 0; j < n_; ++j) std::copy_n(Z_ + std::ptrdiff_t(order[j]) * n_, n_, C + std::ptrdiff_t(j) * n_);
    for (int j = 0; j < n_; ++j) e_[j] = w[order[j]];
    for (int j = 0; j < n_; ++j) w[j] = e_[j] * size / factor;
    lapack::apply_q(n_ - 1, n_, n_ - 1, A + 1, lda_, tau_, C + 1, n_, work_);
    for (int j = 0; j < n_; ++j) std::copy_n(C + std::ptrdiff_t(j) * n_, n_, A + std::ptrdiff_t(j) * lda_);
    return 0;
  }

 private:
  using Divide = lapack::Tridiagonal<R>;

  static std::size_t reduction_scratch(int n) {
    if constexpr (is_complex<S>)
      return 32 * std::size_t(n);
    else
      return lapack::Tridiagonalization<S>::scratch(n);
  }
  void reduce(S* A, R* d) const {
    if constexpr (is_complex<S>) {
      const lapack::OneThread small(n_ <= reduction_on_threads);
      const char lower = 'L';
      int info = 0;
      Routines<S>::hetrd(&lower, &n_, A, &lda_, d, e_, tau_, work_, &lwork_, &info, 1);
    } else {
      lapack::Tridiagonalization<S>(n_, A, lda_, d, e_, tau_, work_, loop_).run();
    }
  }

  bool vectors_;
  int n_, lda_, lwork_;
  lapack::Loop loop_;
  S *tau_, *work_;
  R *e_, *Z_, *divide_;
  int* integers_;
};

/// to = from^H, to m x n
template <class S>
void adjoint(int m, int n, const S* from, int ld_from, S* to, int ld_to) {
  constexpr int tile = 32;  // both matrices by pieces that stay in cache
  for (int j0 = 0; j0 < n; j0 += tile)
    for (int i0 = 0; i0 < m; i0 += tile)
      for (int j = j0; j < std::min(n, j0 + tile); ++j)
        for (int i = i0; i < std::min(m, i0 + tile); ++i)
          to[i + std::ptrdiff_t(j) * ld_to] = frechet::conj(from[j + std::ptrdiff_t(i) * ld_from]);
}

/// Bidiagonal form (that of complex matrices by LAPACK), divide and conquer, and both sets of reflectors applied to its
/// vectors; matrices tall enough for it to pay (measured) are reduced to R first, wide ones are done by their adjoint.
template <class S>
class BlockedSvd {
 public:
  using R = Real<S>;

  template <class Exec>
  BlockedSvd(Context<Exec>& ctx, const Batch<S>& A)
      : wide_(A.rows < A.cols),
        m_(std::max(A.rows, A.cols)),
        n_(std::min(A.rows, A.cols)),
        qr_first_(m_ >= n_ + 8 && m_ >= (is_complex<S> ? n_ + n_ / 4 : 2 * n_)),
        loop_(lapack::loop_on(ctx)) {
    const std::size_t n = n_, m = m_;
    for (S** tau : {&tau_, &taup_, &tauqr_}) *tau = ctx.template take<S>(n);
    e_ = ctx.template take<R>(n);
    sorted_ = ctx.template take<R>(n);
    R_ = ctx.template take<S>(qr_first_ ? n * n : 0);
    divide_ = ctx.template take<R>(Divide::scratch(n_));
    integers_ = ctx.template take<int>(Divide::integer_scratch(n_));
    if (wide_) {
      A_ = ctx.template take<S>(m * n);
      U_ = ctx.template take<S>(m * n);
      Vh_ = ctx.template take<S>(n * n);
    }
    lwork_ = static_cast<int>(std::max({reduction_scratch(qr_first_ ? n_ : m_, n_), lapack::qr_scratch<S>(m_, n_),
                                        lapack::apply_scratch<S>(m_, n_, n_)}));
    work_ = ctx.template take<S>(lwork_);
  }

  int run(S* A, int lda, S* U, int ldu, R* s, S* Vh, int ldv) const {
    if (!wide_) return tall(A, lda, U, ldu, s, Vh, ldv);
    adjoint(m_, n_, A, lda, A_, m_);
    const int info = tall(A_, m_, U_, m_, s, Vh_, n_);
    adjoint(n_, n_, Vh_, n_, U, ldu);
    adjoint(n_, m_, U_, m_, Vh, ldv);
    return info;
  }

 private:
  using Divide = lapack::Bidiagonal<R>;

  static std::size_t reduction_scratch(int m, int n) {
    if constexpr (is_complex<S>)
      return 32 * (std::size_t(m) + std::size_t(n));
    else
      return lapack::Bidiagonalization<S>::scratch(m, n);
  }
  void reduce(int m, S* B, int ldb, R* d) const {
    if constexpr (is_complex<S>) {
      const lapack::OneThread small(n_ <= reduction_on_threads);
      int info = 0;
      Routines<S>::gebrd(&m, &n_, B, &ldb, d, e_, tau_, taup_, work_, &lwork_, &info);
    } else {
      lapack::Bidiagonalization<S>(m, n_, B, ldb, d, e_, tau_, taup_, work_, loop_).run();
    }
  }

  /// m >= n
  int tall(S* A, int lda, S* U, int ldu, R* s, S* Vh, int ldv) const {
    const R factor = scale_safely(false, m_, n_, A, lda);
    S* B = A;
    int ldb = lda, rows = m_;
    if (qr_first_) {
      lapack::factor_qr(m_, n_, A, lda, tauqr_, work_);
      B = R_;
      ldb = rows = n_;
      for (int j = 0; j < n_; ++j) {
        std::copy_n(A + std::ptrdiff_t(j) * lda, j + 1, B + std::ptrdiff_t(j) * ldb);
        std::fill_n(B + std::ptrdiff_t(j) * ldb + j + 1, n_ - j - 1, S(0));
      }
    }
    reduce(rows, B, ldb, s);
    const R size = normalize(n_, s, e_);
    // Real vectors in the memory of U and Vh.
    const int scalars = is_complex<S> ? 2 : 1, ldr = ldu * scalars, ldw = ldv * scalars;
    R *const left = reinterpret_cast<R*>(U), *const right = reinterpret_cast<R*>(Vh);
    Divide divide(n_, s, e_, left, ldr, right, ldw, divide_, integers_, loop_);
    const int info = divide.solve(n_);
    if (info != 0) return info;
    const int* const order = divide.order();
    for (int j = 0; j < n_; ++j) sorted_[j] = s[order[n_ - 1 - j]];
    for (int j = 0; j < n_; ++j) s[j] = sorted_[j] * size / factor;
    S* const C = reinterpret_cast<S*>(divide_);
    const auto gather = [&](const R* from, int ld) {
      for (int j = 0; j < n_; ++j)
        std::copy_n(from + std::ptrdiff_t(order[n_ - 1 - j]) * ld, n_, C + std::ptrdiff_t(j) * n_);
    };
    gather(right, ldw);
    if (n_ > 1) lapack::apply_q(n_ - 1, n_, n_ - 1, B + ldb, ldb, taup_, C + 1, n_, work_, true);
    adjoint(n_, n_, C, n_, Vh, ldv);
    gather(left, ldr);
    for (int j = 0; j < n_; ++j) {
      std::copy_n(C + std::ptrdiff_t(j) * n_, n_, U + std::ptrdiff_t(j) * ldu);
      std::fill_n(U + std::ptrdiff_t(j) * ldu + n_, m_ - n_, S(0));
    }
    lapack::apply_q(rows, n_, n_, B, ldb, tau_, U, ldu, work_);
    if (qr_first_) lapack::apply_q(m_, n_, n_, A, lda, tauqr_, U, ldu, work_);
    return 0;
  }

  bool wide_;
  int m_, n_;
  bool qr_first_;
  lapack::Loop loop_;
  int lwork_;
  S *tau_, *taup_, *tauqr_, *R_, *A_ = nullptr, *U_ = nullptr, *Vh_ = nullptr, *work_;
  R *e_, *sorted_, *divide_;
  int* integers_;
};

}  // namespace

template <class Exec, class S>
void heevd(Context<Exec>& ctx, bool vectors, Batch<S> A, Batch<Real<S>> w, int* info, Driver driver) {
  using R = Real<S>;
  std::fill(info, info + A.count, 0);
  const int n = A.rows;
  if (n == 0 || A.count == 0) return;
  Scope scope(ctx);
  if (choose<Exec, S>(Operation::eigh, driver, n, n, A.count) == Driver::blocked) {
    const BlockedEigen<S> blocked(ctx, vectors, A);
    for (int b = 0; b < A.count; ++b) info[b] = blocked.run(A.matrix(b), w.matrix(b));
    return;
  }
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
void gesvd(Context<Exec>& ctx, Batch<S> A, Batch<S> U, Batch<Real<S>> s, Batch<S> Vh, int* info, Driver driver) {
  using R = Real<S>;
  std::fill(info, info + A.count, 0);
  const int m = A.rows, n = A.cols, least = std::min(m, n), most = std::max(m, n), one = 1;
  if (least == 0 || A.count == 0) return;
  Scope scope(ctx);
  const Driver chosen = choose<Exec, S>(Operation::svd, driver, m, n, A.count);
  if (U && chosen == Driver::blocked) {
    const BlockedSvd<S> blocked(ctx, A);
    for (int b = 0; b < A.count; ++b)
      info[b] = blocked.run(A.matrix(b), A.ld, U.matrix(b), U.ld, s.matrix(b), Vh.matrix(b), Vh.ld);
    return;
  }
  const bool divide = chosen != Driver::gesvd;
  const char job = U ? 'S' : 'N';
  const int ldu = U ? U.ld : one, ldv = Vh ? Vh.ld : one;
  // Sizes as the manual pages of xGESDD and xGESVD state them; the complex routines have no query for rwork.
  const std::size_t mn = least, mx = most;
  const std::size_t lrwork = !is_complex<S> ? 0
                             : !divide      ? 5 * mn
                             : U            ? std::max(5 * mn * mn + 5 * mn, 2 * mx * mn + 2 * mn * mn + mn)
                                            : 7 * mn;
  R* rwork = ctx.template take<R>(lrwork);
  int* iwork = ctx.template take<int>(divide ? 8 * mn : 0);
  const auto call = [&](S* a, S* u, R* values, S* v, S* work, int lwork, int* result) {
    if constexpr (is_complex<S>) {
      if (divide)
        Routines<S>::gesdd(&job, &m, &n, a, &A.ld, values, u, &ldu, v, &ldv, work, &lwork, rwork, iwork, result, 1);
      else
        Routines<S>::gesvd(&job, &job, &m, &n, a, &A.ld, values, u, &ldu, v, &ldv, work, &lwork, rwork, result, 1, 1);
    } else {
      if (divide)
        Routines<S>::gesdd(&job, &m, &n, a, &A.ld, values, u, &ldu, v, &ldv, work, &lwork, iwork, result, 1);
      else
        Routines<S>::gesvd(&job, &job, &m, &n, a, &A.ld, values, u, &ldu, v, &ldv, work, &lwork, result, 1, 1);
    }
  };
  S query{};
  int status = 0;
  call(A.data, U.data, s.data, Vh.data, &query, -1, &status);
  const int lwork = workspace(query);
  S* work = ctx.template take<S>(lwork);
  for (int b = 0; b < A.count; ++b)
    call(A.matrix(b), U ? U.matrix(b) : nullptr, s.matrix(b), Vh ? Vh.matrix(b) : nullptr, work, lwork, info + b);
}

#define FRECHET_LAPACK(EXEC, S)                                                               \
  template void heevd<EXEC, S>(Context<EXEC>&, bool, Batch<S>, Batch<Real<S>>, int*, Driver); \
  template void gesvd<EXEC, S>(Context<EXEC>&, Batch<S>, Batch<S>, Batch<Real<S>>, Batch<S>, int*, Driver);
FRECHET_FOR_EACH_HOST_SCALAR(FRECHET_LAPACK)

}  // namespace frechet::backend
