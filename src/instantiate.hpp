// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_INSTANTIATE_HPP
#define FRECHET_SRC_INSTANTIATE_HPP

#include <Kokkos_Core.hpp>

// What the compiled library is instantiated for: the memory spaces of this build x the four scalars. The only place
// that asks which device Kokkos was built for. Rules are made for all of them; a backend for the side it serves.

#define FRECHET_FOR_EACH_HOST_EXEC(MACRO) MACRO(Kokkos::DefaultHostExecutionSpace)
#define FRECHET_FOR_EACH_HOST_SCALAR(MACRO) FRECHET_FOR_EACH_SCALAR_ON(MACRO, Kokkos::DefaultHostExecutionSpace)

#ifdef KOKKOS_ENABLE_CUDA
#define FRECHET_FOR_EACH_DEVICE_EXEC(MACRO) MACRO(Kokkos::Cuda)
#define FRECHET_FOR_EACH_DEVICE_SCALAR(MACRO) FRECHET_FOR_EACH_SCALAR_ON(MACRO, Kokkos::Cuda)
#else
#define FRECHET_FOR_EACH_DEVICE_EXEC(MACRO)
#define FRECHET_FOR_EACH_DEVICE_SCALAR(MACRO)
#endif

#define FRECHET_FOR_EACH_EXEC(MACRO) \
  FRECHET_FOR_EACH_HOST_EXEC(MACRO)  \
  FRECHET_FOR_EACH_DEVICE_EXEC(MACRO)

#define FRECHET_FOR_EACH_SCALAR_ON(MACRO, EXEC) \
  MACRO(EXEC, float)                            \
  MACRO(EXEC, double)                           \
  MACRO(EXEC, Kokkos::complex<float>)           \
  MACRO(EXEC, Kokkos::complex<double>)

#define FRECHET_FOR_EACH_SCALAR(MACRO) \
  FRECHET_FOR_EACH_HOST_SCALAR(MACRO)  \
  FRECHET_FOR_EACH_DEVICE_SCALAR(MACRO)

#endif
