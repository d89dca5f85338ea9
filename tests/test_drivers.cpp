// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"

#include <drivers.hpp>

#include <cstdlib>
#include <fstream>

// The driver table: its text, its look-up, FRECHET_DRIVERS, and drivers that a backend does not have.

namespace frechet::test {
namespace {

using backend::DriverTable;
using backend::Operation;

constexpr const char* own = R"(
# a comment; with a semicolon
eigh f32 512 1 syevj   # another; eigh * * * gesvd
eigh *   *   * syevd
svd  *   32  * gesvdj; svd * * * gesvd
)";

/// Sets FRECHET_DRIVERS while it lives.
class Variable {
 public:
  explicit Variable(const std::string& value) { setenv("FRECHET_DRIVERS", value.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv("FRECHET_DRIVERS"); }
};

TEST(Drivers, first_line_that_fits) {
  const DriverTable table(own);
  EXPECT_EQ(table.find(Operation::eigh, 0, 512, 1), Driver::syevj);
  EXPECT_EQ(table.find(Operation::eigh, 0, 513, 1), Driver::syevd);
  EXPECT_EQ(table.find(Operation::eigh, 0, 512, 2), Driver::syevd);
  EXPECT_EQ(table.find(Operation::eigh, 1, 4, 1), Driver::syevd);
  EXPECT_EQ(table.find(Operation::svd, 3, 32, 1 << 30), Driver::gesvdj);
  EXPECT_EQ(table.find(Operation::svd, 3, 33, 1), Driver::gesvd);
  EXPECT_EQ(table.find(Operation::qr, 0, 1, 1), Driver::automatic);
  EXPECT_EQ(table.offered(Operation::eigh), "syevd, syevj");
}

TEST(Drivers, environment_comes_first) {
  const Variable variable("svd f64 100 1 gesvd; qr * * * geqrf_batched; eigh * * * syevj");
  const DriverTable table(own);
  EXPECT_EQ(table.find(Operation::svd, 1, 20, 1), Driver::gesvd);
  EXPECT_EQ(table.find(Operation::svd, 0, 20, 1), Driver::gesvdj);
  EXPECT_EQ(table.find(Operation::eigh, 3, 2000, 7), Driver::syevj);
  EXPECT_EQ(table.find(Operation::qr, 1, 20, 1), Driver::automatic) << "not a driver of this table";
}

TEST(Drivers, environment_names_a_file) {
  const std::string file = testing::TempDir() + "frechet_drivers.txt";
  std::ofstream(file) << "# measured\nsvd * * * gesvd\n";
  {
    const Variable variable("@" + file);
    EXPECT_EQ(DriverTable(own).find(Operation::svd, 1, 2, 1), Driver::gesvd);
  }
  std::remove(file.c_str());
  const Variable variable("@" + file);
  EXPECT_THROW(DriverTable{own}, ArgumentError);
}

TEST(Drivers, errors_name_the_line) {
  for (const char* text : {"eigh * * syevd", "eig * * * syevd", "eigh f16 * * syevd", "eigh * -3 * syevd",
                           "eigh * 3x * syevd", "eigh * * * zheev", "eigh * 99999999999 * syevd", "a b c d e f"}) {
    try {
      backend::parse_drivers(std::string("svd * * * gesvd\n") + text);
      ADD_FAILURE() << text;
    } catch (const ArgumentError& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  }
}

TEST(Drivers, of_another_operation_are_refused) {
  const Dense A = identity(3);
  EXPECT_THROW(eigh({}, A, {.driver = Driver::gesvd}), ArgumentError);
  EXPECT_THROW(svd({}, A, {.driver = Driver::getrf}), ArgumentError);
  EXPECT_THROW(qr({}, A, {.driver = Driver::syevd}), ArgumentError);
  EXPECT_THROW(lu({}, A, {.driver = Driver::geqrf}), ArgumentError);
  EXPECT_THROW(solve({}, A, A, {.driver = Driver::trsm}), ArgumentError);
}

}  // namespace
}  // namespace frechet::test
