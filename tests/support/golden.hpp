// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_GOLDEN_HPP
#define FRECHET_TESTS_SUPPORT_GOLDEN_HPP

#include "calls.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

// Golden values of data/<op>.json: derivatives by central differences in 110-digit arithmetic, without any formula.

namespace frechet::test {

struct Case {
  std::string id, loss;
  std::map<std::string, std::string> options;
  std::map<std::string, Dense> inputs, tangents, weights, outputs, output_tangents, vjp, vjp_lower, hvp;
  std::vector<int> perm;
  double value = 0, jvp = 0;
  std::map<std::string, double> sensitivity;

  /// |computed - golden| allowed in this precision for a result ("value", "jvp", "vjp") whose largest entry is `size`.
  double tolerance(const Flavour&, const std::string& result, double size) const;
  bool has(const std::string& weight) const { return weights.count(weight) > 0; }
  const Dense& weight(const std::string& name) const { return weights.at(name); }
  /// Whether the gradient is known to a tenth of its size in this precision.
  bool informative(const Flavour&) const;
  /// `options` that change the call, and the shape: cases with one key can share a batch.
  std::string batch_key() const;
};

using Stack = std::vector<const Case*>;

/// Cases of one operation, real or complex.
std::vector<Case> golden_cases(const std::string& op, bool complex);

/// How many cases there are, and in how many the tolerance is small enough to tell right from wrong: graded matrices
/// are beyond single precision.
struct Counts {
  int cases, informative_double, informative_single;
};

/// Runs check on every case alone and on all cases that share a batch_key as a batch (a case without company twice),
/// and expects that so many ran.
void for_each_golden(const std::string& op, const Flavour&, Counts, const std::function<void(const Stack&)>& check);

/// part(case) of every case as one operand: a batch, or a single matrix if there is only one.
Dense gather(const Stack& cases, const std::function<Dense(const Case&)>& part);

/// Compares entry by entry.
void expect_golden(const Flavour&, const Case&, const std::string& result, const Dense& computed, const Dense& golden,
                   const std::string& what);
void expect_golden(const Flavour&, const Case&, const std::string& result, double computed, double golden);

/// A diagnosis of a loss that is well defined must have nothing to say; unless eigenvalues or singular values differ by
/// less than this precision can tell, so that it is right to complain.
void expect_no_alarm(const Flavour&, const Case&, const Diagnosis&);

}  // namespace frechet::test

#endif
