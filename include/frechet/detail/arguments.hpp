// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_DETAIL_ARGUMENTS_HPP
#define FRECHET_DETAIL_ARGUMENTS_HPP

#include <frechet/detail/batch.hpp>
#include <frechet/detail/exec.hpp>

#include <string>

// From the user's Views to Strided operands: types checked by the compiler, extents and aliasing at run time.

namespace frechet::detail {

/// Extents of an operand; rank is that of the user's View without the batch index.
struct Shape {
  bool batched = false;
  int count = 1, rows = 0, cols = 1;
};

template <class V>
inline constexpr bool is_none = std::is_same_v<std::remove_cvref_t<V>, None>;

[[noreturn]] void throw_extent(const char* function, const char* argument, std::size_t extent);
[[noreturn]] void throw_shape(const char* function, const char* argument, const std::string& got,
                              const std::string& want);
[[noreturn]] void throw_alias(const char* function, const char* output, const char* other);
[[noreturn]] void throw_argument(const char* function, const std::string& message);
std::string describe(const Shape& shape, int rank);

/// "n x m", "batch x n", ... of a View.
template <class V>
std::string describe(const V& view) {
  std::string s;
  for (int r = 0; r < static_cast<int>(V::rank()); ++r) s += (r ? " x " : "") + std::to_string(view.extent(r));
  return s.empty() ? "scalar" : s;
}

/// One call's arguments: remembers the function's name, the space and the operands seen, for the checks among them.
template <class Exec>
class Arguments {
 public:
  explicit Arguments(const char* function) : function_(function) {}

  /// A required matrix whose extents define the problem: rank 2, or rank 3 with the batch index first.
  template <class S, class V>
  Strided<const S> matrix(const char* name, const V& view, Shape& shape) {
    static_assert(!is_none<V>, "frechet: this argument is required");
    static_assert(V::rank() == 2 || V::rank() == 3, "frechet: a matrix argument is a View of rank 2, or 3 for a batch");
    check_type<const S, V>();
    constexpr std::size_t b = V::rank() - 2;
    shape.batched = b == 1;
    shape.count = b == 1 ? extent(name, view, 0) : 1;
    shape.rows = extent(name, view, b);
    shape.cols = extent(name, view, b + 1);
    return note<const S>(name, view, strided<const S>(view, shape));
  }

  /// A matrix of known extents (rows x cols, same batch). `none` or a View of size zero: absent.
  template <class S, class V>
  Strided<S> matrix(const char* name, const V& view, const Shape& like, int rows, int cols) {
    return operand<S, 2>(name, view, {like.batched, like.count, rows, cols});
  }
  /// A vector of known length (rank 1, or 2 for a batch).
  template <class S, class V>
  Strided<S> vector(const char* name, const V& view, const Shape& like, int rows) {
    return operand<S, 1>(name, view, {like.batched, like.count, rows, 1});
  }
  /// Columns of a right side: 1 where it is a vector, that is of one rank less than the matrix; -1 where it is absent.
  template <class MatrixView, class V>
  int right_sides(const char* name, const V& view) const {
    if constexpr (is_none<V>) {
      return -1;
    } else {
      static_assert(V::rank() == MatrixView::rank() || V::rank() + 1 == MatrixView::rank(),
                    "frechet: a right side has the rank of the matrix, or one less");
      if (view.size() == 0) return -1;
      return V::rank() == MatrixView::rank() ? extent(name, view, V::rank() - 1) : 1;
    }
  }
  /// A right side of known extents: rows x cols, or a vector.
  template <class S, class V>
  Strided<S> right_side(const char* name, const V& view, const Shape& like, int rows, int cols) {
    const int c = cols < 0 ? 0 : cols;
    if constexpr (is_none<V>) {
      return {nullptr, rows, c, like.count};
    } else {
      const Shape want{like.batched, like.count, rows, c};
      if (V::rank() == (like.batched ? 2 : 1) && c != 1)
        throw_shape(function_, name, describe(view), describe(want, 2));
      if constexpr (V::rank() == 1)
        return operand<S, 1>(name, view, want);
      else if constexpr (V::rank() == 2)
        return like.batched ? operand<S, 1>(name, view, want) : operand<S, 2>(name, view, want);
      else
        return operand<S, 2>(name, view, want);
    }
  }
  /// An argument that may not be absent.
  template <class S>
  Strided<S> required(const char* name, Strided<S> operand) {
    if (!operand && operand.count > 0 && operand.rows > 0 && operand.cols > 0)
      throw_argument(function_, std::string(name) + " is required here but absent");
    return operand;
  }

