// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dense.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace frechet::test {
namespace {

template <class F>
Dense entries(int count, int rows, int cols, bool batched, const F& f) {
  Dense A(count, rows, cols, batched);
  for (int b = 0; b < count; ++b)
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < rows; ++i) A(b, i, j) = f(b, i, j);
  return A;
}

template <class F>
Dense map(const Dense& A, const F& f) {
  Dense B = A;
  for (Z& x : B.data) x = f(x);
  return B;
}

void require_same_shape(const Dense& A, const Dense& B) {
  if (A.count != B.count || A.rows != B.rows || A.cols != B.cols)
    throw std::logic_error("test: matrices of different shape");
}

}  // namespace

Dense Dense::matrix(int b) const {
  return entries(1, rows, cols, false, [&](int, int i, int j) { return (*this)(b, i, j); });
}

Dense Dense::block(int i, int j, int m, int n) const {
  return entries(count, m, n, batched, [&](int b, int p, int q) { return (*this)(b, i + p, j + q); });
}

Dense stack(const std::vector<Dense>& matrices) {
  const Dense& first = matrices.at(0);
  Dense all(static_cast<int>(matrices.size()), first.rows, first.cols);
  all.data.clear();
  for (const Dense& A : matrices) {
    require_same_shape(A, first);
    all.data.insert(all.data.end(), A.data.begin(), A.data.end());
  }
  return all;
}

Dense identity(int n) {
  return entries(1, n, n, false, [](int, int i, int j) { return Z(i == j); });
}

Dense constant(int rows, int cols, Z value) {
  return entries(1, rows, cols, false, [&](int, int, int) { return value; });
}

Dense operator*(const Dense& A, const Dense& B) {
  if (A.cols != B.rows || A.count != B.count) throw std::logic_error("test: product of matrices that do not fit");
  Dense C(A.count, A.rows, B.cols, A.batched);
  for (int b = 0; b < A.count; ++b)
    for (int j = 0; j < B.cols; ++j)
      for (int k = 0; k < A.cols; ++k) {
        const double re = B(b, k, j).real(), im = B(b, k, j).imag();
        for (int i = 0; i < A.rows; ++i) {
          const Z a = A(b, i, k);
          C(b, i, j) += Z(a.real() * re - a.imag() * im, a.real() * im + a.imag() * re);
        }
      }
  return C;
}

Dense operator*(Z factor, const Dense& A) {
  return map(A, [&](Z x) { return factor * x; });
}

Dense operator+(const Dense& A, const Dense& B) {
  require_same_shape(A, B);
  return entries(A.count, A.rows, A.cols, A.batched, [&](int b, int i, int j) { return A(b, i, j) + B(b, i, j); });
}

Dense operator-(const Dense& A, const Dense& B) {
  require_same_shape(A, B);
  return entries(A.count, A.rows, A.cols, A.batched, [&](int b, int i, int j) { return A(b, i, j) - B(b, i, j); });
}

Dense adjoint(const Dense& A) { return conj(transpose(A)); }

Dense transpose(const Dense& A) {
  return entries(A.count, A.cols, A.rows, A.batched, [&](int b, int i, int j) { return A(b, j, i); });
}

Dense conj(const Dense& A) {
  return map(A, [](Z x) { return std::conj(x); });
}

Dense scale_columns(const Dense& A, const Dense& d) {
  return entries(A.count, A.rows, A.cols, A.batched, [&](int b, int i, int j) { return A(b, i, j) * d(b, j, 0); });
}

Dense real_diagonal(const Dense& A) {
  return entries(A.count, std::min(A.rows, A.cols), 1, A.batched, [&](int b, int i, int) { return A(b, i, i).real(); });
}

Dense lower_triangle(const Dense& A, int diagonal) {
  return entries(A.count, A.rows, A.cols, A.batched,
                 [&](int b, int i, int j) { return j <= i + diagonal ? A(b, i, j) : Z(0); });
}

Dense upper_triangle(const Dense& A, int diagonal) {
  return entries(A.count, A.rows, A.cols, A.batched,
                 [&](int b, int i, int j) { return j >= i + diagonal ? A(b, i, j) : Z(0); });
}

Dense permute_rows(const Dense& A, const Dense& perm) {
  return entries(A.count, A.rows, A.cols, A.batched,
                 [&](int b, int i, int j) { return A(b, static_cast<int>(perm(b, i, 0).real()), j); });
}

