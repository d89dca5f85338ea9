// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/program.hpp>
#include <frechet/check.hpp>
#include <frechet/detail/arguments.hpp>

#include "instantiate.hpp"
#include "plan.hpp"
#include "transfer.hpp"

#include <array>

namespace frechet::detail {
namespace {

/// Some operands of one kind, for the checks below.
struct Group {
  const Operand* operands;
  std::size_t n;
  const char* name;
};

/// An output may not start where another operand starts; see Arguments::check_aliases.
void require_distinct(const Group& outputs, const Group& others) {
  for (std::size_t i = 0; i < outputs.n; ++i)
    for (std::size_t j = 0; j < others.n; ++j) {
      if (outputs.operands == others.operands && i == j) continue;
      const Operand &a = outputs.operands[i], &b = others.operands[j];
      if (a.data && a.data == b.data && a.type.bytes() > 0)
        throw_argument("frechet::AdContext", std::string(outputs.name) + " " + std::to_string(i) +
                                                 " shares its memory with " + others.name +
                                                 (others.n > 1 ? " " + std::to_string(j) : ""));
    }
}

/// Memory that lives as long as the object.
template <class Space>
class Block {
 public:
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    if (data_) Kokkos::kokkos_free<Space>(data_);
  }
  void allocate(std::size_t bytes) {
    data_ = static_cast<char*>(Kokkos::kokkos_malloc<Space>("frechet::program", bytes > 0 ? bytes : 1));
  }
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
};

}  // namespace

template <class Exec>
struct Program<Exec>::State {
  using Space = typename Exec::memory_space;

  std::shared_ptr<const Graph<Exec>> graph;
  std::vector<bool> with_respect_to;
  Plan<Exec> plan;
  bool inline_loops;
  Context<Exec> ctx;
  Block<Space> memory, spare;
  std::vector<Operand> slots;
  std::vector<Operand> home;  ///< the program's own memory of each slot, absent where it has none
  Diagnosis* diagnoses = nullptr;
  bool ran = false, ran_backward = false;
  std::array<std::array<Operand, most_operands>, 8> call;  ///< operands of the step that runs

  State(std::shared_ptr<const Graph<Exec>> g, std::vector<int> out, Mode mode, std::vector<bool> wrt,
        const Instance<Exec>& i)
      : graph(std::move(g)),
        with_respect_to(std::move(wrt)),
        plan(*graph, std::move(out), mode, with_respect_to),
        inline_loops(i.inline_loops),
        ctx(i.exec) {
    ctx.set_inline_loops(inline_loops);
    memory.allocate(plan.bytes);
    diagnoses = reinterpret_cast<Diagnosis*>(memory.data());  // NOLINT: memory carved by hand, aligned to 128 bytes
    for (std::size_t s = 0; s < plan.slots.size(); ++s) {
      const std::size_t where = plan.offset[s];
      home.push_back(packed(plan.slots[s], where == Plan<Exec>::nowhere ? nullptr : memory.data() + where));
    }
    slots = home;
    reset(ctx, diagnoses, static_cast<int>(plan.diagnosed.size()));
  }

  Operand& slot(int s) { return slots[static_cast<std::size_t>(s)]; }
  /// The caller's memory in a slot, or where he has none and the step needs one, memory of our own.
  void bind(int s, const Operand& user) {
    if (s < 0) return;
    const auto i = static_cast<std::size_t>(s);
    if (!user.data && !home[i].data && plan.spare_offset[i] != Plan<Exec>::nowhere) {
      if (!spare.data()) spare.allocate(plan.spare_bytes);
      home[i] = packed(plan.slots[i], spare.data() + plan.spare_offset[i]);
    }
    slots[i] = user.data ? user : home[i];
  }
  void execute(const std::vector<Step>& steps, Store store);
  void begin(const Operand* inputs, const Operand* tangents, const Operand* outputs);
  void return_values(const Operand* outputs);
  void return_tangents(const Operand* output_tangents);
  void seed(const Operand* cotangents);
};

