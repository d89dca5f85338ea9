// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_MAP_HPP
#define FRECHET_AD_MAP_HPP

#include <frechet/ad/functions.hpp>

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

// Elementwise functions of traced values. A function is a functor of scalars, written once for all of them; derivatives
// come from evaluating it on dual numbers.

namespace frechet {

namespace detail {

/// A few values of different types, in kernels.
template <std::size_t I, class T>
struct PackEntry {
  T value;
};
template <class Indices, class... T>
struct PackOf;
template <std::size_t... I, class... T>
struct PackOf<std::index_sequence<I...>, T...> : PackEntry<I, T>... {};
template <class... T>
using Pack = PackOf<std::index_sequence_for<T...>, T...>;
template <std::size_t I, class T>
KOKKOS_INLINE_FUNCTION const T& entry(const PackEntry<I, T>& pack) {
  return pack.value;
}

/// Part of a column, on the host: compiled once for the plain and the parallel loop.
template <class K>
struct MapRows {
  static constexpr int most = 1024;
  K kernel;
  int rows, cols;
  [[gnu::noinline]] void run(int b, int from, int j) const {
    const int to = rows - from < most ? rows : from + most;
    const K k = kernel;  // a copy cannot alias what the loop writes
    for (int i = from; i < to; ++i) k(b, i, j);
  }
  void operator()(std::int64_t w) const {
    const std::int64_t parts = (rows + most - 1) / most, c = w / parts;
    run(static_cast<int>(c / cols), static_cast<int>(w % parts) * most, static_cast<int>(c % cols));
  }
};
template <class K>
struct MapEntry {
  K kernel;
  int rows, cols;
  KOKKOS_FUNCTION void operator()(std::int64_t e) const {
    const std::int64_t c = e / rows;
    kernel(static_cast<int>(c / cols), static_cast<int>(e % rows), static_cast<int>(c % cols));
  }
};

/// kernel(b, i, j) for every entry of the type.
template <class Exec, class K>
void map_entries(const Call<Exec>& call, const Type& type, const K& kernel) {
  constexpr std::int64_t in_parallel = 1 << 13;  // a functor costs more than a copy does
  const std::int64_t columns = std::int64_t(type.cols) * type.count, entries = columns * type.rows;
  if (entries == 0) return;
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  if constexpr (!is_host<Exec>) {
    Kokkos::parallel_for("frechet::map", Policy(call.exec, 0, entries), MapEntry<K>{kernel, type.rows, type.cols});
  } else {
    const MapRows<K> part{kernel, type.rows, type.cols};
    const std::int64_t work = columns * ((type.rows + MapRows<K>::most - 1) / MapRows<K>::most);
    if (!call.inline_loops && entries >= in_parallel)
      return Kokkos::parallel_for("frechet::map", Policy(call.exec, 0, work), part);
    for (int b = 0; b < type.count; ++b)
      for (int j = 0; j < type.cols; ++j)
        for (int i = 0; i < type.rows; i += MapRows<K>::most) part.run(b, i, j);
  }
}

/// The tangent of a result; that of a constant is zero.
template <class X>
KOKKOS_INLINE_FUNCTION auto tangent_of(const X& x) {
  if constexpr (is_dual<X>)
    return x.tangent;
  else
    return X(0);
}

template <class Lifted, class S>
using Lift = std::conditional_t<Lifted::value, Dual<S>, S>;

template <class F, class Out, class Indices, class... In>
struct MapKernel;

/// y = f(x...)
template <class F, class Out, std::size_t... I, class... In>
struct MapKernel<F, Out, std::index_sequence<I...>, In...> {
  F f;
  Strided<Out> y;
  Pack<Strided<const In>...> x;
  KOKKOS_FUNCTION void operator()(int b, int i, int j) const { y(b, i, j) = Out(f(entry<I>(x)(b, i, j)...)); }
};

template <class F, class Out, class Indices, class... In>
struct MapTangentKernel;

/// dy: the tangent of f at (x, dx)...
template <class F, class Out, std::size_t... I, class... In>
struct MapTangentKernel<F, Out, std::index_sequence<I...>, In...> {
  F f;
  Strided<Out> dy;
  Pack<Strided<const Dual<In>>...> x;
  KOKKOS_FUNCTION void operator()(int b, int i, int j) const {
    dy(b, i, j) = Out(tangent_of(f(entry<I>(x)(b, i, j)...)));
  }
};

template <std::size_t K, class F, class Out, class Indices, class... In>
struct MapGradientKernel;

/// gx_K = Re(conj(gy) f'(1)), + i Re(conj(gy) f'(i)) for complex x_K; f'(v): the derivative of f in x_K along v.
template <std::size_t K, class F, class Out, std::size_t... I, class... In>
struct MapGradientKernel<K, F, Out, std::index_sequence<I...>, In...> {
  using S = std::tuple_element_t<K, std::tuple<In...>>;
  F f;
  Strided<const Out> gy;
  Pack<Strided<const In>...> x;
  Strided<S> gx;
  bool add;

