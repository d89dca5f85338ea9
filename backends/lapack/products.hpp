// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_PRODUCTS_HPP
#define FRECHET_BACKENDS_LAPACK_PRODUCTS_HPP

#include "blas_threads.hpp"
#include "fortran.hpp"

#include <cstddef>

namespace frechet::backend::lapack {

/// BLAS's gemm, on threads also where the library would use one.
template <class S>
void gemm(char ta, char tb, int m, int n, int k, S alpha, const S* A, int lda, const S* B, int ldb, S beta, S* C,
          int ldc) {
  const Grid grid = Grid::of_product(m, n, is_complex<S> ? 4.0 * k : double(k), threads_for_calls());
  const auto piece = [&](int r, int c) {
    const int i = grid.rows.first(r), j = grid.cols.first(c), rows = grid.rows.first(r + 1) - i,
              cols = grid.cols.first(c + 1) - j;
    Routines<S>::gemm(&ta, &tb, &rows, &cols, &k, &alpha, A + (ta == 'N' ? i : std::ptrdiff_t(i) * lda), &lda,
                      B + (tb == 'N' ? std::ptrdiff_t(j) * ldb : j), &ldb, &beta, C + i + std::ptrdiff_t(j) * ldc, &ldc,
                      1, 1);
  };
  const int count = grid.count();
  if (count == 1) return piece(0, 0);
#if defined(_OPENMP)
#pragma omp parallel for num_threads(count) schedule(static, 1)
#endif
  for (int p = 0; p < count; ++p) piece(p % grid.rows.count, p / grid.rows.count);
}

}  // namespace frechet::backend::lapack

#endif
