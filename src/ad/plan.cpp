// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan.hpp"

#include "instantiate.hpp"

#include <algorithm>
#include <limits>

namespace frechet::detail {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

unsigned bits(const std::vector<int>& ids, const std::vector<bool>& set) {
  unsigned mask = 0;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (set[at(ids[i])]) mask |= 1U << i;
  return mask;
}

/// Adds the ids named by `mask` to a set.
void add(std::vector<bool>& set, const std::vector<int>& ids, unsigned mask) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (mask >> i & 1U) set[at(ids[i])] = true;
}

}  // namespace

template <class Exec>
Plan<Exec>::Plan(const Graph<Exec>& g, std::vector<int> out, Mode m, const std::vector<bool>& with_respect_to)
    : graph(g), outputs(std::move(out)), mode(m), n_(static_cast<int>(g.values().size())) {
  const int blocks = 4;
  for (int block = 0; block < blocks; ++block)
    for (int v = 0; v < n_; ++v) slots.push_back(type(v));
  const Needs needs = analyse(with_respect_to);
  plan_forward(needs);
  first_backward = static_cast<int>(diagnosed.size());
  if (mode == Mode::linear) plan_push(needs);
  if (mode == Mode::vjp || mode == Mode::hvp) plan_backward(needs);
  place();
}

template <class Exec>
int Plan<Exec>::gradient_of(int slot) const {
  const int v = slot >= 2 * n_ && slot < 4 * n_ ? slot % n_ : -1;
  return v >= 0 && is_input(v) ? v : -1;
}

template <class Exec>
int Plan<Exec>::new_slot(const Type& t) {
  slots.push_back(t);
  return static_cast<int>(slots.size()) - 1;
}

template <class Exec>
int Plan<Exec>::new_diagnoses(int node, const char* rule) {
  const int first = static_cast<int>(diagnosed.size());
  const int members = type(graph.nodes()[at(node)].out[0]).count;
  for (int b = 0; b < members; ++b) diagnosed.emplace_back(node, rule);
  return first;
}

/// What has to be computed, from the outputs back to the inputs.
template <class Exec>
typename Plan<Exec>::Needs Plan<Exec>::analyse(const std::vector<bool>& with_respect_to) {
  const auto& nodes = graph.nodes();
  active.assign(at(n_), false);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    active[at(graph.inputs()[i])] =
        mode != Mode::value && with_respect_to[i] && type(graph.inputs()[i]).differentiable();
  for (const auto& node : nodes) {
    bool any = false;
    for (const int v : node.in) any = any || active[at(v)];
    for (const int v : node.out) active[at(v)] = any && type(v).differentiable();
  }
  const bool forward_mode = mode == Mode::jvp || mode == Mode::linear;
  const bool reverse_mode = mode == Mode::vjp || mode == Mode::hvp;
  Needs need;
  for (auto* set : {&need.value, &need.tangent, &need.cotangent, &need.second}) set->assign(at(n_), false);
  for (const int v : outputs) {
    need.value[at(v)] = true;
    if (forward_mode) need.tangent[at(v)] = active[at(v)];
    if (reverse_mode) need.cotangent[at(v)] = active[at(v)];
  }
  for (std::size_t k = nodes.size(); k-- > 0;) {
    const auto& node = nodes[k];
    const unsigned in = bits(node.in, active), gout = bits(node.out, need.cotangent);
    if (in != 0 && gout != 0) {
      const Reads reads = node.operation->vjp_reads(gout, in);
      add(need.value, node.in, reads.in);
      add(need.value, node.out, reads.out);
      add(need.cotangent, node.in, in);
      if (mode == Mode::hvp) {
        const Reads moved = node.operation->hvp_reads(gout, in);
        const unsigned din = moved.in & in, dout = moved.out & bits(node.out, active);
        add(need.tangent, node.in, din);
        add(need.tangent, node.out, dout);
        if (din != 0 || dout != 0 || bits(node.out, need.second) != 0) add(need.second, node.in, in);
      }
    }
    const unsigned dout = bits(node.out, need.tangent);
    if (dout != 0) {
      const Reads reads = node.operation->jvp_reads(in, dout);
      add(need.value, node.in, reads.in);
      add(need.value, node.out, reads.out);
      add(need.tangent, node.in, in);
    }
    if (bits(node.out, need.value) != 0) add(need.value, node.in, ~0U);
  }
  return need;
}

