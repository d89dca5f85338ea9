// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drivers.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

namespace frechet {

const char* name(Driver driver) {
  static constexpr std::array<const char*, driver_count> names = {
      "automatic",     "syevd",          "syevj",        "syev_batched", "gesvd",         "gesdd",
      "gesvdj",        "gesvdj_batched", "gesvdp",       "getrf",        "getrf_batched", "geqrf",
      "geqrf_batched", "trsm",           "trsm_batched", "blocked",      "reference"};
  return names[static_cast<std::size_t>(driver)];
}

namespace backend {
namespace {

constexpr std::array operations = {Operation::eigh, Operation::svd, Operation::lu, Operation::qr, Operation::trsm};

constexpr int any = std::numeric_limits<int>::max();

[[noreturn]] void reject(const std::string& line, const std::string& why) {
  throw ArgumentError("frechet: driver table: " + why + " in the line \"" + line +
                      "\"; expected: operation scalar n batch driver");
}

Operation parse_operation(const std::string& line, const std::string& word) {
  for (const Operation o : operations)
    if (word == name(o)) return o;
  reject(line, "no operation " + word);
}

int parse_scalar(const std::string& line, const std::string& word) {
  static constexpr std::array<const char*, 4> scalars = {"f32", "f64", "c64", "c128"};
  if (word == "*") return -1;
  for (std::size_t i = 0; i < scalars.size(); ++i)
    if (word == scalars[i]) return static_cast<int>(i);
  reject(line, "no scalar " + word);
}

int parse_limit(const std::string& line, const std::string& word) {
  if (word == "*") return any;
  int value = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0) reject(line, "no number " + word);
  return value;
}

Driver parse_driver(const std::string& line, const std::string& word) {
  for (int d = 1; d < driver_count; ++d)
    if (word == frechet::name(static_cast<Driver>(d))) return static_cast<Driver>(d);
  reject(line, "no driver " + word);
}

std::string from_environment() {
  const char* value = std::getenv("FRECHET_DRIVERS");
  if (!value) return {};
  if (*value != '@') return value;
  std::ifstream file(value + 1);
  if (!file) throw ArgumentError(std::string("frechet: FRECHET_DRIVERS: cannot read ") + (value + 1));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

const char* name(Operation operation) {
  static constexpr std::array<const char*, operations.size()> names = {"eigh", "svd", "lu", "qr", "trsm"};
  return names[static_cast<std::size_t>(operation)];
}

std::vector<DriverRule> parse_drivers(std::string_view text) {
  std::vector<DriverRule> rules;
  while (!text.empty()) {
    const bool comment = text.front() == '#';  // to the end of the line, whatever it holds
    const std::size_t end = text.find_first_of(comment ? "\n" : "\n;#");
    const std::string line(text.substr(0, end));
    const bool consumed = end != std::string_view::npos && text[end] != '#';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + (consumed ? 1 : 0));
    if (comment) continue;
    std::istringstream words(line);
    std::vector<std::string> word;
    for (std::string w; words >> w;) word.push_back(w);
    if (word.empty()) continue;
    if (word.size() != 5) reject(line, std::to_string(word.size()) + " words");
    rules.push_back({parse_operation(line, word[0]), parse_scalar(line, word[1]), parse_limit(line, word[2]),
                     parse_limit(line, word[3]), parse_driver(line, word[4])});
  }
  return rules;
}

DriverTable::DriverTable(std::string_view own) : own_(parse_drivers(own)) {
  for (const DriverRule& rule : parse_drivers(from_environment()))
    if (offers(rule.operation, rule.driver)) rules_.push_back(rule);
  rules_.insert(rules_.end(), own_.begin(), own_.end());
}

Driver DriverTable::find(Operation operation, int scalar, int n, int batch) const {
  for (const DriverRule& rule : rules_)
    if (rule.operation == operation && (rule.scalar < 0 || rule.scalar == scalar) && n <= rule.n && batch <= rule.batch)
      return rule.driver;
  return Driver::automatic;
}

bool DriverTable::offers(Operation operation, Driver driver) const {
  for (const DriverRule& rule : own_)
    if (rule.operation == operation && rule.driver == driver) return true;
  return false;
}

std::string DriverTable::offered(Operation operation) const {
  std::string all;
  for (int d = 1; d < driver_count; ++d)
    if (offers(operation, static_cast<Driver>(d)))
      all += (all.empty() ? "" : ", ") + std::string(frechet::name(static_cast<Driver>(d)));
  return all;
}

}  // namespace backend
}  // namespace frechet
