// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_DUAL_HPP
#define FRECHET_DUAL_HPP

#include <frechet/types.hpp>

#include <type_traits>

// Dual numbers: a value and its tangent. Elementwise functions of users (frechet::map) are differentiated by evaluating
// them on dual numbers, and second derivatives come from evaluating the rules of first order on them.

namespace frechet {

template <class T>
struct Dual;

namespace detail {
/// How often a type is Dual: 0 for a scalar.
template <class T>
inline constexpr int dual_depth = 0;
template <class T>
inline constexpr int dual_depth<Dual<T>> = dual_depth<T> + 1;
}  // namespace detail

/// value + tangent e with e^2 = 0. T: a real or complex scalar, or a Dual again (for second derivatives).
template <class T>
struct Dual {
  T value, tangent;

  KOKKOS_FUNCTION Dual() : value(0), tangent(0) {}
  KOKKOS_FUNCTION Dual(const T& v, const T& t) : value(v), tangent(t) {}
  /// A constant.
  template <class X>
  requires(std::is_arithmetic_v<X> || (detail::dual_depth<X> == detail::dual_depth<T> && std::is_convertible_v<X, T>))
      KOKKOS_FUNCTION Dual(const X& constant)  // NOLINT(google-explicit-constructor)
      : value(T(constant)), tangent(0) {}
  /// From the dual number of another scalar: real to complex.
  template <class X>
  requires(!std::is_same_v<X, T> && detail::dual_depth<X> == detail::dual_depth<T> && std::is_convertible_v<X, T>)
      KOKKOS_FUNCTION Dual(const Dual<X>& other)  // NOLINT(google-explicit-constructor)
      : value(other.value), tangent(other.tangent) {}

  template <class X>
  KOKKOS_FUNCTION Dual& operator+=(const X& x);
  template <class X>
  KOKKOS_FUNCTION Dual& operator-=(const X& x);
  template <class X>
  KOKKOS_FUNCTION Dual& operator*=(const X& x);
  template <class X>
  KOKKOS_FUNCTION Dual& operator/=(const X& x);
};

namespace detail {

template <class T>
struct RealOf<Dual<T>> {
  using type = Dual<typename RealOf<T>::type>;
};

template <class T>
struct PrimalOf {
  using type = T;
};
template <class T>
struct PrimalOf<Dual<T>> {
  using type = typename PrimalOf<T>::type;
};

}  // namespace detail

template <class T>
inline constexpr bool is_dual = detail::dual_depth<std::remove_cvref_t<T>> > 0;

/// The scalar behind any number of Dual.
template <class T>
using Primal = typename detail::PrimalOf<std::remove_cvref_t<T>>::type;

namespace detail {

/// An entry of an array of dual numbers, whose values and tangents lie in arrays of their own; a tangent may be absent,
/// which counts as zero.
template <class T>
struct DualRef {
  T& value;
  T* tangent;

