// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_PROGRAMS_HPP
#define FRECHET_AD_PROGRAMS_HPP

#include <frechet/ad/operands.hpp>
#include <frechet/ad/program.hpp>

#include <array>
#include <tuple>
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
/// scratch has found its size, and waits for nothing. Not for two threads at once: each thread takes a copy().
template <class Exec, class Inputs, class Outputs>
class TracedProgram {
 public:
  using C = detail::Compiled<Exec>;
  using InputTypes = Inputs;
  using OutputTypes = Outputs;

  TracedProgram(std::unique_ptr<detail::Program<C>> program, unsigned active, const detail::TypesOf<Inputs>& in,
                const detail::TypesOf<Outputs>& out)
      : program_(std::move(program)), active_(active), in_(in), out_(out) {}

  /// Bytes the program holds: values and derivatives, in memory that they share where they are not needed at the same
  /// time, and the scratch of the operations. Can be asked before the first run: the program then runs once on identity
  /// matrices to find its scratch, so that no later run allocates.
  std::size_t workspace_bytes() { return program_->workspace_bytes(); }
  /// The same without scratch: known without running anything.
  std::size_t planned_bytes() const { return program_->planned_bytes(); }
  /// The operations in the order they run, as "eigh value", "eigh vjp": what the need analysis left.
  std::vector<std::string> steps() const { return program_->steps(); }
  /// Whether an input or output is of float or complex<float>.
  bool has_single_precision() const {
    bool any = false;
    const auto look = [&](const auto& types) {
      for (const detail::Type& t : types)
        any = any || t.scalar == detail::ScalarKind::f32 || t.scalar == detail::ScalarKind::c64;
    };
    look(in_);
    look(out_);
    return any;
  }
  /// Waits, and throws NumericalError where a diagnosis of the last run objects; see frechet::explain.
  void check(bool strict = false) const { program_->check(strict); }

  /// New Views for the outputs (as a tuple); for their tangents (`none` where there is none), `members` of each with a
  /// leading index; for the gradients, empty for inputs that are not differentiated.
  auto new_outputs() const { return views<Outputs, false, 0>(out_, ~0U, 0); }
  template <int Lead = 0>
  auto new_output_tangents(std::size_t members = 0) const {
    return views<Outputs, true, Lead>(out_, ~0U, members);
  }
  auto new_gradients() const { return views<Inputs, true, 0>(in_, active_, 0); }

 protected:
  template <class>
  friend class AdContext;

  template <class V>
  auto inputs(const V& views) const {
    return detail::member(detail::operands<Exec, Inputs, true, 0>("input", views, in_, ~0U));
  }
  template <int Lead = 0, class V>
  auto input_derivatives(const char* what, const V& views) const {
    return detail::operands<Exec, Inputs, false, Lead>(what, views, in_, active_);
  }
  template <int Lead = 0, class V>
  auto outputs(const char* what, const V& views) const {
    return detail::operands<Exec, Outputs, false, Lead>(what, views, out_, ~0U);
  }
  /// Cotangents, with the plain numbers among them.
  template <int Lead = 0, class V>
  auto cotangents(const V& views) const {
    auto given = detail::operands<Exec, Outputs, false, Lead, true>("cotangent", views, out_, ~0U);
    detail::for_each_number(views, [&](std::size_t o, double g) { given[o].first = program_->scalar_cotangent(o, g); });
    return given;
  }

  std::unique_ptr<detail::Program<C>> program_;

  unsigned active_;
  detail::TypesOf<Inputs> in_;
  detail::TypesOf<Outputs> out_;

 private:
  template <class T, bool Derivatives, int Lead>
  static auto view(const detail::Type& type, bool wanted, std::size_t members) {
    if constexpr (Derivatives && std::is_same_v<typename T::scalar, int>)
      return none;
    else if (wanted)
      return detail::own_view<T, typename Exec::memory_space, Lead>(type, members);
    else
      return detail::OwnView<T, typename Exec::memory_space, Lead>();
  }
  template <class Tuple, bool Derivatives, int Lead>
  static auto views(const detail::TypesOf<Tuple>& types, unsigned wanted, std::size_t members) {
    const auto all = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple(
          view<std::tuple_element_t<I, Tuple>, Derivatives, Lead>(types[I], (wanted >> I & 1U) != 0U, members)...);
    };
    return all(std::make_index_sequence<std::tuple_size_v<Tuple>>());
  }
};

