// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_CONTEXT_HPP
#define FRECHET_AD_CONTEXT_HPP

#include <frechet/ad/custom.hpp>
#include <frechet/ad/linalg.hpp>
#include <frechet/ad/map.hpp>
#include <frechet/ad/programs.hpp>

#include <functional>
#include <map>
#include <typeindex>

namespace frechet {

/// What vjp and linearize return beside values: the pullback of cotangents to gradients, or the linear map of tangents
/// to tangents, at the inputs of that call, for any number of calls. Holds the inputs and the values that were returned
/// (as Views: the contents of both must stay unchanged), and what else the forward run computed.
template <class ProgramType, class Views, class Values>
class HeldProgram {
 public:
  using Pool = std::vector<std::shared_ptr<ProgramType>>;

  HeldProgram(std::shared_ptr<ProgramType> program, std::shared_ptr<Pool> pool, Views inputs, Values values)
      : program_(std::move(program)), pool_(std::move(pool)), inputs_(std::move(inputs)), values_(std::move(values)) {}
  HeldProgram(HeldProgram&&) noexcept = default;
  HeldProgram& operator=(HeldProgram&&) = delete;
  HeldProgram(const HeldProgram&) = delete;
  HeldProgram& operator=(const HeldProgram&) = delete;
  ~HeldProgram() {
    if (program_ && pool_) pool_->push_back(std::move(program_));
  }
  /// See TracedProgram::check.
  void check(bool strict = false) const { program_->check(strict); }

 protected:
  std::shared_ptr<ProgramType> program_;
  std::shared_ptr<Pool> pool_;
  Views inputs_;
  Values values_;  // the rules read them, also where the caller has dropped his copy
};

template <class ProgramType, class Views, class Values>
class Pullback : public HeldProgram<ProgramType, Views, Values> {
 public:
  using HeldProgram<ProgramType, Views, Values>::HeldProgram;
  /// See VjpProgram::pullback.
  template <class Cotangents, class Gradients>
  void operator()(const Cotangents& cotangents, const Gradients& gradients, Store store = Store::overwrite) {
    this->program_->pullback(cotangents, gradients, store);
  }
};

template <class ProgramType, class Views, class Values>
class LinearMap : public HeldProgram<ProgramType, Views, Values> {
 public:
  using HeldProgram<ProgramType, Views, Values>::HeldProgram;
  /// See LinearProgram::push.
  template <class Tangents, class OutTangents>
  void operator()(const Tangents& tangents, const OutTangents& value_tangents) {
    this->program_->push(tangents, value_tangents);
  }
};

/// Value, gradient and Hessian times tangent.
template <class Value, class Gradient, class Product>
struct Hvp {
  Value value;
  Gradient gradient;
  Product product;
};

/// Traces whole functions and differentiates them.
///
///   frechet::AdContext ad(exec);
///   auto f = [](auto A) { return frechet::sum(frechet::eigh(A).w); };
///   auto [value, slope] = ad.jvp(f, A, dA);       // rank-0 Views on the device
///   auto [same, pullback] = ad.vjp(f, A);
///   pullback(1.0, gA);
///   auto [again, gradient, product] = ad.hvp(f, A, dA);
///
/// f gets traced values (one per input) and returns one, a std::tuple of them, or the result of a decomposition. Inputs
/// are Views of rank 0, 1, 2, batches of them (rank 3, or batch(view)), or shapes where no data is needed.
///
/// For runs in a loop make the program once: trace(f, A).vjp_program(exec), or short vjp_program(f, A), likewise value,
/// jvp, linear and hvp; they write to the caller's Views and allocate nothing. The direct calls keep their programs
/// too, by type and shapes, if f is a function object without state; with captured state f is traced anew at every
/// call. (Global and static variables are read when f is traced.) Not for two threads at once: one AdContext per
/// thread.
template <class Exec = Kokkos::DefaultExecutionSpace>
class AdContext {
  using C = detail::Compiled<Exec>;
  using Space = typename Exec::memory_space;

 public:
  explicit AdContext(Exec exec = Exec()) : exec_(std::move(exec)) {}
  const Exec& exec() const { return exec_; }

  /// The graph of f for inputs of these shapes.
  template <class F, class In>
  auto trace(const F& f, const In& inputs) const {
    return trace_tuple(f, detail::tuple_of(inputs));
  }

