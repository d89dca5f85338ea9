// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_FORTRAN_HPP
#define FRECHET_BACKENDS_LAPACK_FORTRAN_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>

// The Fortran symbols of BLAS and LAPACK this backend calls, 32-bit integers, overloaded on the scalar. The lengths of
// character arguments, which Fortran compilers append, are passed.

namespace frechet::backend::lapack {

using C = Kokkos::complex<float>;
using Z = Kokkos::complex<double>;
using Len = std::size_t;

extern "C" {
#define FRECHET_BLAS(p, S)                                                                                           \
  void p##gemm_(const char*, const char*, const int*, const int*, const int*, const S*, const S*, const int*,        \
                const S*, const int*, const S*, S*, const int*, Len, Len);                                           \
  void p##gemv_(const char*, const int*, const int*, const S*, const S*, const int*, const S*, const int*, const S*, \
                S*, const int*, Len);                                                                                \
  void p##trsm_(const char*, const char*, const char*, const char*, const int*, const int*, const S*, const S*,      \
                const int*, S*, const int*, Len, Len, Len, Len);                                                     \
  void p##trsv_(const char*, const char*, const char*, const int*, const S*, const int*, S*, const int*, Len, Len,   \
                Len);                                                                                                \
  void p##trmm_(const char*, const char*, const char*, const char*, const int*, const int*, const S*, const S*,      \
                const int*, S*, const int*, Len, Len, Len, Len);                                                     \
  void p##getrf_(const int*, const int*, S*, const int*, int*, int*);                                                \
  void p##geqrf_(const int*, const int*, S*, const int*, S*, S*, const int*, int*);
FRECHET_BLAS(s, float)
FRECHET_BLAS(d, double)
FRECHET_BLAS(c, C)
FRECHET_BLAS(z, Z)
#undef FRECHET_BLAS

#define FRECHET_LAPACK_REAL(p, S)                                                                                  \
  void p##orgqr_(const int*, const int*, const int*, S*, const int*, const S*, S*, const int*, int*);              \
  void p##syevd_(const char*, const char*, const int*, S*, const int*, S*, S*, const int*, int*, const int*, int*, \
                 Len, Len);                                                                                        \
  void p##gesdd_(const char*, const int*, const int*, S*, const int*, S*, S*, const int*, S*, const int*, S*,      \
                 const int*, int*, int*, Len);
FRECHET_LAPACK_REAL(s, float)
FRECHET_LAPACK_REAL(d, double)
#undef FRECHET_LAPACK_REAL

#define FRECHET_LAPACK_COMPLEX(p, S, R)                                                                          \
  void p##ungqr_(const int*, const int*, const int*, S*, const int*, const S*, S*, const int*, int*);            \
  void p##heevd_(const char*, const char*, const int*, S*, const int*, R*, S*, const int*, R*, const int*, int*, \
                 const int*, int*, Len, Len);                                                                    \
  void p##gesdd_(const char*, const int*, const int*, S*, const int*, R*, S*, const int*, S*, const int*, S*,    \
                 const int*, R*, int*, int*, Len);
FRECHET_LAPACK_COMPLEX(c, C, float)
FRECHET_LAPACK_COMPLEX(z, Z, double)
#undef FRECHET_LAPACK_COMPLEX
}

/// The routines for one scalar, under one name each.
template <class S>
struct Routines;

#define FRECHET_ROUTINES(S, p, orgqr_name, syevd_name) \
  template <>                                          \
  struct Routines<S> {                                 \
    static constexpr auto gemm = p##gemm_;             \
    static constexpr auto gemv = p##gemv_;             \
    static constexpr auto trsm = p##trsm_;             \
    static constexpr auto trsv = p##trsv_;             \
    static constexpr auto trmm = p##trmm_;             \
    static constexpr auto getrf = p##getrf_;           \
    static constexpr auto geqrf = p##geqrf_;           \
    static constexpr auto ungqr = p##orgqr_name##_;    \
    static constexpr auto heevd = p##syevd_name##_;    \
    static constexpr auto gesdd = p##gesdd_;           \
  };
FRECHET_ROUTINES(float, s, orgqr, syevd)
FRECHET_ROUTINES(double, d, orgqr, syevd)
FRECHET_ROUTINES(C, c, ungqr, heevd)
FRECHET_ROUTINES(Z, z, ungqr, heevd)
#undef FRECHET_ROUTINES

}  // namespace frechet::backend::lapack

#endif
