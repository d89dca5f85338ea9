// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_OPERANDS_HPP
#define FRECHET_AD_OPERANDS_HPP

#include <frechet/ad/linalg.hpp>

#include <array>
#include <tuple>

// Between the Views a program is called with and the operands it runs on: tuples, types, checks.

namespace frechet::detail {

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};

/// One operand as a tuple of one; a tuple (of references) as a tuple of values.
template <class T>
auto tuple_of(const T& x) {
  return std::tuple<T>(x);
}
template <class... T>
auto tuple_of(const std::tuple<T...>& x) {
  return std::tuple<std::remove_cvref_t<T>...>(x);
}

/// The only element of a tuple of one, else the tuple.
template <class T>
T single(const std::tuple<T>& x) {
  return std::get<0>(x);
}
template <class... T>
requires(sizeof...(T) != 1) std::tuple<T...> single(const std::tuple<T...>& x) { return x; }

/// The results of a traced function as a tuple of traced values.
template <class Exec, class S, int Rank>
auto outputs_of(const Traced<Exec, S, Rank>& x) {
  return std::tuple(x);
}
template <class... T>
auto outputs_of(const std::tuple<T...>& x) {
  return std::tuple<std::remove_cvref_t<T>...>(x);
}
template <class A, class B>
auto outputs_of(const std::pair<A, B>& x) {
  return std::tuple(x.first, x.second);
}
template <class Exec, class S>
auto outputs_of(const TracedEigh<Exec, S>& x) {
  return std::tuple(x.w, x.V);
}
template <class Exec, class S>
auto outputs_of(const TracedSvd<Exec, S>& x) {
  return std::tuple(x.U, x.s, x.Vh);
}
template <class Exec, class S>
auto outputs_of(const TracedQr<Exec, S>& x) {
  return std::tuple(x.Q, x.R);
}
template <class Exec, class S>
auto outputs_of(const TracedLu<Exec, S>& x) {
  return std::tuple(x.L, x.U, x.perm);
}

template <class Tuple>
using TypesOf = std::array<Type, std::tuple_size_v<Tuple>>;

template <class... T>
TypesOf<std::tuple<T...>> types_of(const std::tuple<T...>& traced) {
  return std::apply([](const auto&... t) { return TypesOf<std::tuple<T...>>{t.type()...}; }, traced);
}

template <class Exec, class... T>
std::vector<int> ids_of(const Graph<Exec>& graph, const std::tuple<T...>& traced) {
  return std::apply(
      [&](const auto&... t) {
        if (((&t.graph() != &graph) || ...))
          throw ArgumentError("frechet::AdContext: the function returned a value of another trace");
        return std::vector<int>{t.id()...};
      },
      traced);
}

template <class V>
std::size_t extent_of(const V& view, int r) {
  return r < static_cast<int>(V::rank()) ? view.extent(static_cast<std::size_t>(r)) : 1;
}

template <class... V>
std::vector<std::size_t> extents_of(const std::tuple<V...>& views) {
  std::vector<std::size_t> all;
  std::apply([&](const auto&... v) { ((all.push_back(extent_of(v, 0)), all.push_back(extent_of(v, 1))), ...); }, views);
  return all;
}

/// A traced input of the View's scalar, rank and extents.
template <class Exec, class V>
auto trace_input(Graph<Exec>& graph, const V& view) {
  static_assert(V::rank() <= 2, "frechet: traced functions take scalars, vectors and matrices (Views of rank 0, 1, 2)");
  using S = Scalar<V>;
  for (int r = 0; r < static_cast<int>(V::rank()); ++r)
    if (view.extent(r) > 0x7fffffff) throw_extent("frechet::AdContext", "an input", view.extent(r));
  const int rows = static_cast<int>(extent_of(view, 0)), cols = static_cast<int>(extent_of(view, 1));
  constexpr int rank = static_cast<int>(V::rank());
  return Traced<Exec, S, rank>(graph, graph.add_input(type_of<S>(rank, rows, cols)));
}
template <class Exec, class... V>
auto trace_inputs(Graph<Exec>& graph, const std::tuple<V...>& views) {
  // Braces: the inputs are numbered from left to right.
  return std::apply(
      [&](const auto&... v) { return std::tuple<decltype(trace_input(graph, v))...>{trace_input(graph, v)...}; },
      views);
}

/// Bits of the operands that are not `none`.
template <class... T>
unsigned present(const std::tuple<T...>&) {
  unsigned mask = 0, bit = 1;
  ((mask |= is_none<T> ? 0U : bit, bit <<= 1U), ...);
  return mask;
}