double inner(const Dense& A, const Dense& B) {
  require_same_shape(A, B);
  double sum = 0;
  for (std::size_t i = 0; i < A.data.size(); ++i)
    sum += A.data[i].real() * B.data[i].real() + A.data[i].imag() * B.data[i].imag();
  return sum;
}

double norm(const Dense& A) { return std::sqrt(inner(A, A)); }

double max_abs(const Dense& A) {
  double most = 0;
  for (const Z& x : A.data) most = std::abs(x) <= most ? most : std::abs(x);  // NaN wins
  return most;
}

bool all_nan(const Dense& A) {
  return std::all_of(A.data.begin(), A.data.end(), [](Z x) { return std::isnan(x.real()); });
}

bool all_finite(const Dense& A) {
  return std::all_of(A.data.begin(), A.data.end(),
                     [](Z x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); });
}

bool identical(const Dense& A, const Dense& B) {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return A.count == B.count && A.rows == B.rows && A.cols == B.cols &&
         std::equal(A.data.begin(), A.data.end(), B.data.begin(),
                    [&](Z x, Z y) { return same(x.real(), y.real()) && same(x.imag(), y.imag()); });
}

// --- random ---------------------------------------------------------------------------------------------------------

double Random::uniform(double from, double to) {
  return from + (to - from) * static_cast<double>(generator_() >> 11) * 0x1p-53;
}

Dense Random::fill(Dense A) {
  for (Z& x : A.data) {
    const double re = uniform(-1, 1);
    x = Z(re, complex_ ? uniform(-1, 1) : 0.0);
  }
  return A;
}

Dense Random::real_like(const Dense& A) {
  return entries(A.count, A.rows, A.cols, A.batched, [&](int, int, int) { return Z(uniform(-1, 1)); });
}

Dense Random::hermitian(int n) { return hermitian_like(Dense(n, n)); }

Dense Random::hermitian_like(const Dense& A) {
  const Dense B = like(A);
  return Z(0.5) * (B + adjoint(B));
}

Dense Random::orthonormal(int rows, int cols) {
  if (rows > 100) {  // cheaper: some columns of three reflections
    Dense Q(rows, cols);
    for (int j = 0; j < cols; ++j) Q(j, j) = 1;
    for (int k = 0; k < 3; ++k) {
      Dense v = matrix(rows, 1);
      v = Z(1 / norm(v)) * v;
      Q = Q - Z(2) * (v * (adjoint(v) * Q));
    }
    return Q;
  }
  Dense Q = matrix(rows, cols);
  for (int j = 0; j < cols; ++j)
    for (int pass = 0; pass < 2; ++pass) {  // Gram and Schmidt, twice is enough
      for (int p = 0; p < j; ++p) {
        Z dot = 0;
        for (int i = 0; i < rows; ++i) dot += std::conj(Q(i, p)) * Q(i, j);
        for (int i = 0; i < rows; ++i) Q(i, j) -= dot * Q(i, p);
      }
      const double length = norm(Q.block(0, j, rows, 1));
      for (int i = 0; i < rows; ++i) Q(i, j) /= length;
    }
  return Q;
}

Dense Random::hermitian_with(const std::vector<double>& w) {
  const int n = static_cast<int>(w.size());
  const Dense Q = orthonormal(n, n);
  Dense d(n, 1);
  for (int i = 0; i < n; ++i) d(i) = w[i];
  const Dense A = scale_columns(Q, d) * adjoint(Q);
  return Z(0.5) * (A + adjoint(A));
}

Dense Random::with_singular_values(int m, int n, const std::vector<double>& s) {
  const int k = std::min(m, n);
  Dense d(k, 1);
  for (int i = 0; i < k; ++i) d(i) = s.at(i);
  return scale_columns(orthonormal(m, k), d) * adjoint(orthonormal(n, k));
}

Dense Random::well_conditioned(int m, int n) { return with_singular_values(m, n, separated(std::min(m, n), 1, 2)); }

std::vector<double> Random::separated(int n, double from, double to) {
  std::vector<double> w(n);
  for (int i = 0; i < n; ++i) w[i] = from + (to - from) * (i + uniform(0.17, 0.83)) / n;
  return w;
}

}  // namespace frechet::test
