// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_OPERANDS_HPP
#define FRECHET_SRC_OPERANDS_HPP

#include "vocabulary.hpp"

#include <limits>
#include <string>

// From the user's strides to the normal form and back, and what happens to results of a failed matrix. Of a matrix of
// dual numbers each part has strides of its own; both parts are in normal form, or the matrix is not.

namespace frechet::detail {

template <class S>
bool in_normal_form(const Strided<S>& A) {
  const bool columns =
      A.cols <= 1 || (A.col_stride >= A.rows && A.col_stride >= 1 && A.col_stride <= std::numeric_limits<int>::max());
  return (A.rows <= 1 || A.row_stride == 1) && columns;
}

template <class S>
requires is_dual<S>
bool in_normal_form(const Strided<S>& A) {
  return in_normal_form(A.value) && (!A.tangent || in_normal_form(A.tangent));
}

template <class S>
Batch<S> as_batch(const Strided<S>& A) {
  const int least = A.rows > 1 ? A.rows : 1;
  const int ld = A.cols > 1 ? static_cast<int>(A.col_stride) : least;
  return {A.data, A.rows, A.cols, ld, A.count, A.batch_stride};
}

template <class S>
requires is_dual<S> Batch<S> as_batch(const Strided<S>& A) { return {as_batch(A.value), as_batch(A.tangent)}; }

/// f(A) with A as a Batch where its strides are those of one: loops over unit strides are worth a copy of their code.
template <class S, class F>
void with_unit_stride(const Strided<S>& A, const F& f) {
  if (A && in_normal_form(A))
    f(as_batch(A));
  else
    f(A);
}
template <class S, class F>
void with_unit_stride(const Batch<S>& A, const F& f) {
  f(A);
}

/// f(A, ...) for a function that does not care which of two indices is the row: with all as Batch where they have the
/// strides of one, as they are or transposed (row-major matrices).
template <class F, class S, class... T>
void in_memory_order(const F& f, const Strided<S>& A, const Strided<T>&... B) {
  if (in_normal_form(A) && (in_normal_form(B) && ...))
    f(as_batch(A), as_batch(B)...);
  else if (A.cols > 1 && in_normal_form(A.transposed()) && (in_normal_form(B.transposed()) && ...))
    f(as_batch(A.transposed()), as_batch(B.transposed())...);
  else
    f(A, B...);
}

template <class M>
inline constexpr bool has_unit_stride = false;
template <class S>
inline constexpr bool has_unit_stride<Batch<S>> = true;

/// f(b, i, j) for every entry of `to`, where f reads entry (i, j) of `from`: columns, or tiles where they may be apart.
template <class Exec, class To, class From, class F>
void for_each_pair(Context<Exec>& ctx, const char* label, const To& to, const From&, const F& f) {
  if constexpr (has_unit_stride<To> && has_unit_stride<From>)
    for_each_entry(ctx, label, to.rows, to.cols, to.count, f);
  else
    for_each_entry_across(ctx, label, to.rows, to.cols, to.count, f);
}

template <class Exec, class From, class To>
void copy_entries(Context<Exec>& ctx, const From& from, const To& to) {
  for_each_pair(
      ctx, "frechet::copy", to, from, KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) = from(b, i, j); });
}
/// B = A, entry by entry.
template <class Exec, class From, class To>
void copy(Context<Exec>& ctx, const From& A, const To& B) {
  with_unit_stride(
      A, [&](const auto& from) { with_unit_stride(B, [&](const auto& to) { copy_entries(ctx, from, to); }); });
}

template <class Exec, class S>
void fill(Context<Exec>& ctx, const Batch<S>& B, std::type_identity_t<S> value) {
  for_each_entry(
      ctx, "frechet::fill", B.rows, B.cols, B.count, KOKKOS_LAMBDA(int b, int i, int j) { B(b, i, j) = value; });
}

/// An argument in normal form; copied only when its strides need it. Absent stays absent.
template <class Exec, class S>
Batch<const S> input(Context<Exec>& ctx, const Strided<const S>& A) {
  if (!A) return {};
  if (in_normal_form(A)) return as_batch(A);
  const auto B = ctx.template matrix<S>(A.rows, A.cols, A.count);
  copy(ctx, A, B);
  return B;
}
template <class Exec, class S>
requires is_dual<S> Batch<const S> input(Context<Exec>& ctx, const Strided<const S>& A) {
  const auto value = input(ctx, A.value);
  return {value, input(ctx, A.tangent)};
}

template <class Exec>
void reset(Context<Exec>& ctx, Diagnosis* d, int count) {
  for_each_column(
      ctx, "frechet::diagnosis", 1, 1, count, KOKKOS_LAMBDA(int b, int) { d[b] = Diagnosis{}; });
}

/// One Diagnosis per matrix: the caller's, or scratch. Starts out as "nothing found".
template <class Exec>
Diagnosis* diagnoses(Context<Exec>& ctx, const DiagnosticsTarget& target, int count) {
  Diagnosis* const d = target.data ? target.data : ctx.template take<Diagnosis>(count);
  reset(ctx, d, count);
  return d;
}

KOKKOS_INLINE_FUNCTION bool failed(const Diagnosis& d) { return d.info != 0 || d.nonfinite != 0 || d.deficient != 0; }

/// NaN into the matrices whose computation failed.
template <class Exec, class S>
void poison(Context<Exec>& ctx, const Diagnosis* d, const Batch<S>& B) {
  if (!B) return;
  for_each_column(
      ctx, "frechet::poison", 1, B.cols, B.count, KOKKOS_LAMBDA(int b, int j) {
        if (failed(d[b]))
          for (int i = 0; i < B.rows; ++i) B(b, i, j) = not_a_number<S>();
      });
}

