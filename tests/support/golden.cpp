// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "golden.hpp"

#include "json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

namespace frechet::test {

nlohmann::json read_json(const std::string& file) {
  std::ifstream in(std::string(FRECHET_TEST_DATA) + "/" + file);
  if (!in) throw std::runtime_error("test: cannot read " + file);
  return nlohmann::json::parse(in);
}

namespace {

using nlohmann::json;

/// A matrix (list of rows), a vector (list) or a scalar; complex where it is an object {re, im}.
Dense to_matrix(const json& x, int cols) {
  const json& re = x.is_object() ? x["re"] : x;
  const auto at = [&](auto&&... index) {
    const auto pick = [&](const json& part) {
      const json* p = &part;
      ((p = &(*p)[index]), ...);
      return p->get<double>();
    };
    return x.is_object() ? Z(pick(x["re"]), pick(x["im"])) : Z(pick(x));
  };
  if (re.is_number()) return constant(1, 1, at());
  const int rows = static_cast<int>(re.size());
  if (rows == 0) return Dense(0, cols);
  if (re[0].is_number()) {
    Dense v(rows, 1);
    for (int i = 0; i < rows; ++i) v(i) = at(i);
    return v;
  }
  Dense A(rows, static_cast<int>(re[0].size()));
  for (int j = 0; j < A.cols; ++j)
    for (int i = 0; i < rows; ++i) A(i, j) = at(i, j);
  return A;
}

std::map<std::string, Dense> to_matrices(const json& object) {
  std::map<std::string, Dense> all;
  for (const auto& [name, x] : object.items())
    if (name != "perm" && name != "ipiv") all[name] = to_matrix(x, 0);
  return all;
}

Case to_case(const json& j) {
  Case c;
  c.id = j["id"];
  c.loss = j["loss"]["name"];
  for (const auto& [name, x] : j["options"].items())
    if (x.is_string()) c.options[name] = x;
  if (j["options"].contains("perm")) c.perm = j["options"]["perm"].get<std::vector<int>>();
  c.inputs = to_matrices(j["inputs"]);
  c.tangents = to_matrices(j["tangents"]);
  c.weights = to_matrices(j["loss"]["weights"]);
  c.outputs = to_matrices(j["outputs"]);
  c.vjp = to_matrices(j["vjp"]);
  if (j.contains("output_tangents")) c.output_tangents = to_matrices(j["output_tangents"]);
  if (j.contains("vjp_lower")) c.vjp_lower = to_matrices(j["vjp_lower"]);
  if (j.contains("hvp")) c.hvp = to_matrices(j["hvp"]);
  c.value = j["value"];
  c.jvp = j["jvp"];
  for (const auto& [name, x] : j["sensitivity"].items()) c.sensitivity[name] = x;
  return c;
}

}  // namespace

double Case::tolerance(const Flavour& f, const std::string& result, double size) const {
  // The rule of the golden values, stated for double. In single precision inputs are rounded by as much as 2^-24 of an
  // entry, which is what `sensitivity` measures for 2^-52, and arithmetic is less precise by the same factor. It may
  // exceed the result itself (graded matrices, whose derivative single precision does not hold): such cases are not
  // informative.
  return (1000 * sensitivity.at(result) + 1e-13 * size) * (f.epsilon() / 0x1p-52);
}

std::string Case::batch_key() const {
  std::string key;
  for (const auto& [name, x] : options) key += name + x + ' ';
  for (const auto& [name, x] : inputs) key += std::to_string(x.rows) + 'x' + std::to_string(x.cols) + ' ';
  return key;
}

std::vector<Case> golden_cases(const std::string& op, bool complex) {
  std::vector<Case> cases;
  const json file = read_json(op + ".json");
  for (const json& j : file["cases"])
    if ((j["dtype"] == "complex") == complex) cases.push_back(to_case(j));
  return cases;
}

bool Case::informative(const Flavour& f) const {
  bool tells = true;
  for (const auto& [name, golden] : vjp) tells &= tolerance(f, "vjp", max_abs(golden)) < 0.1 * max_abs(golden);
  return tells;
}

void for_each_golden(const std::string& op, const Flavour& f, Counts counts,
                     const std::function<void(const Stack&)>& check) {
  const auto cases = golden_cases(op, f.complex());
  EXPECT_EQ(static_cast<int>(cases.size()), counts.cases);
  std::map<std::string, Stack> batches;
  int informative = 0;
  for (const Case& c : cases) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, c.id);
    check({&c});
    batches[c.batch_key()].push_back(&c);
    informative += c.informative(f);
  }
  for (auto& [key, cases_of_key] : batches) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, op + " batch " + key);
    if (cases_of_key.size() == 1) cases_of_key.push_back(cases_of_key[0]);
    check(cases_of_key);
  }
  EXPECT_EQ(informative, f.single() ? counts.informative_single : counts.informative_double);
  testing::Test::RecordProperty("golden", static_cast<int>(cases.size()));
  testing::Test::RecordProperty("golden_informative", informative);
  std::printf("golden %s/%s: %zu cases alone and in batches, %d of them informative in this precision\n", op.c_str(),
              name(f.scalar).c_str(), cases.size(), informative);
}

Dense gather(const Stack& cases, const std::function<Dense(const Case&)>& part) {
  if (cases.size() == 1) return part(*cases[0]);
  std::vector<Dense> all;
  for (const Case* c : cases) all.push_back(part(*c));
  return stack(all);
}

void expect_golden(const Flavour& f, const Case& c, const std::string& result, const Dense& computed,
                   const Dense& golden, const std::string& what) {
  const double size = max_abs(golden), error = max_abs(computed - golden), allowed = c.tolerance(f, result, size);
  EXPECT_LE(error, allowed) << c.id << ' ' << what << ": error " << error / allowed
                            << " of the tolerance, largest entry " << size;
}

void expect_golden(const Flavour& f, const Case& c, const std::string& result, double computed, double golden) {
  expect_golden(f, c, result, constant(1, 1, computed), constant(1, 1, golden), result);
}

void expect_no_alarm(const Flavour& f, const Case& c, const Diagnosis& d) {
  if (c.informative(f)) {
    EXPECT_EQ(explain(d), "") << c.id;
  }
}

}  // namespace frechet::test
