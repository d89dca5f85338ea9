# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
find_package(KokkosKernels REQUIRED)
foreach(source gemm geqrf gesvd getrf heevd name triangular)
  target_sources(${FRECHET_BACKEND_TARGET} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
endforeach()
# It can serve the host, the device or both.
if(FRECHET_BACKEND_SERVES STREQUAL all)
  set(serves FRECHET_FOR_EACH)
else()
  string(TOUPPER FRECHET_FOR_EACH_${FRECHET_BACKEND_SERVES} serves)
endif()
target_compile_definitions(${FRECHET_BACKEND_TARGET} PRIVATE
  FRECHET_REFERENCE_FOR_EACH_EXEC=${serves}_EXEC FRECHET_REFERENCE_FOR_EACH_SCALAR=${serves}_SCALAR)
target_link_libraries(${FRECHET_BACKEND_TARGET} PRIVATE Kokkos::kokkoskernels)
