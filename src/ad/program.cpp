// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/program.hpp>
#include <frechet/check.hpp>
#include <frechet/detail/arguments.hpp>

#include "instantiate.hpp"
#include "operands.hpp"

#include <array>

namespace frechet::detail {
namespace {

constexpr int most_operands = 8;

enum class Action { value, jvp, vjp, copy, add, zero };

struct Step {
  Action action = Action::zero;
  int node = -1;                         ///< of an operation
  std::vector<int> in = {}, out = {};    ///< slots of values
  std::vector<int> din = {}, dout = {};  ///< slots of derivatives, -1 where absent
  std::vector<Store> stores = {};        ///< vjp: per input
  int from = -1, to = -1;                ///< copy, add, zero
  int diagnosis = 0;
};

template <class F>
void with_scalar(ScalarKind kind, const F& f) {
  switch (kind) {
    case ScalarKind::f32:
      return f(float{});
    case ScalarKind::f64:
      return f(double{});
    case ScalarKind::c64:
      return f(Kokkos::complex<float>{});
    case ScalarKind::c128:
      return f(Kokkos::complex<double>{});
    case ScalarKind::i32:
      return f(int{});
  }
}

/// to = from, or to += from; an absent `from` counts as zero.
template <class Exec, class S>
void transfer(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, bool add) {
  const bool zero = !from;
  for_each_entry(
      ctx, "frechet::transfer", to.rows, to.cols, to.count, KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = zero ? S(0) : from(b, i, j);
        to(b, i, j) = add ? to(b, i, j) + x : x;
      });
}

template <class Exec>
void transfer(Context<Exec>& ctx, const Operand& from, const Operand& to, Store store) {
  const bool add = store == Store::accumulate;
  if (!to.data || (add && !from.data)) return;
  with_scalar(to.type.scalar, [&](auto scalar) {
    using S = decltype(scalar);
    transfer<Exec, S>(ctx, from.template as<const S>(), to.template as<S>(), add);
  });
}

}  // namespace

template <class Exec>
struct Program<Exec>::Plan {
  std::shared_ptr<const Graph<Exec>> graph;
  std::vector<int> outputs;
  Mode mode;
  std::vector<bool> active;  ///< per value: depends on an input that derivatives are with respect to
  Instance<Exec> instance;
  Context<Exec> ctx;

  std::vector<Step> forward, backward;
  std::vector<Operand> slots;  ///< values, then derivatives (shifted by the number of values), then extra memory
  std::vector<Operand> home;   ///< the program's own memory of each slot, absent where it has none
  std::vector<int> bound;      ///< per output: the slot that is bound to the caller's value, -1: copied at the end
  std::vector<int> bound_tangent;
  std::vector<bool> direct;                            ///< per output, vjp: the caller's cotangent is read in place
  std::vector<int> seed;                               ///< per output: slot of a scalar cotangent given on the host
  std::vector<std::pair<int, std::string>> diagnosed;  ///< per diagnosis: node and rule
  char* memory = nullptr;
  Diagnosis* diagnoses = nullptr;
  std::size_t bytes = 0;
  bool ran = false;

  Plan(std::shared_ptr<const Graph<Exec>> g, std::vector<int> out, Mode m, const Instance<Exec>& i)
      : graph(std::move(g)), outputs(std::move(out)), mode(m), instance(i), ctx(i.exec) {
    ctx.set_inline_loops(i.inline_loops);
  }
  ~Plan() {
    if (memory) Kokkos::kokkos_free<typename Exec::memory_space>(memory);
  }

  int values() const { return static_cast<int>(graph->values().size()); }
  int derivative(int v) const { return values() + v; }
  const Type& type(int v) const { return graph->values()[static_cast<std::size_t>(v)].type; }
  bool is_input(int v) const { return graph->values()[static_cast<std::size_t>(v)].node < 0; }

  int new_slot(const Type& t) {
    slots.push_back({t});
    return static_cast<int>(slots.size()) - 1;
  }
  int new_diagnosis(int node, const char* rule) {
    diagnosed.emplace_back(node, rule);
    return static_cast<int>(diagnosed.size()) - 1;
  }

  void analyse(const std::vector<bool>& with_respect_to);
  void plan_forward(const std::vector<bool>& needed, const std::vector<bool>& flowing);
  void plan_backward(const std::vector<bool>& present);
  void allocate(const std::vector<bool>& needs_home);
  void execute(const std::vector<Step>& steps, Store store);
};

