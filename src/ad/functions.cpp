// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/functions.hpp>

#include "instantiate.hpp"
#include "transfer.hpp"

// The operations that are linear. Absent operands count as zero.

namespace frechet::detail {
namespace {

template <class Exec, class S, class From, class To>
void assign_entries(Context<Exec>& ctx, S alpha, const From& from, const To& to, Store store) {
  const bool add = store == Store::accumulate, zero = !from;
  for_each_pair(
      ctx, "frechet::assign", to, from, KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = zero ? S(0) : alpha * from(b, i, j);
        to(b, i, j) = add ? to(b, i, j) + x : x;
      });
}
/// to = alpha from, or to += alpha from
template <class Exec, class S>
void assign(Context<Exec>& ctx, S alpha, const Strided<const S>& from, const Strided<S>& to, Store store) {
  if (!to || (!from && store == Store::accumulate)) return;
  in_memory_order([&](const auto& y, const auto& x) { assign_entries(ctx, alpha, x, y, store); }, to, from);
}

template <class Exec, class S>
void assign_conjugate(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) {
  if (!is_complex<S>) return assign<Exec, S>(ctx, S(1), from, to, store);
  if (!to) return;
  const bool add = store == Store::accumulate, zero = !from;
  if (zero && add) return;
  for_each_pair(
      ctx, "frechet::conj", to, from, KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = zero ? S(0) : conj(from(b, i, j));
        to(b, i, j) = add ? to(b, i, j) + x : x;
      });
}

template <class Exec, class S, class OfA, class OfB, class OfC>
void add_entries(Context<Exec>& ctx, S alpha, const OfA& A, S beta, const OfB& B, const OfC& C) {
  for_each_pair(
      ctx, "frechet::add", C, A,
      KOKKOS_LAMBDA(int b, int i, int j) { C(b, i, j) = alpha * A(b, i, j) + beta * B(b, i, j); });
}
/// C = alpha A + beta B
template <class Exec, class S>
void add(Context<Exec>& ctx, S alpha, const Strided<const S>& A, S beta, const Strided<const S>& B,
         const Strided<S>& C) {
  if (!A) return assign<Exec, S>(ctx, beta, B, C, Store::overwrite);
  if (!B) return assign<Exec, S>(ctx, alpha, A, C, Store::overwrite);
  if (!C) return;
  in_memory_order([&](const auto& z, const auto& x, const auto& y) { add_entries(ctx, alpha, x, beta, y, z); }, C, A,
                  B);
}

template <class S>
Strided<S> diagonal_of(const Strided<S>& A, int n) {
  return {A.data, n, 1, A.count, A.row_stride + A.col_stride, 1, A.batch_stride};
}

template <class Exec, class S, class From>
void total_of_entries(Context<Exec>& ctx, const From& A, const Strided<S>& s, Store store) {
  const bool add = store == Store::accumulate;
  reduce_matrices<Sum<S>>(
      ctx, "frechet::sum", A.rows, A.cols, s.count,
      KOKKOS_LAMBDA(int b, int i, int j, Sum<S>& acc) { acc.add(A(b, i, j)); },
      KOKKOS_LAMBDA(int b, const Sum<S>& acc) { s(b, 0, 0) = add ? s(b, 0, 0) + acc.value : acc.value; });
}
/// s = sum of the entries of A, or of its diagonal; or s += ...
template <class Exec, class S>
void total(Context<Exec>& ctx, bool diagonal, const Strided<const S>& A, const Strided<S>& s, Store store) {
  if (!s) return;
  if (!A) return assign<Exec, S>(ctx, S(0), {}, s, store);
  in_memory_order([&](const auto& x) { total_of_entries(ctx, x, s, store); },
                  diagonal ? diagonal_of(A, A.rows < A.cols ? A.rows : A.cols) : A);
}

