// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/detail/arguments.hpp>

namespace frechet::detail {

void throw_argument(const char* function, const std::string& message) {
  throw ArgumentError(std::string(function) + ": " + message);
}

void throw_extent(const char* function, const char* argument, std::size_t extent) {
  throw_argument(function, std::string(argument) + " has an extent of " + std::to_string(extent) +
                               ", at most 2147483647 are supported");
}

void throw_shape(const char* function, const char* argument, const std::string& got, const std::string& want) {
  throw_argument(function, std::string(argument) + " is " + got + ", expected " + want);
}

void throw_alias(const char* function, const char* output, const char* other) {
  throw_argument(function, std::string("output ") + output + " shares its memory with " + other);
}

std::string describe(const Shape& shape, int rank) {
  std::string s = shape.batched ? std::to_string(shape.count) + " x " : "";
  s += std::to_string(shape.rows);
  if (rank == 2) s += " x " + std::to_string(shape.cols);
  return s;
}

}  // namespace frechet::detail