template <class Exec>
void Program<Exec>::State::execute(const std::vector<Step>& steps, Store store) {
  auto& [in, out, din, dout, gin, gout, dgin, dgout] = call;
  std::array<Store, most_operands> stores{};
  for (const Step& step : steps) {
    if (step.node < 0) {
      const bool add = step.action == Action::add || (plan.gradient_of(step.to) >= 0 && store == Store::accumulate);
      transfer(ctx, step.from >= 0 ? slot(step.from) : Operand{}, slot(step.to),
               add ? Store::accumulate : Store::overwrite);
      continue;
    }
    if (step.action == Action::spread) {
      const Operand& from = slot(step.gout[0]);
      slot(step.gin[0]) = {plan.slots[static_cast<std::size_t>(step.gin[0])], from.data, 0, 0, from.batch_stride};
      continue;
    }
    const auto& node = graph->nodes()[static_cast<std::size_t>(step.node)];
    const auto gather = [&](const std::vector<int>& from, const std::vector<int>& values, auto& to) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (from[i] >= 0)
          to[i] = slot(from[i]);
        else
          to[i] = packed(plan.type(values[i]), nullptr);
      }
    };
    gather(step.in, node.in, in);
    gather(step.out, node.out, out);
    gather(step.din, node.in, din);
    gather(step.dout, node.out, dout);
    gather(step.gin, node.in, gin);
    gather(step.gout, node.out, gout);
    gather(step.dgin, node.in, dgin);
    gather(step.dgout, node.out, dgout);
    for (std::size_t i = 0; i < step.stores.size(); ++i)
      stores[i] = store == Store::accumulate && plan.gradient_of(step.gin[i]) >= 0 ? store : step.stores[i];
    const int members = plan.type(node.out[0]).count;
    const Call<Exec> c{ctx,
                       ctx.exec(),
                       inline_loops,
                       in.data(),
                       out.data(),
                       din.data(),
                       dout.data(),
                       gin.data(),
                       gout.data(),
                       dgin.data(),
                       dgout.data(),
                       stores.data(),
                       diagnoses + step.diagnosis,
                       members,
                       node.in.size()};
    switch (step.action) {
      case Action::value:
        node.operation->value(c);
        break;
      case Action::adapt:
        node.operation->adapt(c);
        break;
      case Action::jvp:
        node.operation->jvp(c);
        break;
      case Action::vjp:
        node.operation->vjp(c);
        break;
      default:
        node.operation->hvp(c);
    }
  }
}

/// Binds what the caller gives.
template <class Exec>
void Program<Exec>::State::begin(const Operand* inputs, const Operand* tangents, const Operand* outputs) {
  const auto& ids = graph->inputs();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    slot(ids[i]) = inputs[i];
    if (tangents) slot(plan.tangent(ids[i])) = tangents[i];
  }
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) bind(plan.bound[o], outputs[o]);
  ran_backward = false;
  ran = true;
}

template <class Exec>
void Program<Exec>::State::return_values(const Operand* outputs) {
  for (std::size_t o = 0; o < plan.outputs.size(); ++o)
    if (plan.bound[o] < 0) transfer(ctx, slot(plan.outputs[o]), outputs[o], Store::overwrite);
}

template <class Exec>
void Program<Exec>::State::return_tangents(const Operand* output_tangents) {
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    if (plan.bound_tangent[o] >= 0) continue;
    const int v = plan.outputs[o];
    const bool moves = plan.active[static_cast<std::size_t>(v)];
    transfer(ctx, moves ? slot(plan.tangent(v)) : Operand{}, output_tangents[o], Store::overwrite);
  }
}

template <class Exec>
void Program<Exec>::State::seed(const Operand* cotangents) {
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    slot(plan.seed[o]) = cotangents[o];
    if (plan.direct[o]) slot(plan.cotangent(plan.outputs[o])) = cotangents[o];
  }
}

template <class Exec>
Program<Exec>::Program(std::shared_ptr<const Graph<Exec>> graph, std::vector<int> outputs, Mode mode,
                       std::vector<bool> active, const Instance<Exec>& instance)
    : state_(std::make_unique<State>(std::move(graph), std::move(outputs), mode, std::move(active), instance)) {}

template <class Exec>
Program<Exec>::~Program() = default;

template <class Exec>
std::unique_ptr<Program<Exec>> Program<Exec>::copy(const Instance<Exec>& instance) const {
  return std::make_unique<Program>(state_->graph, state_->plan.outputs, state_->plan.mode, state_->with_respect_to,
                                   instance);
}

template <class Exec>
void Program<Exec>::run(const Operand* inputs, const Operand* tangents, const Operand* outputs,
                        const Operand* output_tangents) {
  State& p = *state_;
  Scope scope(p.ctx);
  const std::size_t n = p.graph->inputs().size(), m = p.plan.outputs.size();
  const Group in{inputs, n, "input"}, out{outputs, m, "output"};
  require_distinct(out, in);
  require_distinct(out, out);
  const bool with_tangents = p.plan.mode == Mode::jvp;
  if (with_tangents) {
    const Group din{tangents, n, "tangent"}, dout{output_tangents, m, "output tangent"};
    require_distinct(out, din);
    for (const Group& other : {in, din, out, dout}) require_distinct(dout, other);
  }
  p.begin(inputs, with_tangents ? tangents : nullptr, outputs);
  if (with_tangents)
    for (std::size_t o = 0; o < m; ++o) p.bind(p.plan.bound_tangent[o], output_tangents[o]);
  p.execute(p.plan.forward, Store::overwrite);
  p.return_values(outputs);
  if (with_tangents) p.return_tangents(output_tangents);
}

