// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_PROGRAM_HPP
#define FRECHET_AD_PROGRAM_HPP

#include <frechet/ad/traced.hpp>

#include <memory>
#include <string>
#include <vector>

namespace frechet::detail {

/// What a program computes beside values: nothing; tangents along with them; tangents afterwards, any number of times;
/// gradients afterwards, any number of times; gradients and their tangents (Hessian-vector products).
enum class Mode { value, jvp, linear, vjp, hvp };

/// A graph made ready to run: which values and derivatives are computed, in which order, and where they live. Memory is
/// allocated here, and reused by values that are not needed at the same time; running allocates nothing once the
/// scratch of the operations has found its size, and never waits.
template <class Exec>
class Program {
 public:
  /// `outputs`: value ids; `active`: which inputs the derivatives are with respect to.
  Program(std::shared_ptr<const Graph<Exec>> graph, std::vector<int> outputs, Mode mode, std::vector<bool> active,
          const Instance<Exec>& instance);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// The same program, with memory of its own, for another instance (and thread).
  std::unique_ptr<Program> copy(const Instance<Exec>& instance) const;

  /// Values, and in mode jvp tangents, of the outputs. Absent tangents count as zero, absent outputs are not returned.
  void run(const Operand* inputs, const Operand* tangents, const Operand* outputs, const Operand* output_tangents);
  /// Mode linear, after run(): tangents of the outputs. The inputs of run() must still be there, unchanged.
  void push(const Operand* tangents, const Operand* output_tangents);
  /// Mode vjp, after run(): gradients from cotangents. The inputs of run() must still be there, unchanged.
  void pullback(const Operand* cotangents, const Operand* gradients, Store store);
  /// Mode hvp: values, gradients of <cotangents, outputs>, and the tangents of the gradients.
  void run_second(const Operand* inputs, const Operand* tangents, const Operand* outputs, const Operand* cotangents,
                  const Operand* gradients, const Operand* products);
  /// Where the cotangent of output o is read from if the caller has it in a variable on the host: memory of the
  /// program.
  Operand scalar_cotangent(std::size_t o, double value);

  /// Bytes held for values, derivatives and the scratch of the operations. Where nothing has run yet, everything runs
  /// once, on identity matrices, to find out how much scratch that takes.
  std::size_t workspace_bytes();
  /// The same without scratch: a matter of the graph alone.
  std::size_t planned_bytes() const;
  /// Names of the steps in the order they run, e.g. "eigh value", "eigh vjp": what the need analysis left.
  std::vector<std::string> steps() const;
  /// Waits, and throws NumericalError naming the operation and where it was traced if a diagnosis of the last run
  /// objects.
  void check(bool strict) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace frechet::detail

#endif