  void diagnostics(const DiagnosticsTarget& target, int count) {
    if (!target.data && target.extent == 0) return;
    if (target.extent < static_cast<std::size_t>(count))
      throw_shape(function_, "diagnostics", std::to_string(target.extent), "at least " + std::to_string(count));
    if (target.on_host != is_host<Exec>)
      throw_argument(function_, "diagnostics lies in another memory space than the operands");
  }

  /// No output may start where another operand starts: results would overwrite what is still being read.
  void check_aliases() const {
    for (int i = 0; i < operands_; ++i)
      for (int j = 0; j < operands_; ++j)
        if (i != j && outputs_[i] && (j > i || !outputs_[j]) && pointers_[i] == pointers_[j])
          throw_alias(function_, names_[i], names_[j]);
  }

 private:
  static constexpr int most = 12;

  template <class S, class V>
  static void check_type() {
    static_assert(std::is_same_v<typename V::non_const_value_type, std::remove_const_t<S>>,
                  "frechet: all arguments of one call have the same scalar type (values w and s its real type)");
    static_assert(std::is_const_v<S> || !std::is_const_v<typename V::value_type>,
                  "frechet: an output View of const values");
    static_assert(Kokkos::SpaceAccessibility<Exec, typename V::memory_space>::accessible,
                  "frechet: the execution space cannot access the memory of this View");
    static_assert(std::is_same_v<typename V::array_layout, Kokkos::LayoutLeft> ||
                      std::is_same_v<typename V::array_layout, Kokkos::LayoutRight> ||
                      std::is_same_v<typename V::array_layout, Kokkos::LayoutStride>,
                  "frechet: LayoutLeft, LayoutRight or LayoutStride");
  }

  template <class V>
  int extent(const char* name, const V& view, std::size_t r) const {
    if (view.extent(r) > 0x7fffffff) throw_extent(function_, name, view.extent(r));
    return static_cast<int>(view.extent(r));
  }

  template <class S, class V>
  static Strided<S> strided(const V& view, const Shape& s) {
    constexpr std::size_t rank = V::rank();
    Strided<S> A{view.data(), s.rows, s.cols, s.count, 1, 1, 0};
    const std::size_t b = s.batched ? 1 : 0;
    if (b == 1) A.batch_stride = static_cast<std::int64_t>(view.stride(0));
    if (rank > b) A.row_stride = static_cast<std::int64_t>(view.stride(b));
    if (rank > b + 1) A.col_stride = static_cast<std::int64_t>(view.stride(b + 1));
    return A;
  }

  template <class S, std::size_t rank, class V>
  Strided<S> operand(const char* name, const V& view, const Shape& want) {
    if constexpr (is_none<V>) {
      return Strided<S>{nullptr, want.rows, want.cols, want.count};
    } else {
      static_assert(V::rank() == rank || V::rank() == rank + 1,
                    "frechet: matrices are Views of rank 2, vectors of rank 1, one more for a batch");
      check_type<S, V>();
      if (view.size() == 0) return Strided<S>{nullptr, want.rows, want.cols, want.count};
      bool same = V::rank() == rank + (want.batched ? 1 : 0);
      if (same) {
        const std::size_t b = want.batched ? 1 : 0;
        same = (b == 0 || view.extent(0) == static_cast<std::size_t>(want.count)) &&
               view.extent(b) == static_cast<std::size_t>(want.rows) &&
               (rank == 1 || view.extent(b + rank - 1) == static_cast<std::size_t>(want.cols));
      }
      if (!same) throw_shape(function_, name, describe(view), describe(want, static_cast<int>(rank)));
      return note<S>(name, view, strided<S>(view, want));
    }
  }

  template <class S, class V>
  Strided<S> note(const char* name, const V& view, const Strided<S>& A) {
    if (view.size() != 0 && operands_ < most) {
      names_[operands_] = name;
      pointers_[operands_] = view.data();
      outputs_[operands_++] = !std::is_const_v<S>;
    }
    return A;
  }

  const char* function_;
  int operands_ = 0;
  const char* names_[most] = {};
  const void* pointers_[most] = {};
  bool outputs_[most] = {};
};

/// The scalar type of the first View among the operands (None has none).
template <class V>
struct ScalarOf {
  using type = typename V::non_const_value_type;
  static_assert(is_supported_scalar<type>,
                "frechet: scalars are float, double, Kokkos::complex<float> and Kokkos::complex<double>");
};
template <class V>
using Scalar = typename ScalarOf<V>::type;

}  // namespace frechet::detail

#endif