  template <std::size_t J, class X>
  KOKKOS_FUNCTION static Dual<X> seeded(const X& at, const Primal<S>& along) {
    if constexpr (J == K)
      return Dual<X>(at, X(along));
    else
      return Dual<X>(at);
  }
  KOKKOS_FUNCTION auto slope(int b, int i, int j, const Primal<S>& along) const {
    return tangent_of(f(seeded<I>(entry<I>(x)(b, i, j), along)...));
  }
  KOKKOS_FUNCTION void operator()(int b, int i, int j) const {
    const Out g = gy ? Out(gy(b, i, j)) : Out(0);
    S to = S(real(conj(g) * slope(b, i, j, Primal<S>(1))));
    if constexpr (is_complex<Primal<S>>) {
      const Primal<S> unit(0, 1);
      to += unit * S(real(conj(g) * slope(b, i, j, unit)));
    }
    gx(b, i, j) = add ? S(gx(b, i, j) + to) : to;
  }
};

/// y = f(x...), entry by entry.
template <class Exec, class F, class Out, class... In>
class MapOperation final : public Operation<Exec> {
  static constexpr std::size_t n = sizeof...(In);
  using Indices = std::index_sequence_for<In...>;

 public:
  explicit MapOperation(const F& f) : f_(f) {}
  const char* name() const override {
    if constexpr (requires { F::name; })
      return F::name;
    else
      return "map";
  }
  Reads jvp_reads(unsigned, unsigned) const override { return {(1U << n) - 1U, 0}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {(1U << n) - 1U, 0}; }
  void value(const Call<Exec>& c) const override { run_value(c, Indices()); }
  void jvp(const Call<Exec>& c) const override { run_jvp(c, Indices()); }
  void vjp(const Call<Exec>& c) const override { run_vjp<std::false_type>(c, Indices()); }
  void hvp(const Call<Exec>& c) const override { run_vjp<std::true_type>(c, Indices()); }

 private:
  template <std::size_t... I>
  void run_value(const Call<Exec>& c, std::index_sequence<I...>) const {
    map_entries(c, c.outs[0].type,
                MapKernel<F, Out, Indices, In...>{
                    f_, c.template out<Out>(0), {PackEntry<I, Strided<const In>>{c.template in<In>(I)}...}});
  }
  template <std::size_t... I>
  void run_jvp(const Call<Exec>& c, std::index_sequence<I...>) const {
    map_entries(
        c, c.outs[0].type,
        MapTangentKernel<F, Out, Indices, In...>{
            f_, c.template dout<Out>(0), {PackEntry<I, Strided<const Dual<In>>>{c.template in<Dual<In>>(I)}...}});
  }
  template <class Lifted, std::size_t... I>
  void run_vjp(const Call<Exec>& c, std::index_sequence<I...>) const {
    (gradient<Lifted, I>(c, Indices()), ...);
  }
  template <class Lifted, std::size_t K, std::size_t... I>
  void gradient(const Call<Exec>& c, std::index_sequence<I...>) const {
    using S = Lift<Lifted, std::tuple_element_t<K, std::tuple<In...>>>;
    const Strided<S> to = c.template gin<S>(K);
    if (!to) return;
    map_entries(c, c.outs[0].type,
                MapGradientKernel<K, F, Lift<Lifted, Out>, Indices, Lift<Lifted, In>...>{
                    f_,
                    c.template gout<Lift<Lifted, Out>>(0),
                    {PackEntry<I, Strided<const Lift<Lifted, In>>>{c.template in<Lift<Lifted, In>>(I)}...},
                    to,
                    c.store(K) == Store::accumulate});
  }

