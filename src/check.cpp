// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/check.hpp>

#include <cstdio>

namespace frechet {
namespace {

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

}  // namespace

std::string explain(const Diagnosis& d, bool strict) {
  // A spread of value cotangents up to here is what rounding leaves of equal ones.
  constexpr double equal_cotangents = 1e-6;
  if (d.nonfinite != 0) return "the input holds NaN or Inf";
  if (d.info != 0) return "singular or not converged (info = " + std::to_string(d.info) + ")";
  if (d.deficient != 0)
    return "the derivative does not exist: the matrix is rank deficient" +
           (d.rank >= 0 ? " (rank " + std::to_string(d.rank) + ")" : std::string());
  if (d.gauge > 0)
    return "the loss depends on an arbitrary phase or basis of eigen- or singular vectors (relative gauge residual " +
           number(d.gauge) + ", smallest relative gap " + number(d.gap) + ")";
  if (d.spread > equal_cotangents)
    return "the loss treats (nearly) equal eigen- or singular values differently (relative spread of their "
           "cotangents " +
           number(d.spread) + ", smallest relative gap " + number(d.gap) +
           "): no derivative through single values exists";
  if (strict && d.coupling > 0)
    return "the tangent splits a group of (nearly) equal eigen- or singular values (relative coupling " +
           number(d.coupling) + ", smallest relative gap " + number(d.gap) +
           "): tangents of single values and vectors do not exist";
  return {};
}

namespace detail {

void throw_diagnosis(const std::string& what, std::size_t matrix, const std::string& cause) {
  throw NumericalError(what + ": matrix " + std::to_string(matrix) + ": " + cause);
}

}  // namespace detail
}  // namespace frechet