template <class Exec>
Step Plan<Exec>::value_step(int k, const Needs& need) const {
  const auto& node = graph.nodes()[at(k)];
  Step step{Action::value, k, node.in};
  for (const int v : node.out) step.out.push_back(need.value[at(v)] ? v : -1);
  return step;
}

template <class Exec>
Step Plan<Exec>::jvp_step(int k, const Needs& need) {
  const auto& node = graph.nodes()[at(k)];
  Step step = value_step(k, need);
  step.action = Action::jvp;
  for (const int v : node.in) step.din.push_back(active[at(v)] ? tangent(v) : -1);
  for (const int v : node.out) step.dout.push_back(need.tangent[at(v)] ? tangent(v) : -1);
  // A rule reads no more than it declares: other operands count as absent, and their memory can be used again.
  const Reads reads = node.operation->jvp_reads(bits(node.in, active), bits(node.out, need.tangent));
  for (std::size_t i = 0; i < node.in.size(); ++i)
    if (!(reads.in >> i & 1U)) step.in[i] = -1;
  for (std::size_t i = 0; i < node.out.size(); ++i)
    if (!(reads.out >> i & 1U)) step.out[i] = -1;
  step.diagnosis = new_diagnoses(k, "jvp");
  return step;
}

template <class Exec>
void Plan<Exec>::plan_forward(const Needs& need) {
  for (int k = 0; k < static_cast<int>(graph.nodes().size()); ++k) {
    const auto& node = graph.nodes()[at(k)];
    if (bits(node.out, need.value) != 0) {
      forward.push_back(value_step(k, need));
      forward.back().diagnosis = new_diagnoses(k, "value");
    }
    if (mode == Mode::linear || bits(node.out, need.tangent) == 0) continue;
    const Step move = jvp_step(k, need);
    if (mode == Mode::hvp && node.operation->adapts()) {
      forward.push_back(move);
      forward.back().action = Action::adapt;
    }
    forward.push_back(move);
  }
  // An output can be computed in the caller's memory, unless it is an input or was returned before.
  std::vector<bool> taken(at(n_), false);
  for (const int v : outputs) {
    const bool own = !is_input(v) && !taken[at(v)];
    taken[at(v)] = true;
    bound.push_back(own ? v : -1);
    const bool moves = (mode == Mode::jvp || mode == Mode::linear) && need.tangent[at(v)];
    bound_tangent.push_back(own && moves ? tangent(v) : -1);
  }
}

template <class Exec>
void Plan<Exec>::plan_push(const Needs& need) {
  for (int k = 0; k < static_cast<int>(graph.nodes().size()); ++k)
    if (bits(graph.nodes()[at(k)].out, need.tangent) != 0) backward.push_back(jvp_step(k, need));
}

