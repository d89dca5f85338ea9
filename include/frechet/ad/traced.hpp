// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_TRACED_HPP
#define FRECHET_AD_TRACED_HPP

#include <frechet/detail/batch.hpp>
#include <frechet/detail/exec.hpp>

#include <memory>
#include <string>
#include <type_traits>
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

/// Scalar, rank (0, 1, 2), extents and batch of a traced value; vectors have one column, scalars are 1 x 1.
struct Type {
  ScalarKind scalar = ScalarKind::f64;
  int rank = 0, rows = 1, cols = 1, count = 1;
  bool batched = false;

  std::size_t entries() const;
  std::size_t bytes() const;
  bool differentiable() const { return scalar != ScalarKind::i32; }
  bool operator==(const Type&) const = default;
};
std::string describe(const Type& type);

template <class S>
Type type_of(int rank, int rows, int cols) {
  return {kind_of<S>, rank, rows, cols};
}
/// The same for each member of the batch that `like` belongs to, if any.
template <class S>
Type type_like(const Type& like, int rank, int rows, int cols) {
  return {kind_of<S>, rank, rows, cols, like.count, like.batched};
}

/// Memory of a value at run time; data == nullptr: absent.
struct Operand {
  Type type;
  void* data = nullptr;
  std::int64_t row_stride = 1, col_stride = 1, batch_stride = 0;

  template <class S>
  Strided<S> as() const {
    return {static_cast<S*>(data), type.rows, type.cols, type.count, row_stride, col_stride, batch_stride};
  }
};

/// What an operation gets when it runs, as arrays over its inputs (ins) and outputs (outs): values, their tangents
/// (d...), cotangents (g...) and the tangents of these (dg...). Absent operands have no data.
///   value: ins -> outs      jvp: dins -> douts      vjp: gouts -> gins      hvp: gouts, dgouts -> gins, dgins
/// store(i) says whether gins[i] (with dgins[i]) is overwritten or added to. Asked for T = Dual<S>, the accessors give
/// values and tangents together.
template <class Exec>
struct Call {
  Context<Exec>& ctx;
  const Exec& exec;
  bool inline_loops = false;  ///< loops run on the calling thread
  const Operand *ins = nullptr, *outs = nullptr, *dins = nullptr, *douts = nullptr;
  const Operand *gins = nullptr, *gouts = nullptr, *dgins = nullptr, *dgouts = nullptr;
  const Store* stores = nullptr;
  Diagnosis* diagnosis = nullptr;
  int diagnoses = 0;
  std::size_t inputs = 0;

  template <class T>
  Strided<const T> in(int i) const {
    return pair<const T>(ins, dins, i);
  }
  template <class T>
  Strided<T> out(int i) const {
    return pair<T>(outs, douts, i);
  }
  template <class T>
  Strided<const T> din(int i) const {
    return dins[i].as<const T>();
  }
  template <class T>
  Strided<T> dout(int i) const {
    return douts[i].as<T>();
  }
  template <class T>
  Strided<T> gin(int i) const {
    return pair<T>(gins, dgins, i);
  }
  template <class T>
  Strided<const T> gout(int i) const {
    return pair<const T>(gouts, dgouts, i);
  }
  Store store(int i) const { return stores[i]; }

 private:
  template <class T>
  static Strided<T> pair(const Operand* values, const Operand* tangents, int i) {
    if constexpr (is_dual<T>)
      return {values[i].as<typename PartOf<T>::type>(), tangents[i].as<typename PartOf<T>::type>()};
    else
      return values[i].as<T>();
  }
};

/// Sets of inputs and outputs as bits: bit i stands for input or output i.
struct Reads {
  unsigned in = 0, out = 0;
};

