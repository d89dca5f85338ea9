// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_FUNCTIONS_HPP
#define FRECHET_AD_FUNCTIONS_HPP

#include <frechet/ad/traced.hpp>

// Operations on traced values that losses and compositions need, beside the elementwise ones (ad/map.hpp). Extents are
// checked while tracing: a mismatch throws ArgumentError with the operation, both extents and the place of the call (an
// operator cannot know it: say add(A, B)). An operand without a batch next to one with a batch serves every member.

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
/// F: the scalar of the factor, S or Real<S>.
template <class Exec, class F, class S>
OperationPtr<Exec> scale_by_operation();
template <class Exec, class S>
OperationPtr<Exec> shift_operation(S alpha);
template <class Exec, class S>
OperationPtr<Exec> transpose_operation(bool conjugate);
template <class Exec, class S>
OperationPtr<Exec> total_operation(bool diagonal);
template <class Exec, class S>
OperationPtr<Exec> spread_operation();
template <class Exec, class S>
OperationPtr<Exec> broadcast_operation();
template <class Exec, class S>
OperationPtr<Exec> batch_sum_operation();
template <class Exec, class S>
OperationPtr<Exec> inner_operation();
template <class Exec, class S>
OperationPtr<Exec> norm_operation();
template <class Exec, class S>
OperationPtr<Exec> triangle_operation(bool lower, int k);
template <class Exec, class S>
OperationPtr<Exec> concatenate_operation(bool along_rows);
template <class Exec, class S>
OperationPtr<Exec> identity_operation();

/// Part of a matrix: rows [i, i + m) and columns [j, j + n), or with `diagonal` the entries (i + l, j + l), l < m.
struct Region {
  int i, j, m, n;
  bool diagonal;
};
/// The region of the operand; with `scatter` zeros with the operand in the region.
template <class Exec, class S>
OperationPtr<Exec> region_operation(const Region& region, bool scatter);

/// One output of type (S, Rank), for each member of the batch that the operands belong to.
template <class S, int Rank, bool Batched, class Exec>
Traced<Exec, S, Rank, Batched> record(Graph<Exec>& graph, std::type_identity_t<OperationPtr<Exec>> operation,
                                      std::vector<int> in, const Type& like, int rows, int cols, const Where& where) {
  return {graph,
          graph.apply(std::move(operation), std::move(in), {type_like<S>(like, Rank, rows, cols)}, describe(where))};
}
/// The same from a single operand.
template <class S, int Rank, class Exec, class T, int R, bool B>
Traced<Exec, S, Rank, B> record_from(const Traced<Exec, T, R, B>& A, OperationPtr<Exec> operation, int rows, int cols,
                                     const Where& where) {
  return record<S, Rank, B>(A.graph(), std::move(operation), {A.id()}, A.type(), rows, cols, where);
}

[[noreturn]] void throw_operands(const char* name, const Where& where, const Type& a, const Type& b);

/// A itself, or one copy of it for each member of the batch of `other`.
template <bool Batched, class Exec, class S, int Rank, bool B>
Traced<Exec, S, Rank, Batched> with_batch(const char* name, const Traced<Exec, S, Rank, B>& A, const Type& other,
                                          const Where& where) {
  if constexpr (B == Batched) {
    if (other.batched && A.count() != other.count) throw_operands(name, where, A.type(), other);
    return A;
  } else {
    return record<S, Rank, Batched>(A.graph(), broadcast_operation<Exec, S>(), {A.id()}, other, A.rows(), A.cols(),
                                    where);
  }
}

template <class A, class B>
void require_same_extents(const char* name, const A& a, const B& b, const Where& where) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) throw_operands(name, where, a.type(), b.type());
}

/// alpha A + beta B
template <class Exec, class S, int Rank, bool B1, bool B2>
Traced<Exec, S, Rank, B1 || B2> combine(const char* name, S alpha, const Traced<Exec, S, Rank, B1>& A, S beta,
                                        const Traced<Exec, S, Rank, B2>& B, const Where& where) {
  require_same_extents(name, A, B, where);
  constexpr bool batched = B1 || B2;
  const auto a = with_batch<batched>(name, A, B.type(), where);
  const auto b = with_batch<batched>(name, B, A.type(), where);
  return record<S, Rank, batched>(A.graph(), axpby_operation<Exec, S>(alpha, beta), {a.id(), b.id()}, a.type(),
                                  A.rows(), A.cols(), where);
}

}  // namespace detail