template <class Exec>
void Program<Exec>::push(const Operand* tangents, const Operand* output_tangents) {
  State& p = *state_;
  Scope scope(p.ctx);
  if (!p.ran) throw_argument("frechet::AdContext", "push of a program that has not run forward");
  const auto& ids = p.graph->inputs();
  const Group din{tangents, ids.size(), "tangent"}, dout{output_tangents, p.plan.outputs.size(), "output tangent"};
  require_distinct(dout, din);
  require_distinct(dout, dout);
  for (const int v : ids) require_distinct(dout, {&p.slot(v), 1, "an input"});
  for (const int v : p.plan.outputs) require_distinct(dout, {&p.slot(v), 1, "an output"});
  for (std::size_t i = 0; i < ids.size(); ++i) p.slot(p.plan.tangent(ids[i])) = tangents[i];
  for (std::size_t o = 0; o < p.plan.outputs.size(); ++o) p.bind(p.plan.bound_tangent[o], output_tangents[o]);
  p.ran_backward = true;
  p.execute(p.plan.backward, Store::overwrite);
  p.return_tangents(output_tangents);
}

template <class Exec>
void Program<Exec>::pullback(const Operand* cotangents, const Operand* gradients, Store store) {
  State& p = *state_;
  Scope scope(p.ctx);
  if (!p.ran) throw_argument("frechet::AdContext", "pullback of a program that has not run forward");
  const auto& ids = p.graph->inputs();
  const Group g{gradients, ids.size(), "gradient"};
  require_distinct(g, {cotangents, p.plan.outputs.size(), "cotangent"});
  require_distinct(g, g);
  for (const int v : ids) require_distinct(g, {&p.slot(v), 1, "an input"});
  for (const int v : p.plan.outputs) require_distinct(g, {&p.slot(v), 1, "an output"});
  p.seed(cotangents);
  for (std::size_t i = 0; i < ids.size(); ++i) p.slot(p.plan.cotangent(ids[i])) = gradients[i];
  p.ran_backward = true;
  p.execute(p.plan.backward, store);
}

template <class Exec>
void Program<Exec>::run_second(const Operand* inputs, const Operand* tangents, const Operand* outputs,
                               const Operand* cotangents, const Operand* gradients, const Operand* products) {
  State& p = *state_;
  Scope scope(p.ctx);
  const auto& ids = p.graph->inputs();
  const std::size_t n = ids.size(), m = p.plan.outputs.size();
  const Group in{inputs, n, "input"}, din{tangents, n, "tangent"}, out{outputs, m, "output"},
      g{gradients, n, "gradient"}, hv{products, n, "product"}, seeds{cotangents, m, "cotangent"};
  for (const Group& other : {in, din, out, seeds}) require_distinct(out, other);
  for (const Group& other : {in, din, out, seeds, g}) require_distinct(g, other);
  for (const Group& other : {in, din, out, seeds, g, hv}) require_distinct(hv, other);
  p.begin(inputs, tangents, outputs);
  for (std::size_t i = 0; i < n; ++i) {
    p.bind(p.plan.cotangent(ids[i]), gradients[i]);
    p.bind(p.plan.cotangent_tangent(ids[i]), products[i]);
  }
  p.execute(p.plan.forward, Store::overwrite);
  p.return_values(outputs);
  p.seed(cotangents);
  p.ran_backward = true;
  p.execute(p.plan.backward, Store::overwrite);
}

template <class Exec>
Operand Program<Exec>::scalar_cotangent(std::size_t o, double value) {
  const Operand to = state_->home[static_cast<std::size_t>(state_->plan.seed[o])];
  with_scalar(to.type.scalar, [&](auto scalar) {
    using S = decltype(scalar);
    if constexpr (!std::is_integral_v<S>)
      fill(state_->ctx, as_batch(to.template as<S>()), S(static_cast<Real<S>>(value)));
  });
  return to;
}

template <class Exec>
std::size_t Program<Exec>::planned_bytes() const {
  return state_->plan.bytes + (state_->spare.data() ? state_->plan.spare_bytes : 0);
}