  F f_;
};

/// The elementwise functions that are part of the library; see below.
namespace functors {
struct Multiply {
  static constexpr const char* name = "multiply";
  template <class A, class B>
  KOKKOS_FUNCTION auto operator()(const A& a, const B& b) const {
    return a * b;
  }
};
struct Divide {
  static constexpr const char* name = "divide";
  template <class A, class B>
  KOKKOS_FUNCTION auto operator()(const A& a, const B& b) const {
    return a / b;
  }
};
struct MakeComplex {
  static constexpr const char* name = "make_complex";
  template <class A, class B>
  KOKKOS_FUNCTION auto operator()(const A& re, const B& im) const {
    return re + Kokkos::complex<Real<Primal<A>>>(0, 1) * im;
  }
};
struct Reciprocal {
  static constexpr const char* name = "reciprocal";
  template <class X>
  KOKKOS_FUNCTION auto operator()(const X& x) const {
    return Real<Primal<X>>(1) / x;
  }
};
#define FRECHET_FUNCTOR(TYPE, NAME)                     \
  struct TYPE {                                         \
    static constexpr const char* name = #NAME;          \
    template <class X>                                  \
    KOKKOS_FUNCTION auto operator()(const X& x) const { \
      return frechet::NAME(x);                          \
    }                                                   \
  };
FRECHET_FUNCTOR(Conj, conj)
FRECHET_FUNCTOR(RealPart, real)
FRECHET_FUNCTOR(ImagPart, imag)
FRECHET_FUNCTOR(Abs2, abs2)
FRECHET_FUNCTOR(Abs, abs)
FRECHET_FUNCTOR(Exp, exp)
FRECHET_FUNCTOR(Log, log)
FRECHET_FUNCTOR(Sqrt, sqrt)
FRECHET_FUNCTOR(Sin, sin)
FRECHET_FUNCTOR(Cos, cos)
FRECHET_FUNCTOR(Tanh, tanh)
#undef FRECHET_FUNCTOR
}  // namespace functors

/// Made in the library for the functors above.
template <class Exec, class F, class S>
OperationPtr<Exec> unary_operation();
template <class Exec, class F, class S>
OperationPtr<Exec> binary_operation();

template <class F, class... S>
using MapResult = std::remove_cvref_t<std::invoke_result_t<const F&, S...>>;

template <class F, class Exec, class S, int Rank, bool B>
auto unary(const Traced<Exec, S, Rank, B>& A, const Where& where) {
  return record_from<MapResult<F, S>, Rank>(A, unary_operation<Exec, F, S>(), A.rows(), A.cols(), where);
}
template <class F, class Exec, class S, int Rank, bool B1, bool B2>
auto binary(const Traced<Exec, S, Rank, B1>& A, const Traced<Exec, S, Rank, B2>& B, const Where& where) {
  require_same_extents(F::name, A, B, where);
  constexpr bool batched = B1 || B2;
  const auto a = with_batch<batched>(F::name, A, B.type(), where);
  const auto b = with_batch<batched>(F::name, B, A.type(), where);
  return record<MapResult<F, S, S>, Rank, batched>(A.graph(), binary_operation<Exec, F, S>(), {a.id(), b.id()},
                                                   a.type(), A.rows(), A.cols(), where);
}

template <class F, class Exec, int Rank, class... S, bool... B>
auto map_all(const Where& where, const F& f, const Traced<Exec, S, Rank, B>&... x) {
  using Out = MapResult<F, S...>;
  static_assert(is_supported_scalar<Out>, "frechet: the functor of map returns a float, double or Kokkos::complex");
  constexpr bool batched = (B || ...);
  const std::array<Type, sizeof...(x)> types{x.type()...};
  Type like = types[0];
  for (const Type& t : types) {
    if (t.rows != like.rows || t.cols != like.cols) throw_operands("map", where, like, t);
    if (t.batched) like = t;
  }
  auto& graph = std::get<0>(std::tie(x...)).graph();
  return record<Out, Rank, batched>(graph, std::make_shared<const MapOperation<Exec, F, Out, S...>>(f),
                                    {with_batch<batched>("map", x, like, where).id()...}, like, like.rows, like.cols,
                                    where);
}

}  // namespace detail

/// f(x, ...) entry by entry, for a functor of scalars that also takes their dual numbers:
///
///   struct Softplus {
///     template <class X> KOKKOS_FUNCTION auto operator()(const X& x) const { return frechet::log(1.0 +
///     frechet::exp(x)); }
///   };
///   auto y = frechet::map(Softplus{}, x);
///
/// One to three operands of the same extents, which may have different scalars; the result has the scalar that f
/// returns. For complex arguments f need not be holomorphic. Branches of f follow the values. Arithmetic and conj,
/// real, imag, abs, abs2, exp, log, sqrt, sin, cos, tanh of namespace frechet work on dual numbers (frechet/dual.hpp).
template <class F, class Exec, class S, int Rank, bool B>
auto map(const F& f, const Traced<Exec, S, Rank, B>& x, detail::Where where = detail::Where::current()) {
  return detail::map_all(where, f, x);
}
template <class F, class Exec, class S1, class S2, int Rank, bool B1, bool B2>
auto map(const F& f, const Traced<Exec, S1, Rank, B1>& x, const Traced<Exec, S2, Rank, B2>& y,
         detail::Where where = detail::Where::current()) {
  return detail::map_all(where, f, x, y);
}
template <class F, class Exec, class S1, class S2, class S3, int Rank, bool B1, bool B2, bool B3>
auto map(const F& f, const Traced<Exec, S1, Rank, B1>& x, const Traced<Exec, S2, Rank, B2>& y,
         const Traced<Exec, S3, Rank, B3>& z, detail::Where where = detail::Where::current()) {
  return detail::map_all(where, f, x, y, z);
}

/// A o B, entry by entry.
template <class Exec, class S, int Rank, bool B1, bool B2>
auto multiply(const Traced<Exec, S, Rank, B1>& A, const Traced<Exec, S, Rank, B2>& B,
              detail::Where where = detail::Where::current()) {
  return detail::binary<detail::functors::Multiply>(A, B, where);
}
/// A / B, entry by entry.
template <class Exec, class S, int Rank, bool B1, bool B2>
auto divide(const Traced<Exec, S, Rank, B1>& A, const Traced<Exec, S, Rank, B2>& B,
            detail::Where where = detail::Where::current()) {
  return detail::binary<detail::functors::Divide>(A, B, where);
}

/// A quotient of scalars.
template <class Exec, class S, bool B1, bool B2>
auto operator/(const TracedScalar<Exec, S, B1>& a, const TracedScalar<Exec, S, B2>& b) {
  return divide(a, b, detail::Where{});
}

template <class Exec, class S, bool B>
auto operator/(std::type_identity_t<S> alpha, const TracedScalar<Exec, S, B>& b) {
  return scale(alpha, detail::unary<detail::functors::Reciprocal>(b, detail::Where{}), detail::Where{});
}
template <class Exec, class S, class F, int Rank, bool B1, bool B2>
requires(Rank > 0) auto operator/(const Traced<Exec, S, Rank, B1>& A, const TracedScalar<Exec, F, B2>& b) {
  return scale(F(1) / b, A, detail::Where{});
}

/// re + i im, entry by entry.
template <class Exec, class R, int Rank, bool B1, bool B2>
auto make_complex(const Traced<Exec, R, Rank, B1>& re, const Traced<Exec, R, Rank, B2>& im,
                  detail::Where where = detail::Where::current()) {
  return detail::binary<detail::functors::MakeComplex>(re, im, where);
}

/// The conjugate, the real and the imaginary part; on real values conj and real are the value itself.
template <class Exec, class S, int Rank, bool B>
auto conj(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  if constexpr (is_complex<S>)
    return detail::unary<detail::functors::Conj>(A, where);
  else
    return A;
}
template <class Exec, class S, int Rank, bool B>
auto real(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  if constexpr (is_complex<S>)
    return detail::unary<detail::functors::RealPart>(A, where);
  else
    return A;
}
template <class Exec, class S, int Rank, bool B>
auto imag(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::ImagPart>(A, where);
}
/// |a|^2, real.
template <class Exec, class S, int Rank, bool B>
auto abs2(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::Abs2>(A, where);
}
/// |a|, real. Its derivative at zero is taken as zero.
template <class Exec, class S, int Rank, bool B>
auto abs(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::Abs>(A, where);
}
/// Elementary functions, entry by entry (for functions of a matrix see its eigenvalues).
template <class Exec, class S, int Rank, bool B>
auto exp(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::Exp>(A, where);
}
template <class Exec, class S, int Rank, bool B>
auto log(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::Log>(A, where);
}
template <class Exec, class S, int Rank, bool B>
auto sqrt(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::Sqrt>(A, where);
}
template <class Exec, class S, int Rank, bool B>
auto sin(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::Sin>(A, where);
}
template <class Exec, class S, int Rank, bool B>
auto cos(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::Cos>(A, where);
}
template <class Exec, class S, int Rank, bool B>
auto tanh(const Traced<Exec, S, Rank, B>& A, detail::Where where = detail::Where::current()) {
  return detail::unary<detail::functors::Tanh>(A, where);
}

}  // namespace frechet

#endif