/// A B, for matrices; B may be a vector.
template <class Exec, class S, int Rank, bool B1, bool B2>
Traced<Exec, S, Rank, B1 || B2> matmul(const TracedMatrix<Exec, S, B1>& A, const Traced<Exec, S, Rank, B2>& B,
                                       detail::Where where = detail::Where::current()) {
  static_assert(Rank == 1 || Rank == 2, "frechet: matmul takes a matrix and a matrix or vector");
  if (A.cols() != B.rows()) detail::throw_operands("matmul", where, A.type(), B.type());
  constexpr bool batched = B1 || B2;
  const auto a = detail::with_batch<batched>("matmul", A, B.type(), where);
  const auto b = detail::with_batch<batched>("matmul", B, A.type(), where);
  return detail::record<S, Rank, batched>(A.graph(), detail::matmul_operation<Exec, S>(), {a.id(), b.id()}, a.type(),
                                          A.rows(), B.cols(), where);
}

/// A + B
template <class Exec, class S, int Rank, bool B1, bool B2>
auto add(const Traced<Exec, S, Rank, B1>& A, const Traced<Exec, S, Rank, B2>& B,
         detail::Where where = detail::Where::current()) {
  return detail::combine("add", S(1), A, S(1), B, where);
}
/// A - B
template <class Exec, class S, int Rank, bool B1, bool B2>
auto subtract(const Traced<Exec, S, Rank, B1>& A, const Traced<Exec, S, Rank, B2>& B,
              detail::Where where = detail::Where::current()) {
  return detail::combine("subtract", S(1), A, S(-1), B, where);
}
/// A with the constant alpha added to every entry
template <class Exec, class S, int Rank, bool B>
Traced<Exec, S, Rank, B> add(const Traced<Exec, S, Rank, B>& A, std::type_identity_t<S> alpha,
                             detail::Where where = detail::Where::current()) {
  return detail::record_from<S, Rank>(A, detail::shift_operation<Exec, S>(alpha), A.rows(), A.cols(), where);
}
/// alpha A for a constant alpha
template <class Exec, class S, int Rank, bool B>
Traced<Exec, S, Rank, B> scale(std::type_identity_t<S> alpha, const Traced<Exec, S, Rank, B>& A,
                               detail::Where where = detail::Where::current()) {
  return detail::record_from<S, Rank>(A, detail::scale_operation<Exec, S>(alpha), A.rows(), A.cols(), where);
}
/// alpha A for a traced scalar alpha, of the scalar type of A or its real type
template <class Exec, class F, class S, int Rank, bool B1, bool B2>
Traced<Exec, S, Rank, B1 || B2> scale(const TracedScalar<Exec, F, B1>& alpha, const Traced<Exec, S, Rank, B2>& A,
                                      detail::Where where = detail::Where::current()) {
  static_assert(std::is_same_v<F, S> || std::is_same_v<F, Real<S>>,
                "frechet: a factor has the scalar type of what it scales, or its real type");
  constexpr bool batched = B1 || B2;
  const auto f = detail::with_batch<batched>("scale", alpha, A.type(), where);
  const auto a = detail::with_batch<batched>("scale", A, alpha.type(), where);
  return detail::record<S, Rank, batched>(A.graph(), detail::scale_by_operation<Exec, F, S>(), {f.id(), a.id()},
                                          a.type(), A.rows(), A.cols(), where);
}

