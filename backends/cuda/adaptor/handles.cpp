// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "handles.hpp"

#include <mutex>

namespace frechet::backend::cuda {
namespace {

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<Handles>> idle;
};

/// Never destroyed: handles are released while the runtime still works, see release_handles().
Pool& pool() {
  static auto* const the_pool = new Pool;
  return *the_pool;
}

int current_device() {
  int device = 0;
  require("cudaGetDevice", cudaGetDevice(&device));
  return device;
}

}  // namespace

Handles::Handles(const Stream& stream) : stream_(stream) {
  cublasHandle_t blas = nullptr;
  require("cublasCreate", cublasCreate(&blas));
  blas_.reset(blas);
  require("cublasSetStream", cublasSetStream(blas, stream.stream));
  cusolverDnHandle_t solver = nullptr;
  require("cusolverDnCreate", cusolverDnCreate(&solver));
  solver_.reset(solver);
  require("cusolverDnSetStream", cusolverDnSetStream(solver, stream.stream));
  cusolverDnParams_t params = nullptr;
  require("cusolverDnCreateParams", cusolverDnCreateParams(&params));
  params_.reset(params);
  syevjInfo_t syevj = nullptr;
  require("cusolverDnCreateSyevjInfo", cusolverDnCreateSyevjInfo(&syevj));
  syevj_.reset(syevj);
  require("cusolverDnXsyevjSetSortEig", cusolverDnXsyevjSetSortEig(syevj, 1));
  gesvdjInfo_t gesvdj = nullptr;
  require("cusolverDnCreateGesvdjInfo", cusolverDnCreateGesvdjInfo(&gesvdj));
  gesvdj_.reset(gesvdj);
  require("cusolverDnXgesvdjSetSortEig", cusolverDnXgesvdjSetSortEig(gesvdj, 1));
}

void* Handles::host_memory(std::size_t bytes) {
  if (host_.size() < bytes) host_.resize(bytes);
  return bytes > 0 ? host_.data() : nullptr;
}

Lease::Lease(const Stream& stream) : previous_device_(current_device()) {
  if (previous_device_ != stream.device) require("cudaSetDevice", cudaSetDevice(stream.device));
  auto& p = pool();
  {
    const std::lock_guard lock(p.mutex);
    for (std::size_t i = p.idle.size(); i-- > 0;)
      if (p.idle[i]->stream() == stream) {
        handles_ = std::move(p.idle[i]);
        p.idle[i] = std::move(p.idle.back());
        p.idle.pop_back();
        break;
      }
  }
  if (handles_) return;
  try {
    handles_ = std::make_unique<Handles>(stream);
  } catch (...) {
    if (previous_device_ != stream.device) cudaSetDevice(previous_device_);
    throw;
  }
}

Lease::~Lease() {
  if (previous_device_ != handles_->stream().device) cudaSetDevice(previous_device_);
  auto& p = pool();
  const std::lock_guard lock(p.mutex);
  p.idle.push_back(std::move(handles_));
}

void release_handles() {
  auto& p = pool();
  const std::lock_guard lock(p.mutex);
  p.idle.clear();
}

}  // namespace frechet::backend::cuda