/// Computes values only.
template <class Exec, class Inputs, class Outputs>
class ValueProgram : public TracedProgram<Exec, Inputs, Outputs> {
 public:
  using TracedProgram<Exec, Inputs, Outputs>::TracedProgram;

  /// The same program for another instance, with memory of its own.
  ValueProgram copy(const Exec& exec) const {
    return {this->program_->copy(detail::instance(exec)), this->active_, this->in_, this->out_};
  }
  template <class In, class Out>
  void operator()(const In& in, const Out& values) {
    this->program_->run(this->inputs(in).data(), nullptr, detail::member(this->outputs("output", values)).data(),
                        nullptr);
  }
};

/// Computes values and tangents. `none` for a tangent: zero; for an output or its tangent: not returned.
template <class Exec, class Inputs, class Outputs>
class JvpProgram : public TracedProgram<Exec, Inputs, Outputs> {
 public:
  using TracedProgram<Exec, Inputs, Outputs>::TracedProgram;

  JvpProgram copy(const Exec& exec) const {
    return {this->program_->copy(detail::instance(exec)), this->active_, this->in_, this->out_};
  }
  template <class In, class Tangents, class Out, class OutTangents>
  void operator()(const In& in, const Tangents& tangents, const Out& values, const OutTangents& value_tangents) {
    this->program_->run(this->inputs(in).data(), detail::member(this->input_derivatives("tangent", tangents)).data(),
                        detail::member(this->outputs("output", values)).data(),
                        detail::member(this->outputs("output tangent", value_tangents)).data());
  }
};

/// Computes values, then any number of tangents with what was computed for them.
template <class Exec, class Inputs, class Outputs>
class LinearProgram : public TracedProgram<Exec, Inputs, Outputs> {
 public:
  using TracedProgram<Exec, Inputs, Outputs>::TracedProgram;

  LinearProgram copy(const Exec& exec) const {
    return {this->program_->copy(detail::instance(exec)), this->active_, this->in_, this->out_};
  }
  template <class In, class Out>
  void forward(const In& in, const Out& values) {
    this->program_->run(this->inputs(in).data(), nullptr, detail::member(this->outputs("output", values)).data(),
                        nullptr);
  }
  /// Tangents of the outputs at the inputs of the last forward(); inputs and outputs must still be there, unchanged.
  /// Views with one index more, in front, are several tangents at once.
  template <class Tangents, class OutTangents>
  void push(const Tangents& tangents, const OutTangents& value_tangents) {
    constexpr int lead = detail::has_lead<Inputs, Tangents> || detail::has_lead<Outputs, OutTangents> ? 1 : 0;
    const auto in = this->template input_derivatives<lead>("tangent", tangents);
    const auto out = this->template outputs<lead>("output tangent", value_tangents);
    const std::size_t n = lead > 0 ? detail::members("tangents", in, out) : 1;
    for (std::size_t k = 0; k < n; ++k)
      this->program_->push(detail::member(in, k).data(), detail::member(out, k).data());
  }
  template <class In, class Tangents, class Out, class OutTangents>
  void operator()(const In& in, const Tangents& tangents, const Out& values, const OutTangents& value_tangents) {
    forward(in, values);
    push(tangents, value_tangents);
  }
};

/// Computes values, then any number of pullbacks of cotangents. `none` for a cotangent: zero; for a gradient: not
/// wanted.
template <class Exec, class Inputs, class Outputs>
class VjpProgram : public TracedProgram<Exec, Inputs, Outputs> {
 public:
  using TracedProgram<Exec, Inputs, Outputs>::TracedProgram;

  VjpProgram copy(const Exec& exec) const {
    return {this->program_->copy(detail::instance(exec)), this->active_, this->in_, this->out_};
  }
  template <class In, class Out>
  void forward(const In& in, const Out& values) {
    this->program_->run(this->inputs(in).data(), nullptr, detail::member(this->outputs("output", values)).data(),
                        nullptr);
  }
  /// Gradients at the inputs of the last forward(); inputs and outputs must still be there, unchanged. The cotangent of
  /// a scalar output may be a plain number. Views with one index more, in front, are several cotangents at once: the
  /// factorisations are shared.
  template <class Cotangents, class Gradients>
  void pullback(const Cotangents& cotangents, const Gradients& gradients, Store store = Store::overwrite) {
    constexpr int lead = detail::has_lead<Outputs, Cotangents> || detail::has_lead<Inputs, Gradients> ? 1 : 0;
    const auto out = this->template cotangents<lead>(cotangents);
    const auto in = this->template input_derivatives<lead>("gradient", gradients);
    const std::size_t n = lead > 0 ? detail::members("cotangents", out, in) : 1;
    for (std::size_t k = 0; k < n; ++k)
      this->program_->pullback(detail::member(out, k).data(), detail::member(in, k).data(), store);
  }
  template <class In, class Out, class Cotangents, class Gradients>
  void operator()(const In& in, const Out& values, const Cotangents& cotangents, const Gradients& gradients,
                  Store store = Store::overwrite) {
    forward(in, values);
    pullback(cotangents, gradients, store);
  }
};

