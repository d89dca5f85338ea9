# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Kokkos 4.4 to 5.x. Its version files accept only the same major version, so the range is checked here.
find_package(Kokkos CONFIG REQUIRED)
if(Kokkos_VERSION VERSION_LESS 4.4 OR Kokkos_VERSION VERSION_GREATER_EQUAL 6)
  message(FATAL_ERROR "Frechet needs Kokkos 4.4 to 5.x, found ${Kokkos_VERSION} in ${Kokkos_DIR}")
endif()

# Kokkos before 4.7.1 calls two functions as CUDA 12 declared them: see the header.
if("CUDA" IN_LIST Kokkos_DEVICES AND Kokkos_VERSION VERSION_LESS 4.7.1)
  find_package(CUDAToolkit REQUIRED)
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13 AND NOT FRECHET_KOKKOS_CUDA13)
    set(FRECHET_KOKKOS_CUDA13 ON)
    set_property(TARGET Kokkos::kokkoscore APPEND PROPERTY INTERFACE_COMPILE_OPTIONS
      "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/frechet_kokkos_cuda13.hpp")
  endif()
endif()
