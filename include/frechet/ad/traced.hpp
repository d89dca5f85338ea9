// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_TRACED_HPP
#define FRECHET_AD_TRACED_HPP

#include <frechet/detail/batch.hpp>
#include <frechet/detail/exec.hpp>

#include <memory>
#include <string>
#include <vector>

// What a function is traced with: Traced<Exec, S, Rank> stands for a scalar, vector or matrix of S that has a shape but
// no value yet. Calling an operation on it records a node in a Graph; a Program (ad/program.hpp) runs the graph.

namespace frechet {

namespace detail {

template <class Exec>
class Context;

enum class ScalarKind { f32, f64, c64, c128, i32 };

template <class S>
inline constexpr ScalarKind kind_of = std::is_same_v<S, float>                    ? ScalarKind::f32
                                      : std::is_same_v<S, double>                 ? ScalarKind::f64
                                      : std::is_same_v<S, Kokkos::complex<float>> ? ScalarKind::c64
                                      : std::is_same_v<S, int>                    ? ScalarKind::i32
                                                                                  : ScalarKind::c128;

/// Scalar, rank (0, 1, 2) and extents of a traced value; vectors have one column, scalars are 1 x 1.
struct Type {
  ScalarKind scalar = ScalarKind::f64;
  int rank = 0, rows = 1, cols = 1;

  std::size_t bytes() const;
  bool differentiable() const { return scalar != ScalarKind::i32; }
  bool operator==(const Type&) const = default;
};
std::string describe(const Type& type);

template <class S>
Type type_of(int rank, int rows, int cols) {
  return {kind_of<S>, rank, rows, cols};
}

/// Memory of a value at run time; data == nullptr: absent.
struct Operand {
  Type type;
  void* data = nullptr;
  std::int64_t row_stride = 1, col_stride = 1;

  template <class S>
  Strided<S> as() const {
    return {static_cast<S*>(data), type.rows, type.cols, 1, row_stride, col_stride, 0};
  }
};

/// What an operation gets when it runs. In value(): in -> out. In jvp(): din -> dout. In vjp(): dout (read) -> din,
/// where store(i) says whether din(i) is overwritten or added to. Absent operands have no data.
template <class Exec>
struct Call {
  Context<Exec>& ctx;
  const Operand *ins = nullptr, *outs = nullptr, *dins = nullptr, *douts = nullptr;
  const Store* stores = nullptr;
  Diagnosis* diagnosis = nullptr;

  template <class S>
  Strided<const S> in(int i) const {
    return ins[i].as<const S>();
  }
  template <class S>
  Strided<S> out(int i) const {
    return outs[i].as<S>();
  }
  template <class S>
  Strided<S> din(int i) const {
    return dins[i].as<S>();
  }
  template <class S>
  Strided<S> dout(int i) const {
    return douts[i].as<S>();
  }
  Store store(int i) const { return stores[i]; }
};

/// Sets of inputs and outputs as bits: bit i stands for input or output i.
struct Reads {
  unsigned in = 0, out = 0;
};

/// A differentiable operation: its value and both rules, and what the rules read. One object per call in the traced
/// function, carrying its options.
template <class Exec>
class Operation {
 public:
  virtual ~Operation() = default;
  virtual const char* name() const = 0;
  virtual void value(const Call<Exec>& call) const = 0;
  virtual void jvp(const Call<Exec>& call) const = 0;
  virtual void vjp(const Call<Exec>& call) const = 0;
  /// Which values jvp() reads for the given tangents present and wanted.
  virtual Reads jvp_reads(unsigned din, unsigned dout) const = 0;
  /// Which values vjp() reads for the given cotangents present and wanted.
  virtual Reads vjp_reads(unsigned dout, unsigned din) const = 0;
};

/// The place of a call in the user's code. std::source_location would do the same; clang has it from version 16 only.
struct Where {
  const char* file = nullptr;
  int line = 0;
  static constexpr Where current(const char* at_file = __builtin_FILE(), int at_line = __builtin_LINE()) {
    return {at_file, at_line};
  }
};

/// The record of one traced function.
template <class Exec>
class Graph {
 public:
  struct Value {
    Type type;
    int node;  ///< -1: an input
  };
  struct Node {
    std::shared_ptr<const Operation<Exec>> operation;
    std::vector<int> in, out;
    std::string where;
  };

  int add_input(const Type& type);
  /// Records a call; returns the id of its first output, the others follow.
  int apply(std::shared_ptr<const Operation<Exec>> operation, std::vector<int> in, const std::vector<Type>& out,
            std::string where);

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<int>& inputs() const { return inputs_; }

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<int> inputs_;
};

[[noreturn]] void throw_traced(const char* operation, const std::string& where, const std::string& message);
std::string describe(const Where& where);

}  // namespace detail

/// A value of the function being traced. Copies refer to the same value. Only valid while its function is being traced.
template <class Exec, class S, int Rank>
class Traced {
 public:
  using execution_space = Exec;
  using scalar = S;
  static constexpr int rank = Rank;

  Traced(detail::Graph<Exec>& graph, int id) : graph_(&graph), id_(id) {}

  int rows() const { return type().rows; }
  int cols() const { return type().cols; }
  int extent(int r) const { return r == 0 ? rows() : cols(); }

  const detail::Type& type() const { return graph_->values()[static_cast<std::size_t>(id_)].type; }
  detail::Graph<Exec>& graph() const { return *graph_; }
  int id() const { return id_; }

 private:
  detail::Graph<Exec>* graph_;
  int id_;
};

template <class Exec, class S>
using TracedScalar = Traced<Exec, S, 0>;
template <class Exec, class S>
using TracedVector = Traced<Exec, S, 1>;
template <class Exec, class S>
using TracedMatrix = Traced<Exec, S, 2>;

}  // namespace frechet

#endif
