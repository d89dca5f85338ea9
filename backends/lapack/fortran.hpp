// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_BACKENDS_LAPACK_FORTRAN_HPP
#define FRECHET_BACKENDS_LAPACK_FORTRAN_HPP

#include <frechet/types.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

// The Fortran symbols of BLAS and LAPACK this backend calls, 32-bit integers, overloaded on the scalar. The lengths of
// character arguments, which Fortran compilers append, are passed.

namespace frechet::backend::lapack {

using ComplexFloat = Kokkos::complex<float>;
using ComplexDouble = Kokkos::complex<double>;
using Len = std::size_t;

extern "C" {
#define FRECHET_BLAS(p, S, R)                                                                                        \
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
  void p##geqrf_(const int*, const int*, S*, const int*, S*, S*, const int*, int*);                                  \
  void p##gebrd_(const int*, const int*, S*, const int*, R*, R*, S*, S*, S*, const int*, int*);                      \
  int i##p##amax_(const int*, const S*, const int*);                                                                 \
  void p##larfg_(const int*, S*, S*, const int*, S*);
FRECHET_BLAS(s, float, float)
FRECHET_BLAS(d, double, double)
FRECHET_BLAS(c, ComplexFloat, float)
FRECHET_BLAS(z, ComplexDouble, double)
#undef FRECHET_BLAS

#define FRECHET_LAPACK_REAL(p, S)                                                                                      \
  void p##gesvd_(const char*, const char*, const int*, const int*, S*, const int*, S*, S*, const int*, S*, const int*, \
                 S*, const int*, int*, Len, Len);                                                                      \
  void p##ger_(const int*, const int*, const S*, const S*, const int*, const S*, const int*, S*, const int*);          \
  void p##steqr_(const char*, const int*, S*, S*, S*, const int*, S*, int*, Len);                                      \
  void p##lasdq_(const char*, const int*, const int*, const int*, const int*, const int*, S*, S*, S*, const int*, S*,  \
                 const int*, S*, const int*, S*, int*, Len);                                                           \
  void p##sytrd_(const char*, const int*, S*, const int*, S*, S*, S*, S*, const int*, int*, Len);                      \
  void p##orgqr_(const int*, const int*, const int*, S*, const int*, const S*, S*, const int*, int*);                  \
  void p##syevd_(const char*, const char*, const int*, S*, const int*, S*, S*, const int*, int*, const int*, int*,     \
                 Len, Len);                                                                                            \
  void p##gesdd_(const char*, const int*, const int*, S*, const int*, S*, S*, const int*, S*, const int*, S*,          \
                 const int*, int*, int*, Len);
FRECHET_LAPACK_REAL(s, float)
FRECHET_LAPACK_REAL(d, double)
#undef FRECHET_LAPACK_REAL

#define FRECHET_LAPACK_COMPLEX(p, S, R)                                                                                \
  void p##gesvd_(const char*, const char*, const int*, const int*, S*, const int*, R*, S*, const int*, S*, const int*, \
                 S*, const int*, R*, int*, Len, Len);                                                                  \
  void p##geru_(const int*, const int*, const S*, const S*, const int*, const S*, const int*, S*, const int*);         \
  void p##hetrd_(const char*, const int*, S*, const int*, R*, R*, S*, S*, const int*, int*, Len);                      \
  void p##ungqr_(const int*, const int*, const int*, S*, const int*, const S*, S*, const int*, int*);                  \
  void p##heevd_(const char*, const char*, const int*, S*, const int*, R*, S*, const int*, R*, const int*, int*,       \
                 const int*, int*, Len, Len);                                                                          \
  void p##gesdd_(const char*, const int*, const int*, S*, const int*, R*, S*, const int*, S*, const int*, S*,          \
                 const int*, R*, int*, int*, Len);
FRECHET_LAPACK_COMPLEX(c, ComplexFloat, float)
FRECHET_LAPACK_COMPLEX(z, ComplexDouble, double)
#undef FRECHET_LAPACK_COMPLEX
}

/// The routines for one scalar, under one name each.
template <class S>
struct Routines;

#define FRECHET_ROUTINES(S, p, orgqr_name, syevd_name, sytrd_name, ger_name) \
  template <>                                                                \
  struct Routines<S> {                                                       \
    static constexpr auto gemm = p##gemm_;                                   \
    static constexpr auto gemv = p##gemv_;                                   \
    static constexpr auto trsm = p##trsm_;                                   \
    static constexpr auto trsv = p##trsv_;                                   \
    static constexpr auto trmm = p##trmm_;                                   \
    static constexpr auto getrf = p##getrf_;                                 \
    static constexpr auto geqrf = p##geqrf_;                                 \
    static constexpr auto larfg = p##larfg_;                                 \
    static constexpr auto iamax = i##p##amax_;                               \
    static constexpr auto geru = p##ger_name##_;                             \
    static constexpr auto ungqr = p##orgqr_name##_;                          \
    static constexpr auto heevd = p##syevd_name##_;                          \
    static constexpr auto gesdd = p##gesdd_;                                 \
    static constexpr auto gesvd = p##gesvd_;                                 \
    static constexpr auto hetrd = p##sytrd_name##_;                          \
    static constexpr auto gebrd = p##gebrd_;                                 \
  };
FRECHET_ROUTINES(float, s, orgqr, syevd, sytrd, ger)
FRECHET_ROUTINES(double, d, orgqr, syevd, sytrd, ger)
FRECHET_ROUTINES(ComplexFloat, c, ungqr, heevd, hetrd, geru)
FRECHET_ROUTINES(ComplexDouble, z, ungqr, heevd, hetrd, geru)
#undef FRECHET_ROUTINES

/// Those that exist for real scalars only.
template <class T>
struct RealRoutines;
template <>
struct RealRoutines<float> {
  static constexpr auto steqr = ssteqr_;
  static constexpr auto lasdq = slasdq_;
};
template <>
struct RealRoutines<double> {
  static constexpr auto steqr = dsteqr_;
  static constexpr auto lasdq = dlasdq_;
};

/// The size a workspace query left in the first entry, rounded up where a float can't hold it exactly.
template <class S>
int workspace(const S& first) {
  double n;
  if constexpr (is_complex<S>)
    n = first.real();
  else
    n = first;
  return static_cast<int>(n * (sizeof(Real<S>) == 4 ? 1.0001 : 1.0)) + 1;
}

}  // namespace frechet::backend::lapack

#endif
