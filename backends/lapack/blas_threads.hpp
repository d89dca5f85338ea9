// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_BLAS_THREADS_HPP
#define FRECHET_BACKENDS_LAPACK_BLAS_THREADS_HPP

#include <algorithm>
#include <cstddef>

#if defined(_OPENMP)
#include <omp.h>
#endif

// Threads of BLAS calls. Libraries start theirs where a call is large, and some at the wrong size: OpenBLAS 0.3.21 runs
// a gemm up to n = 256 on two threads at less than their speed, but a trmm of order 32 and each matrix-vector product
// of a reduction on all. Medium gemms are split here, small calls kept on one thread. The threads are OpenMP's: those
// of Kokkos::OpenMP, and of a BLAS library that is built with it. Plain C++ without Kokkos.

#if defined(__ELF__)
extern "C" int openblas_get_parallel() __attribute__((weak));  // 0: without threads, 1: its own, 2: OpenMP's
#endif

namespace frechet::backend::lapack {

/// Whether BLAS calls on several OpenMP threads at once are safe and run on a core each. Not so with an OpenBLAS that
/// has threads of its own, which all would share, or none, which may lack locks. Other libraries are taken to do it.
inline bool takes_parallel_calls() {
#if defined(__ELF__)
  static const bool takes = openblas_get_parallel == nullptr || openblas_get_parallel() == 2;
  return takes;
#else
  return true;
#endif
}

/// Threads that BLAS calls can be made on at once.
inline int threads_for_calls() {
#if defined(_OPENMP)
  return omp_in_parallel() || !takes_parallel_calls() ? 1 : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Keeps the BLAS calls of this thread on one thread during its lifetime, if `on`.
class OneThread {
 public:
#if defined(_OPENMP)
  explicit OneThread(bool on) : before_(on ? omp_get_max_threads() : 1) {
    if (before_ > 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ > 1) omp_set_num_threads(before_);
  }
#else
  explicit OneThread(bool) {}
#endif
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
#if defined(_OPENMP)
  int before_;
#endif
};

/// Pieces of an extent, whole steps but at the end.
struct Pieces {
  int extent, count, step;
  /// Where piece i begins; the extent for i = count.
  int first(int i) const {
    const int steps = (extent + step - 1) / step;
    return std::min(extent, static_cast<int>(std::ptrdiff_t(steps) * i / count) * step);
  }
};

/// Pieces of an m x n matrix C = A B + C, one for each thread.
struct Grid {
  Pieces rows, cols;
  int count() const { return rows.count * cols.count; }

  /// k multiplications for each entry. Pieces are large enough for a thread, and as square as can be, since each reads
  /// its rows of A and its columns of B. One piece where the library's own threads are as fast.
  static Grid of_product(int m, int n, double k, int threads) {
    constexpr double least = 1 << 17;  // multiplications of a piece: nothing up to 64 x 64 x 64 is split
    constexpr double most = 384.0 * 384.0 * 384.0;
    constexpr int row_step = 16, column_step = 8;
    const double work = double(m) * n * k;
    Grid best{{m, 1, row_step}, {n, 1, column_step}};
    if (threads < 2 || work <= 2 * least || work > most) return best;
    const int pieces = static_cast<int>(std::min(double(threads), work / least));
    const auto traffic = [](const Grid& g) {
      return double(g.rows.extent) / g.rows.count + double(g.cols.extent) / g.cols.count;
    };
    for (int r = 1; r <= pieces; ++r) {
      Grid grid = best;
      grid.rows.count = std::min(r, (m + row_step - 1) / row_step);
      grid.cols.count = std::min(pieces / r, (n + column_step - 1) / column_step);
      if (grid.count() > best.count() || (grid.count() == best.count() && traffic(grid) < traffic(best))) best = grid;
    }
    return best;
  }
};

}  // namespace frechet::backend::lapack

#endif
