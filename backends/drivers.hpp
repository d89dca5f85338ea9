// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_DRIVERS_HPP
#define FRECHET_BACKENDS_DRIVERS_HPP

#include <frechet/driver.hpp>

#include <string>
#include <string_view>
#include <vector>

// Which routine computes what: a table of lines
//
//   operation  scalar  n  batch  driver
//
// operation: eigh, svd, lu, qr, trsm; scalar: f32, f64, c64, c128 or *; n: the largest max(rows, columns) the line is
// meant for, or *; batch: the largest number of matrices, or *. The first line that fits decides. `#` starts a comment;
// a semicolon ends a line too. The environment variable FRECHET_DRIVERS holds such lines, or @file, and comes before
// the backend's own table; lines with drivers that the backend does not have are passed over.

namespace frechet::backend {

enum class Operation { eigh, svd, lu, qr, trsm };
const char* name(Operation operation);

struct DriverRule {
  Operation operation;
  int scalar;  ///< position in f32, f64, c64, c128; -1: any
  int n, batch;
  Driver driver;
};

/// Throws ArgumentError that names the line where the text is not a table.
std::vector<DriverRule> parse_drivers(std::string_view text);

/// The position of a scalar in f32, f64, c64, c128.
template <class S>
inline constexpr int scalar_index = (is_complex<S> ? 2 : 0) + (sizeof(Real<S>) == 8 ? 1 : 0);

class DriverTable {
 public:
  /// The table of a backend behind what FRECHET_DRIVERS says.
  explicit DriverTable(std::string_view own);

  /// The driver for these extents; Driver::automatic where no line fits.
  Driver find(Operation operation, int scalar, int n, int batch) const;
  bool offers(Operation operation, Driver driver) const;
  /// "syevd, syevj": all drivers of an operation.
  std::string offered(Operation operation) const;

 private:
  std::vector<DriverRule> own_, rules_;
};

}  // namespace frechet::backend

#endif
