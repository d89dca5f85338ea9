// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/functions.hpp>

#include "instantiate.hpp"
#include "plan.hpp"

namespace frechet::detail {

std::size_t Type::entries() const {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * static_cast<std::size_t>(count);
}

std::size_t Type::bytes() const {
  switch (scalar) {
    case ScalarKind::f32:
    case ScalarKind::i32:
      return 4 * entries();
    case ScalarKind::c128:
      return 16 * entries();
    default:
      return 8 * entries();
  }
}

std::string describe(const Type& type) {
  const std::string batch = type.batched ? " (batch of " + std::to_string(type.count) + ")" : "";
  if (type.rank == 0) return "a scalar" + batch;
  if (type.rank == 1) return "a vector of " + std::to_string(type.rows) + batch;
  return std::to_string(type.rows) + " x " + std::to_string(type.cols) + batch;
}

std::string describe(const Where& where) {
  if (!where.file) return "an operator";
  const std::string path = where.file;
  return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(where.line);
}

void throw_traced(const char* operation, const std::string& where, const std::string& message) {
  throw ArgumentError(std::string("frechet::") + operation + " traced at " + where + ": " + message);
}

void throw_operands(const char* name, const Where& where, const Type& a, const Type& b) {
  throw_traced(name, describe(where), "operands are " + describe(a) + " and " + describe(b));
}

template <class Exec>
int Graph<Exec>::add_input(const Type& type) {
  values_.push_back({type, -1});
  inputs_.push_back(static_cast<int>(values_.size()) - 1);
  return inputs_.back();
}

template <class Exec>
int Graph<Exec>::apply(std::shared_ptr<const Operation<Exec>> operation, std::vector<int> in,
                       const std::vector<Type>& out, std::string where) {
  if (in.size() > most_operands || out.size() > most_operands)
    throw_traced(operation->name(), where, "more than " + std::to_string(most_operands) + " operands");
  const int node = static_cast<int>(nodes_.size()), first = static_cast<int>(values_.size());
  std::vector<int> ids;
  for (const Type& type : out) {
    ids.push_back(static_cast<int>(values_.size()));
    values_.push_back({type, node});
  }
  nodes_.push_back({std::move(operation), std::move(in), std::move(ids), std::move(where)});
  return first;
}

#define FRECHET_GRAPH(EXEC) template class Graph<EXEC>;
FRECHET_FOR_EACH_EXEC(FRECHET_GRAPH)

}  // namespace frechet::detail
