// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_CUDA_ADAPTOR_HANDLES_HPP
#define FRECHET_BACKENDS_CUDA_ADAPTOR_HANDLES_HPP

#include "vendor.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace frechet::backend::cuda {

/// A stream and the device it belongs to.
struct Stream {
  int device = 0;
  cudaStream_t stream = nullptr;
  bool operator==(const Stream&) const = default;
};

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const {
    Destroy(handle);
  }
};
template <class Handle, auto Destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Destroy>>;

/// The vendor's handles for one stream, and what they need on the host.
class Handles {
 public:
  explicit Handles(const Stream& stream);

  const Stream& stream() const { return stream_; }
  cublasHandle_t blas() const { return blas_.get(); }
  cusolverDnHandle_t solver() const { return solver_.get(); }
  cusolverDnParams_t params() const { return params_.get(); }
  syevjInfo_t syevj() const { return syevj_.get(); }
  gesvdjInfo_t gesvdj() const { return gesvdj_.get(); }
  /// Host memory for the routines of the 64-bit interface; grows, is kept.
  void* host_memory(std::size_t bytes);
  /// Where gesvdp writes by how much it changed a nearly singular matrix.
  double* perturbation() { return &perturbation_; }

 private:
  Stream stream_;
  Owned<cublasHandle_t, cublasDestroy> blas_;
  Owned<cusolverDnHandle_t, cusolverDnDestroy> solver_;
  Owned<cusolverDnParams_t, cusolverDnDestroyParams> params_;
  Owned<syevjInfo_t, cusolverDnDestroySyevjInfo> syevj_;
  Owned<gesvdjInfo_t, cusolverDnDestroyGesvdjInfo> gesvdj_;
  std::vector<char> host_;
  double perturbation_ = 0;
};

/// Borrows the handles of a stream for one call; its device is current meanwhile. Made at the first call of a stream,
/// safe from several threads: concurrent calls on one stream get handles of their own.
class Lease {
 public:
  explicit Lease(const Stream& stream);
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease();
  Handles& operator*() const { return *handles_; }
  Handles* operator->() const { return handles_.get(); }

 private:
  int previous_device_ = 0;
  std::unique_ptr<Handles> handles_;
};

/// Destroys all handles that nobody has borrowed.
void release_handles();

}  // namespace frechet::backend::cuda

#endif
