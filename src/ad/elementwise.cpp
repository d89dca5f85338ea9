// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/map.hpp>

#include "instantiate.hpp"

// The elementwise functions of the library, compiled once.

namespace frechet::detail {

template <class Exec, class F, class S>
OperationPtr<Exec> unary_operation() {
  return std::make_shared<const MapOperation<Exec, F, MapResult<F, S>, S>>(F());
}
template <class Exec, class F, class S>
OperationPtr<Exec> binary_operation() {
  return std::make_shared<const MapOperation<Exec, F, MapResult<F, S, S>, S, S>>(F());
}

#define FRECHET_UNARY(EXEC, F, S) template OperationPtr<EXEC> unary_operation<EXEC, functors::F, S>();
#define FRECHET_ELEMENTWISE(EXEC, S)                                           \
  template OperationPtr<EXEC> binary_operation<EXEC, functors::Multiply, S>(); \
  template OperationPtr<EXEC> binary_operation<EXEC, functors::Divide, S>();   \
  FRECHET_UNARY(EXEC, ImagPart, S)                                             \
  FRECHET_UNARY(EXEC, Reciprocal, S)                                           \
  FRECHET_UNARY(EXEC, Abs2, S)                                                 \
  FRECHET_UNARY(EXEC, Abs, S)                                                  \
  FRECHET_UNARY(EXEC, Exp, S)                                                  \
  FRECHET_UNARY(EXEC, Log, S)                                                  \
  FRECHET_UNARY(EXEC, Sqrt, S)                                                 \
  FRECHET_UNARY(EXEC, Sin, S)                                                  \
  FRECHET_UNARY(EXEC, Cos, S)                                                  \
  FRECHET_UNARY(EXEC, Tanh, S)
FRECHET_FOR_EACH_SCALAR(FRECHET_ELEMENTWISE)

#define FRECHET_COMPLEX_PARTS(EXEC)                     \
  FRECHET_UNARY(EXEC, Conj, Kokkos::complex<float>)     \
  FRECHET_UNARY(EXEC, Conj, Kokkos::complex<double>)    \
  FRECHET_UNARY(EXEC, RealPart, Kokkos::complex<float>) \
  FRECHET_UNARY(EXEC, RealPart, Kokkos::complex<double>)
FRECHET_FOR_EACH_EXEC(FRECHET_COMPLEX_PARTS)

#define FRECHET_MAKE_COMPLEX(EXEC)                                                    \
  template OperationPtr<EXEC> binary_operation<EXEC, functors::MakeComplex, float>(); \
  template OperationPtr<EXEC> binary_operation<EXEC, functors::MakeComplex, double>();
FRECHET_FOR_EACH_EXEC(FRECHET_MAKE_COMPLEX)

}  // namespace frechet::detail
