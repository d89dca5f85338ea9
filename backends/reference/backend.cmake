# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
find_package(KokkosKernels REQUIRED)
foreach(source gemm geqrf gesvd getrf heevd name triangular)
  target_sources(${FRECHET_BACKEND_TARGET} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
endforeach()
target_link_libraries(${FRECHET_BACKEND_TARGET} PRIVATE Kokkos::kokkoskernels)
