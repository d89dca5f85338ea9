// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_ERROR_HPP
#define FRECHET_ERROR_HPP

#include <stdexcept>

namespace frechet {

/// An argument that does not fit: shape, extents, aliasing. The message names function, argument and both extents.
struct ArgumentError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// A computation that has no answer in numbers; thrown by check() only.
struct NumericalError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A library underneath that gave up: no memory, no device, an internal error. The message names its routine and
/// status. Outputs of the call are unspecified; the library stays usable.
struct BackendError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace frechet

#endif