/// A differentiable operation: its value and its rules, and what the rules read. One object per call in the traced
/// function, carrying its options. hvp is the text of vjp evaluated on values with their tangents.
template <class Exec>
class Operation {
 public:
  virtual ~Operation() = default;
  virtual const char* name() const = 0;
  virtual void value(const Call<Exec>& call) const = 0;
  virtual void jvp(const Call<Exec>& call) const = 0;
  virtual void vjp(const Call<Exec>& call) const = 0;
  virtual void hvp(const Call<Exec>& call) const = 0;
  /// Which values jvp() reads for the given tangents present and wanted.
  virtual Reads jvp_reads(unsigned din, unsigned dout) const = 0;
  /// Which values vjp() reads for the given cotangents present and wanted.
  virtual Reads vjp_reads(unsigned gout, unsigned gin) const = 0;
  /// Whether there is an hvp().
  virtual bool has_second() const { return true; }
  /// Whether each entry of its only gradient is the only entry of the cotangent.
  virtual bool spreads() const { return false; }
  /// Whether value() chooses among several right answers, and adapt(), which changes outs for the tangents dins into
  /// the choice that has a derivative. Called between value() and jvp() where second derivatives follow.
  virtual bool adapts() const { return false; }
  virtual void adapt(const Call<Exec>&) const {}
  /// Which tangents of values hvp() reads, beside the values that vjp() reads.
  virtual Reads hvp_reads(unsigned gout, unsigned gin) const { return vjp_reads(gout, gin); }
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

/// A value of the function being traced: a scalar, vector or matrix of S (Rank 0, 1, 2), with Batched one for each
/// member of a batch. Copies refer to the same value. Only valid while its function is being traced.
template <class Exec, class S, int Rank, bool Batched = false>
class Traced {
 public:
  using execution_space = Exec;
  using scalar = S;
  static constexpr int rank = Rank;
  static constexpr bool batched = Batched;

  Traced(detail::Graph<Exec>& graph, int id) : graph_(&graph), id_(id) {}

  int rows() const { return type().rows; }
  int cols() const { return type().cols; }
  int extent(int r) const { return r == 0 ? rows() : cols(); }
  /// Members of the batch; 1 without one.
  int count() const { return type().count; }

  const detail::Type& type() const { return graph_->values()[static_cast<std::size_t>(id_)].type; }
  detail::Graph<Exec>& graph() const { return *graph_; }
  int id() const { return id_; }

 private:
  detail::Graph<Exec>* graph_;
  int id_;
};

template <class Exec, class S, bool Batched = false>
using TracedScalar = Traced<Exec, S, 0, Batched>;
template <class Exec, class S, bool Batched = false>
using TracedVector = Traced<Exec, S, 1, Batched>;
template <class Exec, class S, bool Batched = false>
using TracedMatrix = Traced<Exec, S, 2, Batched>;

template <class T>
inline constexpr bool is_traced = false;
template <class Exec, class S, int Rank, bool Batched>
inline constexpr bool is_traced<Traced<Exec, S, Rank, Batched>> = true;

/// A traced value has no value yet, so a function cannot branch on it.
template <class A, class B>
requires(is_traced<A> || is_traced<B>) bool operator<(const A&, const B&) {
  static_assert(
      !is_traced<A> && !is_traced<B>,
      "frechet: control flow cannot depend on a traced value, which is not known while the function is traced; "
      "branch on shapes, or use map");
  return false;
}
template <class A, class B>
requires(is_traced<A> || is_traced<B>) bool operator>(const A& a, const B& b) { return b < a; }
template <class A, class B>
requires(is_traced<A> || is_traced<B>) bool operator<=(const A& a, const B& b) { return b < a; }
template <class A, class B>
requires(is_traced<A> || is_traced<B>) bool operator>=(const A& a, const B& b) { return a < b; }
template <class A, class B>
requires(is_traced<A> || is_traced<B>) bool operator==(const A& a, const B& b) { return a < b; }

/// The extents of a scalar, vector or matrix that is not there (yet): to trace a function without data, and for the
/// results of custom operations.
template <class S, int Rank, bool Batched = false>
struct Shape {
  int rows = 1, cols = 1, count = 1;
  detail::Where where = {};
};
template <class S>
Shape<S, 0> scalar_shape(detail::Where where = detail::Where::current()) {
  return {1, 1, 1, where};
}
template <class S>
Shape<S, 1> vector_shape(int n, detail::Where where = detail::Where::current()) {
  return {n, 1, 1, where};
}
template <class S>
Shape<S, 2> matrix_shape(int rows, int cols, detail::Where where = detail::Where::current()) {
  return {rows, cols, 1, where};
}

/// A View whose first index numbers the members of a batch: a batch of scalars (rank 1), vectors (rank 2) or matrices
/// (rank 3). Views of rank 3 are batches without it.
template <class V>
struct BatchOf {
  V view;
};
template <class V>
BatchOf<V> batch(const V& view) {
  return {view};
}

}  // namespace frechet

#endif