/// ArgumentError where the backend does not have the driver that the caller asks for.
template <class Exec>
void require_driver(const char* function, backend::Operation operation, Driver driver) {
  const auto& table = backend::drivers<Exec>();
  if (driver == Driver::automatic || table.offers(operation, driver)) return;
  throw ArgumentError(std::string(function) + ": the backend " + backend::name<Exec>() + " has no driver " +
                      name(driver) + ", only " + table.offered(operation));
}

template <class Exec>
void record_info(Context<Exec>& ctx, const int* info, Diagnosis* d, int count) {
  for_each_column(
      ctx, "frechet::info", 1, 1, count, KOKKOS_LAMBDA(int b, int) {
        d[b].info = info[b] > 0 ? info[b] : 0;
        d[b].fallback = info[b] < 0 ? -info[b] : 0;
      });
}

/// B = part of A (see Hermitian), with conjugate mirror; rows = cols.
template <class S>
KOKKOS_INLINE_FUNCTION S hermitian_entry(const Strided<const S>& A, Hermitian h, int b, int i, int j) {
  if (i == j) {  // the imaginary part cancels, unless it is NaN or Inf
    const S x = A(b, i, i);
    return h == Hermitian::part ? make_scalar<S>(real(x), imag(x) - imag(x)) : make_scalar<S>(real(x), 0);
  }
  if (h == Hermitian::part) return Real<S>(0.5) * A(b, i, j) + Real<S>(0.5) * conj(A(b, j, i));
  return (h == Hermitian::lower) == (i > j) ? A(b, i, j) : conj(A(b, j, i));
}

/// B = entry(b, i, j), noting non-finite entries in d. With `clean` a matrix that holds one is set to zero, for solvers
/// that may not return otherwise; its results are poisoned afterwards.
template <class Exec, class S, class Entry>
void load_entries(Context<Exec>& ctx, const Entry& entry, const Batch<S>& B, Diagnosis* d, bool clean) {
  using Zero = Sum<Level<S>>;
  reduce_matrices<Zero>(
      ctx, "frechet::load", B.rows, B.cols, B.count,
      KOKKOS_LAMBDA(int b, int i, int j, Zero& acc) {
        const S x = entry(b, i, j);
        B(b, i, j) = x;
        acc.add(zero_if_finite(x));
      },
      KOKKOS_LAMBDA(int b, const Zero& acc) { d[b].nonfinite = acc.value == Level<S>(0) ? 0 : 1; });
  if (!clean) return;
  for_each_column(
      ctx, "frechet::clean", 1, B.cols, B.count, KOKKOS_LAMBDA(int b, int j) {
        if (d[b].nonfinite)
          for (int i = 0; i < B.rows; ++i) B(b, i, j) = S(0);
      });
}

template <class Exec, class S, class Entry>
void load_checked(Context<Exec>& ctx, const Entry& entry, const Batch<S>& B, Diagnosis* d, bool clean) {
  load_entries(ctx, entry, B, d, clean);
}
template <class Exec, class S>
void load_checked(Context<Exec>& ctx, const Strided<const S>& A, const Batch<S>& B, Diagnosis* d, bool clean) {
  with_unit_stride(A, [&](const auto& from) { load_entries(ctx, from, B, d, clean); });
}

/// Whether all that is computed is wanted: the tangents of a result may not be.
template <class S>
bool complete(const Strided<S>&) {
  return true;
}
template <class S>
requires is_dual<S>
bool complete(const Strided<S>& A) { return bool(A.tangent); }

/// A result on its way to the caller's View: directly where strides and Store allow, else through scratch.
template <class Exec, class S>
class Output {
 public:
  /// With `adds` the last operation can add to what is there (`beta`, as in gemm); otherwise it overwrites `batch`.
  Output(Context<Exec>& ctx, const Strided<S>& target, Store store = Store::overwrite, bool adds = false)
      : ctx_(ctx), target_(target), accumulate_(store == Store::accumulate) {
    if (!target) return;
    direct_ = in_normal_form(target) && complete(target) && (!accumulate_ || adds);
    if (direct_) {
      batch = as_batch(target);
      beta = accumulate_ ? S(1) : S(0);
    } else {
      batch = ctx.template matrix<S>(target.rows, target.cols, target.count);
    }
  }
  explicit operator bool() const { return bool(target_); }

  Batch<S> batch;
  S beta = S(0);

  /// Nothing to write: zero, or leave the sum as it is.
  void commit_zero() {
    if (!target_ || accumulate_) return;
    const auto to = target_;
    for_each_entry(
        ctx_, "frechet::zero", to.rows, to.cols, to.count, KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) = S(0); });
  }
  /// Brings the result home; matrices that failed become NaN.
  void commit(const Diagnosis* d = nullptr) {
    if (!target_) return;
    if constexpr (!std::is_integral_v<S>)
      if (d) poison(ctx_, d, batch);
    if (direct_) return;
    const auto from = batch;
    const auto to = target_;
    if (accumulate_)
      for_each_entry(
          ctx_, "frechet::add", to.rows, to.cols, to.count,
          KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) += from(b, i, j); });
    else
      copy(ctx_, from, to);
  }

 private:
  Context<Exec>& ctx_;
  Strided<S> target_;
  bool accumulate_ = false, direct_ = false;
};

}  // namespace frechet::detail

#endif
