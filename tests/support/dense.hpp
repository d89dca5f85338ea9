// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_DENSE_HPP
#define FRECHET_TESTS_SUPPORT_DENSE_HPP

#include <complex>
#include <cstdint>
#include <random>
#include <vector>

// Matrices of the tests: complex double on the host, whatever the scalar under test, so that everything that is not a
// call of the library is compiled once. Plain loops, meant to be obviously right.

namespace frechet::test {

using Z = std::complex<double>;

/// A batch of matrices (or one). Vectors are matrices of one column.
struct Dense {
  int count = 1, rows = 0, cols = 0;
  bool batched = false;
  std::vector<Z> data;  ///< column-major, one matrix after the other

  Dense() = default;
  Dense(int m, int n) : Dense(1, m, n, false) {}
  Dense(int matrices, int m, int n, bool as_batch = true)
      : count(matrices), rows(m), cols(n), batched(as_batch), data(std::size_t(matrices) * m * n) {}

  std::size_t index(int b, int i, int j) const { return (std::size_t(b) * cols + j) * rows + i; }
  Z& operator()(int b, int i, int j) { return data[index(b, i, j)]; }
  const Z& operator()(int b, int i, int j) const { return data[index(b, i, j)]; }
  Z& operator()(int i, int j) { return data[index(0, i, j)]; }
  const Z& operator()(int i, int j) const { return data[index(0, i, j)]; }
  /// Entry i of a vector.
  Z& operator()(int i) { return data[i]; }
  const Z& operator()(int i) const { return data[i]; }

  Dense matrix(int b) const;
  /// Rows [i, i + m) and columns [j, j + n) of every matrix.
  Dense block(int i, int j, int m, int n) const;
};

/// An argument that may be absent.
using Opt = const Dense*;

Dense stack(const std::vector<Dense>& matrices);
Dense identity(int n);
Dense constant(int rows, int cols, Z value);
Dense operator*(const Dense& A, const Dense& B);
Dense operator*(Z factor, const Dense& A);
Dense operator+(const Dense& A, const Dense& B);
Dense operator-(const Dense& A, const Dense& B);
Dense adjoint(const Dense& A);
Dense transpose(const Dense& A);
Dense conj(const Dense& A);
/// A diag(d); the real parts of d count as they are.
Dense scale_columns(const Dense& A, const Dense& d);
/// Re diag A as a vector.
Dense real_diagonal(const Dense& A);
Dense lower_triangle(const Dense& A, int diagonal = 0);
Dense upper_triangle(const Dense& A, int diagonal = 0);
/// Row i is row perm(i) of A.
Dense permute_rows(const Dense& A, const Dense& perm);

/// Re tr(A^H B), summed over the batch.
double inner(const Dense& A, const Dense& B);
/// Frobenius norm over the batch.
double norm(const Dense& A);
double max_abs(const Dense& A);
bool all_nan(const Dense& A);
bool all_finite(const Dense& A);
/// Bit by bit, NaN equal to NaN.
bool identical(const Dense& A, const Dense& B);

/// Random input with a fixed seed, the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed, bool complex = false) : generator_(seed), complex_(complex) {}

  double uniform(double from, double to);
  /// Entries in [-1, 1] (real and imaginary part).
  Dense matrix(int rows, int cols) { return fill(Dense(rows, cols)); }
  Dense batch(int count, int rows, int cols) { return fill(Dense(count, rows, cols)); }
  Dense like(const Dense& A) { return fill(Dense(A.count, A.rows, A.cols, A.batched)); }
  Dense real_like(const Dense& A);
  Dense hermitian(int n);
  Dense hermitian_like(const Dense& A);
  /// Orthonormal columns (rows >= cols).
  Dense orthonormal(int rows, int cols);
  /// Q diag(w) Q^H with random unitary Q.
  Dense hermitian_with(const std::vector<double>& w);
  /// m x n with the given singular values.
  Dense with_singular_values(int m, int n, const std::vector<double>& s);
  /// m x n, singular values between 1 and 2, distances about 1 / min(m, n).
  Dense well_conditioned(int m, int n);
  /// n distinct values in [from, to], distances at least a third of (to - from) / n, ascending.
  std::vector<double> separated(int n, double from, double to);

 private:
  Dense fill(Dense A);
  std::mt19937_64 generator_;
  bool complex_;
};

}  // namespace frechet::test

#endif