/// The View a program makes for an output.
template <class T, class Space>
struct OutputView;
template <class Exec, class S, class Space>
struct OutputView<Traced<Exec, S, 0>, Space> {
  using type = Kokkos::View<S, Kokkos::LayoutLeft, Space>;
  static type make(const Type&) { return type(Kokkos::view_alloc(Kokkos::WithoutInitializing, "frechet::output")); }
};
template <class Exec, class S, class Space>
struct OutputView<Traced<Exec, S, 1>, Space> {
  using type = Kokkos::View<S*, Kokkos::LayoutLeft, Space>;
  static type make(const Type& t) {
    return type(Kokkos::view_alloc(Kokkos::WithoutInitializing, "frechet::output"), static_cast<std::size_t>(t.rows));
  }
};
template <class Exec, class S, class Space>
struct OutputView<Traced<Exec, S, 2>, Space> {
  using type = Kokkos::View<S**, Kokkos::LayoutLeft, Space>;
  static type make(const Type& t) {
    return type(Kokkos::view_alloc(Kokkos::WithoutInitializing, "frechet::output"), static_cast<std::size_t>(t.rows),
                static_cast<std::size_t>(t.cols));
  }
};

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<std::remove_cvref_t<T>>;

/// The operand behind one argument of a program, checked against what was traced.
template <class Exec, class T, bool Required, class V>
Operand operand(const char* what, std::size_t index, const V& view, const Type& type, bool wanted) {
  if constexpr (is_none<V> || is_number<V>) {
    static_assert(!Required, "frechet: inputs of a program cannot be absent");
    static_assert(!is_number<V> || T::rank == 0, "frechet: only the cotangent of a scalar output can be a number");
    return {type};
  } else {
    static_assert(
        V::rank() == std::size_t(T::rank) && std::is_same_v<typename V::non_const_value_type, typename T::scalar>,
        "frechet: this View has another rank or scalar than the function was traced with");
    static_assert(Kokkos::SpaceAccessibility<Exec, typename V::memory_space>::accessible,
                  "frechet: the execution space cannot access the memory of this View");
    const std::string name = std::string(what) + " " + std::to_string(index);
    const bool same = extent_of(view, 0) == static_cast<std::size_t>(type.rows) &&
                      extent_of(view, 1) == static_cast<std::size_t>(type.cols);
    if (!same) throw_shape("frechet::AdContext", name.c_str(), describe(view), describe(type));
    if (!wanted)
      throw_argument("frechet::AdContext", name + " belongs to an input that the program does not differentiate");
    Operand o{type};
    // The program only writes to outputs, which are not const.
    o.data = const_cast<typename T::scalar*>(view.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    if constexpr (V::rank() > 0) o.row_stride = static_cast<std::int64_t>(view.stride(0));
    if constexpr (V::rank() > 1) o.col_stride = static_cast<std::int64_t>(view.stride(1));
    return o;
  }
}

template <class Exec, class Tuple, bool Required, class... V>
auto operands_of(const char* what, const std::tuple<V...>& views, const TypesOf<Tuple>& types, unsigned wanted) {
  constexpr std::size_t n = std::tuple_size_v<Tuple>;
  static_assert(sizeof...(V) == n, "frechet: the program was traced with another number of inputs or outputs");
  const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Operand, n>{operand<Exec, std::tuple_element_t<I, Tuple>, Required>(
        what, I, std::get<I>(views), types[I], (wanted >> I & 1U) != 0U)...};
  };
  return all(std::make_index_sequence<n>());
}

/// Operands of all arguments of one kind: a single View, a tuple of them, or one `none` for all.
template <class Exec, class Tuple, bool Required, class V>
auto operands(const char* what, const V& views, const TypesOf<Tuple>& types, unsigned wanted) {
  if constexpr (IsTuple<V>::value) {  // NOLINT(bugprone-branch-clone): they differ in `views`
    return operands_of<Exec, Tuple, Required>(what, views, types, wanted);
  } else if constexpr (is_none<V> && std::tuple_size_v<Tuple> != 1) {
    std::array<Operand, std::tuple_size_v<Tuple>> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].type = types[i];
    return all;
  } else {
    return operands_of<Exec, Tuple, Required>(what, std::tuple<const V&>(views), types, wanted);
  }
}

/// f(index, number) for every argument that is a plain number.
template <class V, class F>
void for_each_number(const V& views, const F& f) {
  const auto visit = [&](std::size_t index, const auto& x) {
    if constexpr (is_number<decltype(x)>) f(index, static_cast<double>(x));
  };
  if constexpr (IsTuple<V>::value) {
    std::apply(
        [&](const auto&... x) {
          std::size_t index = 0;
          (visit(index++, x), ...);
        },
        views);
  } else {
    visit(0, views);
  }
}

}  // namespace frechet::detail

#endif
