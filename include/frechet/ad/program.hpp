// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_PROGRAM_HPP
#define FRECHET_AD_PROGRAM_HPP

#include <frechet/ad/traced.hpp>

#include <memory>
#include <string>
#include <vector>

namespace frechet::detail {

enum class Mode { value, jvp, vjp };

/// A graph made ready to run: which values and derivatives are computed, in which order, and where they live. All
/// memory is allocated here; running allocates nothing once the scratch of the operations has found its size, and never
/// waits.
template <class Exec>
class Program {
 public:
  /// `outputs`: value ids; `active`: which inputs the derivatives are with respect to.
  Program(std::shared_ptr<const Graph<Exec>> graph, std::vector<int> outputs, Mode mode, std::vector<bool> active,
          const Instance<Exec>& instance);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Values (and, in mode jvp, tangents) of the outputs. Absent tangents count as zero, absent outputs are not
  /// returned.
  void run(const std::vector<Operand>& inputs, const std::vector<Operand>& tangents,
           const std::vector<Operand>& outputs, const std::vector<Operand>& output_tangents);
  void run(const Operand* inputs, const Operand* tangents, const Operand* outputs, const Operand* output_tangents);
  /// Mode vjp, after run(): gradients from cotangents. The inputs of run() must still be there, unchanged.
  void pullback(const Operand* cotangents, const Operand* gradients, Store store);
  /// Where pullback() reads the cotangent of output o if the caller has it in a variable on the host: memory of the
  /// program.
  Operand scalar_cotangent(std::size_t o, double value);

  std::size_t inputs() const;
  std::size_t outputs() const;
  /// Bytes held for values and derivatives, without the scratch of the operations.
  std::size_t workspace_bytes() const;
  /// Names of the steps in the order they run, e.g. "eigh value", "eigh vjp": what the need analysis left.
  std::vector<std::string> steps() const;
  /// Waits, and throws NumericalError naming the operation and where it was traced if a diagnosis of the last run
  /// objects.
  void check(bool strict) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace frechet::detail

#endif
