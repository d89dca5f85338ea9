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

template <class Exec, class S>
struct TracedEigh {
  TracedVector<Exec, Real<S>> w;
  TracedMatrix<Exec, S> V;
};
template <class Exec, class S>
struct TracedSvd {
  TracedMatrix<Exec, S> U;
  TracedVector<Exec, Real<S>> s;
  TracedMatrix<Exec, S> Vh;
};
template <class Exec, class S>
struct TracedQr {
  TracedMatrix<Exec, S> Q, R;
};
template <class Exec, class S>
struct TracedLu {
  TracedMatrix<Exec, S> L, U;
  TracedVector<Exec, int> perm;
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

template <class Exec, class S>
void require_square(const char* name, const TracedMatrix<Exec, S>& A, const Where& where) {
  if (A.rows() != A.cols()) throw_traced(name, describe(where), "A is " + describe(A.type()) + ", not square");
}
}  // namespace detail

/// A = V diag(w) V^H. See eigh on Views.
template <class Exec, class S>
TracedEigh<Exec, S> eigh(const TracedMatrix<Exec, S>& A, const EighOptions& options = {},
                         detail::Where where = detail::Where::current()) {
  detail::require_square("eigh", A, where);
  const int n = A.rows();
  const int id =
      A.graph().apply(detail::eigh_operation<Exec, S>(options), {A.id()},
                      {detail::type_of<Real<S>>(1, n, 1), detail::type_of<S>(2, n, n)}, detail::describe(where));
  return {{A.graph(), id}, {A.graph(), id + 1}};
}

/// A = U diag(s) Vh, thin. See svd on Views.
template <class Exec, class S>
TracedSvd<Exec, S> svd(const TracedMatrix<Exec, S>& A, const SvdOptions& options = {},
                       detail::Where where = detail::Where::current()) {
  const int m = A.rows(), n = A.cols(), k = m < n ? m : n;
  const int id =
      A.graph().apply(detail::svd_operation<Exec, S>(options), {A.id()},
                      {detail::type_of<S>(2, m, k), detail::type_of<Real<S>>(1, k, 1), detail::type_of<S>(2, k, n)},
                      detail::describe(where));
  return {{A.graph(), id}, {A.graph(), id + 1}, {A.graph(), id + 2}};
}

/// Singular values. A program computes no more of the decomposition than its derivatives need.
template <class Exec, class S>
TracedVector<Exec, Real<S>> svdvals(const TracedMatrix<Exec, S>& A, const SvdOptions& options = {},
                                    detail::Where where = detail::Where::current()) {
  return svd(A, options, where).s;
}

/// A = Q R, thin. See qr on Views.
template <class Exec, class S>
TracedQr<Exec, S> qr(const TracedMatrix<Exec, S>& A, const QrOptions& options = {},
                     detail::Where where = detail::Where::current()) {
  const int m = A.rows(), n = A.cols(), k = m < n ? m : n;
  const int id = A.graph().apply(detail::qr_operation<Exec, S>(options), {A.id()},
                                 {detail::type_of<S>(2, m, k), detail::type_of<S>(2, k, n)}, detail::describe(where));
  return {{A.graph(), id}, {A.graph(), id + 1}};
}

/// P^T A = L U with partial pivoting. See lu on Views. perm has no derivative.
template <class Exec, class S>
TracedLu<Exec, S> lu(const TracedMatrix<Exec, S>& A, const LuOptions& options = {},
                     detail::Where where = detail::Where::current()) {
  const int m = A.rows(), n = A.cols(), k = m < n ? m : n;
  const int id =
      A.graph().apply(detail::lu_operation<Exec, S>(options), {A.id()},
                      {detail::type_of<S>(2, m, k), detail::type_of<S>(2, k, n), detail::type_of<int>(1, m, 1)},
                      detail::describe(where));
  return {{A.graph(), id}, {A.graph(), id + 1}, {A.graph(), id + 2}};
}

/// X with op(A) X = B; B is a matrix of right sides or one vector. See solve on Views.
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> solve(const TracedMatrix<Exec, S>& A, const Traced<Exec, S, Rank>& B,
                            const SolveOptions& options = {}, detail::Where where = detail::Where::current()) {
  static_assert(Rank == 1 || Rank == 2, "frechet: a right side is a matrix or a vector");
  detail::require_square("solve", A, where);
  if (A.rows() != B.rows())
    detail::throw_traced("solve", detail::describe(where),
                         "A is " + detail::describe(A.type()) + " and B is " + detail::describe(B.type()));
  const int n = A.rows();
  const int id = A.graph().apply(
      detail::solve_operation<Exec, S>(options), {A.id(), B.id()},
      {detail::type_of<S>(Rank, n, B.cols()), detail::type_of<S>(2, n, n), detail::type_of<int>(1, n, 1)},
      detail::describe(where));
  return {A.graph(), id};
}

}  // namespace frechet

#endif