namespace {

/// An output may not start where another operand starts; see Arguments::check_aliases.
void require_distinct(const Operand* outputs, std::size_t n, const char* name, const Operand* others, std::size_t m,
                      const char* other) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) {
      if (outputs == others && i == j) continue;
      if (outputs[i].data && outputs[i].data == others[j].data && outputs[i].type.bytes() > 0)
        throw_argument("frechet::AdContext", std::string(name) + " " + std::to_string(i) + " shares its memory with " +
                                                 other + (m > 1 ? " " + std::to_string(j) : ""));
    }
}

}  // namespace

/// Needed values and derivatives, from the outputs back. In mode jvp `flowing` marks wanted tangents, in vjp present
/// cotangents: both run from the outputs to the active inputs.
template <class Exec>
void Program<Exec>::Plan::analyse(const std::vector<bool>& with_respect_to) {
  const auto& nodes = graph->nodes();
  const auto n = static_cast<std::size_t>(values());
  active.assign(n, false);
  for (std::size_t i = 0; i < graph->inputs().size(); ++i)
    active[static_cast<std::size_t>(graph->inputs()[i])] = mode != Mode::value && with_respect_to[i];
  for (const auto& node : nodes) {
    bool any = false;
    for (const int v : node.in) any = any || active[static_cast<std::size_t>(v)];
    for (const int v : node.out) active[static_cast<std::size_t>(v)] = any && type(v).differentiable();
  }
  std::vector<bool> needed(n, false), flowing(n, false);
  for (const int v : outputs) {
    needed[static_cast<std::size_t>(v)] = true;
    flowing[static_cast<std::size_t>(v)] = active[static_cast<std::size_t>(v)];
  }
  for (std::size_t k = nodes.size(); k-- > 0;) {
    const auto& node = nodes[k];
    unsigned din = 0, dout = 0;
    for (std::size_t i = 0; i < node.in.size(); ++i)
      if (active[static_cast<std::size_t>(node.in[i])]) din |= 1U << i;
    for (std::size_t i = 0; i < node.out.size(); ++i)
      if (flowing[static_cast<std::size_t>(node.out[i])]) dout |= 1U << i;
    if (din != 0 && dout != 0) {
      const Reads reads =
          mode == Mode::jvp ? node.operation->jvp_reads(din, dout) : node.operation->vjp_reads(dout, din);
      for (std::size_t i = 0; i < node.in.size(); ++i) {
        const auto v = static_cast<std::size_t>(node.in[i]);
        if (din >> i & 1U) flowing[v] = true;
        if (reads.in >> i & 1U) needed[v] = true;
      }
      for (std::size_t i = 0; i < node.out.size(); ++i)
        if (reads.out >> i & 1U) needed[static_cast<std::size_t>(node.out[i])] = true;
    }
    bool run = false;
    for (const int v : node.out) run = run || needed[static_cast<std::size_t>(v)];
    if (run)
      for (const int v : node.in) needed[static_cast<std::size_t>(v)] = true;
  }
  slots.resize(2 * n);
  for (std::size_t v = 0; v < n; ++v) slots[v].type = slots[n + v].type = graph->values()[v].type;
  plan_forward(needed, flowing);
  if (mode == Mode::vjp) plan_backward(flowing);
  std::vector<bool> needs_home(slots.size(), true);
  for (std::size_t v = 0; v < n; ++v) {
    needs_home[v] = needed[v] && !is_input(static_cast<int>(v));
    needs_home[n + v] = flowing[v] && !is_input(static_cast<int>(v));
  }
  allocate(needs_home);
}

template <class Exec>
void Program<Exec>::Plan::plan_forward(const std::vector<bool>& needed, const std::vector<bool>& flowing) {
  const auto& nodes = graph->nodes();
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const auto& node = nodes[k];
    Step step{Action::value, static_cast<int>(k), node.in, {}, {}, {}, {}};
    bool any = false, any_flow = false;
    for (const int v : node.out) {
      step.out.push_back(needed[static_cast<std::size_t>(v)] ? v : -1);
      any = any || needed[static_cast<std::size_t>(v)];
      any_flow = any_flow || flowing[static_cast<std::size_t>(v)];
    }
    if (any) {
      step.diagnosis = new_diagnosis(step.node, "value");
      forward.push_back(step);
    }
    if (mode != Mode::jvp || !any_flow) continue;
    step.action = Action::jvp;
    for (const int v : node.in) step.din.push_back(active[static_cast<std::size_t>(v)] ? derivative(v) : -1);
    for (const int v : node.out) step.dout.push_back(flowing[static_cast<std::size_t>(v)] ? derivative(v) : -1);
    step.diagnosis = new_diagnosis(step.node, "jvp");
    forward.push_back(step);
  }
  // An output can be computed in the caller's memory, unless it is an input or was returned before.
  std::vector<bool> taken(static_cast<std::size_t>(values()), false);
  for (const int v : outputs) {
    const bool own = !is_input(v) && !taken[static_cast<std::size_t>(v)];
    taken[static_cast<std::size_t>(v)] = true;
    bound.push_back(own ? v : -1);
    bound_tangent.push_back(own && mode == Mode::jvp && flowing[static_cast<std::size_t>(v)] ? derivative(v) : -1);
  }
}