  template <class F, class In>
  auto value_program(const F& f, const In& inputs) const {
    return trace(f, inputs).value_program(exec_);
  }
  template <class F, class In>
  auto jvp_program(const F& f, const In& inputs, Wrt with_respect_to = {}) const {
    return trace(f, inputs).jvp_program(exec_, with_respect_to);
  }
  template <class F, class In>
  auto linear_program(const F& f, const In& inputs, Wrt with_respect_to = {}) const {
    return trace(f, inputs).linear_program(exec_, with_respect_to);
  }
  template <class F, class In>
  auto vjp_program(const F& f, const In& inputs, Wrt with_respect_to = {}) const {
    return trace(f, inputs).vjp_program(exec_, with_respect_to);
  }
  template <class F, class In>
  auto hvp_program(const F& f, const In& inputs, Wrt with_respect_to = {}) const {
    return trace(f, inputs).hvp_program(exec_, with_respect_to);
  }

  /// f(inputs), in new Views.
  template <class F, class In>
  auto value(const F& f, const In& inputs) {
    auto [program, pool] = obtain<ValueProgram>(f, detail::tuple_of(inputs), detail::Mode::value, {0U});
    auto values = program->new_outputs();
    (*program)(inputs, values);
    finish(std::move(program), pool);
    return detail::single(values);
  }

  /// f(inputs) and its derivative along the tangents, in new Views. An input with tangent `none` is a constant.
  /// Tangents with one index more, in front, are several at once.
  template <class F, class In, class Tangents>
  auto jvp(const F& f, const In& inputs, const Tangents& tangents) {
    const Wrt active{detail::present(detail::tuple_of(tangents))};
    using Inputs =
        std::decay_t<decltype(detail::trace_inputs(std::declval<detail::Graph<C>&>(), detail::tuple_of(inputs)))>;
    if constexpr (detail::has_lead<Inputs, Tangents>) {
      auto [program, pool] = obtain<LinearProgram>(f, detail::tuple_of(inputs), detail::Mode::linear, active);
      auto values = program->new_outputs();
      const auto in = program->template input_derivatives<1>("tangent", tangents);
      auto slopes =
          program->template new_output_tangents<1>(detail::members("tangents", in, std::array<detail::Operands, 0>{}));
      (*program)(inputs, tangents, values, slopes);
      finish(std::move(program), pool);
      return std::pair(detail::single(values), detail::single(slopes));
    } else {
      auto [program, pool] = obtain<JvpProgram>(f, detail::tuple_of(inputs), detail::Mode::jvp, active);
      auto values = program->new_outputs();
      auto slopes = program->new_output_tangents();
      (*program)(inputs, tangents, values, slopes);
      finish(std::move(program), pool);
      return std::pair(detail::single(values), detail::single(slopes));
    }
  }

  /// f(inputs), in new Views, and its derivative there as a linear map of tangents.
  template <class F, class In>
  auto linearize(const F& f, const In& inputs, Wrt with_respect_to = {}) {
    return held<LinearProgram, LinearMap>(f, detail::tuple_of(inputs), detail::Mode::linear, with_respect_to);
  }

  /// f(inputs), in new Views, and its pullback.
  template <class F, class In>
  auto vjp(const F& f, const In& inputs, Wrt with_respect_to = {}) {
    return held<VjpProgram, Pullback>(f, detail::tuple_of(inputs), detail::Mode::vjp, with_respect_to);
  }

  /// f(inputs) for a real scalar f, and its gradients, in new Views (of extent zero for inputs that are constants).
  template <class F, class In>
  auto value_and_grad(const F& f, const In& inputs, Wrt with_respect_to = {}) {
    auto [program, pool] = obtain<VjpProgram>(f, detail::tuple_of(inputs), detail::Mode::vjp, with_respect_to);
    require_loss(*program);
    auto values = program->new_outputs();
    auto gradients = program->new_gradients();
    (*program)(inputs, values, 1.0, gradients);
    finish(std::move(program), pool);
    return std::pair(detail::single(values), detail::single(gradients));
  }