template <class Exec, class S, int Rank, bool B1, bool B2>
auto operator+(const Traced<Exec, S, Rank, B1>& A, const Traced<Exec, S, Rank, B2>& B) {
  return add(A, B, detail::Where{});
}
template <class Exec, class S, int Rank, bool B1, bool B2>
auto operator-(const Traced<Exec, S, Rank, B1>& A, const Traced<Exec, S, Rank, B2>& B) {
  return subtract(A, B, detail::Where{});
}
template <class Exec, class S, int Rank, bool B>
auto operator-(const Traced<Exec, S, Rank, B>& A) {
  return scale(S(-1), A, detail::Where{});
}
template <class Exec, class S, int Rank, bool B>
auto operator*(std::type_identity_t<S> alpha, const Traced<Exec, S, Rank, B>& A) {
  return scale(alpha, A, detail::Where{});
}
template <class Exec, class S, int Rank, bool B>
auto operator*(const Traced<Exec, S, Rank, B>& A, std::type_identity_t<S> alpha) {
  return scale(alpha, A, detail::Where{});
}
template <class Exec, class S, int Rank, bool B>
auto operator/(const Traced<Exec, S, Rank, B>& A, std::type_identity_t<S> alpha) {
  return scale(S(1) / alpha, A, detail::Where{});
}
template <class Exec, class S, int Rank, bool B>
auto operator+(const Traced<Exec, S, Rank, B>& A, std::type_identity_t<S> alpha) {
  return add(A, alpha, detail::Where{});
}
template <class Exec, class S, int Rank, bool B>
auto operator+(std::type_identity_t<S> alpha, const Traced<Exec, S, Rank, B>& A) {
  return add(A, alpha, detail::Where{});
}
template <class Exec, class S, int Rank, bool B>
auto operator-(const Traced<Exec, S, Rank, B>& A, std::type_identity_t<S> alpha) {
  return add(A, -alpha, detail::Where{});
}
template <class Exec, class S, int Rank, bool B>
auto operator-(std::type_identity_t<S> alpha, const Traced<Exec, S, Rank, B>& A) {
  return add(-A, alpha, detail::Where{});
}
/// alpha A for a traced scalar alpha
template <class Exec, class F, class S, int Rank, bool B1, bool B2>
auto operator*(const TracedScalar<Exec, F, B1>& alpha, const Traced<Exec, S, Rank, B2>& A) {
  return scale(alpha, A, detail::Where{});
}

template <class Exec, class S, class F, int Rank, bool B1, bool B2>
requires(Rank > 0) auto operator*(const Traced<Exec, S, Rank, B1>& A, const TracedScalar<Exec, F, B2>& alpha) {
  return scale(alpha, A, detail::Where{});
}
/// There is no product of vectors or matrices by an operator: it could be either of two.
template <class Exec, class S1, class S2, int R1, int R2, bool B1, bool B2>
requires(R1 > 0 && R2 > 0) Traced<Exec, S1, R1, B1 || B2>
operator*(const Traced<Exec, S1, R1, B1>& A, const Traced<Exec, S2, R2, B2>&) {
  static_assert(R1 < 0, "frechet: say matmul(A, B), or multiply(A, B) for the product entry by entry");
  return {A.graph(), A.id()};
}

/// A^T
template <class Exec, class S, bool B>
TracedMatrix<Exec, S, B> transpose(const TracedMatrix<Exec, S, B>& A, detail::Where where = detail::Where::current()) {
  return detail::record_from<S, 2>(A, detail::transpose_operation<Exec, S>(false), A.cols(), A.rows(), where);
}
/// A^H
template <class Exec, class S, bool B>
TracedMatrix<Exec, S, B> adjoint(const TracedMatrix<Exec, S, B>& A, detail::Where where = detail::Where::current()) {
  return detail::record_from<S, 2>(A, detail::transpose_operation<Exec, S>(true), A.cols(), A.rows(), where);
}