template <class Exec>
void Plan<Exec>::plan_backward(const Needs& need) {
  const auto& nodes = graph.nodes();
  // How many contributions the cotangent of a value has: returned outputs and consumers.
  std::vector<int> contributions(at(n_), 0);
  for (const int v : outputs) contributions[at(v)] += need.cotangent[at(v)] ? 1 : 0;
  for (const auto& node : nodes)
    if (bits(node.out, need.cotangent) != 0)
      for (const int v : node.in) contributions[at(v)] += need.cotangent[at(v)] ? 1 : 0;
  std::vector<bool> started(slots.size(), false);
  const auto move = [&](Action action, int from, int to) {
    Step step{action};
    step.from = from;
    step.to = to;
    backward.push_back(step);
  };
  for (const int v : outputs) {
    const bool present = need.cotangent[at(v)];
    const bool in_place = present && contributions[at(v)] == 1 && !is_input(v);
    direct.push_back(in_place);
    seed.push_back(new_slot(type(v)));
    if (!present) continue;
    const int g = cotangent(v);
    if (!in_place) move(started[at(g)] ? Action::add : Action::copy, seed.back(), g);
    started[at(g)] = true;
  }
  for (int k = static_cast<int>(nodes.size()); k-- > 0;) {
    const auto& node = nodes[at(k)];
    const unsigned gout = bits(node.out, need.cotangent), in = bits(node.in, active);
    if (gout == 0 || in == 0) continue;
    const bool second = mode == Mode::hvp && bits(node.in, need.second) != 0;
    if (second && !node.operation->has_second())
      throw_traced(node.operation->name(), node.where, "has no second derivative");
    Step step{second ? Action::hvp : Action::vjp, k};
    const Reads reads = node.operation->vjp_reads(gout, in);
    const Reads moved = second ? node.operation->hvp_reads(gout, in) : Reads{};
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      const int v = node.out[i];
      step.out.push_back(reads.out >> i & 1U ? v : -1);
      step.dout.push_back((moved.out >> i & 1U) && need.tangent[at(v)] ? tangent(v) : -1);
      step.gout.push_back(need.cotangent[at(v)] ? cotangent(v) : -1);
      step.dgout.push_back(need.second[at(v)] && started[at(cotangent_tangent(v))] ? cotangent_tangent(v) : -1);
    }
    std::vector<std::pair<int, int>> sums;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const int v = node.in[i];
      step.in.push_back(reads.in >> i & 1U ? v : -1);
      step.din.push_back((moved.in >> i & 1U) && need.tangent[at(v)] ? tangent(v) : -1);
      step.gin.push_back(-1);
      step.dgin.push_back(-1);
      step.stores.push_back(Store::overwrite);
      if (!(in >> i & 1U)) continue;
      bool repeated = false;  // an operation may not write two gradients into the same memory
      for (std::size_t j = 0; j < i; ++j) repeated = repeated || node.in[j] == v;
      const int g = cotangent(v), dg = cotangent_tangent(v);
      if (repeated) {
        step.gin.back() = new_slot(type(v));
        sums.emplace_back(step.gin.back(), g);
        if (second) {
          step.dgin.back() = new_slot(type(v));
          sums.emplace_back(step.dgin.back(), dg);
        }
        continue;
      }
      if (started[at(g)]) step.stores.back() = Store::accumulate;
      started[at(g)] = true;
      step.gin.back() = g;
      if (!second) continue;
      // One Store for both: where only the gradient has a beginning, its tangent starts from zero.
      if (step.stores.back() == Store::accumulate && !started[at(dg)]) move(Action::zero, -1, dg);
      started[at(dg)] = true;
      step.dgin.back() = dg;
    }
    // The gradient of a sum need not be stored, unless it is the caller's or more is added to it.
    if (!second && node.operation->spreads() && !is_input(node.in[0]) && contributions[at(node.in[0])] == 1)
      step.action = Action::spread;
    step.diagnosis = new_diagnoses(k, second ? "hvp" : "vjp");
    backward.push_back(step);
    for (const auto& [from, to] : sums) move(Action::add, from, to);
  }
  // Inputs that the outputs do not depend on.
  for (const int v : graph.inputs()) {
    if (!started[at(cotangent(v))]) move(Action::zero, -1, cotangent(v));
    if (mode == Mode::hvp && !started[at(cotangent_tangent(v))]) move(Action::zero, -1, cotangent_tangent(v));
  }
}