  KOKKOS_FUNCTION DualRef(T& v, T* t) : value(v), tangent(t) {}
  KOKKOS_DEFAULTED_FUNCTION DualRef(const DualRef&) = default;
  KOKKOS_DEFAULTED_FUNCTION ~DualRef() = default;
  KOKKOS_FUNCTION Dual<T> get() const { return tangent ? Dual<T>(value, *tangent) : Dual<T>(value); }
  KOKKOS_FUNCTION operator Dual<T>() const { return get(); }  // NOLINT(google-explicit-constructor)
  KOKKOS_FUNCTION const DualRef& operator=(const Dual<T>& x) const {
    value = x.value;
    if (tangent) *tangent = x.tangent;
    return *this;
  }
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): get() is a copy of both numbers, and nothing is owned
  KOKKOS_FUNCTION const DualRef& operator=(const DualRef& x) const { return *this = x.get(); }
  template <class X>
  KOKKOS_FUNCTION const DualRef& operator+=(const X& x) const {
    return *this = get() + x;
  }
};

template <class T>
inline constexpr bool is_dual_ref = false;
template <class T>
inline constexpr bool is_dual_ref<DualRef<T>> = true;
template <class T>
inline constexpr bool is_dual_like = is_dual<T> || is_dual_ref<std::remove_cvref_t<T>>;

/// x itself, a reference to an entry as the entry.
template <class X>
KOKKOS_INLINE_FUNCTION auto read(const X& x) {
  if constexpr (is_dual_ref<X>)
    return x.get();
  else
    return x;
}
template <class X>
using ReadOf = decltype(read(std::declval<const X&>()));

/// The scalar without its tangents.
template <class X>
KOKKOS_INLINE_FUNCTION auto primal(const X& x) {
  if constexpr (is_dual_ref<X>)
    return x.value;
  else if constexpr (is_dual<X>)
    return primal(x.value);
  else
    return x;
}

/// Operands of an arithmetic operator: at least one of them dual, the other one dual or a number.
template <class X>
inline constexpr bool is_numeric = is_dual_like<X> || std::is_arithmetic_v<X> || is_supported_scalar<X>;
template <class A, class B>
concept DualOperands = (is_dual_like<A> || is_dual_like<B>)&&is_numeric<A>&& is_numeric<B>;

/// Value and tangent of an operand of an expression of depth D. Plain numbers take part in the real type of the others.
template <int D, class R, class X>
KOKKOS_INLINE_FUNCTION auto value_at(const X& x) {
  if constexpr (dual_depth<X> == D)
    return x.value;
  else if constexpr (std::is_arithmetic_v<X>)
    return static_cast<R>(x);
  else
    return x;
}

template <class A, class B>
struct DualPair {
  static constexpr bool a_dual = dual_depth<A> >= dual_depth<B>, b_dual = dual_depth<B> >= dual_depth<A>;
  static constexpr int depth = a_dual ? dual_depth<A> : dual_depth<B>;
  using R = std::conditional_t<a_dual, Real<Primal<A>>, Real<Primal<B>>>;
};

template <class V, class T>
KOKKOS_INLINE_FUNCTION auto make_dual(const V& value, const T& tangent) {
  return Dual<V>(value, V(tangent));
}

template <class A, class B>
KOKKOS_INLINE_FUNCTION auto dual_add(const A& a, const B& b) {
  using P = DualPair<A, B>;
  const auto v = value_at<P::depth, typename P::R>(a) + value_at<P::depth, typename P::R>(b);
  if constexpr (P::a_dual && P::b_dual)
    return make_dual(v, a.tangent + b.tangent);
  else if constexpr (P::a_dual)
    return make_dual(v, a.tangent);
  else
    return make_dual(v, b.tangent);
}
template <class A, class B>
KOKKOS_INLINE_FUNCTION auto dual_subtract(const A& a, const B& b) {
  using P = DualPair<A, B>;
  const auto v = value_at<P::depth, typename P::R>(a) - value_at<P::depth, typename P::R>(b);
  if constexpr (P::a_dual && P::b_dual)
    return make_dual(v, a.tangent - b.tangent);
  else if constexpr (P::a_dual)
    return make_dual(v, a.tangent);
  else
    return make_dual(v, -b.tangent);
}
template <class A, class B>
KOKKOS_INLINE_FUNCTION auto dual_multiply(const A& a, const B& b) {
  using P = DualPair<A, B>;
  const auto va = value_at<P::depth, typename P::R>(a);
  const auto vb = value_at<P::depth, typename P::R>(b);
  if constexpr (P::a_dual && P::b_dual)
    return make_dual(va * vb, a.tangent * vb + va * b.tangent);
  else if constexpr (P::a_dual)
    return make_dual(va * vb, a.tangent * vb);
  else
    return make_dual(va * vb, va * b.tangent);
}
/// (a / b)' = (a' - (a / b) b') / b
template <class A, class B>
KOKKOS_INLINE_FUNCTION auto dual_divide(const A& a, const B& b) {
  using P = DualPair<A, B>;
  const auto va = value_at<P::depth, typename P::R>(a);
  const auto vb = value_at<P::depth, typename P::R>(b);
  const auto q = va / vb;
  if constexpr (P::a_dual && P::b_dual)
    return make_dual(q, (a.tangent - q * b.tangent) / vb);
  else if constexpr (P::a_dual)
    return make_dual(q, a.tangent / vb);
  else
    return make_dual(q, -(q * b.tangent) / vb);
}

}  // namespace detail

// The overloads for Kokkos::complex are there because those of Kokkos would win otherwise: they take anything as the
// other operand.
#define FRECHET_DUAL_OPERATOR(OP, FUNCTION)                                                                  \
  template <class A, class B>                                                                                \
  requires detail::DualOperands<A, B> KOKKOS_INLINE_FUNCTION auto OP(const A& a, const B& b) {               \
    return detail::FUNCTION(detail::read(a), detail::read(b));                                               \
  }                                                                                                          \
  template <class R, class D>                                                                                \
  requires detail::is_dual_like<D> KOKKOS_INLINE_FUNCTION auto OP(const Kokkos::complex<R>& a, const D& b) { \
    return detail::FUNCTION(a, detail::read(b));                                                             \
  }                                                                                                          \
  template <class D, class R>                                                                                \
  requires detail::is_dual_like<D> KOKKOS_INLINE_FUNCTION auto OP(const D& a, const Kokkos::complex<R>& b) { \
    return detail::FUNCTION(detail::read(a), b);                                                             \
  }
FRECHET_DUAL_OPERATOR(operator+, dual_add)
FRECHET_DUAL_OPERATOR(operator-, dual_subtract)
FRECHET_DUAL_OPERATOR(operator*, dual_multiply)
FRECHET_DUAL_OPERATOR(operator/, dual_divide)
#undef FRECHET_DUAL_OPERATOR

template <class A>
requires detail::is_dual_like<A> KOKKOS_INLINE_FUNCTION auto operator-(const A& a) {
  const auto x = detail::read(a);
  return detail::make_dual(-x.value, -x.tangent);
}
template <class T>
template <class X>
KOKKOS_INLINE_FUNCTION Dual<T>& Dual<T>::operator+=(const X& x) {
  return *this = *this + x;
}
template <class T>
template <class X>
KOKKOS_INLINE_FUNCTION Dual<T>& Dual<T>::operator-=(const X& x) {
  return *this = *this - x;
}
template <class T>
template <class X>
KOKKOS_INLINE_FUNCTION Dual<T>& Dual<T>::operator*=(const X& x) {
  return *this = *this * x;
}
template <class T>
template <class X>
KOKKOS_INLINE_FUNCTION Dual<T>& Dual<T>::operator/=(const X& x) {
  return *this = *this / x;
}