/// A = g 1 1^T or A = g I for a scalar in memory; or A += ...
template <class Exec, class S>
void spread(Context<Exec>& ctx, bool diagonal, const Strided<const S>& g, const Strided<S>& A, Store store) {
  if (!A) return;
  const bool add = store == Store::accumulate, zero = !g;
  for_each_entry(
      ctx, "frechet::spread", A.rows, A.cols, A.count, KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = zero || (diagonal && i != j) ? S(0) : g(b, 0, 0);
        A(b, i, j) = add ? A(b, i, j) + x : x;
      });
}

/// s = sum of A over the batch, or s += ...
template <class Exec, class S>
void sum_over_batch(Context<Exec>& ctx, const Strided<const S>& A, const Strided<S>& s, Store store) {
  if (!s) return;
  const bool add = store == Store::accumulate;
  const int members = A ? A.count : 0;
  for_each_entry(
      ctx, "frechet::batch_sum", s.rows, s.cols, 1, KOKKOS_LAMBDA(int, int i, int j) {
        S x = add ? s(0, i, j) : S(0);
        for (int b = 0; b < members; ++b) x += A(b, i, j);
        s(0, i, j) = x;
      });
}

template <class S>
Strided<S> on_batch(Strided<S> A, int count) {
  A.count = count;
  A.batch_stride = 0;
  return A;
}

template <class S>
Strided<S> part(const Strided<S>& A, const Region& r) {
  if (r.diagonal) return diagonal_of(A, r.m);
  return A.block(r.i, r.j, r.m, r.n);
}

/// Region of `to` = from, zeros elsewhere; or added to.
template <class Exec, class S>
void assign_region(Context<Exec>& ctx, const Region& region, const Strided<const S>& from, const Strided<S>& to,
                   Store store) {
  if (!to) return;
  if (store == Store::overwrite) assign<Exec, S>(ctx, S(1), {}, to, Store::overwrite);
  if (from) assign<Exec, S>(ctx, S(1), from, part(to, region), store);
}

template <class Exec, class S>
void assign_triangle(Context<Exec>& ctx, bool lower, int k, const Strided<const S>& from, const Strided<S>& to,
                     Store store) {
  if (!to) return;
  const bool add = store == Store::accumulate, zero = !from;
  for_each_entry(
      ctx, "frechet::triangle", to.rows, to.cols, to.count, KOKKOS_LAMBDA(int b, int i, int j) {
        const bool inside = lower ? j - i <= k : j - i >= k;
        const S x = zero || !inside ? S(0) : from(b, i, j);
        to(b, i, j) = add ? to(b, i, j) + x : x;
      });
}

