// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_DRIVER_HPP
#define FRECHET_DRIVER_HPP

#include <frechet/types.hpp>

namespace frechet {

/// Which routine does a factorisation. Names are those of LAPACK and cuSOLVER; `reference` are Frechet's own kernels
/// (Jacobi, Householder, one team per matrix). A backend has some of them: lapack syevd, gesdd, gesvd, getrf, geqrf,
/// blocked; cuda all but gesdd and blocked; reference only its own. Another one is an ArgumentError that lists what
/// there is. Where extents do not fit a batched driver (not square, above 32 x 32) its namesake without a batch does
/// the work. `automatic` looks the driver up by operation, extents, batch and scalar; the environment variable
/// FRECHET_DRIVERS can change that table (docs/cuda.md).
enum class Driver {
  automatic,
  syevd,           ///< eigh: divide and conquer
  syevj,           ///< eigh: Jacobi
  syev_batched,    ///< eigh: a batch in one call (cuSOLVER 11.7.1 or later)
  gesvd,           ///< svd: QR iteration
  gesdd,           ///< svd: divide and conquer
  gesvdj,          ///< svd: Jacobi
  gesvdj_batched,  ///< svd: Jacobi for a batch of matrices up to 32 x 32
  gesvdp,          ///< svd: polar decomposition; may lose orthogonality of U where A is nearly singular
  getrf,           ///< lu, solve
  getrf_batched,   ///< lu, solve: a batch of square matrices in one call
  geqrf,           ///< qr
  geqrf_batched,   ///< qr: a batch in one call
  trsm,            ///< triangular systems of a batch one by one
  trsm_batched,    ///< triangular systems of a batch in one call
  blocked,         ///< eigh, svd, lu, qr: Frechet's own blocked algorithms over BLAS
  reference,       ///< Frechet's own kernels
};
inline constexpr int driver_count = static_cast<int>(Driver::reference) + 1;

/// "syevd", "gesvdj_batched", ...
const char* name(Driver driver);

}  // namespace frechet

#endif
