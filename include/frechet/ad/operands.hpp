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
template <class Exec, class S, int Rank, bool B>
auto outputs_of(const Traced<Exec, S, Rank, B>& x) {
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
template <class Exec, class S, bool B>
auto outputs_of(const TracedEigh<Exec, S, B>& x) {
  return std::tuple(x.w, x.V);
}
template <class Exec, class S, bool B>
auto outputs_of(const TracedSvd<Exec, S, B>& x) {
  return std::tuple(x.U, x.s, x.Vh);
}
template <class Exec, class S, bool B>
auto outputs_of(const TracedQr<Exec, S, B>& x) {
  return std::tuple(x.Q, x.R);
}
template <class Exec, class S, bool B>
auto outputs_of(const TracedLu<Exec, S, B>& x) {
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
const V& view_of(const V& x) {
  return x;
}
template <class V>
const V& view_of(const BatchOf<V>& x) {
  return x.view;
}

/// How a View, a batch of Views or a Shape looks to the function that is traced: its scalar, its rank without the batch
/// index, its extents.
template <class V>
struct Seen {
  using scalar = Scalar<V>;
  static constexpr bool batched = V::rank() == 3;
  static constexpr int rank = static_cast<int>(V::rank()) - (batched ? 1 : 0);
  static_assert(V::rank() <= 3,
                "frechet: traced functions take Views of rank 0, 1, 2 (scalars, vectors, matrices), rank 3 (a batch of "
                "matrices), and batch(view)");
  static std::size_t extent(const V& view, int r) { return view.extent(static_cast<std::size_t>(r)); }
};
template <class V>
struct Seen<BatchOf<V>> {
  using scalar = Scalar<V>;
  static constexpr bool batched = true;
  static constexpr int rank = static_cast<int>(V::rank()) - 1;
  static_assert(V::rank() >= 1 && V::rank() <= 3, "frechet: a batch is a View of rank 1, 2 or 3, batch index first");
  static std::size_t extent(const BatchOf<V>& x, int r) { return x.view.extent(static_cast<std::size_t>(r)); }
};
template <class S, int Rank, bool Batched>
struct Seen<frechet::Shape<S, Rank, Batched>> {
  using scalar = S;
  static constexpr bool batched = Batched;
  static constexpr int rank = Rank;
  static std::size_t extent(const frechet::Shape<S, Rank, Batched>& x, int r) {
    const int e[] = {x.count, x.rows, x.cols};
    return static_cast<std::size_t>(e[r + (Batched ? 0 : 1)]);
  }
};

/// Extent r of an operand, the batch index first; 1 beyond its rank.
template <class V>
std::size_t extent_of(const V& x, int r) {
  return r < Seen<V>::rank + (Seen<V>::batched ? 1 : 0) ? Seen<V>::extent(x, r) : 1;
}

template <class... V>
std::vector<std::size_t> extents_of(const std::tuple<V...>& views) {
  std::vector<std::size_t> all;
  std::apply(
      [&](const auto&... v) {
        ((all.push_back(extent_of(v, 0)), all.push_back(extent_of(v, 1)), all.push_back(extent_of(v, 2))), ...);
      },
      views);
  return all;
}

/// A traced input of the operand's scalar, rank and extents.
template <class Exec, class V>
auto trace_input(Graph<Exec>& graph, const V& x) {
  using See = Seen<V>;
  constexpr int lead = See::batched ? 1 : 0;
  for (int r = 0; r < 3; ++r)
    if (extent_of(x, r) > 0x7fffffff) throw_extent("frechet::AdContext", "an input", extent_of(x, r));
  const auto extent = [&](int r) { return static_cast<int>(r - lead < See::rank ? extent_of(x, r) : 1); };
  Type type = type_of<typename See::scalar>(See::rank, extent(lead), extent(lead + 1));
  if (See::batched) {
    type.batched = true;
    type.count = extent(0);
  }
  return Traced<Exec, typename See::scalar, See::rank, See::batched>(graph, graph.add_input(type));
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

/// A View that a program makes: of type T, after `lead` further indices. Those with a leading index are LayoutRight, so
/// that each member lies in one piece.
template <class S, int Rank>
struct Pointers {
  using type = typename Pointers<S, Rank - 1>::type*;
};
template <class S>
struct Pointers<S, 0> {
  using type = S;
};
template <class T, int Lead>
inline constexpr int view_rank = T::rank + (T::batched ? 1 : 0) + Lead;
template <class S, int Rank, class Layout, class Space>
using RankView = Kokkos::View<typename Pointers<S, Rank>::type, Layout, Space>;
template <class T, class Space, int Lead = 0>
using OwnView =
    RankView<typename T::scalar, view_rank<T, Lead>,
             std::conditional_t<view_rank<T, Lead> == T::rank, Kokkos::LayoutLeft, Kokkos::LayoutRight>, Space>;

template <class View>
View new_view(const std::array<std::size_t, 4>& extents) {
  constexpr std::size_t rank = View::rank();
  const auto make = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return View(Kokkos::view_alloc(Kokkos::WithoutInitializing, "frechet::result"), extents[I]...);
  };
  return make(std::make_index_sequence<rank>());
}
/// With `lead` (0: none) members.
template <class T, class Space, int Lead = 0>
auto own_view(const Type& type, std::size_t lead = 0) {
  std::array<std::size_t, 4> extents{};
  std::size_t r = 0;
  if (Lead > 0) extents[r++] = lead;
  if (type.batched) extents[r++] = static_cast<std::size_t>(type.count);
  extents[r++] = static_cast<std::size_t>(type.rows);
  if (r < extents.size()) extents[r] = static_cast<std::size_t>(type.cols);
  return new_view<OwnView<T, Space, Lead>>(extents);
}

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<std::remove_cvref_t<T>>;

/// One operand of a program, or with a leading index several of them: `members`, each `step` bytes after the other. 0
/// members: one for any number of them.
struct Operands {
  Operand first;
  std::size_t members = 1, step = 0;
};

/// The operand behind one argument of a program, checked against what was traced. Lead: number of leading indices.
template <class Exec, class T, bool Required, int Lead, bool Numbers, class Argument>
Operands operand(const char* what, std::size_t index, const Argument& argument, const Type& type, bool wanted) {
  if constexpr (is_none<Argument> || is_number<Argument>) {
    static_assert(!Required, "frechet: inputs of a program cannot be absent");
    static_assert(!is_number<Argument> || (Numbers && T::rank == 0),
                  "frechet: a plain number stands only for the cotangent of a scalar output; elsewhere give a View");
    return {{type}, 0};
  } else {
    const auto& view = view_of(argument);
    using V = std::remove_cvref_t<decltype(view)>;
    static_assert(static_cast<int>(V::rank()) == view_rank<T, Lead> &&
                      std::is_same_v<typename V::non_const_value_type, typename T::scalar>,
                  "frechet: this View has another rank or scalar than the function was traced with");
    static_assert(Kokkos::SpaceAccessibility<Exec, typename V::memory_space>::accessible,
                  "frechet: the execution space cannot access the memory of this View");
    if (!Required && (view.size() == 0 || view.data() == nullptr)) return {{type}};
    constexpr std::size_t b = Lead, i = b + (T::batched ? 1 : 0);
    const auto extent = [&](std::size_t r) {
      return static_cast<int>(r) < static_cast<int>(V::rank()) ? view.extent(r) : 1;
    };
    const bool same = (!T::batched || extent(b) == static_cast<std::size_t>(type.count)) &&
                      extent(i) == static_cast<std::size_t>(type.rows) &&
                      extent(i + 1) == static_cast<std::size_t>(type.cols);
    const auto name = [&] { return std::string(what) + " " + std::to_string(index); };
    if (!same)
      throw_shape("frechet::AdContext", name().c_str(), describe(view),
                  describe(type) + (Lead > 0 ? ", after a first index that numbers several" : ""));
    if (!wanted)
      throw_argument("frechet::AdContext", name() + " belongs to an input that the program does not differentiate");
    Operands o{{type}};
    // The program only writes to outputs, which are not const.
    o.first.data = const_cast<typename T::scalar*>(view.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    const auto stride = [&](std::size_t r) { return static_cast<std::int64_t>(view.stride(r)); };
    if constexpr (T::batched) o.first.batch_stride = stride(b);
    if constexpr (V::rank() > i) o.first.row_stride = stride(i);
    if constexpr (V::rank() > i + 1) o.first.col_stride = stride(i + 1);
    if constexpr (Lead > 0) {
      o.members = view.extent(0);
      o.step = static_cast<std::size_t>(view.stride(0)) * sizeof(typename T::scalar);
    }
    return o;
  }
}

/// Leading indices of an argument for T; -1 where it is absent.
template <class T, class V>
inline constexpr int lead_of = [] {
  if constexpr (is_none<V> || IsTuple<V>::value)  // a tuple: of the wrong length, which is said later
    return -1;
  else if constexpr (is_number<V>)
    return 0;
  else
    return static_cast<int>(std::remove_cvref_t<decltype(view_of(std::declval<const V&>()))>::rank()) - view_rank<T, 0>;
}();
/// Leading indices of the arguments of one kind: 1 if any has one.
template <class Tuple, class V>
struct LeadOf {
  static constexpr int value = lead_of<std::tuple_element_t<0, Tuple>, std::remove_cvref_t<V>>;
};
template <class... T>
constexpr int largest(T... x) {
  int most = -1;
  ((most = x > most ? x : most), ...);
  return most;
}
template <class... T, class... V>
requires(sizeof...(T) == sizeof...(V)) struct LeadOf<std::tuple<T...>, std::tuple<V...>> {
  static constexpr int value = largest(lead_of<T, std::remove_cvref_t<V>>...);
};
template <class Tuple, class V>
inline constexpr bool has_lead = LeadOf<Tuple, V>::value > 0;

template <class Exec, class Tuple, bool Required, int Lead, bool Numbers, class... V>
auto operands_of(const char* what, const std::tuple<V...>& views, const TypesOf<Tuple>& types, unsigned wanted) {
  constexpr std::size_t n = std::tuple_size_v<Tuple>;
  static_assert(
      sizeof...(V) == n,
      "frechet: one argument for each input (tangents and gradients too) and for each output (cotangents too) of "
      "the traced function, as a std::tuple if there are several; `none` stands for one that is not there");
  const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Operands, n>{operand<Exec, std::tuple_element_t<I, Tuple>, Required, Lead, Numbers>(
        what, I, std::get<I>(views), types[I], (wanted >> I & 1U) != 0U)...};
  };
  return all(std::make_index_sequence<n>());
}

/// Operands of all arguments of one kind: a single View, a tuple of them, or one `none` for all.
template <class Exec, class Tuple, bool Required, int Lead, bool Numbers = false, class V>
auto operands(const char* what, const V& views, const TypesOf<Tuple>& types, unsigned wanted) {
  if constexpr (IsTuple<V>::value) {  // NOLINT(bugprone-branch-clone): they differ in `views`
    return operands_of<Exec, Tuple, Required, Lead, Numbers>(what, views, types, wanted);
  } else if constexpr (is_none<V> && std::tuple_size_v<Tuple> != 1) {
    std::array<Operands, std::tuple_size_v<Tuple>> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].first.type = types[i];
    return all;
  } else {
    return operands_of<Exec, Tuple, Required, Lead, Numbers>(what, std::tuple<const V&>(views), types, wanted);
  }
}

/// Member k of each.
template <std::size_t N>
std::array<Operand, N> member(const std::array<Operands, N>& all, std::size_t k = 0) {
  std::array<Operand, N> one;
  for (std::size_t i = 0; i < N; ++i) {
    one[i] = all[i].first;
    if (one[i].data) one[i].data = static_cast<char*>(one[i].data) + k * all[i].step;
  }
  return one;
}

/// The number of members that all present operands have.
template <std::size_t N, std::size_t M>
std::size_t members(const char* what, const std::array<Operands, N>& a, const std::array<Operands, M>& b) {
  std::size_t n = 0;
  bool found = false;
  const auto look = [&](const Operands& o) {
    if (!o.first.data || o.members == 0) return;  // absent, or one number for all
    if (found && o.members != n)
      throw_argument("frechet::AdContext", std::string("several ") + what + " at once: some operands have " +
                                               std::to_string(n) + " members and others " + std::to_string(o.members));
    n = o.members;
    found = true;
  };
  for (const Operands& o : a) look(o);
  for (const Operands& o : b) look(o);
  return n;
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
