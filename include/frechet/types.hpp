// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TYPES_HPP
#define FRECHET_TYPES_HPP

#include <frechet/error.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>

namespace frechet {

/// op(A) = A, A^T or A^H.
enum class Op { none, transpose, adjoint };

/// Stands for an operand that is not there: an output that is not wanted, a tangent or cotangent that does not exist.
/// An absent operand costs nothing; it is not the same as a zero one. A View of size zero counts as absent too.
struct None {};
inline constexpr None none{};

/// Which part of a square matrix argument an operation on Hermitian matrices is a function of.
///   part   the Hermitian part (A + A^H)/2 of all entries; its gradient is Hermitian (the default)
///   lower  the stored lower triangle and the real part of the diagonal: other entries are never read, and the gradient
///          is that of the stored entries (zero above the diagonal, twice the entry of `part` below it)
///   upper  likewise for the upper triangle
/// Example: A = [[2,1],[1,3]], loss = largest eigenvalue. part: gA = [[.27639,.44721],[.44721,.72361]];
/// lower: gA = [[.27639,0],[.89443,.72361]].
enum class Hermitian { part, lower, upper };

/// What to do where eigenvalues or singular values are (nearly) equal.
///   mask     reverse mode: quotients whose numerator is rounding noise count as zero, all others are divided;
///            forward mode: quotients whose gap is at most `tolerance` times the largest value count as zero (the
///            default)
///   broaden  x / d becomes x d / (d^2 + t^2) with t = tolerance times the largest value
///   fail     a quotient over a gap within the tolerance, with a numerator above noise, turns the result into NaN
enum class Degeneracy { mask, broaden, fail };

/// Overwrite the gradient, or add to it.
enum class Store { overwrite, accumulate };

/// What an operation found out about one matrix of the batch. Lives in the memory space of the operands, so that no
/// call has to synchronise; read it yourself or with frechet::check().
struct Diagnosis {
  int info = 0;        ///< info of the factorisation as in LAPACK: 0 fine, > 0 singular or not converged; results NaN
  int rank = -1;       ///< numerical rank; -1 where the call does not determine it
  int zero_pivot = 0;  ///< lu, solve: the first pivot that counts as zero, counted from one
  int fallback = 0;    ///< info of a first driver that failed, where another one gave the result (info is then 0)
  int nonfinite = 0;   ///< 1 where the input holds NaN or Inf
  int deficient = 0;   ///< 1 where the derivative needs a rank the matrix does not have; the result is NaN
  double gap = std::numeric_limits<double>::infinity();  ///< smallest gap between two values / largest value
  double gauge = 0;   ///< reverse mode: largest numerator above noise over a degenerate gap, / norm of the cotangents
  double spread = 0;  ///< reverse mode: largest difference of value cotangents within a degenerate group, / largest one
  double coupling = 0;  ///< forward mode: largest entry of a masked numerator, / norm of the tangent's block
};

/// One Diagnosis per matrix of the batch: an extent of at least the batch, 1 for a single matrix.
template <class MemorySpace>
using Diagnostics = Kokkos::View<Diagnosis*, MemorySpace>;

/// Where a call leaves its diagnoses: converts from any Diagnostics View; empty by default.
struct DiagnosticsTarget {
  Diagnosis* data = nullptr;
  std::size_t extent = 0;
  bool on_host = true;

  DiagnosticsTarget() = default;
  template <class T, class... P>
  requires std::is_same_v<T, Diagnosis*> DiagnosticsTarget(
      const Kokkos::View<T, P...>& view)  // NOLINT(google-explicit-constructor)
      : data(view.data()),
        extent(view.extent(0)),
        on_host(
            Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Kokkos::View<T, P...>::memory_space>::accessible) {}
};

namespace detail {

template <class S>
struct RealOf {
  using type = S;
};
template <class R>
struct RealOf<Kokkos::complex<R>> {
  using type = R;
};

}  // namespace detail

/// The real type of a scalar: double for double and Kokkos::complex<double>.
template <class S>
using Real = typename detail::RealOf<std::remove_const_t<S>>::type;

template <class S>
inline constexpr bool is_complex = !std::is_same_v<Real<S>, std::remove_const_t<S>>;

template <class S>
inline constexpr bool is_supported_scalar =
    std::is_same_v<S, float> || std::is_same_v<S, double> || std::is_same_v<S, Kokkos::complex<float>> ||
    std::is_same_v<S, Kokkos::complex<double>>;

/// Default relative tolerance under which two eigenvalues or singular values count as one group: 1e-10 (double), 5e-5
/// (float).
template <class S>
inline constexpr double default_degeneracy_tolerance = std::is_same_v<Real<S>, double> ? 1e-10 : 5e-5;

}  // namespace frechet

#endif
