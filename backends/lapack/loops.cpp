// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loops.hpp"

#include "vectors.hpp"

#include <algorithm>

namespace frechet::backend::lapack {

template <class T>
FRECHET_CLONES void column_dots(int m, const T* v, const T* A, std::ptrdiff_t lda, int n, T* sums) {
  FRECHET_VECTOR(T)
  int c = 0;
  for (; c + 4 <= n; c += 4) {  // four columns at once: v is loaded once, and the sums do not wait for each other
    const T *const a0 = A + c * lda, *const a1 = a0 + lda, *const a2 = a1 + lda, *const a3 = a2 + lda;
    V s0 = {}, s1 = {}, s2 = {}, s3 = {};
    T r0 = 0, r1 = 0, r2 = 0, r3 = 0;
    int i = 0;
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
FRECHET_CLONES void add_columns(int m, const T* A, std::ptrdiff_t lda, int n, const T* w, T* y) {
  FRECHET_VECTOR(T)
  int c = 0;
  for (; c + 4 <= n; c += 4) {  // y is loaded and stored once for four columns
    const T *const a0 = A + c * lda, *const a1 = a0 + lda, *const a2 = a1 + lda, *const a3 = a2 + lda;
    const T w0 = w[c], w1 = w[c + 1], w2 = w[c + 2], w3 = w[c + 3];
    int i = 0;
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

#define FRECHET_LOOPS(T)                                                            \
  template void column_dots(int, const T*, const T*, std::ptrdiff_t, int, T*);      \
  template void subtract_columns(int, const T*, T*, std::ptrdiff_t, int, const T*); \
  template void add_columns(int, const T*, std::ptrdiff_t, int, const T*, T*);      \
  template T invert_triangle(bool, int, T*, std::ptrdiff_t);                        \
  template SecularSums<T> secular_sums(int, int, const T*, const T*, T);            \
  template void pole_differences(bool, int, const T*, int, T*);                     \
  template void shift(int, T*, T);                                                  \
  template void scale(int, T, T*);                                                  \
  template void multiply_ratios(bool, int, int, const T*, const T*, T*);            \
  template T divide_into(int, const T*, T*);                                        \
  template T multiply_into(int, const T*, T*);                                      \
  template void gather(int, const int*, const T*, T, T*);                           \
  template void rotate(int, T*, T*, T, T);
FRECHET_LOOPS(float)
FRECHET_LOOPS(double)

}  // namespace frechet::backend::lapack
