// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/functions.hpp>

#include "instantiate.hpp"
#include "operands.hpp"

// The operations that are linear in each argument. Each writes y = f(x) or y += f(x), so value, jvp and vjp are the
// same few kernels with other operands.

namespace frechet::detail {
namespace {

/// to = alpha f(from), or to += ...; conjugated and transposed as asked for. Absent `from` counts as zero.
template <class Exec, class S>
void assign(Context<Exec>& ctx, S alpha, const Strided<const S>& from, const Strided<S>& to, Store store) {
  if (!to) return;
  const bool add = store == Store::accumulate, zero = !from;
  if (zero && add) return;
  for_each_entry(
      ctx, "frechet::assign", to.rows, to.cols, to.count, KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = zero ? S(0) : alpha * from(b, i, j);
        to(b, i, j) = add ? to(b, i, j) + x : x;
      });
}

template <class S>
Strided<S> transposed(const Strided<S>& A) {
  return {A.data, A.cols, A.rows, A.count, A.col_stride, A.row_stride, A.batch_stride};
}

template <class Exec, class S>
void assign_transposed(Context<Exec>& ctx, bool conjugate, const Strided<const S>& from, const Strided<S>& to,
                       Store store) {
  if (!conjugate || !is_complex<S>) return assign<Exec, S>(ctx, S(1), transposed(from), to, store);
  if (!to) return;
  const bool add = store == Store::accumulate, zero = !from;
  for_each_entry(
      ctx, "frechet::adjoint", to.rows, to.cols, to.count, KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = zero ? S(0) : conj(from(b, j, i));
        to(b, i, j) = add ? to(b, i, j) + x : x;
      });
}

/// C = op(A) op(B) or C += ...; an absent factor counts as zero.
template <class Exec, class S>
void product(Context<Exec>& ctx, Op opa, const Strided<const S>& A, Op opb, const Strided<const S>& B,
             const Strided<S>& C, Store store) {
  if (!C) return;
  Output<Exec, S> out(ctx, C, store, true);
  if (!A || !B) return out.commit_zero();
  backend::gemm<Exec, S>(ctx, opa, opb, S(1), input(ctx, A), input(ctx, B), out.beta, out.batch);
  out.commit();
}

/// A = g I or A = g 1 1^T for a scalar in memory; or A += ...
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

template <class Exec, class S>
struct Linear : Operation<Exec> {
  Reads jvp_reads(unsigned, unsigned) const override { return {}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {}; }
};

template <class Exec, class S>
struct Axpby final : Linear<Exec, S> {
  S alpha, beta;
  Axpby(S a, S b) : alpha(a), beta(b) {}
  const char* name() const override { return "add"; }
  void apply(const Call<Exec>& c, const Strided<const S>& A, const Strided<const S>& B, const Strided<S>& C) const {
    assign<Exec, S>(c.ctx, alpha, A, C, Store::overwrite);
    assign<Exec, S>(c.ctx, beta, B, C, Store::accumulate);
  }
  void value(const Call<Exec>& c) const override {
    apply(c, c.template in<S>(0), c.template in<S>(1), c.template out<S>(0));
  }
  void jvp(const Call<Exec>& c) const override {
    apply(c, c.template din<S>(0), c.template din<S>(1), c.template dout<S>(0));
  }
  void vjp(const Call<Exec>& c) const override {
    assign<Exec, S>(c.ctx, conj(alpha), c.template dout<S>(0), c.template din<S>(0), c.store(0));
    assign<Exec, S>(c.ctx, conj(beta), c.template dout<S>(0), c.template din<S>(1), c.store(1));
  }
};

