// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tiles.hpp"

#include "vectors.hpp"

#include <algorithm>

namespace frechet::backend::lapack {

template <class T>
FRECHET_CLONES void pack_tile(bool transposed, int m, int n, const T* A, std::ptrdiff_t lda, T* P) {
  if (m < tile || n < tile) std::fill_n(P, tile * tile, T(0));
  if (transposed)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) P[i + j * tile] = A[j + i * lda];
  else
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) P[i + j * tile] = A[i + j * lda];
}

namespace {

// Both by `sums` vectors at once. Columns or rows of B that do not fill whole tiles go through a buffer.

template <class T, int sums>
FRECHET_CLONES void solve_left(bool lower, int w, const T* P, T* B, std::ptrdiff_t ldb, int n) {
  FRECHET_VECTOR(T)
  constexpr int R = tile / lanes, C = sums / R;
  const int padded = whole_tiles(w);
  T buffer[largest_packed * C];
  for (int first = 0; first < n; first += C) {
    const int cols = std::min(C, n - first);
    const bool direct = cols == C && padded == w;
    T* const own = B + first * ldb;
    T* const X = direct ? own : buffer;
    const std::ptrdiff_t ldx = direct ? ldb : padded;
    if (!direct) {
      std::fill_n(X, padded * C, T(0));
      for (int c = 0; c < cols; ++c)
        for (int i = 0; i < w; ++i) X[i + c * ldx] = own[i + c * ldb];
    }
    for (int done = 0; done < padded; done += tile) {
      const int i = lower ? done : padded - tile - done, from = lower ? 0 : i + tile;
      const T *const panel = P + i * padded, *const diagonal = panel + i * tile;
      T* const x = X + i;
      V sum[C][R];
      for (int c = 0; c < C; ++c)
        for (int r = 0; r < R; ++r) sum[c][r] = FRECHET_LOAD(x + c * ldx + r * lanes);
      for (int k = from; k < from + done; ++k) {
        V a[R];
        for (int r = 0; r < R; ++r) a[r] = FRECHET_LOAD(panel + k * tile + r * lanes);
        for (int c = 0; c < C; ++c)
          for (int r = 0; r < R; ++r) sum[c][r] -= a[r] * X[k + c * ldx];
      }
      for (int c = 0; c < C; ++c)
        for (int r = 0; r < R; ++r) {
          FRECHET_STORE(x + c * ldx + r * lanes, sum[c][r]);
          sum[c][r] = V{};
        }
      // Of two vectors of the tile on the diagonal, half of the columns have only one that is not zero.
      const int from_both = lower || R == 1 ? 0 : tile / 2, to_both = lower && R == 2 ? tile / 2 : tile;
      for (int k = from_both; k < to_both; ++k) {
        V a[R];
        for (int r = 0; r < R; ++r) a[r] = FRECHET_LOAD(diagonal + k * tile + r * lanes);
        for (int c = 0; c < C; ++c)
          for (int r = 0; r < R; ++r) sum[c][r] += a[r] * x[k + c * ldx];
      }
      for (int k = 0; k < from_both; ++k) {
        const V a = FRECHET_LOAD(diagonal + k * tile);
        for (int c = 0; c < C; ++c) sum[c][0] += a * x[k + c * ldx];
      }
      for (int k = to_both; k < tile; ++k) {
        const V a = FRECHET_LOAD(diagonal + k * tile + (R - 1) * lanes);
        for (int c = 0; c < C; ++c) sum[c][R - 1] += a * x[k + c * ldx];
      }
      for (int c = 0; c < C; ++c)
        for (int r = 0; r < R; ++r) FRECHET_STORE(x + c * ldx + r * lanes, sum[c][r]);
    }
    if (!direct)
      for (int c = 0; c < cols; ++c)
        for (int i = 0; i < w; ++i) own[i + c * ldb] = X[i + c * ldx];
  }
}

template <class T, int sums>
FRECHET_CLONES void solve_right(bool lower, int w, const T* P, T* B, std::ptrdiff_t ldb, int m) {
  FRECHET_VECTOR(T)
  constexpr int R = tile / lanes, C = sums / R;
  const int padded = whole_tiles(w);
  T buffer[largest_packed * tile];
  // Columns apart by a multiple of 512 bytes share few sets of a cache of 32 KiB, which soon are full.
  const bool fits = ldb * sizeof(T) % 512 != 0 || w * ldb * sizeof(T) <= 32768;
  for (int first = 0; first < m; first += tile) {
    const int rows = std::min(tile, m - first);
    const bool direct = rows == tile && padded == w && fits;
    T* const own = B + first;
    T* const X = direct ? own : buffer;
    const std::ptrdiff_t ldx = direct ? ldb : tile;
    if (!direct && rows < tile) std::fill_n(X, padded * tile, T(0));
    if (!direct && rows == tile)
      for (int c = 0; c < w; ++c)
        for (int r = 0; r < R; ++r) FRECHET_STORE(X + c * tile + r * lanes, FRECHET_LOAD(own + c * ldb + r * lanes));
    else if (!direct)
      for (int c = 0; c < w; ++c)
        for (int i = 0; i < rows; ++i) X[i + c * tile] = own[i + c * ldb];
    if (!direct && w < padded) std::fill_n(X + w * tile, (padded - w) * tile, T(0));
    for (int done = 0; done < padded; done += tile) {
      const int j = lower ? done : padded - tile - done, from = lower ? 0 : j + tile;
      const T *const panel = P + j * padded, *const diagonal = panel + j * tile;
      T* const x = X + j * ldx;
      for (int q = 0; q < tile; q += C) {
        V sum[C][R];
        for (int c = 0; c < C; ++c)
          for (int r = 0; r < R; ++r) sum[c][r] = FRECHET_LOAD(x + (q + c) * ldx + r * lanes);
        for (int k = from; k < from + done; ++k) {
          V a[R];
          for (int r = 0; r < R; ++r) a[r] = FRECHET_LOAD(X + k * ldx + r * lanes);
          for (int c = 0; c < C; ++c)
            for (int r = 0; r < R; ++r) sum[c][r] -= a[r] * panel[k * tile + q + c];
        }
        for (int c = 0; c < C; ++c)
          for (int r = 0; r < R; ++r) FRECHET_STORE(x + (q + c) * ldx + r * lanes, sum[c][r]);
      }
      // In place: columns q .. q + C of the product need those up to the last of them, or from the first of them on.
      for (int g = 0; g < tile; g += C) {
        const int q = lower ? tile - C - g : g, begin = lower ? 0 : q, end = lower ? q + C : tile;
        V sum[C][R] = {};
        for (int k = begin; k < end; ++k) {
          V a[R];
          for (int r = 0; r < R; ++r) a[r] = FRECHET_LOAD(x + k * ldx + r * lanes);
          for (int c = 0; c < C; ++c)
            for (int r = 0; r < R; ++r) sum[c][r] += a[r] * diagonal[k * tile + q + c];
        }
        for (int c = 0; c < C; ++c)
          for (int r = 0; r < R; ++r) FRECHET_STORE(x + (q + c) * ldx + r * lanes, sum[c][r]);
      }
    }
    if (!direct && rows == tile)
      for (int c = 0; c < w; ++c)
        for (int r = 0; r < R; ++r) FRECHET_STORE(own + c * ldb + r * lanes, FRECHET_LOAD(X + c * tile + r * lanes));
    else if (!direct)
      for (int c = 0; c < w; ++c)
        for (int i = 0; i < rows; ++i) own[i + c * ldb] = X[i + c * tile];
  }
}

}  // namespace

template <class T>
void solve_packed(bool left, bool lower, int w, const T* P, T* B, std::ptrdiff_t ldb, int n) {
  // From the left, sums wait for what was just stored: twice as many hide that. From the right 8 were faster than 16.
  if (many_registers())
    left ? solve_left<T, 16>(lower, w, P, B, ldb, n) : solve_right<T, 8>(lower, w, P, B, ldb, n);
  else
    left ? solve_left<T, 4>(lower, w, P, B, ldb, n) : solve_right<T, 4>(lower, w, P, B, ldb, n);
}

#define FRECHET_TILES(T)                                                 \
  template void pack_tile(bool, int, int, const T*, std::ptrdiff_t, T*); \
  template void solve_packed(bool, bool, int, const T*, T*, std::ptrdiff_t, int);
FRECHET_TILES(float)
FRECHET_TILES(double)

}  // namespace frechet::backend::lapack
