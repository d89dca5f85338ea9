// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_FUNCTIONS_HPP
#define FRECHET_AD_FUNCTIONS_HPP

#include <frechet/ad/traced.hpp>

// Operations on traced values that losses and compositions need. Extents are checked while tracing: a mismatch throws
// ArgumentError with the operation, both extents and the place of the call (an operator cannot know it: say add(A, B)).

namespace frechet {

namespace detail {

template <class Exec>
using OperationPtr = std::shared_ptr<const Operation<Exec>>;

template <class Exec, class S>
OperationPtr<Exec> matmul_operation();
template <class Exec, class S>
OperationPtr<Exec> axpby_operation(S alpha, S beta);
template <class Exec, class S>
OperationPtr<Exec> scale_operation(S alpha);
template <class Exec, class S>
OperationPtr<Exec> transpose_operation(bool conjugate);
template <class Exec, class S>
OperationPtr<Exec> sum_operation();
template <class Exec, class S>
OperationPtr<Exec> trace_operation();
template <class Exec, class S>
OperationPtr<Exec> inner_operation();

/// One output of type (S, Rank).
template <class S, int Rank, class Exec>
Traced<Exec, S, Rank> record(Graph<Exec>& graph, OperationPtr<Exec> operation, std::vector<int> in, int rows, int cols,
                             const Where& where) {
  return {graph, graph.apply(std::move(operation), std::move(in), {type_of<S>(Rank, rows, cols)}, describe(where))};
}

template <class Exec, class S, int Rank>
void require_same_type(const char* name, const Traced<Exec, S, Rank>& a, const Traced<Exec, S, Rank>& b,
                       const Where& where) {
  if (a.type() != b.type())
    throw_traced(name, describe(where), "operands are " + describe(a.type()) + " and " + describe(b.type()));
}

/// alpha A + beta B
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> combine(const char* name, S alpha, const Traced<Exec, S, Rank>& A, S beta,
                              const Traced<Exec, S, Rank>& B, const Where& where) {
  require_same_type(name, A, B, where);
  return record<S, Rank>(A.graph(), axpby_operation<Exec, S>(alpha, beta), {A.id(), B.id()}, A.rows(), A.cols(), where);
}

}  // namespace detail

/// A B, for matrices; B may be a vector.
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> matmul(const TracedMatrix<Exec, S>& A, const Traced<Exec, S, Rank>& B,
                             detail::Where where = detail::Where::current()) {
  static_assert(Rank == 1 || Rank == 2, "frechet: matmul takes a matrix and a matrix or vector");
  if (A.cols() != B.rows())
    detail::throw_traced("matmul", detail::describe(where),
                         "operands are " + detail::describe(A.type()) + " and " + detail::describe(B.type()));
  return detail::record<S, Rank>(A.graph(), detail::matmul_operation<Exec, S>(), {A.id(), B.id()}, A.rows(), B.cols(),
                                 where);
}

/// A + B
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> add(const Traced<Exec, S, Rank>& A, const Traced<Exec, S, Rank>& B,
                          detail::Where where = detail::Where::current()) {
  return detail::combine("add", S(1), A, S(1), B, where);
}
/// A - B
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> subtract(const Traced<Exec, S, Rank>& A, const Traced<Exec, S, Rank>& B,
                               detail::Where where = detail::Where::current()) {
  return detail::combine("subtract", S(1), A, S(-1), B, where);
}
/// alpha A for a constant alpha
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> scale(std::type_identity_t<S> alpha, const Traced<Exec, S, Rank>& A,
                            detail::Where where = detail::Where::current()) {
  return detail::record<S, Rank>(A.graph(), detail::scale_operation<Exec, S>(alpha), {A.id()}, A.rows(), A.cols(),
                                 where);
}

template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> operator+(const Traced<Exec, S, Rank>& A, const Traced<Exec, S, Rank>& B) {
  return add(A, B, detail::Where{});
}
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> operator-(const Traced<Exec, S, Rank>& A, const Traced<Exec, S, Rank>& B) {
  return subtract(A, B, detail::Where{});
}
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> operator-(const Traced<Exec, S, Rank>& A) {
  return scale(S(-1), A, detail::Where{});
}
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> operator*(std::type_identity_t<S> alpha, const Traced<Exec, S, Rank>& A) {
  return scale(alpha, A, detail::Where{});
}
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> operator*(const Traced<Exec, S, Rank>& A, std::type_identity_t<S> alpha) {
  return scale(alpha, A, detail::Where{});
}

/// A^T
template <class Exec, class S>
TracedMatrix<Exec, S> transpose(const TracedMatrix<Exec, S>& A, detail::Where where = detail::Where::current()) {
  return detail::record<S, 2>(A.graph(), detail::transpose_operation<Exec, S>(false), {A.id()}, A.cols(), A.rows(),
                              where);
}
/// A^H
template <class Exec, class S>
TracedMatrix<Exec, S> adjoint(const TracedMatrix<Exec, S>& A, detail::Where where = detail::Where::current()) {
  return detail::record<S, 2>(A.graph(), detail::transpose_operation<Exec, S>(true), {A.id()}, A.cols(), A.rows(),
                              where);
}

/// The sum of all entries.
template <class Exec, class S, int Rank>
TracedScalar<Exec, S> sum(const Traced<Exec, S, Rank>& A, detail::Where where = detail::Where::current()) {
  return detail::record<S, 0>(A.graph(), detail::sum_operation<Exec, S>(), {A.id()}, 1, 1, where);
}
/// The sum of the diagonal of a square matrix.
template <class Exec, class S>
TracedScalar<Exec, S> trace(const TracedMatrix<Exec, S>& A, detail::Where where = detail::Where::current()) {
  if (A.rows() != A.cols())
    detail::throw_traced("trace", detail::describe(where), "operand is " + detail::describe(A.type()) + ", not square");
  return detail::record<S, 0>(A.graph(), detail::trace_operation<Exec, S>(), {A.id()}, 1, 1, where);
}
/// <A, B> = Re tr(A^H B), real also for complex operands.
template <class Exec, class S, int Rank>
TracedScalar<Exec, Real<S>> inner(const Traced<Exec, S, Rank>& A, const Traced<Exec, S, Rank>& B,
                                  detail::Where where = detail::Where::current()) {
  detail::require_same_type("inner", A, B, where);
  return detail::record<Real<S>, 0>(A.graph(), detail::inner_operation<Exec, S>(), {A.id(), B.id()}, 1, 1, where);
}

}  // namespace frechet

#endif
