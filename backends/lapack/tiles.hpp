// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_TILES_HPP
#define FRECHET_BACKENDS_LAPACK_TILES_HPP

#include <cstddef>

// Solves with triangles of reals small enough to stay in cache: tiles of the solution are summed up in registers, as in
// a gemm, and multiplied with the inverse of the tile on the diagonal. T = float or double. Plain C++ without Kokkos,
// compiled apart.
//
// A packed triangle L: panels of `tile` of its rows, one after the other, each column by column and filled up with
// zeros to whole tiles. Diagonal tiles are inverted; what lies beyond the triangle is not there or zero.

namespace frechet::backend::lapack {

constexpr int tile = 16;
constexpr int largest_packed = 128;  ///< order of a packed triangle

constexpr int whole_tiles(int n) { return (n + tile - 1) / tile * tile; }

/// The m x n corner of a tile, m, n <= tile, from A or A^T; the rest of the tile becomes zero.
template <class T>
void pack_tile(bool transposed, int m, int n, const T* A, std::ptrdiff_t lda, T* P);

/// B = L^-1 B (left), B w x n, or B = B L^-T (right), B n x w; L w x w and packed, lower or upper.
template <class T>
void solve_packed(bool left, bool lower, int w, const T* P, T* B, std::ptrdiff_t ldb, int n);

}  // namespace frechet::backend::lapack

#endif
