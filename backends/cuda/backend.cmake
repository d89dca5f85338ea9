# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Glue (Kokkos kernels around) and adaptor: the adaptor is plain C++ and knows no Kokkos, so no launch compiler sees it.
find_package(CUDAToolkit REQUIRED)
foreach(source blas factor name spectral)
  target_sources(${FRECHET_BACKEND_TARGET} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
endforeach()
string(TOUPPER FRECHET_FOR_EACH_${FRECHET_BACKEND_SERVES} serves)
target_compile_definitions(${FRECHET_BACKEND_TARGET} PRIVATE
  FRECHET_CUDA_FOR_EACH_EXEC=${serves}_EXEC FRECHET_CUDA_FOR_EACH_SCALAR=${serves}_SCALAR)
target_include_directories(${FRECHET_BACKEND_TARGET} PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
if(NOT TARGET frechet_cuda_adaptor)
  add_library(frechet_cuda_adaptor OBJECT ${CMAKE_CURRENT_LIST_DIR}/adaptor/blas.cpp
    ${CMAKE_CURRENT_LIST_DIR}/adaptor/handles.cpp ${CMAKE_CURRENT_LIST_DIR}/adaptor/solver.cpp
    ${CMAKE_CURRENT_LIST_DIR}/adaptor/vendor.cpp)
  target_compile_features(frechet_cuda_adaptor PRIVATE cxx_std_20)
  target_include_directories(frechet_cuda_adaptor PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(frechet_cuda_adaptor SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(frechet_cuda_adaptor PRIVATE frechet_options)
  set_target_properties(frechet_cuda_adaptor PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
target_sources(${FRECHET_BACKEND_TARGET} PRIVATE $<TARGET_OBJECTS:frechet_cuda_adaptor>)
if(NOT FRECHET_CUDA_DOUBLE)
  target_link_libraries(${FRECHET_BACKEND_TARGET} PRIVATE CUDA::cusolver CUDA::cublas CUDA::cudart)
endif()
