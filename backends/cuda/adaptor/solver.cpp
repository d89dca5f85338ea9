// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "routines.hpp"

#include <algorithm>
#include <limits>

namespace frechet::backend::cuda {
namespace {

/// Workspace of the 64-bit interface.
struct Sizes {
  std::size_t device = 0, host = 0;
};

void* take(const Memory& memory, std::size_t bytes) { return memory.take(memory.arena, bytes); }

/// Workspace of the 32-bit interface, counted in entries.
template <class V>
V* take(const Memory& memory, const char* routine, int entries) {
  require_size(routine, entries);
  return static_cast<V*>(take(memory, sizeof(V) * static_cast<std::size_t>(entries)));
}

cusolverEigMode_t mode(bool vectors) { return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR; }

constexpr cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;

}  // namespace

template <class V>
void getrf(Handles& handles, Memory memory, Array<V> A, std::int64_t* pivots, int* info) {
  constexpr auto type = data_type<V>;
  const int k = std::min(A.rows, A.cols);
  Sizes size;
  require("cusolverDnXgetrf_bufferSize",
          cusolverDnXgetrf_bufferSize(handles.solver(), handles.params(), A.rows, A.cols, type, A.data, A.ld, type,
                                      &size.device, &size.host));
  void* const work = take(memory, size.device);
  for (int b = 0; b < A.count; ++b)
    require("cusolverDnXgetrf", cusolverDnXgetrf(handles.solver(), handles.params(), A.rows, A.cols, type, A[b], A.ld,
                                                 pivots + std::int64_t(b) * k, type, work, size.device,
                                                 handles.host_memory(size.host), size.host, info + b));
}

template <class V>
void geqrf(Handles& handles, Memory memory, Array<V> A, V* tau, int* info) {
  constexpr auto type = data_type<V>;
  const int k = std::min(A.rows, A.cols);
  Sizes size;
  require("cusolverDnXgeqrf_bufferSize",
          cusolverDnXgeqrf_bufferSize(handles.solver(), handles.params(), A.rows, A.cols, type, A.data, A.ld, type, tau,
                                      type, &size.device, &size.host));
  void* const work = take(memory, size.device);
  for (int b = 0; b < A.count; ++b)
    require("cusolverDnXgeqrf", cusolverDnXgeqrf(handles.solver(), handles.params(), A.rows, A.cols, type, A[b], A.ld,
                                                 type, tau + std::int64_t(b) * k, type, work, size.device,
                                                 handles.host_memory(size.host), size.host, info + b));
}

template <class V>
void ungqr(Handles& handles, Memory memory, Array<V> A, int k, const V* tau, int* info) {
  int size = 0;
  require("cusolverDn ungqr_bufferSize",
          Routines<V>::ungqr_size(handles.solver(), A.rows, A.cols, k, A.data, A.ld, tau, &size));
  V* const work = take<V>(memory, "cusolverDn ungqr", size);
  for (int b = 0; b < A.count; ++b)
    require("cusolverDn ungqr", Routines<V>::ungqr(handles.solver(), A.rows, A.cols, k, A[b], A.ld,
                                                   tau + std::int64_t(b) * k, work, size, info + b));
}

template <class V>
void syevd(Handles& handles, Memory memory, bool vectors, Array<V> A, RealOf<V>* w, int* info) {
  constexpr auto type = data_type<V>, real = data_type<RealOf<V>>;
  const int n = A.rows;
  Sizes size;
  require("cusolverDnXsyevd_bufferSize",
          cusolverDnXsyevd_bufferSize(handles.solver(), handles.params(), mode(vectors), lower, n, type, A.data, A.ld,
                                      real, w, type, &size.device, &size.host));
  void* const work = take(memory, size.device);
  for (int b = 0; b < A.count; ++b)
    require("cusolverDnXsyevd", cusolverDnXsyevd(handles.solver(), handles.params(), mode(vectors), lower, n, type,
                                                 A[b], A.ld, real, w + std::int64_t(b) * n, type, work, size.device,
                                                 handles.host_memory(size.host), size.host, info + b));
}

template <class V>
void syevj(Handles& handles, Memory memory, bool vectors, Array<V> A, RealOf<V>* w, int* info) {
  const int n = A.rows;
  int size = 0;
  require("cusolverDn syevj_bufferSize",
          Routines<V>::syevj_size(handles.solver(), mode(vectors), lower, n, A.data, A.ld, w, &size, handles.syevj()));
  V* const work = take<V>(memory, "cusolverDn syevj", size);
  for (int b = 0; b < A.count; ++b)
    require("cusolverDn syevj", Routines<V>::syevj(handles.solver(), mode(vectors), lower, n, A[b], A.ld,
                                                   w + std::int64_t(b) * n, work, size, info + b, handles.syevj()));
}

#if CUSOLVER_VERSION >= 11701
bool has_syev_batched() { return true; }

template <class V>
void syev_batched(Handles& handles, Memory memory, bool vectors, Array<V> A, RealOf<V>* w, int* info) {
  constexpr auto type = data_type<V>, real = data_type<RealOf<V>>;
  const int n = A.rows;
  // Known to fail for batches of some 32 000 (github.com/mujocolab/mjlab/pull/732) and for more than 2^31 bytes at once
  // (github.com/jax-ml/jax/pull/33063).
  constexpr std::int64_t most_matrices = 16384, most_bytes = std::numeric_limits<int>::max();
  const std::int64_t fitting = most_bytes / (std::int64_t(n) * A.ld * std::int64_t(sizeof(V)));
  const int step = static_cast<int>(std::clamp<std::int64_t>(fitting, 1, most_matrices));
  const int first = std::min(step, A.count);
  Sizes size;
  require("cusolverDnXsyevBatched_bufferSize",
          cusolverDnXsyevBatched_bufferSize(handles.solver(), handles.params(), mode(vectors), lower, n, type, A.data,
                                            A.ld, real, w, type, &size.device, &size.host, first));
  void* const work = take(memory, size.device);
  for (int b = 0; b < A.count; b += step)
    require("cusolverDnXsyevBatched",
            cusolverDnXsyevBatched(handles.solver(), handles.params(), mode(vectors), lower, n, type, A[b], A.ld, real,
                                   w + std::int64_t(b) * n, type, work, size.device, handles.host_memory(size.host),
                                   size.host, info + b, std::min(step, A.count - b)));
}
#else
bool has_syev_batched() { return false; }

template <class V>
void syev_batched(Handles& handles, Memory memory, bool vectors, Array<V> A, RealOf<V>* w, int* info) {
  syevd(handles, memory, vectors, A, w, info);
}
#endif

template <class V>
void gesvd(Handles& handles, Memory memory, bool vectors, Array<V> A, Array<V> U, RealOf<V>* s, Array<V> Vh,
           int* info) {
  constexpr auto type = data_type<V>, real = data_type<RealOf<V>>;
  const signed char job = vectors ? 'S' : 'N';
  Sizes size;
  require(
      "cusolverDnXgesvd_bufferSize",
      cusolverDnXgesvd_bufferSize(handles.solver(), handles.params(), job, job, A.rows, A.cols, type, A.data, A.ld,
                                  real, s, type, U.data, U.ld, type, Vh.data, Vh.ld, type, &size.device, &size.host));
  void* const work = take(memory, size.device);
  for (int b = 0; b < A.count; ++b)
    require("cusolverDnXgesvd",
            cusolverDnXgesvd(handles.solver(), handles.params(), job, job, A.rows, A.cols, type, A[b], A.ld, real,
                             s + std::int64_t(b) * A.cols, type, U[b], U.ld, type, Vh[b], Vh.ld, type, work,
                             size.device, handles.host_memory(size.host), size.host, info + b));
}

template <class V>
void gesvdj(Handles& handles, Memory memory, bool vectors, Array<V> A, Array<V> U, RealOf<V>* s, Array<V> right,
            int* info) {
  constexpr int thin = 1;
  int size = 0;
  require("cusolverDn gesvdj_bufferSize",
          Routines<V>::gesvdj_size(handles.solver(), mode(vectors), thin, A.rows, A.cols, A.data, A.ld, s, U.data, U.ld,
                                   right.data, right.ld, &size, handles.gesvdj()));
  V* const work = take<V>(memory, "cusolverDn gesvdj", size);
  for (int b = 0; b < A.count; ++b)
    require("cusolverDn gesvdj", Routines<V>::gesvdj(handles.solver(), mode(vectors), thin, A.rows, A.cols, A[b], A.ld,
                                                     s + std::int64_t(b) * A.cols, U[b], U.ld, right[b], right.ld, work,
                                                     size, info + b, handles.gesvdj()));
}

template <class V>
void gesvdp(Handles& handles, Memory memory, bool vectors, Array<V> A, Array<V> U, RealOf<V>* s, Array<V> right,
            int* info) {
  constexpr auto type = data_type<V>, real = data_type<RealOf<V>>;
  constexpr int thin = 1;
  Sizes size;
  require("cusolverDnXgesvdp_bufferSize",
          cusolverDnXgesvdp_bufferSize(handles.solver(), handles.params(), mode(vectors), thin, A.rows, A.cols, type,
                                       A.data, A.ld, real, s, type, U.data, U.ld, type, right.data, right.ld, type,
                                       &size.device, &size.host));
  void* const work = take(memory, size.device);
  for (int b = 0; b < A.count; ++b)
    require(
        "cusolverDnXgesvdp",
        cusolverDnXgesvdp(handles.solver(), handles.params(), mode(vectors), thin, A.rows, A.cols, type, A[b], A.ld,
                          real, s + std::int64_t(b) * A.cols, type, U[b], U.ld, type, right[b], right.ld, type, work,
                          size.device, handles.host_memory(size.host), size.host, info + b, handles.perturbation()));
}

template <class V>
void gesvdj_batched(Handles& handles, Memory memory, bool vectors, Array<V> A, Array<V> U, RealOf<V>* s, Array<V> right,
                    int* info) {
  int size = 0;
  require("cusolverDn gesvdjBatched_bufferSize",
          Routines<V>::gesvdj_batched_size(handles.solver(), mode(vectors), A.rows, A.cols, A.data, A.ld, s, U.data,
                                           U.ld, right.data, right.ld, &size, handles.gesvdj(), A.count));
  V* const work = take<V>(memory, "cusolverDn gesvdjBatched", size);
  require("cusolverDn gesvdjBatched",
          Routines<V>::gesvdj_batched(handles.solver(), mode(vectors), A.rows, A.cols, A.data, A.ld, s, U.data, U.ld,
                                      right.data, right.ld, work, size, info, handles.gesvdj(), A.count));
}

#define FRECHET_CUDA_SOLVER(V)                                                                     \
  template void getrf<V>(Handles&, Memory, Array<V>, std::int64_t*, int*);                         \
  template void geqrf<V>(Handles&, Memory, Array<V>, V*, int*);                                    \
  template void ungqr<V>(Handles&, Memory, Array<V>, int, const V*, int*);                         \
  template void syevd<V>(Handles&, Memory, bool, Array<V>, RealOf<V>*, int*);                      \
  template void syevj<V>(Handles&, Memory, bool, Array<V>, RealOf<V>*, int*);                      \
  template void syev_batched<V>(Handles&, Memory, bool, Array<V>, RealOf<V>*, int*);               \
  template void gesvd<V>(Handles&, Memory, bool, Array<V>, Array<V>, RealOf<V>*, Array<V>, int*);  \
  template void gesvdj<V>(Handles&, Memory, bool, Array<V>, Array<V>, RealOf<V>*, Array<V>, int*); \
  template void gesvdp<V>(Handles&, Memory, bool, Array<V>, Array<V>, RealOf<V>*, Array<V>, int*); \
  template void gesvdj_batched<V>(Handles&, Memory, bool, Array<V>, Array<V>, RealOf<V>*, Array<V>, int*);
FRECHET_CUDA_SOLVER(float)
FRECHET_CUDA_SOLVER(double)
FRECHET_CUDA_SOLVER(cuComplex)
FRECHET_CUDA_SOLVER(cuDoubleComplex)

}  // namespace frechet::backend::cuda
