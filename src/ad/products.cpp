// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/functions.hpp>

#include "degeneracy.hpp"
#include "instantiate.hpp"
#include "kernels.hpp"
#include "operands.hpp"
#include "ruled.hpp"
#include "transfer.hpp"

// Products, and norms. The text of each vjp serves dual numbers too. Absent operands count as zero.

namespace frechet::detail {
namespace {

/// C = op(A) op(B) or C += ...; an absent factor counts as zero.
template <class Exec, class S>
void product(Context<Exec>& ctx, Op opa, const Strided<const S>& A, Op opb, const Strided<const S>& B,
             const Strided<S>& C, Store store) {
  if (!C) return;
  Scope scope(ctx);
  Output<Exec, S> out(ctx, C, store, true);
  if (!A || !B) return out.commit_zero();
  gemm<Exec, S>(ctx, opa, opb, S(1), input(ctx, A), input(ctx, B), out.beta, out.batch);
  out.commit();
}

template <class Exec, class F, class Of>
void dot_of_entries(Context<Exec>& ctx, const Of& A, const Of& B, const Strided<F>& s, Store store) {
  const bool add = store == Store::accumulate;
  reduce_matrices<Sum<F>>(
      ctx, "frechet::inner", A.rows, A.cols, s.count,
      KOKKOS_LAMBDA(int b, int i, int j, Sum<F>& acc) {
        const auto x = conj(A(b, i, j)) * B(b, i, j);
        acc.add(make_scalar<F>(real(x), imag(x)));
      },
      KOKKOS_LAMBDA(int b, const Sum<F>& acc) { s(b, 0, 0) = add ? F(s(b, 0, 0) + acc.value) : acc.value; });
}
/// s = Re tr(A^H B), or s += ...; in F, which is S or its real type: tr(A^H B) or its real part.
template <class Exec, class F, class S>
void dot(Context<Exec>& ctx, const Strided<const S>& A, const Strided<const S>& B, const Strided<F>& s, Store store) {
  if (!s) return;
  if (!A || !B) return transfer<Exec, F>(ctx, {}, s, store == Store::accumulate);
  in_memory_order([&](const auto& x, const auto& y) { dot_of_entries(ctx, x, y, s, store); }, A, B);
}

template <class Exec, class S, class F, class Of, class To>
void multiply_entries(Context<Exec>& ctx, bool conjugate, const Strided<const F>& f, const Of& A, const To& to,
                      Store store) {
  const bool add = store == Store::accumulate, zero = !f || !A;
  for_each_pair(
      ctx, "frechet::multiply", to, A, KOKKOS_LAMBDA(int b, int i, int j) {
        S x = S(0);
        if (!zero) x = (conjugate ? conj(F(f(b, 0, 0))) : F(f(b, 0, 0))) * A(b, i, j);
        to(b, i, j) = add ? S(to(b, i, j) + x) : x;
      });
}
/// to = f A (or conj(f) A) for a scalar f in memory, or to += ...
template <class Exec, class F, class S>
void multiply(Context<Exec>& ctx, bool conjugate, const Strided<const F>& f, const Strided<const S>& A,
              const Strided<S>& to, Store store) {
  if (!to || ((!f || !A) && store == Store::accumulate)) return;
  in_memory_order([&](const auto& y, const auto& x) { multiply_entries<Exec, S, F>(ctx, conjugate, f, x, y, store); },
                  to, A);
}

/// Which of two factors the rules of a bilinear operation read: each derivative needs the other factor.
Reads other_factor(unsigned derivatives) { return {((derivatives & 1U) << 1U) | ((derivatives & 2U) >> 1U), 0}; }

/// C = A B:  dC = dA B + A dB,  gA = gC B^H,  gB = A^H gC.   Giles 2008, NA-08/01, 2.2.2
template <class Exec, class S>
struct Matmul final : Ruled<Exec, S, Matmul<Exec, S>> {
  const char* name() const override { return "matmul"; }
  Reads jvp_reads(unsigned din, unsigned) const override { return other_factor(din); }
  Reads vjp_reads(unsigned, unsigned gin) const override { return other_factor(gin); }
  void value(const Call<Exec>& c) const override {
    product<Exec, S>(c.ctx, Op::none, c.template in<S>(0), Op::none, c.template in<S>(1), c.template out<S>(0),
                     Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    const Strided<const S> dA = c.template din<S>(0), dB = c.template din<S>(1);
    product<Exec, S>(c.ctx, Op::none, dA, Op::none, c.template in<S>(1), c.template dout<S>(0), Store::overwrite);
    product<Exec, S>(c.ctx, Op::none, c.template in<S>(0), Op::none, dB, c.template dout<S>(0), Store::accumulate);
  }
  template <class T>
  void pull(const Call<Exec>& c) const {
    const Strided<const T> gC = c.template gout<T>(0);
    product<Exec, T>(c.ctx, Op::none, gC, Op::adjoint, c.template in<T>(1), c.template gin<T>(0), c.store(0));
    product<Exec, T>(c.ctx, Op::adjoint, c.template in<T>(0), Op::none, gC, c.template gin<T>(1), c.store(1));
  }
};

/// s = Re tr(A^H B):  ds = <dA, B> + <A, dB>,  gA = g B,  gB = g A for the real cotangent g.
template <class Exec, class S>
struct Inner final : Ruled<Exec, S, Inner<Exec, S>> {
  using R = Real<S>;
  const char* name() const override { return "inner"; }
  Reads jvp_reads(unsigned din, unsigned) const override { return other_factor(din); }
  Reads vjp_reads(unsigned, unsigned gin) const override { return other_factor(gin); }
  void value(const Call<Exec>& c) const override {
    dot<Exec, R, S>(c.ctx, c.template in<S>(0), c.template in<S>(1), c.template out<R>(0), Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    dot<Exec, R, S>(c.ctx, c.template din<S>(0), c.template in<S>(1), c.template dout<R>(0), Store::overwrite);
    dot<Exec, R, S>(c.ctx, c.template in<S>(0), c.template din<S>(1), c.template dout<R>(0), Store::accumulate);
  }
  template <class T>
  void pull(const Call<Exec>& c) const {
    const auto g = c.template gout<Real<T>>(0);
    multiply<Exec, Real<T>, T>(c.ctx, false, g, c.template in<T>(1), c.template gin<T>(0), c.store(0));
    multiply<Exec, Real<T>, T>(c.ctx, false, g, c.template in<T>(0), c.template gin<T>(1), c.store(1));
  }
};

/// C = f A for a scalar f:  dC = df A + f dA,  gf = tr(A^H gC) (its real part where f is real),  gA = conj(f) gC.
template <class Exec, class F, class S>
struct ScaleBy final : Ruled<Exec, S, ScaleBy<Exec, F, S>> {
  const char* name() const override { return "scale"; }
  Reads jvp_reads(unsigned din, unsigned) const override { return other_factor(din); }
  Reads vjp_reads(unsigned, unsigned gin) const override { return other_factor(gin); }
  void value(const Call<Exec>& c) const override {
    multiply<Exec, F, S>(c.ctx, false, c.template in<F>(0), c.template in<S>(1), c.template out<S>(0),
                         Store::overwrite);
  }
  void jvp(const Call<Exec>& c) const override {
    multiply<Exec, F, S>(c.ctx, false, c.template din<F>(0), c.template in<S>(1), c.template dout<S>(0),
                         Store::overwrite);
    multiply<Exec, F, S>(c.ctx, false, c.template in<F>(0), c.template din<S>(1), c.template dout<S>(0),
                         Store::accumulate);
  }
  template <class T>
  void pull(const Call<Exec>& c) const {
    using G = std::conditional_t<std::is_same_v<F, S>, T, Real<T>>;
    const auto g = c.template gout<T>(0);
    dot<Exec, G, T>(c.ctx, c.template in<T>(1), g, c.template gin<G>(0), c.store(0));
    multiply<Exec, G, T>(c.ctx, true, c.template in<G>(0), g, c.template gin<T>(1), c.store(1));
  }
};

/// s = |A| (Frobenius, or 2-norm of a vector), without overflow.
template <class Exec, class S>
void frobenius(Context<Exec>& ctx, const Strided<const S>& A, const Strided<Real<S>>& s) {
  using R = Real<S>;
  if (!s) return;
  reduce_matrices<Norm<R>>(
      ctx, "frechet::norm", A.rows, A.cols, A.count,
      KOKKOS_LAMBDA(int b, int i, int j, Norm<R>& acc) {
        acc.add(real(A(b, i, j)));
        if (is_complex<S>) acc.add(imag(A(b, i, j)));
      },
      KOKKOS_LAMBDA(int b, const Norm<R>& acc) { s(b, 0, 0) = acc.value(); });
}
template <class Exec, class Of, class R>
void slope_of_norm(Context<Exec>& ctx, const Strided<const R>& n, const Of& A, const Of& dA, const Strided<R>& s) {
  reduce_matrices<Sum<R>>(
      ctx, "frechet::norm::jvp", A.rows, A.cols, s.count,
      KOKKOS_LAMBDA(int b, int i, int j, Sum<R>& acc) {
        const R norm = n(b, 0, 0);
        if (norm != R(0)) acc.add(real(conj(A(b, i, j) / norm) * dA(b, i, j)));  // no over- or underflow
      },
      KOKKOS_LAMBDA(int b, const Sum<R>& acc) { s(b, 0, 0) = acc.value; });
}
/// to = (g / n) A, zero where n is; or to += ...
template <class Exec, class T>
void normalise(Context<Exec>& ctx, const Strided<const Real<T>>& g, const Strided<const Real<T>>& n,
               const Strided<const T>& A, const Strided<T>& to, Store store) {
  if (!to) return;
  const bool add = store == Store::accumulate;
  for_each_entry(
      ctx, "frechet::norm::vjp", to.rows, to.cols, to.count, KOKKOS_LAMBDA(int b, int i, int j) {
        // A / n first: neither it nor its tangent over- or underflows.
        const T x = g && n(b, 0, 0) != 0 ? T(g(b, 0, 0) * (A(b, i, j) / n(b, 0, 0))) : T(0);
        to(b, i, j) = add ? T(to(b, i, j) + x) : x;
      });
}

/// n = |A|:  dn = <A, dA> / n,  gA = (g / n) A,  zero at A = 0.
template <class Exec, class S>
struct FrobeniusNorm final : Ruled<Exec, S, FrobeniusNorm<Exec, S>> {
  using R = Real<S>;
  const char* name() const override { return "norm"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {1, 1}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {1, 1}; }
  void value(const Call<Exec>& c) const override {
    frobenius<Exec, S>(c.ctx, c.template in<S>(0), c.template out<R>(0));
  }
  void jvp(const Call<Exec>& c) const override {
    const Strided<const S> A = c.template in<S>(0), dA = c.template din<S>(0);
    const Strided<R> ds = c.template dout<R>(0);
    if (!ds) return;
    if (!dA) return transfer<Exec, R>(c.ctx, {}, ds, false);
    const Strided<const R> n = c.template out<R>(0);
    in_memory_order([&](const auto& x, const auto& dx) { slope_of_norm(c.ctx, n, x, dx, ds); }, A, dA);
  }
  template <class T>
  void pull(const Call<Exec>& c) const {
    normalise<Exec, T>(c.ctx, c.template gout<Real<T>>(0), c.template out<Real<T>>(0), c.template in<T>(0),
                       c.template gin<T>(0), c.store(0));
  }
};

}  // namespace

template <class Exec, class S>
OperationPtr<Exec> matmul_operation() {
  return std::make_shared<const Matmul<Exec, S>>();
}
template <class Exec, class F, class S>
OperationPtr<Exec> scale_by_operation() {
  return std::make_shared<const ScaleBy<Exec, F, S>>();
}
template <class Exec, class S>
OperationPtr<Exec> inner_operation() {
  return std::make_shared<const Inner<Exec, S>>();
}
template <class Exec, class S>
OperationPtr<Exec> norm_operation() {
  return std::make_shared<const FrobeniusNorm<Exec, S>>();
}

#define FRECHET_PRODUCTS(EXEC, S)                               \
  template OperationPtr<EXEC> matmul_operation<EXEC, S>();      \
  template OperationPtr<EXEC> scale_by_operation<EXEC, S, S>(); \
  template OperationPtr<EXEC> inner_operation<EXEC, S>();       \
  template OperationPtr<EXEC> norm_operation<EXEC, S>();
FRECHET_FOR_EACH_SCALAR(FRECHET_PRODUCTS)

#define FRECHET_REAL_FACTOR(EXEC)                                                        \
  template OperationPtr<EXEC> scale_by_operation<EXEC, float, Kokkos::complex<float>>(); \
  template OperationPtr<EXEC> scale_by_operation<EXEC, double, Kokkos::complex<double>>();
FRECHET_FOR_EACH_EXEC(FRECHET_REAL_FACTOR)

}  // namespace frechet::detail
