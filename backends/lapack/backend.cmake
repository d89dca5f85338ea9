# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(${PROJECT_SOURCE_DIR}/cmake/FrechetLapack.cmake)
target_sources(${FRECHET_BACKEND_TARGET} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/lapack.cpp
  ${CMAKE_CURRENT_LIST_DIR}/spectral.cpp)
target_link_libraries(${FRECHET_BACKEND_TARGET} PRIVATE LAPACK::LAPACK BLAS::BLAS)
# Loops that are compiled for several levels of a processor: plain C++, no launch compiler sees them.
if(NOT TARGET frechet_lapack_loops)
  add_library(frechet_lapack_loops OBJECT ${CMAKE_CURRENT_LIST_DIR}/loops.cpp
    ${CMAKE_CURRENT_LIST_DIR}/tiles.cpp)
  target_compile_features(frechet_lapack_loops PRIVATE cxx_std_20)
  target_link_libraries(frechet_lapack_loops PRIVATE frechet_options)
  set_target_properties(frechet_lapack_loops PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
target_sources(${FRECHET_BACKEND_TARGET} PRIVATE $<TARGET_OBJECTS:frechet_lapack_loops>)
