# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Targets BLAS::BLAS and LAPACK::LAPACK. Where nothing else is asked for (BLA_VENDOR), Debian's OpenMP build of OpenBLAS comes
# first: its threads are those of Kokkos::OpenMP. With the pthreads build the two sets of threads wait for each other's cores.
if(NOT TARGET LAPACK::LAPACK)
  find_library(FRECHET_OPENBLAS_OPENMP openblas PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp
    NO_DEFAULT_PATH)
  mark_as_advanced(FRECHET_OPENBLAS_OPENMP)
  if(FRECHET_OPENBLAS_OPENMP AND NOT BLA_VENDOR AND NOT BLAS_LIBRARIES)
    foreach(target BLAS::BLAS LAPACK::LAPACK)
      add_library(${target} INTERFACE IMPORTED GLOBAL)
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES ${FRECHET_OPENBLAS_OPENMP})
    endforeach()
  else()
    find_package(BLAS REQUIRED)
    find_package(LAPACK REQUIRED)
  endif()
endif()
