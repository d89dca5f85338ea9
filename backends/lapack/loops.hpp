// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_LOOPS_HPP
#define FRECHET_BACKENDS_LAPACK_LOOPS_HPP

#include <cstddef>

// Short loops over contiguous reals, T = float or double, which run on the vector units of the machine also where the
// library is compiled for any machine. Plain C++ without Kokkos, compiled apart.

namespace frechet::backend::lapack {

// `row` is the row of its matrix that A begins with: long columns are read by vectors from whole ones of the matrix on,
// since what crosses lines of the cache takes up to a third longer. (Addresses would tell where lines are, but then
// results would depend on them.)

/// sums[c] = v^T A(:, c)
template <class T>
void column_dots(int m, const T* v, const T* A, std::ptrdiff_t lda, int n, T* sums, int row = 0);

/// A(:, c) -= v w[c]
template <class T>
void subtract_columns(int m, const T* v, T* A, std::ptrdiff_t lda, int n, const T* w);

/// y += A w, A m x n
template <class T>
void add_columns(int m, const T* A, std::ptrdiff_t lda, int n, const T* w, T* y, int row = 0);

/// y -= A w, A m x n, where the entries of w lie `apart`; `less` has room for n.
template <class T>
void subtract_product(int m, const T* A, std::ptrdiff_t lda, int n, const T* w, std::ptrdiff_t apart, T* less, T* y,
                      int row = 0) {
  for (int l = 0; l < n; ++l) less[l] = -w[l * apart];
  add_columns(m, A, lda, n, less, y, row);
}

/// y += A x for the symmetric matrix of which A has the first n columns, from the diagonal down to row m; what the
/// columns say about the rows beside them as well. What is stored above the diagonal is not used.
template <class T>
void add_symmetric(int m, const T* A, std::ptrdiff_t lda, int n, const T* x, T* y, int row = 0);

/// The inverse in place of a w x w triangle with zeros stored beyond it; rows up to the next multiple of 16 exist and
/// are zero, w <= 32. The largest entry times that of the inverse: within w^2, the condition.
template <class T>
T invert_triangle(bool lower, int w, T* D, std::ptrdiff_t ldd);

/// Sums of w_i / (delta_i - mu) and of w_i / (delta_i - mu)^2: psi over [0, s), phi over [s, k).
template <class T>
struct SecularSums {
  T psi, psi_slope, phi, phi_slope;
};
template <class T>
SecularSums<T> secular_sums(int s, int k, const T* delta, const T* w, T mu);

/// delta[i] = D_i - D_p with D = d or, if `squares`, d^2
template <class T>
void pole_differences(bool squares, int k, const T* d, int p, T* delta);

/// x[i] -= by
template <class T>
void shift(int k, T* x, T by);

/// x[i] *= by
template <class T>
void scale(int k, T by, T* x);

/// product[i] *= column[i] / (D_i - D_j), without the quotient for i == j.
template <class T>
void multiply_ratios(bool squares, int k, int j, const T* d, const T* column, T* product);

/// x[i] = z[i] / x[i]; the sum of their squares.
template <class T>
T divide_into(int k, const T* z, T* x);

/// x[i] *= y[i]; the sum of their squares.
template <class T>
T multiply_into(int k, const T* y, T* x);

/// to[i] = from[index[i]] * factor
template <class T>
void gather(int k, const int* index, const T* from, T factor, T* to);

/// x' = c x + s y, y' = c y - s x
template <class T>
void rotate(int n, T* x, T* y, T c, T s);

}  // namespace frechet::backend::lapack

#endif