/// The sum of all entries.
template <class Exec, class S, int Rank, bool B>
TracedScalar<Exec, S, B> sum(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::record_from<S, 0>(A, detail::total_operation<Exec, S>(false), 1, 1, where);
}
/// The mean of all entries; NaN where there are none.
template <class Exec, class S, int Rank, bool B>
TracedScalar<Exec, S, B> mean(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  const double n = static_cast<double>(A.rows()) * A.cols();
  return scale(S(static_cast<Real<S>>(1 / n)), sum(A, where), where);
}
/// The sum of the diagonal of a square matrix.
template <class Exec, class S, bool B>
TracedScalar<Exec, S, B> trace(const TracedMatrix<Exec, S, B>& A, detail::Where where = detail::Where::current()) {
  if (A.rows() != A.cols())
    detail::throw_traced("trace", detail::describe(where), "operand is " + detail::describe(A.type()) + ", not square");
  return detail::record_from<S, 0>(A, detail::total_operation<Exec, S>(true), 1, 1, where);
}
/// The sum over the members of a batch.
template <class Exec, class S, int Rank>
Traced<Exec, S, Rank> batch_sum(const Traced<Exec, S, Rank, true>& A, detail::Where where = detail::Where::current()) {
  return detail::record<S, Rank, false>(A.graph(), detail::batch_sum_operation<Exec, S>(), {A.id()}, detail::Type{},
                                        A.rows(), A.cols(), where);
}
/// <A, B> = Re tr(A^H B), real also for complex operands.
template <class Exec, class S, int Rank, bool B1, bool B2>
TracedScalar<Exec, Real<S>, B1 || B2> inner(const Traced<Exec, S, Rank, B1>& A, const Traced<Exec, S, Rank, B2>& B,
                                            detail::Where where = detail::Where::current()) {
  detail::require_same_extents("inner", A, B, where);
  constexpr bool batched = B1 || B2;
  const auto a = detail::with_batch<batched>("inner", A, B.type(), where);
  const auto b = detail::with_batch<batched>("inner", B, A.type(), where);
  return detail::record<Real<S>, 0, batched>(A.graph(), detail::inner_operation<Exec, S>(), {a.id(), b.id()}, a.type(),
                                             1, 1, where);
}
/// The 2-norm of a vector, the Frobenius norm of a matrix. At zero the gradient is zero.
template <class Exec, class S, int Rank, bool B>
TracedScalar<Exec, Real<S>, B> norm(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::record_from<Real<S>, 0>(A, detail::norm_operation<Exec, S>(), 1, 1, where);
}

/// The diagonal of a matrix, as a vector of min(rows, columns) entries.
template <class Exec, class S, bool B>
TracedVector<Exec, S, B> diag(const TracedMatrix<Exec, S, B>& A, detail::Where where = detail::Where::current()) {
  const int k = A.rows() < A.cols() ? A.rows() : A.cols();
  return detail::record_from<S, 1>(A, detail::region_operation<Exec, S>({0, 0, k, 1, true}, false), k, 1, where);
}
/// The square matrix with x on its diagonal and zeros elsewhere.
template <class Exec, class S, bool B>
TracedMatrix<Exec, S, B> diagonal(const TracedVector<Exec, S, B>& x, detail::Where where = detail::Where::current()) {
  const int n = x.rows();
  return detail::record_from<S, 2>(x, detail::region_operation<Exec, S>({0, 0, n, 1, true}, true), n, n, where);
}
/// The identity matrix, square, of the scalar type and number of rows of A.
template <class Exec, class S, int Rank, bool B>
TracedMatrix<Exec, S> identity(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::record<S, 2, false>(A.graph(), detail::identity_operation<Exec, S>(), {}, detail::Type{}, A.rows(),
                                     A.rows(), where);
}

/// Rows [i, i + rows) and columns [j, j + cols) of a matrix.
template <class Exec, class S, bool B>
TracedMatrix<Exec, S, B> slice(const TracedMatrix<Exec, S, B>& A, int i, int j, int rows, int cols,
                               detail::Where where = detail::Where::current()) {
  if (i < 0 || j < 0 || rows < 0 || cols < 0 || i > A.rows() - rows || j > A.cols() - cols)
    detail::throw_traced("slice", detail::describe(where),
                         "rows [" + std::to_string(i) + ", " + std::to_string(i) + " + " + std::to_string(rows) +
                             ") and columns [" + std::to_string(j) + ", " + std::to_string(j) + " + " +
                             std::to_string(cols) + ") of an operand that is " + detail::describe(A.type()));
  return detail::record_from<S, 2>(A, detail::region_operation<Exec, S>({i, j, rows, cols, false}, false), rows, cols,
                                   where);
}
/// Entries [i, i + n) of a vector.
template <class Exec, class S, bool B>
TracedVector<Exec, S, B> slice(const TracedVector<Exec, S, B>& x, int i, int n,
                               detail::Where where = detail::Where::current()) {
  if (i < 0 || n < 0 || i > x.rows() - n)
    detail::throw_traced("slice", detail::describe(where),
                         "entries [" + std::to_string(i) + ", " + std::to_string(i) + " + " + std::to_string(n) +
                             ") of an operand that is " + detail::describe(x.type()));
  return detail::record_from<S, 1>(x, detail::region_operation<Exec, S>({i, 0, n, 1, false}, false), n, 1, where);
}
/// Zeros, rows x cols, with A from row i and column j on.
template <class Exec, class S, bool B>
TracedMatrix<Exec, S, B> scatter(const TracedMatrix<Exec, S, B>& A, int i, int j, int rows, int cols,
                                 detail::Where where = detail::Where::current()) {
  if (i < 0 || j < 0 || i > rows - A.rows() || j > cols - A.cols())
    detail::throw_traced("scatter", detail::describe(where),
                         "operand is " + detail::describe(A.type()) + ", to be placed at (" + std::to_string(i) + ", " +
                             std::to_string(j) + ") of " + std::to_string(rows) + " x " + std::to_string(cols));
  return detail::record_from<S, 2>(A, detail::region_operation<Exec, S>({i, j, A.rows(), A.cols(), false}, true), rows,
                                   cols, where);
}
/// A vector of n zeros, with x from entry i on.
template <class Exec, class S, bool B>
TracedVector<Exec, S, B> scatter(const TracedVector<Exec, S, B>& x, int i, int n,
                                 detail::Where where = detail::Where::current()) {
  if (i < 0 || i > n - x.rows())
    detail::throw_traced("scatter", detail::describe(where),
                         "operand is " + detail::describe(x.type()) + ", to be placed at " + std::to_string(i) +
                             " of " + std::to_string(n));
  return detail::record_from<S, 1>(x, detail::region_operation<Exec, S>({i, 0, x.rows(), 1, false}, true), n, 1, where);
}

