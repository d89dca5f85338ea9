// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_LINALG_HPP
#define FRECHET_AD_LINALG_HPP

#include <frechet/ad/functions.hpp>
#include <frechet/eigh.hpp>
#include <frechet/lu.hpp>
#include <frechet/qr.hpp>
#include <frechet/solve.hpp>
#include <frechet/svd.hpp>

// The decompositions and solves on traced values. Same names, shapes, options and restrictions as on Views; results
// come as structs for structured bindings. Options `store` and `diagnostics` have no meaning here: the program sets
// them.

namespace frechet {

template <class Exec, class S, bool Batched = false>
struct TracedEigh {
  TracedVector<Exec, Real<S>, Batched> w;
  TracedMatrix<Exec, S, Batched> V;
};
template <class Exec, class S, bool Batched = false>
struct TracedSvd {
  TracedMatrix<Exec, S, Batched> U;
  TracedVector<Exec, Real<S>, Batched> s;
  TracedMatrix<Exec, S, Batched> Vh;
};
template <class Exec, class S, bool Batched = false>
struct TracedQr {
  TracedMatrix<Exec, S, Batched> Q, R;
};
template <class Exec, class S, bool Batched = false>
struct TracedLu {
  TracedMatrix<Exec, S, Batched> L, U;
  TracedVector<Exec, int, Batched> perm;
};

namespace detail {
template <class Exec, class S>
OperationPtr<Exec> eigh_operation(const EighOptions& options);
template <class Exec, class S>
OperationPtr<Exec> svd_operation(const SvdOptions& options);
template <class Exec, class S>
OperationPtr<Exec> qr_operation(const QrOptions& options);
template <class Exec, class S>
OperationPtr<Exec> lu_operation(const LuOptions& options);
template <class Exec, class S>
OperationPtr<Exec> solve_operation(const SolveOptions& options);

template <class Exec, class S, bool B>
void require_square(const char* name, const TracedMatrix<Exec, S, B>& A, const Where& where) {
  if (A.rows() != A.cols()) throw_traced(name, describe(where), "A is " + describe(A.type()) + ", not square");
}
}  // namespace detail

/// A = V diag(w) V^H. See eigh on Views.
template <class Exec, class S, bool B>
TracedEigh<Exec, S, B> eigh(const TracedMatrix<Exec, S, B>& A, const EighOptions& options = {},
                            detail::Where where = detail::Where::current()) {
  detail::require_square("eigh", A, where);
  const int n = A.rows();
  const int id =
      A.graph().apply(detail::eigh_operation<Exec, S>(options), {A.id()},
                      {detail::type_like<Real<S>>(A.type(), 1, n, 1), detail::type_like<S>(A.type(), 2, n, n)},
                      detail::describe(where));
  return {{A.graph(), id}, {A.graph(), id + 1}};
}

/// A = U diag(s) Vh, thin. See svd on Views.
template <class Exec, class S, bool B>
TracedSvd<Exec, S, B> svd(const TracedMatrix<Exec, S, B>& A, const SvdOptions& options = {},
                          detail::Where where = detail::Where::current()) {
  const int m = A.rows(), n = A.cols(), k = m < n ? m : n;
  const int id =
      A.graph().apply(detail::svd_operation<Exec, S>(options), {A.id()},
                      {detail::type_like<S>(A.type(), 2, m, k), detail::type_like<Real<S>>(A.type(), 1, k, 1),
                       detail::type_like<S>(A.type(), 2, k, n)},
                      detail::describe(where));
  return {{A.graph(), id}, {A.graph(), id + 1}, {A.graph(), id + 2}};
}

/// Singular values. A program computes no more of the decomposition than its derivatives need.
template <class Exec, class S, bool B>
TracedVector<Exec, Real<S>, B> svdvals(const TracedMatrix<Exec, S, B>& A, const SvdOptions& options = {},
                                       detail::Where where = detail::Where::current()) {
  return svd(A, options, where).s;
}

/// A = Q R, thin. See qr on Views.
template <class Exec, class S, bool B>
TracedQr<Exec, S, B> qr(const TracedMatrix<Exec, S, B>& A, const QrOptions& options = {},
                        detail::Where where = detail::Where::current()) {
  const int m = A.rows(), n = A.cols(), k = m < n ? m : n;
  const int id = A.graph().apply(detail::qr_operation<Exec, S>(options), {A.id()},
                                 {detail::type_like<S>(A.type(), 2, m, k), detail::type_like<S>(A.type(), 2, k, n)},
                                 detail::describe(where));
  return {{A.graph(), id}, {A.graph(), id + 1}};
}

/// P^T A = L U with partial pivoting. See lu on Views. perm has no derivative.
template <class Exec, class S, bool B>
TracedLu<Exec, S, B> lu(const TracedMatrix<Exec, S, B>& A, const LuOptions& options = {},
                        detail::Where where = detail::Where::current()) {
  const int m = A.rows(), n = A.cols(), k = m < n ? m : n;
  const int id = A.graph().apply(detail::lu_operation<Exec, S>(options), {A.id()},
                                 {detail::type_like<S>(A.type(), 2, m, k), detail::type_like<S>(A.type(), 2, k, n),
                                  detail::type_like<int>(A.type(), 1, m, 1)},
                                 detail::describe(where));
  return {{A.graph(), id}, {A.graph(), id + 1}, {A.graph(), id + 2}};
}

/// X with op(A) X = B; B is a matrix of right sides or one vector. See solve on Views.
template <class Exec, class S, int Rank, bool B1, bool B2>
Traced<Exec, S, Rank, B1 || B2> solve(const TracedMatrix<Exec, S, B1>& A, const Traced<Exec, S, Rank, B2>& B,
                                      const SolveOptions& options = {},
                                      detail::Where where = detail::Where::current()) {
  static_assert(Rank == 1 || Rank == 2, "frechet: a right side is a matrix or a vector");
  detail::require_square("solve", A, where);
  if (A.rows() != B.rows())
    detail::throw_traced("solve", detail::describe(where),
                         "A is " + detail::describe(A.type()) + " and B is " + detail::describe(B.type()));
  constexpr bool batched = B1 || B2;
  const auto a = detail::with_batch<batched>("solve", A, B.type(), where);
  const auto b = detail::with_batch<batched>("solve", B, A.type(), where);
  const int n = A.rows();
  const int id = A.graph().apply(detail::solve_operation<Exec, S>(options), {a.id(), b.id()},
                                 {detail::type_like<S>(a.type(), Rank, n, B.cols()),
                                  detail::type_like<S>(a.type(), 2, n, n), detail::type_like<int>(a.type(), 1, n, 1)},
                                 detail::describe(where));
  return {A.graph(), id};
}

}  // namespace frechet

#endif