template <class Exec>
void Program<Exec>::Plan::plan_backward(const std::vector<bool>& present) {
  const auto& nodes = graph->nodes();
  // How many contributions the cotangent of a value has: returned outputs and consumers.
  std::vector<int> contributions(static_cast<std::size_t>(values()), 0);
  for (const int v : outputs)
    contributions[static_cast<std::size_t>(v)] += present[static_cast<std::size_t>(v)] ? 1 : 0;
  for (const auto& node : nodes) {
    bool any = false;
    for (const int v : node.out) any = any || present[static_cast<std::size_t>(v)];
    if (any)
      for (const int v : node.in)
        contributions[static_cast<std::size_t>(v)] += present[static_cast<std::size_t>(v)] ? 1 : 0;
  }
  std::vector<bool> started(static_cast<std::size_t>(values()), false);
  const auto begin = [&](int v) {
    const bool first = !started[static_cast<std::size_t>(v)];
    started[static_cast<std::size_t>(v)] = true;
    return first ? Store::overwrite : Store::accumulate;
  };
  for (const int v : outputs) {
    const bool in_place =
        present[static_cast<std::size_t>(v)] && contributions[static_cast<std::size_t>(v)] == 1 && !is_input(v);
    direct.push_back(in_place);
    const int slot = new_slot(type(v));  // the caller's cotangent
    seed.push_back(slot);
    if (in_place) {
      started[static_cast<std::size_t>(v)] = true;
    } else if (present[static_cast<std::size_t>(v)]) {
      Step step{begin(v) == Store::overwrite ? Action::copy : Action::add};
      step.from = slot;
      step.to = derivative(v);
      backward.push_back(step);
    }
  }
  for (std::size_t k = nodes.size(); k-- > 0;) {
    const auto& node = nodes[k];
    Step step{Action::vjp, static_cast<int>(k), node.in, node.out, {}, {}, {}};
    bool any = false;
    for (const int v : node.out) {
      const bool there = present[static_cast<std::size_t>(v)];
      step.dout.push_back(there ? derivative(v) : -1);
      any = any || there;
    }
    if (!any) continue;
    std::vector<Step> sums;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const int v = node.in[i];
      if (!present[static_cast<std::size_t>(v)]) {
        step.din.push_back(-1);
        step.stores.push_back(Store::overwrite);
        continue;
      }
      bool repeated = false;
      for (std::size_t j = 0; j < i; ++j) repeated = repeated || node.in[j] == v;
      if (repeated) {  // an operation may not write two gradients into the same memory
        Step sum{Action::add};
        sum.from = new_slot(type(v));
        sum.to = derivative(v);
        step.din.push_back(sum.from);
        step.stores.push_back(Store::overwrite);
        sums.push_back(sum);
      } else {
        step.din.push_back(derivative(v));
        step.stores.push_back(begin(v));
      }
    }
    step.diagnosis = new_diagnosis(step.node, "vjp");
    backward.push_back(step);
    for (Step& sum : sums) backward.push_back(sum);
  }
  // Inputs that the outputs do not depend on.
  for (const int v : graph->inputs())
    if (!started[static_cast<std::size_t>(v)]) {
      Step step{Action::zero};
      step.to = derivative(v);
      backward.push_back(step);
    }
}

