// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_AD_PLAN_HPP
#define FRECHET_SRC_AD_PLAN_HPP

#include <frechet/ad/program.hpp>

#include <cstddef>
#include <vector>

// What a program does, worked out once from its graph: the steps, and where each operand lives.

namespace frechet::detail {

inline constexpr int most_operands = 8;  ///< inputs, or outputs, of one operation

enum class Action { value, adapt, jvp, vjp, hvp, spread, copy, add, zero };

/// One step. An operation has a node; copy, add and zero move memory; spread makes gin a matrix whose strides are zero,
/// in the memory of gout. Operands are slots, -1 where absent.
struct Step {
  Action action = Action::zero;
  int node = -1;
  std::vector<int> in = {}, out = {}, din = {}, dout = {}, gin = {}, gout = {}, dgin = {}, dgout = {};
  std::vector<Store> stores = {};  ///< per input: how gin and dgin are written
  int from = -1, to = -1;          ///< copy, add, zero
  int diagnosis = 0;               ///< its first one; there is one per member of the batch
};

/// Slots: value v of the graph is slot v, its tangent, cotangent and the tangent of that follow in blocks; then what
/// backward steps need beside them.
template <class Exec>
struct Plan {
  static constexpr std::size_t nowhere = ~std::size_t(0);

  Plan(const Graph<Exec>& graph, std::vector<int> outputs, Mode mode, const std::vector<bool>& with_respect_to);

  int tangent(int v) const { return n_ + v; }
  int cotangent(int v) const { return 2 * n_ + v; }
  int cotangent_tangent(int v) const { return 3 * n_ + v; }
  bool is_input(int v) const { return graph.values()[static_cast<std::size_t>(v)].node < 0; }
  const Type& type(int v) const { return graph.values()[static_cast<std::size_t>(v)].type; }
  /// The input whose gradient (or its tangent) this slot is, -1 for others.
  int gradient_of(int slot) const;

  const Graph<Exec>& graph;
  std::vector<int> outputs;
  Mode mode;
  std::vector<bool> active;             ///< per value: depends on an input that derivatives are with respect to
  std::vector<Step> forward, backward;  ///< backward: push, pullback or the second half of hvp
  std::vector<Type> slots;
  /// Byte offset of each slot in the program's memory, `nowhere` if it has none there, and their extent.
  std::vector<std::size_t> offset;
  std::size_t bytes = 0;
  /// The same for slots of results that the caller may leave out: memory that is allocated if he does.
  std::vector<std::size_t> spare_offset;
  std::size_t spare_bytes = 0;
  std::vector<int> bound;          ///< per output: the slot that is the caller's memory, -1: copied at the end
  std::vector<int> bound_tangent;  ///< likewise for its tangent
  std::vector<bool> direct;        ///< per output, backward: the caller's cotangent is read in place
  std::vector<int> seed;           ///< per output: slot of the caller's cotangent
  int first_backward = 0;          ///< diagnosis of the backward steps
  std::vector<std::pair<int, const char*>> diagnosed;  ///< per diagnosis: node and rule

 private:
  struct Needs {
    std::vector<bool> value, tangent, cotangent, second;  ///< second: tangent of the cotangent
  };
  Needs analyse(const std::vector<bool>& with_respect_to);
  void plan_forward(const Needs& needs);
  void plan_push(const Needs& needs);
  void plan_backward(const Needs& needs);
  void place();
  int new_slot(const Type& type);
  int new_diagnoses(int node, const char* rule);
  Step value_step(int k, const Needs& need) const;
  Step jvp_step(int k, const Needs& need);

  int n_;
};

}  // namespace frechet::detail

#endif