  /// f(inputs) for a real scalar f, its gradients, and the products of its Hessian with the tangents, in new Views.
  template <class F, class In, class Tangents>
  auto hvp(const F& f, const In& inputs, const Tangents& tangents, Wrt with_respect_to = {}) {
    auto [program, pool] = obtain<HvpProgram>(f, detail::tuple_of(inputs), detail::Mode::hvp, with_respect_to);
    require_loss(*program);
    auto values = program->new_outputs();
    auto gradients = program->new_gradients();
    auto products = program->new_gradients();
    (*program)(inputs, tangents, values, 1.0, gradients, products);
    finish(std::move(program), pool);
    return Hvp<decltype(detail::single(values)), decltype(detail::single(gradients)),
               decltype(detail::single(products))>{detail::single(values), detail::single(gradients),
                                                   detail::single(products)};
  }

  /// The Jacobian of f with one real output, by one pullback for each entry of the output: for each input a View with
  /// the indices of the output followed by those of the input.
  template <class F, class In>
  auto jacobian(const F& f, const In& inputs, Wrt with_respect_to = {}) {
    auto [program, pool] = obtain<VjpProgram>(f, detail::tuple_of(inputs), detail::Mode::vjp, with_respect_to);
    auto values = program->new_outputs();
    program->forward(inputs, values);
    auto jacobians = rows_of(*program, std::get<0>(values));
    finish(std::move(program), pool);
    return detail::single(jacobians);
  }

  /// Waits, and throws NumericalError where a diagnosis of the last value, jvp, value_and_grad, hvp or jacobian
  /// objects: a singular matrix, a loss that has no derivative there. (vjp and linearize return an object with its own
  /// check().)
  void check(bool strict = false) const {
    if (check_last_) check_last_(strict);
  }

 private:
  template <class F, class... V>
  auto trace_tuple(const F& f, const std::tuple<V...>& views) const {
    auto graph = std::make_shared<detail::Graph<C>>();
    const auto traced = detail::trace_inputs(*graph, views);
    const auto results = detail::outputs_of(std::apply(f, traced));
    const auto ids = detail::ids_of(*graph, results);
    const auto in = detail::types_of(traced);
    const auto out = detail::types_of(results);
    return TracedFunction<Exec, std::decay_t<decltype(traced)>, std::decay_t<decltype(results)>>(std::move(graph), ids,
                                                                                                 in, out);
  }

  template <template <class, class, class> class Kind, class F, class... V>
  auto make(const F& f, const std::tuple<V...>& views, detail::Mode mode, Wrt active) const {
    auto program = trace_tuple(f, views).template program<Kind>(exec_, mode, active);
    return std::make_shared<decltype(program)>(std::move(program));
  }

  /// A program from the pool of its kind, or a new one; without a pool where f has state.
  template <template <class, class, class> class Kind, class F, class... V>
  auto obtain(const F& f, const std::tuple<V...>& views, detail::Mode mode, Wrt active) {
    using P = typename decltype(make<Kind>(f, views, mode, active))::element_type;
    using Pool = std::vector<std::shared_ptr<P>>;
    check_last_ = {};
    std::shared_ptr<Pool> pool;
    if constexpr (std::is_empty_v<F>) {
      Key key{std::type_index(typeid(std::tuple<F, P>)), active.mask, detail::extents_of(views)};
      auto& entry = pools_[key];
      if (!entry) entry = std::make_shared<Pool>();
      pool = std::static_pointer_cast<Pool>(entry);
      if (!pool->empty()) {
        auto program = std::move(pool->back());
        pool->pop_back();
        return std::pair(std::move(program), std::move(pool));
      }
    }
    return std::pair(make<Kind>(f, views, mode, active), std::move(pool));
  }

  /// Back into the pool; remembered for check().
  template <class P>
  void finish(std::shared_ptr<P> program, const std::shared_ptr<std::vector<std::shared_ptr<P>>>& pool) {
    check_last_ = [program](bool strict) { program->check(strict); };
    if (pool) pool->push_back(std::move(program));
  }

  template <template <class, class, class> class Kind, template <class, class, class> class Holder, class F, class... V>
  auto held(const F& f, const std::tuple<V...>& views, detail::Mode mode, Wrt with_respect_to) {
    auto [program, pool] = obtain<Kind>(f, views, mode, with_respect_to);
    auto values = program->new_outputs();
    program->forward(views, values);
    using P = typename decltype(program)::element_type;
    using H = Holder<P, std::tuple<V...>, decltype(values)>;
    return std::pair(detail::single(values), H(std::move(program), pool, views, values));
  }