// Comparisons look at values only: a branch in a function of dual numbers goes the way the value goes.
template <class A, class B>
requires detail::DualOperands<A, B> KOKKOS_INLINE_FUNCTION bool operator<(const A& a, const B& b) {
  return detail::primal(a) < detail::primal(b);
}
template <class A, class B>
requires detail::DualOperands<A, B> KOKKOS_INLINE_FUNCTION bool operator>(const A& a, const B& b) {
  return detail::primal(a) > detail::primal(b);
}
template <class A, class B>
requires detail::DualOperands<A, B> KOKKOS_INLINE_FUNCTION bool operator<=(const A& a, const B& b) {
  return detail::primal(a) <= detail::primal(b);
}
template <class A, class B>
requires detail::DualOperands<A, B> KOKKOS_INLINE_FUNCTION bool operator>=(const A& a, const B& b) {
  return detail::primal(a) >= detail::primal(b);
}
template <class A, class B>
requires detail::DualOperands<A, B> KOKKOS_INLINE_FUNCTION bool operator==(const A& a, const B& b) {
  return detail::primal(a) == detail::primal(b);
}

// --- functions ------------------------------------------------------------------------------------------------------

/// Conjugate, real part and imaginary part, for real and complex scalars and their dual numbers.
template <class X>
requires detail::is_numeric<X> KOKKOS_INLINE_FUNCTION auto conj(const X& x) {
  if constexpr (detail::is_dual_like<X>) {
    const auto d = detail::read(x);
    return detail::make_dual(conj(d.value), conj(d.tangent));
  } else if constexpr (is_complex<X>) {
    return Kokkos::conj(x);
  } else {
    return x;
  }
}
template <class X>
requires detail::is_numeric<X> KOKKOS_INLINE_FUNCTION auto real(const X& x) {
  if constexpr (detail::is_dual_like<X>) {
    const auto d = detail::read(x);
    return detail::make_dual(real(d.value), real(d.tangent));
  } else if constexpr (is_complex<X>) {
    return x.real();
  } else {
    return x;
  }
}
template <class X>
requires detail::is_numeric<X> KOKKOS_INLINE_FUNCTION auto imag(const X& x) {
  if constexpr (detail::is_dual_like<X>) {
    const auto d = detail::read(x);
    return detail::make_dual(imag(d.value), imag(d.tangent));
  } else if constexpr (is_complex<X>) {
    return x.imag();
  } else {
    return X(0);
  }
}
/// |x|^2
template <class X>
requires detail::is_numeric<X> KOKKOS_INLINE_FUNCTION auto abs2(const X& x) {
  const auto re = real(x);
  if constexpr (is_complex<Primal<detail::ReadOf<X>>>) {
    const auto im = imag(x);
    return re * re + im * im;
  } else {
    return re * re;
  }
}

/// Elementary functions of scalars and dual numbers, to be used in functors for frechet::map. (Kokkos' own for
/// scalars.)
#define FRECHET_ELEMENTARY(NAME, SLOPE)                                           \
  template <class X>                                                              \
  requires detail::is_numeric<X> KOKKOS_INLINE_FUNCTION auto NAME(const X& arg) { \
    if constexpr (detail::is_dual_like<X>) {                                      \
      const auto d = detail::read(arg);                                           \
      const auto x = d.value;                                                     \
      const auto f = NAME(x);                                                     \
      return detail::make_dual(f, (SLOPE)*d.tangent);                             \
    } else {                                                                      \
      return Kokkos::NAME(arg);                                                   \
    }                                                                             \
  }
template <class X>
requires detail::is_numeric<X> KOKKOS_INLINE_FUNCTION auto cos(const X& arg);
FRECHET_ELEMENTARY(exp, f)
FRECHET_ELEMENTARY(log, decltype(x)(1) / x)
FRECHET_ELEMENTARY(sqrt, decltype(f)(1) / (f + f))
FRECHET_ELEMENTARY(sin, cos(x))
FRECHET_ELEMENTARY(cos, -sin(x))
FRECHET_ELEMENTARY(tanh, decltype(f)(1) - f * f)
#undef FRECHET_ELEMENTARY

/// |x|. Its derivative at zero is taken as zero.
template <class X>
requires detail::is_numeric<X> KOKKOS_INLINE_FUNCTION auto abs(const X& arg) {
  if constexpr (detail::is_dual_like<X>) {
    const auto d = detail::read(arg);
    const auto x = d.value;
    const auto f = abs(x);
    const auto slope = real(conj(x) * d.tangent);
    return detail::make_dual(f, f == 0 ? decltype(slope / f)(0) : slope / f);
  } else {
    return Kokkos::abs(arg);
  }
}

}  // namespace frechet

#endif
