// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "glue.hpp"

namespace frechet::backend {
namespace {

// Which routine by operation, scalar, largest n and batch; lines behind one that fits everything tell what else may be
// asked for. From public measurements, none of them ours (docs/cuda.md has the sources); frechet_perf --tune measures
// on the device at hand.
constexpr std::string_view table = R"(
eigh  f32  512   1  syevj           # Jacobi wins in single precision
eigh  c64  512   1  syevj
eigh  *    *     1  syevd
eigh  *    1024  *  syev_batched
eigh  *    *     *  syevd
eigh  *    *     *  syevj
eigh  *    *     *  reference

svd   *    32    1  gesvdj
svd   *    32    *  gesvdj_batched  # the routine's limit
svd   *    256   7  gesvdj
svd   *    128   *  reference       # no routine for batches of this size
svd   *    *     *  gesvd
svd   *    *     *  gesvdp

lu    *    *     1  getrf
lu    *    511   *  getrf_batched   # square only
lu    *    *     *  getrf

qr    *    *     7  geqrf
qr    *    128   *  reference       # ungqr has no batch
qr    *    *     *  geqrf
qr    *    *     *  geqrf_batched

trsm  *    *     8  trsm
trsm  *    *     *  trsm_batched
)";

}  // namespace

template <class Exec>
const char* name() {
  return "cuda";
}

template <class Exec>
const DriverTable& drivers() {
  static const DriverTable the_table(table);
  return the_table;
}

#define FRECHET_CUDA_NAME(EXEC)      \
  template const char* name<EXEC>(); \
  template const DriverTable& drivers<EXEC>();
FRECHET_CUDA_FOR_EACH_EXEC(FRECHET_CUDA_NAME)

}  // namespace frechet::backend