template <class Exec>
void Program<Exec>::Plan::allocate(const std::vector<bool>& needs_home) {
  const auto align = [](std::size_t b) { return (b + 127) / 128 * 128; };
  home = slots;
  std::vector<std::size_t> offset(slots.size(), 0);
  std::size_t total = align(diagnosed.size() * sizeof(Diagnosis));
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (!needs_home[s]) continue;
    offset[s] = total;
    total += align(slots[s].type.bytes()) + 128;
  }
  bytes = total;
  memory =
      static_cast<char*>(Kokkos::kokkos_malloc<typename Exec::memory_space>("frechet::program", total > 0 ? total : 1));
  diagnoses = reinterpret_cast<Diagnosis*>(memory);  // NOLINT: memory carved by hand, aligned to 128 bytes
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (!needs_home[s]) continue;
    home[s].data = memory + offset[s];
    home[s].row_stride = 1;
    home[s].col_stride = slots[s].type.rows > 0 ? slots[s].type.rows : 1;
  }
  slots = home;
}

template <class Exec>
void Program<Exec>::Plan::execute(const std::vector<Step>& steps, Store store) {
  for (const Step& step : steps) {
    if (step.node < 0) {
      const Operand from = step.from >= 0 ? slots[static_cast<std::size_t>(step.from)] : Operand{};
      const Operand& to = slots[static_cast<std::size_t>(step.to)];
      const bool gradient = step.to >= values() && step.to < 2 * values() && is_input(step.to - values());
      const bool add = step.action == Action::add || (gradient && store == Store::accumulate);
      transfer(ctx, from, to, add ? Store::accumulate : Store::overwrite);
      continue;
    }
    const auto& node = graph->nodes()[static_cast<std::size_t>(step.node)];
    std::array<Operand, most_operands> in, out, din, dout;
    std::array<Store, most_operands> stores{};
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      in[i] = slots[static_cast<std::size_t>(node.in[i])];
      din[i].type = in[i].type;
      if (step.action == Action::value) continue;
      if (step.din[i] >= 0) din[i] = slots[static_cast<std::size_t>(step.din[i])];
      if (step.action != Action::vjp) continue;
      const bool gradient = step.din[i] >= values() && step.din[i] < 2 * values() && is_input(node.in[i]);
      stores[i] = gradient && store == Store::accumulate ? Store::accumulate : step.stores[i];
    }
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      out[i].type = dout[i].type = type(node.out[i]);
      if (step.out[i] >= 0) out[i] = slots[static_cast<std::size_t>(step.out[i])];
      if (step.action != Action::value && step.dout[i] >= 0) dout[i] = slots[static_cast<std::size_t>(step.dout[i])];
    }
    const Call<Exec> call{
        ctx, in.data(), out.data(), din.data(), dout.data(), stores.data(), diagnoses + step.diagnosis};
    if (step.action == Action::value)
      node.operation->value(call);
    else if (step.action == Action::jvp)
      node.operation->jvp(call);
    else
      node.operation->vjp(call);
  }
}

template <class Exec>
Program<Exec>::Program(std::shared_ptr<const Graph<Exec>> graph, std::vector<int> outputs, Mode mode,
                       std::vector<bool> active, const Instance<Exec>& instance)
    : plan_(std::make_unique<Plan>(std::move(graph), std::move(outputs), mode, instance)) {
  plan_->analyse(active);
  reset(plan_->ctx, plan_->diagnoses, static_cast<int>(plan_->diagnosed.size()));
}

template <class Exec>
Program<Exec>::~Program() = default;

template <class Exec>
void Program<Exec>::run(const Operand* inputs, const Operand* tangents, const Operand* outputs,
                        const Operand* output_tangents) {
  Plan& p = *plan_;
  Scope scope(p.ctx);
  const auto& ids = p.graph->inputs();
  const std::size_t n = ids.size(), m = p.outputs.size();
  require_distinct(outputs, m, "output", inputs, n, "input");
  require_distinct(outputs, m, "output", outputs, m, "output");
  if (p.mode == Mode::jvp) {
    require_distinct(outputs, m, "output", tangents, n, "tangent");
    require_distinct(output_tangents, m, "output tangent", inputs, n, "input");
    require_distinct(output_tangents, m, "output tangent", tangents, n, "tangent");
    require_distinct(output_tangents, m, "output tangent", outputs, m, "output");
    require_distinct(output_tangents, m, "output tangent", output_tangents, m, "output tangent");
  }
  p.ran = true;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    p.slots[static_cast<std::size_t>(ids[i])] = inputs[i];
    if (p.mode == Mode::jvp) p.slots[static_cast<std::size_t>(p.derivative(ids[i]))] = tangents[i];
  }
  const auto bind = [&](int slot, const Operand& user) {
    if (slot >= 0) p.slots[static_cast<std::size_t>(slot)] = user.data ? user : p.home[static_cast<std::size_t>(slot)];
  };
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    bind(p.bound[o], outputs[o]);
    if (p.mode == Mode::jvp) bind(p.bound_tangent[o], output_tangents[o]);
  }
  p.execute(p.forward, Store::overwrite);
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    const int v = p.outputs[o];
    if (p.bound[o] < 0) transfer(p.ctx, p.slots[static_cast<std::size_t>(v)], outputs[o], Store::overwrite);
    if (p.mode != Mode::jvp || p.bound_tangent[o] >= 0) continue;
    const bool moves = p.active[static_cast<std::size_t>(v)];
    transfer(p.ctx, moves ? p.slots[static_cast<std::size_t>(p.derivative(v))] : Operand{}, output_tangents[o],
             Store::overwrite);
  }
}