/// Computes values, the gradients g of <cotangents, outputs>, and the products H v of its Hessian with tangents v: the
/// derivative of g along v. Cotangents are constants. Any of the results may be `none`.
template <class Exec, class Inputs, class Outputs>
class HvpProgram : public TracedProgram<Exec, Inputs, Outputs> {
 public:
  using TracedProgram<Exec, Inputs, Outputs>::TracedProgram;

  HvpProgram copy(const Exec& exec) const {
    return {this->program_->copy(detail::instance(exec)), this->active_, this->in_, this->out_};
  }
  template <class In, class Tangents, class Out, class Cotangents, class Gradients, class Products>
  void operator()(const In& in, const Tangents& tangents, const Out& values, const Cotangents& cotangents,
                  const Gradients& gradients, const Products& products) {
    this->program_->run_second(
        this->inputs(in).data(), detail::member(this->input_derivatives("tangent", tangents)).data(),
        detail::member(this->outputs("output", values)).data(), detail::member(this->cotangents(cotangents)).data(),
        detail::member(this->input_derivatives("gradient", gradients)).data(),
        detail::member(this->input_derivatives("product", products)).data());
  }
};

/// A function of Views as a graph of operations: what AdContext::trace returns. Makes programs.
template <class Exec, class Inputs, class Outputs>
class TracedFunction {
  using C = detail::Compiled<Exec>;

 public:
  TracedFunction(std::shared_ptr<const detail::Graph<C>> graph, std::vector<int> outputs,
                 const detail::TypesOf<Inputs>& in, const detail::TypesOf<Outputs>& out)
      : graph_(std::move(graph)), outputs_(std::move(outputs)), in_(in), out_(out) {}

  /// Operations recorded, and each with the place where it was traced: "eigh traced at loss.cpp:12".
  std::vector<std::string> operations() const {
    std::vector<std::string> all;
    for (const auto& node : graph_->nodes())
      all.push_back(std::string(node.operation->name()) + " traced at " + node.where);
    return all;
  }

  auto value_program(const Exec& exec = Exec()) const { return program<ValueProgram>(exec, detail::Mode::value, {0U}); }
  auto jvp_program(const Exec& exec = Exec(), Wrt with_respect_to = {}) const {
    return program<JvpProgram>(exec, detail::Mode::jvp, with_respect_to);
  }
  auto linear_program(const Exec& exec = Exec(), Wrt with_respect_to = {}) const {
    return program<LinearProgram>(exec, detail::Mode::linear, with_respect_to);
  }
  auto vjp_program(const Exec& exec = Exec(), Wrt with_respect_to = {}) const {
    return program<VjpProgram>(exec, detail::Mode::vjp, with_respect_to);
  }
  auto hvp_program(const Exec& exec = Exec(), Wrt with_respect_to = {}) const {
    return program<HvpProgram>(exec, detail::Mode::hvp, with_respect_to);
  }

 private:
  template <class>
  friend class AdContext;

  template <template <class, class, class> class Kind>
  Kind<Exec, Inputs, Outputs> program(const Exec& exec, detail::Mode mode, Wrt with_respect_to) const {
    constexpr std::size_t n = std::tuple_size_v<Inputs>;
    const unsigned active = with_respect_to.mask;
    if (n < 32 && active != ~0U && (active >> n) != 0U)
      throw ArgumentError("frechet::AdContext: wrt names an input that the function does not have");
    std::vector<bool> differentiated;
    for (std::size_t i = 0; i < n; ++i) differentiated.push_back((active >> i & 1U) != 0U);
    return {std::make_unique<detail::Program<C>>(graph_, outputs_, mode, differentiated, detail::instance(exec)),
            active, in_, out_};
  }

  std::shared_ptr<const detail::Graph<C>> graph_;
  std::vector<int> outputs_;
  detail::TypesOf<Inputs> in_;
  detail::TypesOf<Outputs> out_;
};

}  // namespace frechet

#endif