/// An operation of one input that is linear: Self has apply(ctx, from, to, store) and pull(ctx, from, to, store), its
/// adjoint. The second derivative is the adjoint of the tangent.
template <class Exec, class S, class Self>
struct Linear : Operation<Exec> {
  Reads jvp_reads(unsigned, unsigned) const override { return {}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {}; }
  const Self& self() const { return static_cast<const Self&>(*this); }
  void value(const Call<Exec>& c) const override {
    self().apply(c.ctx, c.template in<S>(0), c.template out<S>(0), Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    self().apply(c.ctx, c.template din<S>(0), c.template dout<S>(0), Store::overwrite);
  }
  void vjp(const Call<Exec>& c) const override {
    self().pull(c.ctx, c.template gout<S>(0), c.template gin<S>(0), c.store(0));
  }
  void hvp(const Call<Exec>& c) const override {
    vjp(c);
    self().pull(c.ctx, c.dgouts[0].template as<const S>(), c.dgins[0].template as<S>(), c.store(0));
  }
};

template <class Exec, class S>
struct Scale final : Linear<Exec, S, Scale<Exec, S>> {
  S alpha;
  explicit Scale(S a) : alpha(a) {}
  const char* name() const override { return "scale"; }
  void apply(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    assign<Exec, S>(ctx, alpha, from, to, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    assign<Exec, S>(ctx, conj(alpha), from, to, store);
  }
};

/// to = from + alpha
template <class Exec, class S>
void assign_shifted(Context<Exec>& ctx, S alpha, const Strided<const S>& from, const Strided<S>& to) {
  for_each_entry(
      ctx, "frechet::shift", to.rows, to.cols, to.count,
      KOKKOS_LAMBDA(int b, int i, int j) { to(b, i, j) = from(b, i, j) + alpha; });
}

/// A constant added to every entry: derivatives are those of the identity.
template <class Exec, class S>
struct Shift final : Linear<Exec, S, Shift<Exec, S>> {
  S alpha;
  explicit Shift(S a) : alpha(a) {}
  const char* name() const override { return "add"; }
  void value(const Call<Exec>& c) const override {
    assign_shifted<Exec, S>(c.ctx, alpha, c.template in<S>(0), c.template out<S>(0));
  }
  void apply(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    assign<Exec, S>(ctx, S(1), from, to, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    assign<Exec, S>(ctx, S(1), from, to, store);
  }
};

template <class Exec, class S>
struct Transpose final : Linear<Exec, S, Transpose<Exec, S>> {
  bool conjugate;
  explicit Transpose(bool c) : conjugate(c) {}
  const char* name() const override { return conjugate ? "adjoint" : "transpose"; }
  void apply(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    if (conjugate)
      assign_conjugate<Exec, S>(ctx, from.transposed(), to, store);
    else
      assign<Exec, S>(ctx, S(1), from.transposed(), to, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    apply(ctx, from, to, store);
  }
};

/// Sum of all entries, or of the diagonal.
template <class Exec, class S>
struct Total final : Linear<Exec, S, Total<Exec, S>> {
  bool diagonal;
  explicit Total(bool d) : diagonal(d) {}
  const char* name() const override { return diagonal ? "trace" : "sum"; }
  bool spreads() const override { return !diagonal; }
  void apply(Context<Exec>& ctx, const Strided<const S>& A, const Strided<S>& s, Store store) const {
    total<Exec, S>(ctx, diagonal, A, s, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& g, const Strided<S>& A, Store store) const {
    spread<Exec, S>(ctx, diagonal, g, A, store);
  }
};

/// All entries the same scalar: the adjoint of Total.
template <class Exec, class S>
struct SpreadOut final : Linear<Exec, S, SpreadOut<Exec, S>> {
  const char* name() const override { return "spread"; }
  void apply(Context<Exec>& ctx, const Strided<const S>& s, const Strided<S>& A, Store store) const {
    spread<Exec, S>(ctx, false, s, A, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& g, const Strided<S>& s, Store store) const {
    total<Exec, S>(ctx, false, g, s, store);
  }
};

template <class Exec, class S>
struct Broadcast final : Linear<Exec, S, Broadcast<Exec, S>> {
  const char* name() const override { return "broadcast"; }
  void apply(Context<Exec>& ctx, const Strided<const S>& A, const Strided<S>& B, Store store) const {
    assign<Exec, S>(ctx, S(1), on_batch(A, B.count), B, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& g, const Strided<S>& A, Store store) const {
    sum_over_batch<Exec, S>(ctx, g, A, store);
  }
};

/// The adjoint of Broadcast.
template <class Exec, class S>
struct BatchSum final : Linear<Exec, S, BatchSum<Exec, S>> {
  const char* name() const override { return "batch_sum"; }
  void apply(Context<Exec>& ctx, const Strided<const S>& A, const Strided<S>& s, Store store) const {
    sum_over_batch<Exec, S>(ctx, A, s, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& g, const Strided<S>& A, Store store) const {
    assign<Exec, S>(ctx, S(1), on_batch(g, A.count), A, store);
  }
};

/// Part of a matrix, or with `scatter` its adjoint: zeros with the operand in that part.
template <class Exec, class S>
struct Parts final : Linear<Exec, S, Parts<Exec, S>> {
  Region region;
  bool scatter;
  Parts(const Region& r, bool s) : region(r), scatter(s) {}
  const char* name() const override {
    return region.diagonal ? (scatter ? "diagonal" : "diag") : (scatter ? "scatter" : "slice");
  }
  void run(Context<Exec>& ctx, bool into, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    if (into)
      assign_region<Exec, S>(ctx, region, from, to, store);
    else
      assign<Exec, S>(ctx, S(1), from ? part(from, region) : from, to, store);
  }
  void apply(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    run(ctx, scatter, from, to, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    run(ctx, !scatter, from, to, store);
  }
};

template <class Exec, class S>
struct Triangle final : Linear<Exec, S, Triangle<Exec, S>> {
  bool lower;
  int k;
  Triangle(bool l, int offset) : lower(l), k(offset) {}
  const char* name() const override { return lower ? "tril" : "triu"; }
  void apply(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    assign_triangle<Exec, S>(ctx, lower, k, from, to, store);
  }
  void pull(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, Store store) const {
    apply(ctx, from, to, store);
  }
};

/// A constant: no inputs, no derivatives.
template <class Exec, class S>
struct Identity final : Operation<Exec> {
  const char* name() const override { return "identity"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {}; }
  void value(const Call<Exec>& c) const override { set_identity<Exec, S>(c.ctx, c.template out<S>(0)); }
  void jvp(const Call<Exec>&) const override {}
  void vjp(const Call<Exec>&) const override {}
  void hvp(const Call<Exec>&) const override {}
};

/// C = alpha A + beta B
template <class Exec, class S>
struct Axpby final : Operation<Exec> {
  S alpha, beta;
  Axpby(S a, S b) : alpha(a), beta(b) {}
  const char* name() const override { return "add"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {}; }
  void value(const Call<Exec>& c) const override {
    add<Exec, S>(c.ctx, alpha, c.template in<S>(0), beta, c.template in<S>(1), c.template out<S>(0));
  }
  void jvp(const Call<Exec>& c) const override {
    add<Exec, S>(c.ctx, alpha, c.template din<S>(0), beta, c.template din<S>(1), c.template dout<S>(0));
  }
  void pull(const Call<Exec>& c, const Operand& g, const Operand* to) const {
    assign<Exec, S>(c.ctx, conj(alpha), g.template as<const S>(), to[0].template as<S>(), c.store(0));
    assign<Exec, S>(c.ctx, conj(beta), g.template as<const S>(), to[1].template as<S>(), c.store(1));
  }
  void vjp(const Call<Exec>& c) const override { pull(c, c.gouts[0], c.gins); }
  void hvp(const Call<Exec>& c) const override {
    vjp(c);
    pull(c, c.dgouts[0], c.dgins);
  }
};

/// C = [A; B] or [A B]
template <class Exec, class S>
struct Concatenate final : Operation<Exec> {
  bool along_rows;
  explicit Concatenate(bool rows) : along_rows(rows) {}
  const char* name() const override { return "concatenate"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {}; }
  /// The part of C that is operand k.
  template <class T>
  Strided<T> block(const Call<Exec>& c, const Strided<T>& C, int k) const {
    const Type &a = c.ins[0].type, &b = c.ins[1].type;
    if (!C || k == 0) return C.block(0, 0, a.rows, a.cols);
    return along_rows ? C.block(a.rows, 0, b.rows, b.cols) : C.block(0, a.cols, b.rows, b.cols);
  }
  void join(const Call<Exec>& c, const Operand* from, const Strided<S>& C) const {
    if (!C) return;
    for (int k = 0; k < 2; ++k)
      assign<Exec, S>(c.ctx, S(1), from[k].template as<const S>(), block(c, C, k), Store::overwrite);
  }
  void cut(const Call<Exec>& c, const Operand& from, const Operand* to) const {
    for (int k = 0; k < 2; ++k)
      assign<Exec, S>(c.ctx, S(1), block(c, from.template as<const S>(), k), to[k].template as<S>(), c.store(k));
  }
  void value(const Call<Exec>& c) const override { join(c, c.ins, c.template out<S>(0)); }
  void jvp(const Call<Exec>& c) const override { join(c, c.dins, c.template dout<S>(0)); }
  void vjp(const Call<Exec>& c) const override { cut(c, c.gouts[0], c.gins); }
  void hvp(const Call<Exec>& c) const override {
    vjp(c);
    cut(c, c.dgouts[0], c.dgins);
  }
};

}  // namespace

template <class Exec, class S>
OperationPtr<Exec> axpby_operation(S alpha, S beta) {
  return std::make_shared<const Axpby<Exec, S>>(alpha, beta);
}
template <class Exec, class S>
OperationPtr<Exec> scale_operation(S alpha) {
  return std::make_shared<const Scale<Exec, S>>(alpha);
}
template <class Exec, class S>
OperationPtr<Exec> shift_operation(S alpha) {
  return std::make_shared<const Shift<Exec, S>>(alpha);
}
template <class Exec, class S>
OperationPtr<Exec> transpose_operation(bool conjugate) {
  return std::make_shared<const Transpose<Exec, S>>(conjugate);
}
template <class Exec, class S>
OperationPtr<Exec> total_operation(bool diagonal) {
  return std::make_shared<const Total<Exec, S>>(diagonal);
}
template <class Exec, class S>
OperationPtr<Exec> spread_operation() {
  return std::make_shared<const SpreadOut<Exec, S>>();
}
template <class Exec, class S>
OperationPtr<Exec> broadcast_operation() {
  return std::make_shared<const Broadcast<Exec, S>>();
}
template <class Exec, class S>
OperationPtr<Exec> batch_sum_operation() {
  return std::make_shared<const BatchSum<Exec, S>>();
}
template <class Exec, class S>
OperationPtr<Exec> triangle_operation(bool lower, int k) {
  return std::make_shared<const Triangle<Exec, S>>(lower, k);
}
template <class Exec, class S>
OperationPtr<Exec> concatenate_operation(bool along_rows) {
  return std::make_shared<const Concatenate<Exec, S>>(along_rows);
}
template <class Exec, class S>
OperationPtr<Exec> identity_operation() {
  return std::make_shared<const Identity<Exec, S>>();
}
template <class Exec, class S>
OperationPtr<Exec> region_operation(const Region& region, bool scatter) {
  return std::make_shared<const Parts<Exec, S>>(region, scatter);
}

#define FRECHET_FUNCTIONS(EXEC, S)                                    \
  template OperationPtr<EXEC> axpby_operation<EXEC, S>(S, S);         \
  template OperationPtr<EXEC> scale_operation<EXEC, S>(S);            \
  template OperationPtr<EXEC> shift_operation<EXEC, S>(S);            \
  template OperationPtr<EXEC> transpose_operation<EXEC, S>(bool);     \
  template OperationPtr<EXEC> total_operation<EXEC, S>(bool);         \
  template OperationPtr<EXEC> spread_operation<EXEC, S>();            \
  template OperationPtr<EXEC> broadcast_operation<EXEC, S>();         \
  template OperationPtr<EXEC> batch_sum_operation<EXEC, S>();         \
  template OperationPtr<EXEC> triangle_operation<EXEC, S>(bool, int); \
  template OperationPtr<EXEC> concatenate_operation<EXEC, S>(bool);   \
  template OperationPtr<EXEC> identity_operation<EXEC, S>();          \
  template OperationPtr<EXEC> region_operation<EXEC, S>(const Region&, bool);
FRECHET_FOR_EACH_SCALAR(FRECHET_FUNCTIONS)

}  // namespace frechet::detail
