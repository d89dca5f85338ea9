// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_CONTEXT_HPP
#define FRECHET_AD_CONTEXT_HPP

#include <frechet/ad/linalg.hpp>
#include <frechet/ad/operands.hpp>
#include <frechet/ad/program.hpp>

#include <array>
#include <map>
#include <tuple>
#include <typeindex>
#include <utility>

namespace frechet {

/// Which inputs derivatives are with respect to; by default all of them. wrt(0, 2): the first and the third.
struct Wrt {
  unsigned mask = ~0U;
};
template <class... I>
constexpr Wrt wrt(I... inputs) {
  if (((inputs < 0 || inputs > 31) || ... || false))
    throw ArgumentError("frechet::wrt: inputs are numbered from 0 to 31");
  return {((1U << static_cast<unsigned>(inputs)) | ... | 0U)};
}

/// A traced function ready to run, any number of times, on Views of the shapes it was traced with. Inputs and outputs,
/// where there are several, are std::tuple (or std::tie) of Views of any layout. Running allocates nothing once the
/// scratch has found its size, and waits for nothing. Not for two threads at once.
template <class Exec, class Inputs, class Outputs>
class TracedProgram {
 public:
  using C = detail::Compiled<Exec>;

  TracedProgram(std::unique_ptr<detail::Program<C>> program, unsigned active, const detail::TypesOf<Inputs>& in,
                const detail::TypesOf<Outputs>& out)
      : program_(std::move(program)), active_(active), in_(in), out_(out) {}

  /// Bytes the program holds for values and derivatives, beyond inputs, outputs and the scratch of the operations.
  std::size_t workspace_bytes() const { return program_->workspace_bytes(); }
  /// The operations in the order they run, as "eigh value", "eigh vjp": what the need analysis left.
  std::vector<std::string> steps() const { return program_->steps(); }
  /// Waits, and throws NumericalError where a diagnosis of the last run objects; see frechet::explain.
  void check(bool strict = false) const { program_->check(strict); }

 protected:
  template <class>
  friend class AdContext;

  template <class V>
  auto inputs(const V& views) const {
    return detail::operands<Exec, Inputs, true>("input", views, in_, ~0U);
  }
  template <class V>
  auto input_derivatives(const char* what, const V& views) const {
    return detail::operands<Exec, Inputs, false>(what, views, in_, active_);
  }
  template <class V>
  auto outputs(const char* what, const V& views) const {
    return detail::operands<Exec, Outputs, false>(what, views, out_, ~0U);
  }

  /// New Views for the outputs (as a tuple), and for their tangents (`none` where there is none).
  auto new_outputs() const { return views<false>(std::make_index_sequence<std::tuple_size_v<Outputs>>()); }
  auto new_output_tangents() const { return views<true>(std::make_index_sequence<std::tuple_size_v<Outputs>>()); }

  std::unique_ptr<detail::Program<C>> program_;

 private:
  template <bool Tangents, std::size_t I>
  auto view() const {
    using T = std::tuple_element_t<I, Outputs>;
    if constexpr (Tangents && std::is_same_v<typename T::scalar, int>)
      return none;
    else
      return detail::OutputView<T, typename Exec::memory_space>::make(out_[I]);
  }
  template <bool Tangents, std::size_t... I>
  auto views(std::index_sequence<I...>) const {
    return std::tuple(view<Tangents, I>()...);
  }

  unsigned active_;
  detail::TypesOf<Inputs> in_;
  detail::TypesOf<Outputs> out_;
};

/// Computes values only.
template <class Exec, class Inputs, class Outputs>
class ValueProgram : public TracedProgram<Exec, Inputs, Outputs> {
 public:
  using TracedProgram<Exec, Inputs, Outputs>::TracedProgram;

  template <class In, class Out>
  void operator()(const In& in, const Out& values) {
    this->program_->run(this->inputs(in).data(), nullptr, this->outputs("output", values).data(), nullptr);
  }
};

/// Computes values and tangents. `none` for a tangent: zero; for an output or its tangent: not returned.
template <class Exec, class Inputs, class Outputs>
class JvpProgram : public TracedProgram<Exec, Inputs, Outputs> {
 public:
  using TracedProgram<Exec, Inputs, Outputs>::TracedProgram;

