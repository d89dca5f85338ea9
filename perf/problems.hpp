// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_PERF_PROBLEMS_HPP
#define FRECHET_PERF_PROBLEMS_HPP

#include <memory>
#include <string>
#include <vector>

// The rows of the suites: a problem set up and ready to run, its check, and what its floor is made of.

namespace perf {

/// One problem on the device: run() does value and derivative and waits for the instance, as a user's code would
/// measure it.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void run() = 0;
  /// Relative difference between the derivative that run() computed and the one of the other mode: <gradient, tangent>.
  virtual double mode_error() = 0;
  /// Relative difference to a central difference of the loss along the tangent.
  virtual double difference_error() = 0;
  /// Memory beyond inputs, outputs and gradients.
  virtual std::size_t workspace_bytes() = 0;
};

/// The factorisations a floor can contain.
enum class Factorisation { eigh, lu, qr, svd };

struct Problem {
  std::string suite, name;
  int n = 0;
  Factorisation factorisation = Factorisation::lu;
  double rule_flops = 0;     ///< floating-point operations that remain when the factorisation is there
  bool differences = false;  ///< whether central differences of the loss can check it, see problems.cpp
  std::unique_ptr<Runner> (*make)(int n) = nullptr;
};

/// All problems of a suite at the given sizes. Throws std::invalid_argument for an unknown suite.
std::vector<Problem> problems(const std::string& suite, const std::vector<int>& sizes);
/// The sizes a suite runs at if none are asked for.
std::vector<int> default_sizes(const std::string& suite);
std::vector<std::string> suites();

}  // namespace perf

#endif
