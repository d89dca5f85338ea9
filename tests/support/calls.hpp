// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_CALLS_HPP
#define FRECHET_TESTS_SUPPORT_CALLS_HPP

#include <frechet/check.hpp>
#include <frechet/eigh.hpp>
#include <frechet/lu.hpp>
#include <frechet/qr.hpp>
#include <frechet/solve.hpp>
#include <frechet/svd.hpp>

#include "dense.hpp"

#include <ostream>
#include <string>
#include <vector>

// The operations of level 1 as functions of Dense: each call makes Kokkos Views of the wanted scalar and memory layout
// in the execution space's memory, fills outputs with NaN beforehand, and checks that no byte beside the outputs was
// written.

namespace frechet::test {

enum class Scalar { f32, f64, c64, c128 };
inline constexpr Scalar double_scalars[] = {Scalar::f64, Scalar::c128};
inline constexpr Scalar all_scalars[] = {Scalar::f32, Scalar::f64, Scalar::c64, Scalar::c128};

/// How operands lie in memory. A batch of Form::left has the batch index as the fastest one.
enum class Form {
  left,     ///< LayoutLeft
  right,    ///< LayoutRight
  padded,   ///< LayoutStride, column-major with a leading dimension larger than the rows
  strided,  ///< LayoutStride, no unit stride
};
inline constexpr Form all_forms[] = {Form::left, Form::right, Form::padded, Form::strided};

struct Flavour {
  Scalar scalar = Scalar::f64;
  Form form = Form::left;
  bool serial = false;   ///< pass an instance of Kokkos::Serial instead of the default execution space
  bool diagnose = true;  ///< pass a View for diagnostics
  bool complex() const { return scalar == Scalar::c64 || scalar == Scalar::c128; }
  bool single() const { return scalar == Scalar::f32 || scalar == Scalar::c64; }
  double epsilon() const { return single() ? 0x1p-23 : 0x1p-52; }
};

std::string name(Scalar scalar);
std::string name(Form form);
inline std::ostream& operator<<(std::ostream& out, Scalar scalar) { return out << name(scalar); }
inline std::ostream& operator<<(std::ostream& out, Form form) { return out << name(form); }

using Diagnoses = std::vector<Diagnosis>;

/// Which outputs are wanted.
struct Want {
  bool first = true, second = true, third = true;
};

struct Spectrum {  ///< eigh: values and vectors, or their tangents
  Dense w, V;
  Diagnoses diagnoses;
};
struct Triplets {  ///< svd, or its tangents
  Dense U, s, Vh;
  Diagnoses diagnoses;
};
struct OrthogonalTriangular {  ///< qr, or its tangents
  Dense Q, R;
  Diagnoses diagnoses;
};
struct Triangles {  ///< lu, or its tangents (without perm)
  Dense L, U, perm;
  Diagnoses diagnoses;
};
struct Solution {  ///< solve, or its tangent (X only)
  Dense X, LU, perm;
  Diagnoses diagnoses;
};
struct Gradient {  ///< of any operation; B for solve only
  Dense A, B;
  Diagnoses diagnoses;
};

// `start`: what the gradient holds before the call (Store::accumulate); NaN without it.

Spectrum eigh(const Flavour&, const Dense& A, EighOptions = {}, Want = {});
Spectrum eigh_jvp(const Flavour&, const Spectrum&, Opt dA, EighOptions = {}, Want = {});
Gradient eigh_vjp(const Flavour&, const Spectrum&, Opt gw, Opt gV, EighOptions = {}, Opt start = nullptr);

Triplets svd(const Flavour&, const Dense& A, SvdOptions = {}, Want = {});
Triplets svd_jvp(const Flavour&, const Triplets&, Opt dA, SvdOptions = {}, Want = {});
Gradient svd_vjp(const Flavour&, const Triplets&, Opt gU, Opt gs, Opt gVh, SvdOptions = {}, Opt start = nullptr);

OrthogonalTriangular qr(const Flavour&, const Dense& A, QrOptions = {}, Want = {});
OrthogonalTriangular qr_jvp(const Flavour&, const OrthogonalTriangular&, Opt dA, QrOptions = {}, Want = {});
Gradient qr_vjp(const Flavour&, const OrthogonalTriangular&, Opt gQ, Opt gR, QrOptions = {}, Opt start = nullptr);

Triangles lu(const Flavour&, const Dense& A, LuOptions = {}, Want = {});
Triangles lu_jvp(const Flavour&, const Triangles&, Opt dA, LuOptions = {}, Want = {});
Gradient lu_vjp(const Flavour&, const Triangles&, Opt gL, Opt gU, LuOptions = {}, Opt start = nullptr);

/// Want: factorisation (first), permutation (second).
Solution solve(const Flavour&, const Dense& A, const Dense& B, SolveOptions = {}, Want = {});
Solution solve_jvp(const Flavour&, const Solution&, Opt dA, Opt dB, SolveOptions = {});
/// Want: gA (first), gB (second). Starts: of gA, of gB.
Gradient solve_vjp(const Flavour&, const Solution&, Opt gX, SolveOptions = {}, Want = {}, Opt start_a = nullptr,
                   Opt start_b = nullptr);

}  // namespace frechet::test

#endif