  template <class In, class Tangents, class Out, class OutTangents>
  void operator()(const In& in, const Tangents& tangents, const Out& values, const OutTangents& value_tangents) {
    this->program_->run(this->inputs(in).data(), this->input_derivatives("tangent", tangents).data(),
                        this->outputs("output", values).data(), this->outputs("output tangent", value_tangents).data());
  }
};

/// Computes values, then any number of pullbacks of cotangents. `none` for a cotangent: zero; for a gradient: not
/// wanted.
template <class Exec, class Inputs, class Outputs>
class VjpProgram : public TracedProgram<Exec, Inputs, Outputs> {
 public:
  using TracedProgram<Exec, Inputs, Outputs>::TracedProgram;

  template <class In, class Out>
  void forward(const In& in, const Out& values) {
    this->program_->run(this->inputs(in).data(), nullptr, this->outputs("output", values).data(), nullptr);
  }
  /// Gradients at the inputs of the last forward(); inputs and outputs must still be there, unchanged. The cotangent of
  /// a scalar output may be a plain number.
  template <class Cotangents, class Gradients>
  void pullback(const Cotangents& cotangents, const Gradients& gradients, Store store = Store::overwrite) {
    auto given = this->outputs("cotangent", cotangents);
    detail::for_each_number(cotangents,
                            [&](std::size_t o, double g) { given[o] = this->program_->scalar_cotangent(o, g); });
    this->program_->pullback(given.data(), this->input_derivatives("gradient", gradients).data(), store);
  }
  template <class In, class Out, class Cotangents, class Gradients>
  void operator()(const In& in, const Out& values, const Cotangents& cotangents, const Gradients& gradients,
                  Store store = Store::overwrite) {
    forward(in, values);
    pullback(cotangents, gradients, store);
  }
};

/// The pullback of one call of AdContext::vjp: maps cotangents of the outputs to gradients of the inputs, any number of
/// times. Holds the inputs (as Views: their contents must stay unchanged) and what the forward run computed.
template <class ProgramType, class Views, class Values>
class Pullback {
 public:
  using Pool = std::vector<std::unique_ptr<ProgramType>>;

  Pullback(std::unique_ptr<ProgramType> program, std::shared_ptr<Pool> pool, Views inputs, Values values)
      : program_(std::move(program)), pool_(std::move(pool)), inputs_(std::move(inputs)), values_(std::move(values)) {}
  Pullback(Pullback&&) noexcept = default;
  Pullback& operator=(Pullback&&) = delete;
  Pullback(const Pullback&) = delete;
  Pullback& operator=(const Pullback&) = delete;
  ~Pullback() {
    if (program_ && pool_) pool_->push_back(std::move(program_));
  }

  template <class Cotangents, class Gradients>
  void operator()(const Cotangents& cotangents, const Gradients& gradients, Store store = Store::overwrite) {
    program_->pullback(cotangents, gradients, store);
  }
  /// See TracedProgram::check.
  void check(bool strict = false) const { program_->check(strict); }

 private:
  std::unique_ptr<ProgramType> program_;
  std::shared_ptr<Pool> pool_;
  Views inputs_;
  Values values_;  // the rules read them, also where the caller has dropped his copy
};

/// Traces whole functions and differentiates them.
///
///   frechet::AdContext ad(exec);
///   auto f = [](auto A) { return frechet::sum(frechet::eigh(A).w); };
///   auto [value, slope] = ad.jvp(f, A, dA);       // rank-0 Views on the device
///   auto [same, pullback] = ad.vjp(f, A);
///   pullback(1.0, gA);
///
/// f gets traced values (one per input) and returns one, a std::tuple of them, or the result of a decomposition. For
/// runs in a loop make the program once: jvp_program, vjp_program, value_program; they write to the caller's Views and
/// allocate nothing. jvp, vjp and value keep their programs too, by type and shapes, if f is a function object without
/// state; with captured state f is traced anew at every call. Not for two threads at once: one AdContext per thread.
template <class Exec = Kokkos::DefaultExecutionSpace>
class AdContext {
  using C = detail::Compiled<Exec>;

 public:
  explicit AdContext(Exec exec = Exec()) : exec_(std::move(exec)) {}
  const Exec& exec() const { return exec_; }