template <class Exec, class S>
struct Scale final : Linear<Exec, S> {
  S alpha;
  explicit Scale(S a) : alpha(a) {}
  const char* name() const override { return "scale"; }
  void value(const Call<Exec>& c) const override {
    assign<Exec, S>(c.ctx, alpha, c.template in<S>(0), c.template out<S>(0), Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    assign<Exec, S>(c.ctx, alpha, c.template din<S>(0), c.template dout<S>(0), Store::overwrite);
  }
  void vjp(const Call<Exec>& c) const override {
    assign<Exec, S>(c.ctx, conj(alpha), c.template dout<S>(0), c.template din<S>(0), c.store(0));
  }
};

template <class Exec, class S>
struct Transpose final : Linear<Exec, S> {
  bool conjugate;
  explicit Transpose(bool c) : conjugate(c) {}
  const char* name() const override { return conjugate ? "adjoint" : "transpose"; }
  void value(const Call<Exec>& c) const override {
    assign_transposed<Exec, S>(c.ctx, conjugate, c.template in<S>(0), c.template out<S>(0), Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    assign_transposed<Exec, S>(c.ctx, conjugate, c.template din<S>(0), c.template dout<S>(0), Store::overwrite);
  }
  void vjp(const Call<Exec>& c) const override {
    assign_transposed<Exec, S>(c.ctx, conjugate, c.template dout<S>(0), c.template din<S>(0), c.store(0));
  }
};

/// Sum of all entries, or of the diagonal.
template <class Exec, class S>
struct Total final : Linear<Exec, S> {
  bool diagonal;
  explicit Total(bool d) : diagonal(d) {}
  const char* name() const override { return diagonal ? "trace" : "sum"; }
  void apply(const Call<Exec>& c, const Strided<const S>& A, const Strided<S>& s) const {
    if (!s) return;
    const bool diag = diagonal, zero = !A;
    reduce_matrices<Sum<S>>(
        c.ctx, "frechet::sum", diag ? 1 : A.rows, A.cols, 1,
        KOKKOS_LAMBDA(int b, int i, int j, Sum<S>& acc) {
          if (!zero) acc.add(A(b, diag ? j : i, j));
        },
        KOKKOS_LAMBDA(int b, const Sum<S>& acc) { s(b, 0, 0) = acc.value; });
  }
  void value(const Call<Exec>& c) const override { apply(c, c.template in<S>(0), c.template out<S>(0)); }
  void jvp(const Call<Exec>& c) const override { apply(c, c.template din<S>(0), c.template dout<S>(0)); }
  void vjp(const Call<Exec>& c) const override {
    spread<Exec, S>(c.ctx, diagonal, c.template dout<S>(0), c.template din<S>(0), c.store(0));
  }
};

/// Which of two factors the rules of a bilinear operation read: each derivative needs the other factor.
Reads other_factor(unsigned derivatives) { return {((derivatives & 1U) << 1U) | ((derivatives & 2U) >> 1U), 0}; }

/// C = A B:  dC = dA B + A dB,  gA = gC B^H,  gB = A^H gC.   Giles 2008, NA-08/01, 2.2.2
template <class Exec, class S>
struct Matmul final : Operation<Exec> {
  const char* name() const override { return "matmul"; }
  Reads jvp_reads(unsigned din, unsigned) const override { return other_factor(din); }
  Reads vjp_reads(unsigned, unsigned din) const override { return other_factor(din); }
  void value(const Call<Exec>& c) const override {
    product<Exec, S>(c.ctx, Op::none, c.template in<S>(0), Op::none, c.template in<S>(1), c.template out<S>(0),
                     Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    const Strided<const S> dA = c.template din<S>(0), dB = c.template din<S>(1);
    product<Exec, S>(c.ctx, Op::none, dA, Op::none, c.template in<S>(1), c.template dout<S>(0), Store::overwrite);
    product<Exec, S>(c.ctx, Op::none, c.template in<S>(0), Op::none, dB, c.template dout<S>(0), Store::accumulate);
  }
  void vjp(const Call<Exec>& c) const override {
    const Strided<const S> gC = c.template dout<S>(0);
    product<Exec, S>(c.ctx, Op::none, gC, Op::adjoint, c.template in<S>(1), c.template din<S>(0), c.store(0));
    product<Exec, S>(c.ctx, Op::adjoint, c.template in<S>(0), Op::none, gC, c.template din<S>(1), c.store(1));
  }
};

/// s = Re tr(A^H B):  ds = <dA, B> + <A, dB>,  gA = g B,  gB = g A for the real cotangent g.
template <class Exec, class S>
struct Inner final : Operation<Exec> {
  using R = Real<S>;
  const char* name() const override { return "inner"; }
  Reads jvp_reads(unsigned din, unsigned) const override { return other_factor(din); }
  Reads vjp_reads(unsigned, unsigned din) const override { return other_factor(din); }
  static void apply(Context<Exec>& ctx, const Strided<const S>& A, const Strided<const S>& B, const Strided<R>& s,
                    Store store) {
    if (!s) return;
    const bool add = store == Store::accumulate, zero = !A || !B;
    reduce_matrices<Sum<R>>(
        ctx, "frechet::inner", A.rows, A.cols, 1,
        KOKKOS_LAMBDA(int b, int i, int j, Sum<R>& acc) {
          if (!zero) acc.add(real(conj(A(b, i, j)) * B(b, i, j)));
        },
        KOKKOS_LAMBDA(int b, const Sum<R>& acc) { s(b, 0, 0) = add ? s(b, 0, 0) + acc.value : acc.value; });
  }
  static void scaled(Context<Exec>& ctx, const Strided<const R>& g, const Strided<const S>& A, const Strided<S>& to,
                     Store store) {
    if (!to) return;
    const bool add = store == Store::accumulate, zero = !g;
    for_each_entry(
        ctx, "frechet::inner::vjp", to.rows, to.cols, to.count, KOKKOS_LAMBDA(int b, int i, int j) {
          const S x = zero ? S(0) : g(b, 0, 0) * A(b, i, j);
          to(b, i, j) = add ? to(b, i, j) + x : x;
        });
  }
  void value(const Call<Exec>& c) const override {
    apply(c.ctx, c.template in<S>(0), c.template in<S>(1), c.template out<R>(0), Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    apply(c.ctx, c.template din<S>(0), c.template in<S>(1), c.template dout<R>(0), Store::overwrite);
    apply(c.ctx, c.template in<S>(0), c.template din<S>(1), c.template dout<R>(0), Store::accumulate);
  }
  void vjp(const Call<Exec>& c) const override {
    scaled(c.ctx, c.template dout<R>(0), c.template in<S>(1), c.template din<S>(0), c.store(0));
    scaled(c.ctx, c.template dout<R>(0), c.template in<S>(0), c.template din<S>(1), c.store(1));
  }
};

}  // namespace

template <class Exec, class S>
OperationPtr<Exec> matmul_operation() {
  return std::make_shared<const Matmul<Exec, S>>();
}
template <class Exec, class S>
OperationPtr<Exec> axpby_operation(S alpha, S beta) {
  return std::make_shared<const Axpby<Exec, S>>(alpha, beta);
}
template <class Exec, class S>
OperationPtr<Exec> scale_operation(S alpha) {
  return std::make_shared<const Scale<Exec, S>>(alpha);
}
template <class Exec, class S>
OperationPtr<Exec> transpose_operation(bool conjugate) {
  return std::make_shared<const Transpose<Exec, S>>(conjugate);
}
template <class Exec, class S>
OperationPtr<Exec> sum_operation() {
  return std::make_shared<const Total<Exec, S>>(false);
}
template <class Exec, class S>
OperationPtr<Exec> trace_operation() {
  return std::make_shared<const Total<Exec, S>>(true);
}
template <class Exec, class S>
OperationPtr<Exec> inner_operation() {
  return std::make_shared<const Inner<Exec, S>>();
}

#define FRECHET_FUNCTIONS(EXEC, S)                                \
  template OperationPtr<EXEC> matmul_operation<EXEC, S>();        \
  template OperationPtr<EXEC> axpby_operation<EXEC, S>(S, S);     \
  template OperationPtr<EXEC> scale_operation<EXEC, S>(S);        \
  template OperationPtr<EXEC> transpose_operation<EXEC, S>(bool); \
  template OperationPtr<EXEC> sum_operation<EXEC, S>();           \
  template OperationPtr<EXEC> trace_operation<EXEC, S>();         \
  template OperationPtr<EXEC> inner_operation<EXEC, S>();
FRECHET_FOR_EACH_SCALAR(FRECHET_FUNCTIONS)

}  // namespace frechet::detail
