// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_KOKKOS_CUDA13_HPP
#define FRECHET_KOKKOS_CUDA13_HPP

// CUDA 13 changed the parameters of two functions that Kokkos before 4.7.1 calls. These overloads take the old ones.
// Put in front of every source by cmake/FrechetKokkos.cmake, for those versions only.

#if defined(__cplusplus) && defined(__has_include) && __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000

inline cudaError_t cudaMemPrefetchAsync(const void* data, size_t bytes, int device, cudaStream_t stream) {
  cudaMemLocation location{};
  location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device;
  return cudaMemPrefetchAsync(data, bytes, location, 0, stream);
}

inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                            size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}

#endif
#endif
#endif