/// [A; B]: B below A (`axis` 0), or [A B]: B to the right of A (`axis` 1). Vectors have axis 0 only.
template <class Exec, class S, int Rank, bool B1, bool B2>
Traced<Exec, S, Rank, B1 || B2> concatenate(int axis, const Traced<Exec, S, Rank, B1>& A,
                                            const Traced<Exec, S, Rank, B2>& B,
                                            detail::Where where = detail::Where::current()) {
  static_assert(Rank == 1 || Rank == 2, "frechet: concatenate takes vectors or matrices");
  if (axis < 0 || axis >= Rank)
    detail::throw_traced("concatenate", detail::describe(where), "there is no axis " + std::to_string(axis));
  if (axis == 0 ? A.cols() != B.cols() : A.rows() != B.rows())
    detail::throw_operands("concatenate", where, A.type(), B.type());
  constexpr bool batched = B1 || B2;
  const auto a = detail::with_batch<batched>("concatenate", A, B.type(), where);
  const auto b = detail::with_batch<batched>("concatenate", B, A.type(), where);
  return detail::record<S, Rank, batched>(A.graph(), detail::concatenate_operation<Exec, S>(axis == 0),
                                          {a.id(), b.id()}, a.type(), A.rows() + (axis == 0 ? B.rows() : 0),
                                          A.cols() + (axis == 1 ? B.cols() : 0), where);
}

/// The entries with column - row <= k, zeros elsewhere: with k = 0 the lower triangle with the diagonal.
template <class Exec, class S, bool B>
TracedMatrix<Exec, S, B> tril(const TracedMatrix<Exec, S, B>& A, int k = 0,
                              detail::Where where = detail::Where::current()) {
  return detail::record_from<S, 2>(A, detail::triangle_operation<Exec, S>(true, k), A.rows(), A.cols(), where);
}
/// The entries with column - row >= k, zeros elsewhere.
template <class Exec, class S, bool B>
TracedMatrix<Exec, S, B> triu(const TracedMatrix<Exec, S, B>& A, int k = 0,
                              detail::Where where = detail::Where::current()) {
  return detail::record_from<S, 2>(A, detail::triangle_operation<Exec, S>(false, k), A.rows(), A.cols(), where);
}

/// A vector of n entries, or a rows x cols matrix, all of them the scalar x.
template <class Exec, class S, bool B>
TracedVector<Exec, S, B> spread(const TracedScalar<Exec, S, B>& x, int n,
                                detail::Where where = detail::Where::current()) {
  return detail::record_from<S, 1>(x, detail::spread_operation<Exec, S>(), n, 1, where);
}
template <class Exec, class S, bool B>
TracedMatrix<Exec, S, B> spread(const TracedScalar<Exec, S, B>& x, int rows, int cols,
                                detail::Where where = detail::Where::current()) {
  return detail::record_from<S, 2>(x, detail::spread_operation<Exec, S>(), rows, cols, where);
}

}  // namespace frechet

#endif
