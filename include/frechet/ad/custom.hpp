// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_CUSTOM_HPP
#define FRECHET_AD_CUSTOM_HPP

#include <frechet/ad/operands.hpp>

#include <functional>
#include <utility>

// A user's own operation with his own rules.

namespace frechet {

namespace detail {

/// A rule of a custom operation on packed memory: inputs, output, derivatives of the inputs, derivative of the output.
/// Absent ones are null.
template <class Exec>
using CustomCall = std::function<void(const Exec&, void* const* x, void* y, void* const* dx, void* dy)>;

template <class Exec>
struct CustomRules {
  CustomCall<Exec> value, jvp, vjp;
};
template <class Exec>
OperationPtr<Exec> custom_operation(CustomRules<Exec> rules);

template <class S, int Rank, class Space>
using PackedView =
    Kokkos::View<typename Pointers<S, Rank>::type, Kokkos::LayoutLeft, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Packed memory as a View; null: an empty one.
template <class S, int Rank, class Space>
PackedView<S, Rank, Space> packed_view(void* data, int rows, int cols) {
  using View = PackedView<S, Rank, Space>;
  auto* const entries = static_cast<std::remove_const_t<S>*>(data);
  const auto m = static_cast<std::size_t>(data ? rows : 0), n = static_cast<std::size_t>(data ? cols : 0);
  if constexpr (Rank == 0)
    return View(entries);
  else if constexpr (Rank == 1)
    return View(entries, m);
  else
    return View(entries, m, n);
}

/// Calls the user's functors with Views.
template <class Exec, class Out, class... In>
struct CustomViews {
  using Space = typename Exec::memory_space;
  frechet::Shape<typename Out::scalar, Out::rank> out;
  std::array<std::pair<int, int>, sizeof...(In)> in;

  template <class T, bool Const>
  static auto view(void* data, std::pair<int, int> extents) {
    using S = std::conditional_t<Const, const typename T::scalar, typename T::scalar>;
    return packed_view<S, T::rank, Space>(data, extents.first, extents.second);
  }
  template <bool Const>
  auto output(void* data) const {
    return view<Out, Const>(data, {out.rows, out.cols});
  }
  template <class F, std::size_t... I>
  void value(const F& f, const Exec& exec, void* const* x, void* y, std::index_sequence<I...>) const {
    f(exec, view<In, true>(x[I], in[I])..., output<false>(y));
  }
  template <class F, std::size_t... I>
  void jvp(const F& f, const Exec& exec, void* const* x, void* y, void* const* dx, void* dy,
           std::index_sequence<I...>) const {
    f(exec, view<In, true>(x[I], in[I])..., output<true>(y), view<In, true>(dx[I], in[I])..., output<false>(dy));
  }
  template <class F, std::size_t... I>
  void vjp(const F& f, const Exec& exec, void* const* x, void* y, void* const* gx, void* gy,
           std::index_sequence<I...>) const {
    f(exec, view<In, true>(x[I], in[I])..., output<true>(y), output<true>(gy), view<In, false>(gx[I], in[I])...);
  }
};

}  // namespace detail

/// An operation of one's own, y = f(x...), with its rules, as functors on Views:
///
///   value(exec, x..., y)             writes y
///   jvp(exec, x..., y, dx..., dy)    writes dy; a tangent that is not there is an empty View (data() == nullptr)
///   vjp(exec, x..., y, gy, gx...)    writes every gx that is not empty
///
/// Views are unmanaged, LayoutLeft, in the memory space of the program; inputs and cotangents are const. Work is
/// submitted to `exec` (for host spaces the default host execution space) and need not be complete on return. In a
/// batch the functors are called for each member. The result has the given shape:
///
///   auto y = frechet::custom(frechet::vector_shape<double>(n), value, jvp, vjp, A, x);
///
/// There is no second derivative: an hvp program of a function with a custom operation throws.
template <class S, int Rank, class Value, class Jvp, class Vjp, class Exec, class... T, int... R, bool... B>
auto custom(const Shape<S, Rank>& shape, const Value& value, const Jvp& jvp, const Vjp& vjp,
            const Traced<Exec, T, R, B>&... x) {
  constexpr bool batched = (B || ...);
  using Views = detail::CustomViews<Exec, Traced<Exec, S, Rank>, Traced<Exec, T, R>...>;
  using Indices = std::index_sequence_for<T...>;
  const Views views{shape, {std::pair(x.rows(), x.cols())...}};
  detail::Type like;
  ((x.type().batched ? void(like = x.type()) : void()), ...);
  const detail::Where& where = shape.where;  // that of vector_shape(...), in the user's call
  detail::CustomRules<Exec> rules;
  rules.value = [views, value](const Exec& exec, void* const* in, void* y, void* const*, void*) {
    views.value(value, exec, in, y, Indices());
  };
  rules.jvp = [views, jvp](const Exec& exec, void* const* in, void* y, void* const* dx, void* dy) {
    views.jvp(jvp, exec, in, y, dx, dy, Indices());
  };
  rules.vjp = [views, vjp](const Exec& exec, void* const* in, void* y, void* const* gx, void* gy) {
    views.vjp(vjp, exec, in, y, gx, gy, Indices());
  };
  auto& graph = std::get<0>(std::tie(x...)).graph();
  return detail::record<S, Rank, batched>(graph, detail::custom_operation<Exec>(std::move(rules)),
                                          {detail::with_batch<batched>("custom", x, like, where).id()...}, like,
                                          shape.rows, shape.cols, where);
}

}  // namespace frechet

#endif
