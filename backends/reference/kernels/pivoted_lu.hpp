// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_REFERENCE_KERNELS_PIVOTED_LU_HPP
#define FRECHET_BACKENDS_REFERENCE_KERNELS_PIVOTED_LU_HPP

#include "matrix.hpp"

namespace frechet::backend::reference {

/// A = P L U in place by Gaussian elimination with partial pivoting: at step k the largest |Re| + |Im| on and below the
/// diagonal moves up (the rule of i?amax), then A(k+1:, k+1:) -= l u^T. Golub & Van Loan, Matrix Computations (4th
/// ed.), algorithm 3.4.1. pivots[k] = row exchanged with row k. Returns k + 1 of the first pivot that is exactly zero,
/// else 0.
template <class Member, class S>
KOKKOS_FUNCTION int pivoted_lu(const Member& member, const Matrix<S>& A, int* pivots) {
  int info = 0;
  for (int k = 0; k < A.rows && k < A.cols; ++k) {
    const auto largest = locate_largest(member, A.rows - k, [&](int i) { return abs1(A(k + i, k)); });
    const int row = k + largest.index;
    member.once([&] { pivots[k] = row; });
    if (largest.value == 0) {  // nothing to eliminate in this column
      if (info == 0) info = k + 1;
      continue;
    }
    if (row != k)
      member.each(A.cols, [&](int j) {
        const S upper = A(k, j);
        A(k, j) = A(row, j);
        A(row, j) = upper;
      });
    const int below = A.rows - k - 1;
    const S pivot = A(k, k);
    const Matrix<S> rest = A.from(k + 1, k + 1);
    S* const l = A.column(k) + k + 1;
    member.each(below, [&](int i) { l[i] /= pivot; });
    member.threads(rest.cols, [&](const auto& lanes, int j) {
      const S u = A(k, k + 1 + j);
      lanes.each(below, [&](int i) { rest(i, j) -= l[i] * u; });
    });
  }
  return info;
}

}  // namespace frechet::backend::reference

#endif
