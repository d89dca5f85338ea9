// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "calls.hpp"

#include "site.hpp"

namespace frechet::test {

std::string name(Scalar scalar) {
  return scalar == Scalar::f32 ? "f32" : scalar == Scalar::f64 ? "f64" : scalar == Scalar::c64 ? "c64" : "c128";
}

std::string name(Form form) {
  return form == Form::left ? "left" : form == Form::right ? "right" : form == Form::padded ? "padded" : "strided";
}

Placement place(Form form, const Dense& shape) {
  const std::int64_t b = shape.count, m = shape.rows, n = shape.cols, guard = 5;
  Placement p;
  p.offset = guard;
  if (form == Form::left) {
    p.batch = 1;
    p.row = shape.batched ? b : 1;
    p.col = p.row * m;
  } else if (form == Form::right) {
    p.col = 1;
    p.row = n;
    p.batch = m * n;
  } else {
    p.row = form == Form::strided ? 2 : 1;
    p.col = p.row * m + 3;
    p.batch = p.col * n + 7;
  }
  const bool empty = b == 0 || m == 0 || n == 0;
  p.size = 2 * guard + (empty ? 0 : (b - 1) * p.batch + (m - 1) * p.row + (n - 1) * p.col + 1);
  return p;
}

}  // namespace frechet::test