template <class Exec>
std::size_t Program<Exec>::workspace_bytes() {
  State& p = *state_;
  if (!p.ran) {
    // Operands of our own: inputs (and tangents, cotangents) are identity matrices.
    const auto& ids = p.graph->inputs();
    std::vector<Type> in, out;
    for (const int v : ids) in.push_back(p.plan.type(v));
    for (const int v : p.plan.outputs) out.push_back(p.plan.type(v));
    std::size_t bytes = 0;
    std::vector<std::vector<Operand>> sets;
    for (const auto* types : {&in, &in, &in, &in, &out, &out, &out}) {
      sets.emplace_back();
      for (const Type& t : *types) {
        // A byte offset for now; memory once its extent is known.
        sets.back().push_back(packed(t, reinterpret_cast<void*>(bytes)));  // NOLINT
        bytes += (t.bytes() + 127) / 128 * 128 + 128;
      }
    }
    Block<typename Exec::memory_space> memory;
    memory.allocate(bytes);
    for (auto& set : sets)
      for (Operand& o : set) {
        o.data = memory.data() + reinterpret_cast<std::size_t>(o.data);  // NOLINT
        with_scalar(o.type.scalar, [&](auto scalar) {
          using S = decltype(scalar);
          set_identity<Exec, S>(p.ctx, o.template as<S>());
        });
      }
    const auto &x = sets[0], &dx = sets[1], &gx = sets[2], &hx = sets[3], &y = sets[4], &dy = sets[5], &gy = sets[6];
    if (p.plan.mode == Mode::hvp)
      run_second(x.data(), dx.data(), y.data(), gy.data(), gx.data(), hx.data());
    else
      run(x.data(), dx.data(), y.data(), dy.data());
    if (p.plan.mode == Mode::linear) push(dx.data(), dy.data());
    if (p.plan.mode == Mode::vjp) {
      // The gradient of an input that is not differentiated is absent.
      auto g = gx;
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (!p.plan.active[static_cast<std::size_t>(ids[i])]) g[i].data = nullptr;
      pullback(gy.data(), g.data(), Store::overwrite);
    }
    p.ctx.exec().fence("frechet::workspace_bytes");
    // As if nothing had run: what the rules found out about identity matrices is nobody's business.
    reset(p.ctx, p.diagnoses, static_cast<int>(p.plan.diagnosed.size()));
    p.ran = p.ran_backward = false;
  }
  return planned_bytes() + p.ctx.arena().capacity();
}

template <class Exec>
std::vector<std::string> Program<Exec>::steps() const {
  std::vector<std::string> names;
  for (const auto* steps : {&state_->plan.forward, &state_->plan.backward})
    for (const Step& step : *steps)
      if (step.node >= 0 && step.action != Action::adapt)
        names.push_back(std::string(state_->graph->nodes()[static_cast<std::size_t>(step.node)].operation->name()) +
                        " " + state_->plan.diagnosed[static_cast<std::size_t>(step.diagnosis)].second);
  return names;
}

template <class Exec>
void Program<Exec>::check(bool strict) const {
  using View = Kokkos::View<Diagnosis*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  // What an earlier push or pullback found out is not about the inputs of a later forward run.
  const View all(state_->diagnoses, state_->ran_backward ? state_->plan.diagnosed.size()
                                                         : static_cast<std::size_t>(state_->plan.first_backward));
  const auto host = Kokkos::create_mirror_view(all);
  Kokkos::deep_copy(state_->ctx.exec(), host, all);
  state_->ctx.exec().fence("frechet::check");
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    // Second derivatives need the basis that continues along the tangent: where there is none, they are wrong.
    const std::string cause = explain(host(i), strict || state_->plan.mode == Mode::hvp);
    if (cause.empty()) continue;
    const auto& [node_id, rule] = state_->plan.diagnosed[i];
    const auto& node = state_->graph->nodes()[static_cast<std::size_t>(node_id)];
    std::size_t member = 0;
    while (member < i && state_->plan.diagnosed[i - member - 1] == state_->plan.diagnosed[i]) ++member;
    const bool batched = state_->plan.type(node.out[0]).batched;
    throw NumericalError(std::string("frechet::") + node.operation->name() + " (" + rule + ") traced at " + node.where +
                         (batched ? ", matrix " + std::to_string(member) : "") + ": " + cause);
  }
}

#define FRECHET_PROGRAM(EXEC) template class Program<EXEC>;
FRECHET_FOR_EACH_EXEC(FRECHET_PROGRAM)

}  // namespace frechet::detail
