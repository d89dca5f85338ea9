// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "vendor.hpp"

#include <frechet/error.hpp>

#include <string>

namespace frechet::backend::cuda {
namespace {

[[noreturn]] void fail(const char* routine, const std::string& status) {
  throw BackendError(std::string("frechet: ") + routine + " failed: " + status);
}

/// cuSOLVER has no function for this.
const char* text(cusolverStatus_t status) {
  switch (status) {
    case CUSOLVER_STATUS_NOT_INITIALIZED:
      return "CUSOLVER_STATUS_NOT_INITIALIZED";
    case CUSOLVER_STATUS_ALLOC_FAILED:
      return "CUSOLVER_STATUS_ALLOC_FAILED";
    case CUSOLVER_STATUS_INVALID_VALUE:
      return "CUSOLVER_STATUS_INVALID_VALUE";
    case CUSOLVER_STATUS_ARCH_MISMATCH:
      return "CUSOLVER_STATUS_ARCH_MISMATCH";
    case CUSOLVER_STATUS_EXECUTION_FAILED:
      return "CUSOLVER_STATUS_EXECUTION_FAILED";
    case CUSOLVER_STATUS_INTERNAL_ERROR:
      return "CUSOLVER_STATUS_INTERNAL_ERROR";
    default:
      return "another status";
  }
}

}  // namespace

void require(const char* routine, cudaError_t status) {
  if (status != cudaSuccess) fail(routine, cudaGetErrorString(status));
}

void require(const char* routine, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(routine, cublasGetStatusString(status));
}

void require(const char* routine, cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    fail(routine, std::string(text(status)) + " (" + std::to_string(static_cast<int>(status)) + ")");
}

void require_size(const char* routine, int entries) {
  if (entries < 0)
    fail(routine, "its workspace has more than 2147483647 entries, which its 32-bit interface cannot state");
}

}  // namespace frechet::backend::cuda
