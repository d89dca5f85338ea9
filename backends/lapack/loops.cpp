// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loops.hpp"

#include "vectors.hpp"

#include <algorithm>

namespace frechet::backend::lapack {

constexpr int long_column = 8;  // vectors; of shorter ones the first is not read apart

template <class T>
FRECHET_CLONES void column_dots(int m, const T* v, const T* A, std::ptrdiff_t lda, int n, T* sums, int row) {
  FRECHET_VECTOR(T)
  int c = 0;
  for (; c + 4 <= n; c += 4) {  // four columns at once: v is loaded once, and the sums do not wait for each other
    const T *const a0 = A + c * lda, *const a1 = a0 + lda, *const a2 = a1 + lda, *const a3 = a2 + lda;
    V s0 = {}, s1 = {}, s2 = {}, s3 = {};
    T r0 = 0, r1 = 0, r2 = 0, r3 = 0;
    int i = 0;
    if (row % lanes != 0 && m >= long_column * lanes) {
      FRECHET_NUMBERS(number)
      i = lanes - row % lanes;
      const V x = number < T(i) ? FRECHET_LOAD(v) : V{};
      s0 = x * FRECHET_LOAD(a0);
      s1 = x * FRECHET_LOAD(a1);
      s2 = x * FRECHET_LOAD(a2);
      s3 = x * FRECHET_LOAD(a3);
    }
    for (; i + lanes <= m; i += lanes) {
      const V x = FRECHET_LOAD(v + i);
      s0 += x * FRECHET_LOAD(a0 + i);
      s1 += x * FRECHET_LOAD(a1 + i);
      s2 += x * FRECHET_LOAD(a2 + i);
      s3 += x * FRECHET_LOAD(a3 + i);
    }
    for (; i < m; ++i) {
      r0 += v[i] * a0[i];
      r1 += v[i] * a1[i];
      r2 += v[i] * a2[i];
      r3 += v[i] * a3[i];
    }
    for (int l = 0; l < lanes; ++l) {
      r0 += s0[l];
      r1 += s1[l];
      r2 += s2[l];
      r3 += s3[l];
    }
    sums[c] = r0;
    sums[c + 1] = r1;
    sums[c + 2] = r2;
    sums[c + 3] = r3;
  }
  for (; c < n; ++c) {
    const T* const a = A + c * lda;
    V s0 = {}, s1 = {};
    T r = 0;
    int i = 0;
    for (; i + 2 * lanes <= m; i += 2 * lanes) {
      s0 += FRECHET_LOAD(v + i) * FRECHET_LOAD(a + i);
      s1 += FRECHET_LOAD(v + i + lanes) * FRECHET_LOAD(a + i + lanes);
    }
    for (; i < m; ++i) r += v[i] * a[i];
    s0 += s1;
    for (int l = 0; l < lanes; ++l) r += s0[l];
    sums[c] = r;
  }
}

template <class T>
FRECHET_CLONES void subtract_columns(int m, const T* v, T* A, std::ptrdiff_t lda, int n, const T* w) {
  for (int c = 0; c < n; ++c) {
    T* const a = A + c * lda;
    const T factor = w[c];
    for (int i = 0; i < m; ++i) a[i] -= v[i] * factor;
  }
}

template <class T>
FRECHET_CLONES void add_columns(int m, const T* A, std::ptrdiff_t lda, int n, const T* w, T* y, int row) {
  FRECHET_VECTOR(T)
  int c = 0;
  for (; c + 4 <= n; c += 4) {  // y is loaded and stored once for four columns
    const T *const a0 = A + c * lda, *const a1 = a0 + lda, *const a2 = a1 + lda, *const a3 = a2 + lda;
    const T w0 = w[c], w1 = w[c + 1], w2 = w[c + 2], w3 = w[c + 3];
    int i = 0;
    if (row % lanes != 0 && m >= long_column * lanes) {
      FRECHET_NUMBERS(number)
      i = lanes - row % lanes;
      const V sum = FRECHET_LOAD(a0) * w0 + FRECHET_LOAD(a1) * w1, more = FRECHET_LOAD(a2) * w2 + FRECHET_LOAD(a3) * w3;
      FRECHET_STORE(y, FRECHET_LOAD(y) + (number < T(i) ? sum + more : V{}));
    }
    for (; i + lanes <= m; i += lanes) {
      const V sum = FRECHET_LOAD(a0 + i) * w0 + FRECHET_LOAD(a1 + i) * w1,
              more = FRECHET_LOAD(a2 + i) * w2 + FRECHET_LOAD(a3 + i) * w3;
      FRECHET_STORE(y + i, FRECHET_LOAD(y + i) + (sum + more));
    }
    for (; i < m; ++i) y[i] += (a0[i] * w0 + a1[i] * w1) + (a2[i] * w2 + a3[i] * w3);
  }
  for (; c < n; ++c) {
    const T* const a = A + c * lda;
    const T factor = w[c];
    for (int i = 0; i < m; ++i) y[i] += a[i] * factor;
  }
}

namespace {

/// `C` columns at once, in vectors of whole columns: what is read at one address goes into both products.
template <class T, int C>
FRECHET_CLONES int add_symmetric_columns(int m, const T* A, std::ptrdiff_t lda, int n, const T* x, T* y, int row) {
  FRECHET_VECTOR(T)
  FRECHET_NUMBERS(number)
  int j = 0;
  for (; j + C <= n && m - j >= 2 * lanes; j += C) {
    const T *const a = A + j + j * lda, *const right = x + j;
    T* const sum = y + j;
    const int rows = m - j, last = rows - lanes;
    V dots[C], factor[C];
    for (int c = 0; c < C; ++c) {
      dots[c] = V{};
      factor[c] = V{} + right[c];
    }
    // Rows [i, i + lanes), of which in column c those after i + from + c slope count.
    const auto part = [&](int i, T from, T slope) {
      V total = FRECHET_LOAD(sum + i);
      const V r = FRECHET_LOAD(right + i);
      for (int c = 0; c < C; ++c) {
        const V b = number > from + T(c) * slope ? FRECHET_LOAD(a + c * lda + i) : V{};
        dots[c] += b * r;
        total += b * factor[c];
      }
      FRECHET_STORE(sum + i, total);
    };
    part(0, T(0), T(1));  // what is below the diagonal
    int i = lanes - (row + j) % lanes;
    part(i, T(lanes - i - 1), T(0));
    for (i += lanes; i <= last; i += lanes) {
      const V r = FRECHET_LOAD(right + i);
      V total = FRECHET_LOAD(sum + i);
      for (int c = 0; c < C; ++c) {
        const V b = FRECHET_LOAD(a + c * lda + i);
        dots[c] += b * r;
        total += b * factor[c];
      }
      FRECHET_STORE(sum + i, total);
    }
    if (i < rows) part(last, T(i - last - 1), T(0));
    for (int c = 0; c < C; ++c) {
      T dot = a[c + c * lda] * right[c];
      for (int l = 0; l < lanes; ++l) dot += dots[c][l];
      sum[c] += dot;
    }
  }
  return j;
}

}  // namespace

template <class T>
void add_symmetric(int m, const T* A, std::ptrdiff_t lda, int n, const T* x, T* y, int row) {
  int j = many_registers() ? add_symmetric_columns<T, 8>(m, A, lda, n, x, y, row) : 0;
  j += add_symmetric_columns<T, 4>(m - j, A + j + j * lda, lda, n - j, x + j, y + j, row + j);
  for (; j < n; ++j) {
    const T* const a = A + j * lda;
    T sum = a[j] * x[j];
    for (int i = j + 1; i < m; ++i) {
      sum += a[i] * x[i];
      y[i] += a[i] * x[j];
    }
    y[j] += sum;
  }
}

// Column by column: minus the inverse of the part that is done, times the column, over the diagonal entry. Vectors of
// whole columns: the zeros beyond the triangle cost less than loops of odd lengths.
template <class T>
FRECHET_CLONES T invert_triangle(bool lower, int w, T* D, std::ptrdiff_t ldd) {
  FRECHET_VECTOR(T)
  constexpr int most = 32 / lanes;
  const int parts = (w + lanes - 1) / lanes;
  V before = {}, after = {};
  const auto keep_larger = [](V& largest, const V& x) {
    const V size = x < T(0) ? -x : x;
    largest = largest < size ? size : largest;
  };
  for (int step = 0; step < w; ++step) {
    const int j = lower ? w - 1 - step : step, from = lower ? j + 1 : 0, to = lower ? w : j;
    T* const d = D + j * ldd;
    for (int p = 0; p < parts; ++p) keep_larger(before, FRECHET_LOAD(d + p * lanes));
    V y[most] = {};
    if (parts == 2) {  // the usual size: sums stay in registers
      V y0 = {}, y1 = {};
      for (int k = from; k < to; ++k) {
        const T* const column = D + k * ldd;
        y0 += FRECHET_LOAD(column) * d[k];
        y1 += FRECHET_LOAD(column + lanes) * d[k];
      }
      y[0] = y0;
      y[1] = y1;
    } else {
      for (int k = from; k < to; ++k)
        for (int p = 0; p < parts; ++p) y[p] += FRECHET_LOAD(D + k * ldd + p * lanes) * d[k];
    }
    const T inverse = T(1) / d[j];
    for (int p = 0; p < parts; ++p) {
      y[p] *= -inverse;
      FRECHET_STORE(d + p * lanes, y[p]);
    }
    d[j] = inverse;
    for (int p = 0; p < parts; ++p) keep_larger(after, FRECHET_LOAD(d + p * lanes));
  }
  T largest_before = 0, largest_after = 0;
  for (int l = 0; l < lanes; ++l) {
    largest_before = std::max(largest_before, before[l]);
    largest_after = std::max(largest_after, after[l]);
  }
  return largest_before * largest_after;
}

template <class T>
FRECHET_CLONES SecularSums<T> secular_sums(int s, int k, const T* delta, const T* w, T mu) {
  FRECHET_VECTOR(T)
  T values[2], slopes[2];
  for (int half = 0; half < 2; ++half) {
    int i = half == 0 ? 0 : s;
    const int end = half == 0 ? s : k;
    V value = {}, slope = {};
    T v = 0, d = 0;
    for (; i + lanes <= end; i += lanes) {
      const V t = T(1) / (FRECHET_LOAD(delta + i) - mu), a = FRECHET_LOAD(w + i) * t;
      value += a;
      slope += a * t;
    }
    for (; i < end; ++i) {
      const T t = T(1) / (delta[i] - mu), a = w[i] * t;
      v += a;
      d += a * t;
    }
    for (int l = 0; l < lanes; ++l) {
      v += value[l];
      d += slope[l];
    }
    values[half] = v;
    slopes[half] = d;
  }
  return {values[0], slopes[0], values[1], slopes[1]};
}

template <class T>
FRECHET_CLONES void pole_differences(bool squares, int k, const T* d, int p, T* delta) {
  const T origin = d[p];
  if (squares)
    for (int i = 0; i < k; ++i) delta[i] = (d[i] - origin) * (d[i] + origin);
  else
    for (int i = 0; i < k; ++i) delta[i] = d[i] - origin;
}

template <class T>
FRECHET_CLONES void shift(int k, T* x, T by) {
  for (int i = 0; i < k; ++i) x[i] -= by;
}

template <class T>
FRECHET_CLONES void scale(int k, T by, T* x) {
  for (int i = 0; i < k; ++i) x[i] *= by;
}

template <class T>
FRECHET_CLONES void multiply_ratios(bool squares, int k, int j, const T* d, const T* column, T* product) {
  const T dj = d[j], keep = product[j] * column[j];
  if (squares)
    for (int i = 0; i < k; ++i) product[i] *= column[i] / ((d[i] - dj) * (d[i] + dj));
  else
    for (int i = 0; i < k; ++i) product[i] *= column[i] / (d[i] - dj);
  product[j] = keep;
}

template <class T>
FRECHET_CLONES T divide_into(int k, const T* z, T* x) {
  FRECHET_VECTOR(T)
  V squares = {};
  T sum = 0;
  int i = 0;
  for (; i + lanes <= k; i += lanes) {
    const V q = FRECHET_LOAD(z + i) / FRECHET_LOAD(x + i);
    FRECHET_STORE(x + i, q);
    squares += q * q;
  }
  for (; i < k; ++i) {
    x[i] = z[i] / x[i];
    sum += x[i] * x[i];
  }
  for (int l = 0; l < lanes; ++l) sum += squares[l];
  return sum;
}

template <class T>
FRECHET_CLONES T multiply_into(int k, const T* y, T* x) {
  FRECHET_VECTOR(T)
  V squares = {};
  T sum = 0;
  int i = 0;
  for (; i + lanes <= k; i += lanes) {
    const V q = FRECHET_LOAD(y + i) * FRECHET_LOAD(x + i);
    FRECHET_STORE(x + i, q);
    squares += q * q;
  }
  for (; i < k; ++i) {
    x[i] *= y[i];
    sum += x[i] * x[i];
  }
  for (int l = 0; l < lanes; ++l) sum += squares[l];
  return sum;
}

template <class T>
FRECHET_CLONES void gather(int k, const int* index, const T* from, T factor, T* to) {
  for (int i = 0; i < k; ++i) to[i] = from[index[i]] * factor;
}

template <class T>
FRECHET_CLONES void rotate(int n, T* x, T* y, T c, T s) {
  for (int i = 0; i < n; ++i) {
    const T t = c * x[i] + s * y[i];
    y[i] = c * y[i] - s * x[i];
    x[i] = t;
  }
}

#define FRECHET_LOOPS(T)                                                              \
  template void column_dots(int, const T*, const T*, std::ptrdiff_t, int, T*, int);   \
  template void subtract_columns(int, const T*, T*, std::ptrdiff_t, int, const T*);   \
  template void add_columns(int, const T*, std::ptrdiff_t, int, const T*, T*, int);   \
  template void add_symmetric(int, const T*, std::ptrdiff_t, int, const T*, T*, int); \
  template T invert_triangle(bool, int, T*, std::ptrdiff_t);                          \
  template SecularSums<T> secular_sums(int, int, const T*, const T*, T);              \
  template void pole_differences(bool, int, const T*, int, T*);                       \
  template void shift(int, T*, T);                                                    \
  template void scale(int, T, T*);                                                    \
  template void multiply_ratios(bool, int, int, const T*, const T*, T*);              \
  template T divide_into(int, const T*, T*);                                          \
  template T multiply_into(int, const T*, T*);                                        \
  template void gather(int, const int*, const T*, T, T*);                             \
  template void rotate(int, T*, T*, T, T);
FRECHET_LOOPS(float)
FRECHET_LOOPS(double)

}  // namespace frechet::backend::lapack