  template <class P>
  static void require_loss(const P&) {
    using T = std::tuple_element_t<0, typename P::OutputTypes>;
    static_assert(std::tuple_size_v<typename P::OutputTypes> == 1 && T::rank == 0 && !is_complex<typename T::scalar>,
                  "frechet: value_and_grad and hvp take functions with one real scalar result; others have vjp_program "
                  "and hvp_program, with cotangents");
  }

  /// Pulls back the unit cotangents of the output.
  template <class P, class Output>
  auto rows_of(P& program, const Output& output) {
    using T = std::tuple_element_t<0, typename P::OutputTypes>;
    static_assert(std::tuple_size_v<typename P::OutputTypes> == 1 && !is_complex<typename T::scalar> && !T::batched,
                  "frechet: jacobian takes functions with one real result");
    const std::size_t n = output.size();
    const auto units = detail::own_view<T, Space, 1>(program.out_[0], n);
    const auto host = Kokkos::create_mirror_view(units);
    for (std::size_t e = 0; e < n * n; ++e) host.data()[e] = e % (n + 1) == 0 ? 1 : 0;
    Kokkos::deep_copy(exec_, units, host);
    exec_.fence("frechet::jacobian");
    const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto jacobians = std::tuple(new_jacobian<T, std::tuple_element_t<I, typename P::InputTypes>>(
          program.out_[0], program.in_[I], (program.active_ >> I & 1U) != 0U)...);
      program.pullback(units, std::tuple(with_lead<std::tuple_element_t<I, typename P::InputTypes>>(
                                  std::get<I>(jacobians), program.in_[I], n, (program.active_ >> I & 1U) != 0U)...));
      exec_.fence("frechet::jacobian");
      return jacobians;
    };
    return all(std::make_index_sequence<std::tuple_size_v<typename P::InputTypes>>());
  }
  template <class Out, class In>
  static auto new_jacobian(const detail::Type& out, const detail::Type& in, bool wanted) {
    constexpr int rank = detail::view_rank<Out, 0> + detail::view_rank<In, 0>;
    using View = detail::RankView<typename In::scalar, rank, Kokkos::LayoutRight, Space>;
    if (!wanted) return View();
    std::array<std::size_t, 4> extents{};
    std::size_t r = 0;
    if (Out::rank > 0) extents[r++] = static_cast<std::size_t>(out.rows);
    if (Out::rank > 1) extents[r++] = static_cast<std::size_t>(out.cols);
    if (In::batched) extents[r++] = static_cast<std::size_t>(in.count);
    if (In::rank > 0) extents[r++] = static_cast<std::size_t>(in.rows);
    if (In::rank > 1) extents[r++] = static_cast<std::size_t>(in.cols);
    static_assert(rank <= 4, "frechet: a Jacobian of more than four indices");
    return detail::new_view<View>(extents);
  }
  /// The same memory with one index for all entries of the output.
  template <class In, class View>
  static auto with_lead(const View& jacobian, const detail::Type& in, std::size_t n, bool wanted) {
    using Lead = Kokkos::View<typename detail::OwnView<In, Space, 1>::data_type, Kokkos::LayoutRight, Space,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    if (!wanted) return Lead();
    std::array<std::size_t, 4> extents{n};
    std::size_t r = 1;
    if (In::batched) extents[r++] = static_cast<std::size_t>(in.count);
    if (In::rank > 0) extents[r++] = static_cast<std::size_t>(in.rows);
    if (In::rank > 1) extents[r++] = static_cast<std::size_t>(in.cols);
    const auto make = [&]<std::size_t... I>(std::index_sequence<I...>) { return Lead(jacobian.data(), extents[I]...); };
    return make(std::make_index_sequence<Lead::rank()>());
  }

  using Key = std::tuple<std::type_index, unsigned, std::vector<std::size_t>>;
  Exec exec_;
  std::map<Key, std::shared_ptr<void>> pools_;
  std::function<void(bool)> check_last_;
};

}  // namespace frechet

#endif