  template <class F, class In>
  auto value_program(const F& f, const In& inputs) const {
    return std::move(*make<ValueProgram>(f, detail::tuple_of(inputs), detail::Mode::value, 0U));
  }
  template <class F, class In>
  auto jvp_program(const F& f, const In& inputs, Wrt with_respect_to = {}) const {
    return std::move(*make<JvpProgram>(f, detail::tuple_of(inputs), detail::Mode::jvp, with_respect_to.mask));
  }
  template <class F, class In>
  auto vjp_program(const F& f, const In& inputs, Wrt with_respect_to = {}) const {
    return std::move(*make<VjpProgram>(f, detail::tuple_of(inputs), detail::Mode::vjp, with_respect_to.mask));
  }

  /// f(inputs), in new Views.
  template <class F, class In>
  auto value(const F& f, const In& inputs) {
    auto [program, pool] = obtain<ValueProgram>(f, detail::tuple_of(inputs), detail::Mode::value, 0U);
    auto values = program->new_outputs();
    (*program)(inputs, values);
    if (pool) pool->push_back(std::move(program));
    return detail::single(values);
  }

  /// f(inputs) and its derivative along the tangents, in new Views. An input with tangent `none` is a constant.
  template <class F, class In, class Tangents>
  auto jvp(const F& f, const In& inputs, const Tangents& tangents) {
    const unsigned active = detail::present(detail::tuple_of(tangents));
    auto [program, pool] = obtain<JvpProgram>(f, detail::tuple_of(inputs), detail::Mode::jvp, active);
    auto values = program->new_outputs();
    auto slopes = program->new_output_tangents();
    (*program)(inputs, tangents, values, slopes);
    if (pool) pool->push_back(std::move(program));
    return std::pair(detail::single(values), detail::single(slopes));
  }

  /// f(inputs), in new Views, and its pullback.
  template <class F, class In>
  auto vjp(const F& f, const In& inputs, Wrt with_respect_to = {}) {
    const auto views = detail::tuple_of(inputs);
    auto [program, pool] = obtain<VjpProgram>(f, views, detail::Mode::vjp, with_respect_to.mask);
    auto values = program->new_outputs();
    program->forward(inputs, values);
    using P = typename decltype(program)::element_type;
    using Pull = Pullback<P, std::decay_t<decltype(views)>, decltype(values)>;
    return std::pair(detail::single(values), Pull(std::move(program), pool, views, values));
  }

 private:
  template <template <class, class, class> class Kind, class F, class... V>
  auto make(const F& f, const std::tuple<V...>& views, detail::Mode mode, unsigned active) const {
    if (sizeof...(V) < 32 && active != ~0U && (active >> sizeof...(V)) != 0U)
      throw ArgumentError("frechet::AdContext: wrt names an input that the function does not have");
    auto graph = std::make_shared<detail::Graph<C>>();
    const auto traced = detail::trace_inputs(*graph, views);
    const auto results = detail::outputs_of(std::apply(f, traced));
    using Inputs = std::decay_t<decltype(traced)>;
    using Outputs = std::decay_t<decltype(results)>;
    std::vector<bool> with_respect_to;
    for (std::size_t i = 0; i < sizeof...(V); ++i) with_respect_to.push_back((active >> i & 1U) != 0U);
    const auto in = detail::types_of(traced);
    const auto out = detail::types_of(results);
    const auto ids = detail::ids_of(*graph, results);
    auto program =
        std::make_unique<detail::Program<C>>(std::move(graph), ids, mode, with_respect_to, detail::instance(exec_));
    return std::make_unique<Kind<Exec, Inputs, Outputs>>(std::move(program), active, in, out);
  }

  /// A program from the pool of its kind, or a new one; without a pool where f has state.
  template <template <class, class, class> class Kind, class F, class... V>
  auto obtain(const F& f, const std::tuple<V...>& views, detail::Mode mode, unsigned active) {
    using P = typename decltype(make<Kind>(f, views, mode, active))::element_type;
    using Pool = std::vector<std::unique_ptr<P>>;
    std::shared_ptr<Pool> pool;
    if constexpr (std::is_empty_v<F>) {
      Key key{std::type_index(typeid(std::tuple<F, P>)), active, detail::extents_of(views)};
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

  using Key = std::tuple<std::type_index, unsigned, std::vector<std::size_t>>;
  Exec exec_;
  std::map<Key, std::shared_ptr<void>> pools_;
};

}  // namespace frechet

#endif