/// Places slots in memory so that two of them share bytes only if they are never needed at the same time. Time is the
/// number of the step. What push or pullback reads from the forward run lives on to the end, for they may be called
/// again.
template <class Exec>
void Plan<Exec>::place() {
  const int turn = static_cast<int>(forward.size()), end = turn + 1 + static_cast<int>(backward.size());
  const bool repeats = mode == Mode::linear || mode == Mode::vjp;
  std::vector<int> first(slots.size(), std::numeric_limits<int>::max()), last(slots.size(), -1);
  const auto touch = [&](int slot, int time) {
    if (slot < 0) return;
    first[at(slot)] = std::min(first[at(slot)], time);
    last[at(slot)] = std::max(last[at(slot)], time);
  };
  const auto touch_step = [&](const Step& step, int time) {
    for (const auto* set : {&step.in, &step.out, &step.din, &step.dout, &step.gin, &step.gout, &step.dgin, &step.dgout})
      for (const int slot : *set) touch(slot, time);
    touch(step.from, time);
    touch(step.to, time);
  };
  for (int t = 0; t < turn; ++t) touch_step(forward[at(t)], t);
  for (const int v : outputs) {  // copied to the caller when forward has run
    touch(v, turn);
    if (mode == Mode::jvp && active[at(v)]) touch(tangent(v), turn);
  }
  const std::vector<int> first_forward = first;
  for (int t = turn + 1; t < end; ++t) touch_step(backward[at(t - turn - 1)], t);
  for (auto step = backward.rbegin(); step != backward.rend(); ++step)  // from the last: they may be chained
    if (step->action == Action::spread) touch(step->gout[0], last[at(step->gin[0])]);
  for (const int v : outputs)  // tangents are copied at the end of push
    if (mode == Mode::linear && active[at(v)]) touch(tangent(v), end);
  for (std::size_t o = 0; o < seed.size(); ++o) {
    touch(seed[o], mode == Mode::hvp ? 0 : turn);  // written before run_second, or before pullback
    if (direct[o]) touch(seed[o], last[at(cotangent(outputs[o]))]);
  }
  for (std::size_t s = 0; s < slots.size(); ++s)
    if (repeats && first_forward[s] < turn && last[s] > turn) last[s] = end;

  const auto align = [](std::size_t b) { return (b + 127) / 128 * 128 + 128; };
  offset.assign(slots.size(), nowhere);
  spare_offset.assign(slots.size(), nowhere);
  std::vector<bool> callers(slots.size(), false);  // or in the memory of another slot
  for (const int v : graph.inputs()) {
    callers[at(v)] = callers[at(tangent(v))] = true;
    for (const int slot : {cotangent(v), cotangent_tangent(v)}) {
      callers[at(slot)] = true;
      if (mode != Mode::hvp || !active[at(v)] || last[at(slot)] < 0) continue;
      spare_offset[at(slot)] = spare_bytes;
      spare_bytes += align(slots[at(slot)].bytes());
    }
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!direct.empty() && direct[o]) callers[at(cotangent(outputs[o]))] = true;
    for (const int slot : {bound[o], bound_tangent[o]}) {
      if (slot < 0) continue;
      callers[at(slot)] = true;
      spare_offset[at(slot)] = spare_bytes;
      spare_bytes += align(slots[at(slot)].bytes());
    }
  }
  for (const Step& step : backward)
    if (step.action == Action::spread) callers[at(step.gin[0])] = true;
  std::vector<int> order, placed;
  for (int s = 0; s < static_cast<int>(slots.size()); ++s)
    if (!callers[at(s)] && last[at(s)] >= 0) order.push_back(s);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return slots[at(a)].bytes() > slots[at(b)].bytes(); });
  const std::size_t start = align(diagnosed.size() * sizeof(Diagnosis));
  bytes = start;
  // Each gets the lowest place that is free as long as it is needed; `placed` is sorted by offset.
  for (const int s : order) {
    std::size_t here = start;
    const std::size_t size = align(slots[at(s)].bytes());
    for (const int p : placed) {
      if (last[at(p)] < first[at(s)] || last[at(s)] < first[at(p)]) continue;
      if (here + size <= offset[at(p)]) break;
      here = std::max(here, offset[at(p)] + align(slots[at(p)].bytes()));
    }
    offset[at(s)] = here;
    bytes = std::max(bytes, here + size);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), s, [&](int a, int b) { return offset[at(a)] < offset[at(b)]; }),
        s);
  }
}

#define FRECHET_PLAN(EXEC) template struct Plan<EXEC>;
FRECHET_FOR_EACH_EXEC(FRECHET_PLAN)

}  // namespace frechet::detail
