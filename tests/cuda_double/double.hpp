// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_CUDA_DOUBLE_DOUBLE_HPP
#define FRECHET_TESTS_CUDA_DOUBLE_DOUBLE_HPP

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <cstddef>
#include <string>
#include <vector>

// A host double of what the cuda adaptor uses of cudart, cuBLAS and cuSOLVER: NVIDIA's headers and signatures,
// arguments checked as documented, work done by LAPACK. What Kokkos allocates counts as device memory, everything else
// as host memory. A violation fails the running test with the name of the call.

namespace frechet::test::cuda_double {

/// Begins to follow allocations; Kokkos has been initialised.
void start();
/// The names of the calls so far that submit work, in order.
std::vector<std::string> calls();
void forget_calls();

enum class Fault {
  info,        ///< numerical failure: info = 1 for the first matrix, results are NaN, pivots rubbish
  argument,    ///< the same with info = -2
  status,      ///< the call fails
  allocation,  ///< the call finds no memory
};
/// The k-th solver or BLAS call from now on (0: the next) goes wrong.
void inject(Fault fault, int k);
void inject_nothing();

// --- for the double's own sources -----------------------------------------------------------------------------------

/// One call: its checks and what is to go wrong.
class Call {
 public:
  Call(const char* name, cudaStream_t stream);
  void require(bool good, const std::string& what);
  void device(const void* p, std::size_t bytes, const char* what);
  void host(const void* p, const char* what);
  void matrix(const void* p, std::size_t scalar, int rows, int cols, int ld, const char* what);
  /// `count` matrices with a stride.
  void matrices(const void* p, std::size_t scalar, int rows, int cols, int ld, long long stride, int count,
                const char* what);
  /// Device workspace of at least `needed` bytes, which then holds rubbish.
  void workspace(void* p, std::size_t given, std::size_t needed);

  bool good() const { return good_; }
  /// The info to leave with the first matrix; 0: as LAPACK says.
  int failure() const {
    return fault_ == static_cast<int>(Fault::info) ? 1 : fault_ == static_cast<int>(Fault::argument) ? -2 : 0;
  }
  cublasStatus_t blas_status() const;
  cusolverStatus_t solver_status() const;
  /// Whether to do the work: nothing was wrong and nothing is injected that stops the call.
  bool works() const {
    return good_ && fault_ != static_cast<int>(Fault::status) && fault_ != static_cast<int>(Fault::allocation);
  }

 private:
  std::string name_;
  bool good_ = true;
  int fault_ = -1;
};

cudaStream_t the_stream();

}  // namespace frechet::test::cuda_double

#endif
