# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(${PROJECT_SOURCE_DIR}/cmake/FrechetLapack.cmake)
target_sources(${FRECHET_BACKEND_TARGET} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/lapack.cpp)
target_link_libraries(${FRECHET_BACKEND_TARGET} PRIVATE LAPACK::LAPACK BLAS::BLAS)