template <class Exec>
void Program<Exec>::run(const std::vector<Operand>& inputs, const std::vector<Operand>& tangents,
                        const std::vector<Operand>& outputs, const std::vector<Operand>& output_tangents) {
  run(inputs.data(), tangents.data(), outputs.data(), output_tangents.data());
}

template <class Exec>
void Program<Exec>::pullback(const Operand* cotangents, const Operand* gradients, Store store) {
  Plan& p = *plan_;
  Scope scope(p.ctx);
  if (!p.ran) throw_argument("frechet::AdContext", "pullback of a program that has not run forward");
  const auto& ids = p.graph->inputs();
  const std::size_t n = ids.size(), m = p.outputs.size();
  require_distinct(gradients, n, "gradient", cotangents, m, "cotangent");
  require_distinct(gradients, n, "gradient", gradients, n, "gradient");
  for (const int v : ids)
    require_distinct(gradients, n, "gradient", &p.slots[static_cast<std::size_t>(v)], 1, "an input");
  for (const int v : p.outputs)
    require_distinct(gradients, n, "gradient", &p.slots[static_cast<std::size_t>(v)], 1, "an output");
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    p.slots[static_cast<std::size_t>(p.seed[o])] = cotangents[o];
    if (p.direct[o]) p.slots[static_cast<std::size_t>(p.derivative(p.outputs[o]))] = cotangents[o];
  }
  for (std::size_t i = 0; i < ids.size(); ++i) p.slots[static_cast<std::size_t>(p.derivative(ids[i]))] = gradients[i];
  p.execute(p.backward, store);
}

template <class Exec>
Operand Program<Exec>::scalar_cotangent(std::size_t o, double value) {
  const Operand to = plan_->home[static_cast<std::size_t>(plan_->seed[o])];
  with_scalar(to.type.scalar, [&](auto scalar) {
    using S = decltype(scalar);
    if constexpr (!std::is_integral_v<S>)
      fill(plan_->ctx, as_batch(to.template as<S>()), S(static_cast<Real<S>>(value)));
  });
  return to;
}

template <class Exec>
std::size_t Program<Exec>::inputs() const {
  return plan_->graph->inputs().size();
}
template <class Exec>
std::size_t Program<Exec>::outputs() const {
  return plan_->outputs.size();
}
template <class Exec>
std::size_t Program<Exec>::workspace_bytes() const {
  return plan_->bytes;
}

template <class Exec>
std::vector<std::string> Program<Exec>::steps() const {
  std::vector<std::string> names;
  for (const auto* steps : {&plan_->forward, &plan_->backward})
    for (const Step& step : *steps)
      if (step.node >= 0)
        names.push_back(std::string(plan_->graph->nodes()[static_cast<std::size_t>(step.node)].operation->name()) +
                        " " + plan_->diagnosed[static_cast<std::size_t>(step.diagnosis)].second);
  return names;
}

template <class Exec>
void Program<Exec>::check(bool strict) const {
  using View = Kokkos::View<Diagnosis*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const View all(plan_->diagnoses, plan_->diagnosed.size());
  const auto host = Kokkos::create_mirror_view(all);
  Kokkos::deep_copy(plan_->ctx.exec(), host, all);
  plan_->ctx.exec().fence("frechet::check");
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    const std::string cause = explain(host(i), strict);
    if (cause.empty()) continue;
    const auto& node = plan_->graph->nodes()[static_cast<std::size_t>(plan_->diagnosed[i].first)];
    throw NumericalError(std::string("frechet::") + node.operation->name() + " (" + plan_->diagnosed[i].second +
                         ") traced at " + node.where + ": " + cause);
  }
}

#define FRECHET_PROGRAM(EXEC) template class Program<EXEC>;
FRECHET_FOR_EACH_EXEC(FRECHET_PROGRAM)

}  // namespace frechet::detail
