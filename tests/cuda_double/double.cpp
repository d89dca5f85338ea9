// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "double.hpp"

#include "glue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace frechet::test::cuda_double {
namespace {

struct State {
  std::mutex mutex;
  std::map<const char*, std::size_t> blocks;
  std::vector<std::string> calls;
  int fault = -1, countdown = 0;
};
State& state() {
  static auto* const the_state = new State;
  return *the_state;
}

/// Kokkos reports where its own header begins, and the bytes behind it; for an empty View the bytes of the header.
constexpr std::size_t header = sizeof(Kokkos::Impl::SharedAllocationHeader);

/// Bytes from p to the end of its block; -1 where p is not on the device. `surely`: blocks that may be empty do not
/// count.
long long room(const void* p, bool surely = false) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  const auto* const at = static_cast<const char*>(p);
  auto block = s.blocks.upper_bound(at);
  if (block == s.blocks.begin()) return -1;
  --block;
  if (surely && block->second == header) return -1;
  const long long left = static_cast<long long>(block->second) - (at - block->first);
  return left > 0 ? left : -1;
}

}  // namespace

void start() {
  namespace Tools = Kokkos::Tools::Experimental;
  Tools::set_allocate_data_callback(
      [](Kokkos::Tools::SpaceHandle, const char* label, const void* data, std::uint64_t bytes) {
        if (std::strncmp(label, "Kokkos::", 8) == 0) return;  // its own scratch on the host, which has no header
        auto& s = state();
        const std::lock_guard lock(s.mutex);
        s.blocks[static_cast<const char*>(data) + header] = bytes;
      });
  Tools::set_deallocate_data_callback([](Kokkos::Tools::SpaceHandle, const char*, const void* data, std::uint64_t) {
    auto& s = state();
    const std::lock_guard lock(s.mutex);
    s.blocks.erase(static_cast<const char*>(data) + header);
  });
}

std::vector<std::string> calls() {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
void forget_calls() {
  const std::lock_guard lock(state().mutex);
  state().calls.clear();
}

void inject(Fault fault, int k) {
  const std::lock_guard lock(state().mutex);
  state().fault = static_cast<int>(fault);
  state().countdown = k;
}
void inject_nothing() {
  const std::lock_guard lock(state().mutex);
  state().fault = -1;
}

cudaStream_t the_stream() {
  static int token;
  return reinterpret_cast<cudaStream_t>(&token);  // NOLINT: an address nobody follows
}

Call::Call(const char* name, cudaStream_t stream) : name_(name) {
  {
    auto& s = state();
    const std::lock_guard lock(s.mutex);
    s.calls.push_back(name_);
    if (s.fault >= 0 && s.countdown-- == 0) {
      fault_ = s.fault;
      s.fault = -1;
    }
  }
  require(stream == the_stream(), "the handle's stream is not that of the instance");
}

void Call::require(bool good, const std::string& what) {
  if (good) return;
  good_ = false;
  ADD_FAILURE() << name_ << ": " << what;
}
void Call::device(const void* p, std::size_t bytes, const char* what) {
  if (bytes == 0) return;
  const long long left = room(p);
  if (left < 0)
    require(false, std::string(what) + " is not device memory");
  else
    require(static_cast<std::size_t>(left) >= bytes, std::string(what) + " ends " +
                                                         std::to_string(static_cast<long long>(bytes) - left) +
                                                         " bytes behind its allocation");
}
void Call::host(const void* p, const char* what) {
  require(p != nullptr && room(p, true) < 0, std::string(what) + " is not host memory");
}
void Call::matrix(const void* p, std::size_t scalar, int rows, int cols, int ld, const char* what) {
  matrices(p, scalar, rows, cols, ld, 0, 1, what);
}
void Call::matrices(const void* p, std::size_t scalar, int rows, int cols, int ld, long long stride, int count,
                    const char* what) {
  require(rows >= 0 && cols >= 0 && count >= 0, std::string(what) + " has a negative extent");
  require(ld >= std::max(1, rows), std::string(what) + " has a leading dimension below its rows");
  if (!good_ || rows == 0 || cols == 0 || count == 0) return;
  const auto last = static_cast<std::size_t>((count - 1) * stride + static_cast<long long>(cols - 1) * ld + rows);
  device(p, last * scalar, what);
}
void Call::workspace(void* p, std::size_t given, std::size_t needed) {
  require(given >= needed, "the workspace is too small");
  device(p, given, "the workspace");
  if (good_ && given > 0) std::memset(p, 0xff, given);
}
cublasStatus_t Call::blas_status() const {
  if (!good_) return CUBLAS_STATUS_INVALID_VALUE;
  if (fault_ == static_cast<int>(Fault::status)) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (fault_ == static_cast<int>(Fault::allocation)) return CUBLAS_STATUS_ALLOC_FAILED;
  return CUBLAS_STATUS_SUCCESS;
}
cusolverStatus_t Call::solver_status() const {
  if (!good_) return CUSOLVER_STATUS_INVALID_VALUE;
  if (fault_ == static_cast<int>(Fault::status)) return CUSOLVER_STATUS_EXECUTION_FAILED;
  if (fault_ == static_cast<int>(Fault::allocation)) return CUSOLVER_STATUS_ALLOC_FAILED;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace frechet::test::cuda_double

namespace frechet::backend::cuda {
Stream double_stream() { return {0, frechet::test::cuda_double::the_stream()}; }
}  // namespace frechet::backend::cuda

extern "C" {
cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
const char* CUDARTAPI cudaGetErrorString(cudaError_t) { return "an error of the host double"; }
}
