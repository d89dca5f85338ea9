// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_JSON_HPP
#define FRECHET_TESTS_SUPPORT_JSON_HPP

#include <nlohmann/json.hpp>

#include <string>

namespace frechet::test {

/// A file of the data directory.
nlohmann::json read_json(const std::string& file);

}  // namespace frechet::test

#endif
