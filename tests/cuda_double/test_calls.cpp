// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "counting.hpp"
#include "double.hpp"
#include "problems.hpp"

#include <gtest/gtest-spi.h>

#include <map>
#include <numeric>
#include <set>

// What the cuda backend calls, in which order, and what it does when a call goes wrong.

namespace frechet::test {
namespace {

using namespace cuda_double;

class Environment : public testing::Environment {
 public:
  void SetUp() override { start(); }
};
[[maybe_unused]] const auto* const environment = testing::AddGlobalTestEnvironment(new Environment);

/// All that the adaptor knows of the vendor's routines that submit work.
std::vector<std::string> every_routine() {
  std::vector<std::string> all = {"cusolverDnXgetrf", "cusolverDnXgeqrf",       "cusolverDnXsyevd",
                                  "cusolverDnXgesvd", "cusolverDnXsyevBatched", "cusolverDnXgesvdp"};
  for (const std::string s : {"S", "D", "C", "Z"}) {
    for (const char* blas :
         {"gemm", "gemmStridedBatched", "trsm", "trsmBatched", "trmm", "getrfBatched", "geqrfBatched"})
      all.push_back("cublas" + s + blas);
    const bool real = s == "S" || s == "D";
    all.push_back("cusolverDn" + s + (real ? "orgqr" : "ungqr"));
    all.push_back("cusolverDn" + s + (real ? "syevj" : "heevj"));
    all.push_back("cusolverDn" + s + "gesvdj");
    all.push_back("cusolverDn" + s + "gesvdjBatched");
  }
  return all;
}

TEST(CudaCoverage, every_routine_is_called) {
  forget_calls();
  for (const Scalar scalar : all_scalars) {
    const Flavour f{scalar};
    Random random(40, f.complex());
    for (const int count : {0, 9}) {
      const Dense A = many(count, [&] { return random.hermitian(8); });
      for (const Driver driver : {Driver::syevd, Driver::syevj, Driver::syev_batched}) eigh(f, A, {.driver = driver});
      for (const Driver driver : {Driver::gesvd, Driver::gesvdj, Driver::gesvdj_batched, Driver::gesvdp})
        svd(f, A, {.driver = driver});
      for (const Driver driver : {Driver::geqrf, Driver::geqrf_batched}) qr(f, A, {.driver = driver});
      for (const Driver driver : {Driver::getrf, Driver::getrf_batched})
        lu_vjp(f, lu(f, A, {.driver = driver}), &A, &A);
      eigh_jvp(f, eigh(f, A), &A);
    }
  }
  const auto made = calls();
  const std::set<std::string> called(made.begin(), made.end());
  const auto all = every_routine();
  std::size_t missing = 0;
  for (const std::string& routine : all)
    if (!called.contains(routine)) {
      ++missing;
      ADD_FAILURE() << "never called: " << routine;
    }
  EXPECT_EQ(called.size(), all.size() - missing) << "a routine is called that this list does not have";
  std::printf("vendor routines called: %zu of %zu\n", all.size() - missing, all.size());
}

// --- drivers --------------------------------------------------------------------------------------------------------

class CudaDrivers : public ScalarTest {};
INSTANTIATE_TEST_SUITE_P(All, CudaDrivers, testing::ValuesIn(all_scalars), scalar_name);

/// Counts for a single matrix and for batches around the thresholds of the table.
constexpr int counts[] = {0, 3, 9};

TEST_P(CudaDrivers, eigh) {
  const Flavour f = flavour();
  Random random(41, complex());
  for (const Driver driver : {Driver::syevd, Driver::syevj, Driver::syev_batched, Driver::reference, Driver::automatic})
    for (const int count : counts)
      for (const int n : {1, 5, 33}) {
        const Dense A = many(count, [&] { return random.hermitian(n); });
        const Spectrum x = eigh(f, A, {.driver = driver});
        expect_small(f, norm(A * x.V - scale_columns(x.V, x.w)), n, norm(A), name(driver));
        expect_orthonormal(f, x.V, name(driver));
        expect_same(f, eigh(f, A, {.driver = driver}, {true, false}).w, x.w, name(driver));
      }
}

TEST_P(CudaDrivers, svd) {
  const Flavour f = flavour();
  Random random(42, complex());
  for (const Driver driver :
       {Driver::gesvd, Driver::gesvdj, Driver::gesvdj_batched, Driver::gesvdp, Driver::reference, Driver::automatic})
    for (const int count : counts)
      for (const auto [m, n] : {Extents{1, 1}, Extents{9, 5}, Extents{5, 9}, Extents{32, 32}, Extents{40, 33}}) {
        const Dense A = many(count, [&] { return random.matrix(m, n); });
        const Triplets x = svd(f, A, {.driver = driver});
        expect_small(f, norm(A - scale_columns(x.U, x.s) * x.Vh), m + n, norm(A), name(driver));
        expect_orthonormal(f, x.U, name(driver));
        expect_orthonormal(f, adjoint(x.Vh), name(driver));
        expect_same(f, svd(f, A, {.driver = driver}, {false, true, false}).s, x.s, name(driver));
      }
}

TEST_P(CudaDrivers, lu_and_solve) {
  const Flavour f = flavour();
  Random random(43, complex());
  for (const Driver driver : {Driver::getrf, Driver::getrf_batched, Driver::automatic})
    for (const int count : counts)
      for (const auto [m, n] : {Extents{1, 1}, Extents{9, 5}, Extents{5, 9}, Extents{20, 20}}) {
        const Dense A = many(count, [&] { return random.matrix(m, n); });
        const Triangles x = lu(f, A, {.driver = driver});
        expect_small(f, norm(permute_rows(A, x.perm) - x.L * x.U), m + n, norm(A), name(driver));
        if (m != n) continue;
        const Dense B = random.like(A);
        const Solution y = solve(f, A, B, {.driver = driver});
        expect_small(f, norm(A * y.X - B), n, norm(A) * norm(y.X), name(driver));
      }
}

TEST_P(CudaDrivers, qr) {
  const Flavour f = flavour();
  Random random(44, complex());
  for (const Driver driver : {Driver::geqrf, Driver::geqrf_batched, Driver::reference, Driver::automatic})
    for (const int count : counts)
      for (const auto [m, n] : {Extents{1, 1}, Extents{9, 5}, Extents{5, 9}, Extents{40, 33}}) {
        const Dense A = many(count, [&] { return random.matrix(m, n); });
        const OrthogonalTriangular x = qr(f, A, {.driver = driver});
        expect_small(f, norm(A - x.Q * x.R), m + n, norm(A), name(driver));
        expect_orthonormal(f, x.Q, name(driver));
      }
}

TEST(CudaDrivers, unknown_to_this_backend) {
  const Dense A = identity(3);
  EXPECT_THROW(svd({}, A, {.driver = Driver::gesdd}), ArgumentError);
  EXPECT_THROW(eigh({}, A, {.driver = Driver::gesvd}), ArgumentError);
  try {
    eigh({}, A, {.driver = Driver::getrf});
    ADD_FAILURE() << "no exception";
  } catch (const ArgumentError& e) {
    EXPECT_STREQ(e.what(),
                 "frechet::eigh: the backend cuda has no driver getrf, only syevd, syevj, syev_batched, reference");
  }
}

TEST(CudaDrivers, large_batches_go_in_pieces) {
  Random random(45);
  const Dense A = many(40000, [&] { return random.hermitian(2); });
  forget_calls();
  const Spectrum x = eigh({}, A);
  expect_small({}, norm(A * x.V - scale_columns(x.V, x.w)), 2, norm(A), "pieces");
  const auto made = calls();
  EXPECT_EQ(std::count(made.begin(), made.end(), "cusolverDnXsyevBatched"), 3);
}

// --- faults ---------------------------------------------------------------------------------------------------------

class CudaFaults : public ScalarTest {
 protected:
  void TearDown() override { inject_nothing(); }
};
INSTANTIATE_TEST_SUITE_P(All, CudaFaults, testing::ValuesIn(all_scalars), scalar_name);

TEST_P(CudaFaults, eigh_falls_back) {
  const Flavour f = flavour();
  Random random(46, complex());
  for (const Driver driver : {Driver::syevd, Driver::syevj, Driver::syev_batched})
    for (const bool vectors : {true, false}) {
      const Dense A = many(3, [&] { return random.hermitian(7); });
      const Spectrum good = eigh(f, A, {.driver = driver}, {true, vectors});
      inject(vectors ? Fault::info : Fault::argument, 0);
      const Spectrum x = eigh(f, A, {.driver = driver}, {true, vectors});
      expect_same(f, x.w, good.w, name(driver));
      if (vectors) expect_small(f, norm(A * x.V - scale_columns(x.V, x.w)), 7, norm(A), name(driver));
      ASSERT_EQ(x.diagnoses.size(), 3u);
      EXPECT_EQ(x.diagnoses[0].info, 0);
      EXPECT_EQ(x.diagnoses[0].fallback, vectors ? 1 : 2);
      EXPECT_EQ(x.diagnoses[1].fallback, 0);
      EXPECT_EQ(explain(x.diagnoses[0]), "");
    }
}

TEST_P(CudaFaults, svd_falls_back) {
  const Flavour f = flavour();
  Random random(47, complex());
  for (const Driver driver : {Driver::gesvd, Driver::gesvdj, Driver::gesvdj_batched, Driver::gesvdp})
    for (const auto [m, n] : {Extents{8, 5}, Extents{5, 8}, Extents{6, 6}})
      for (const bool vectors : {true, false}) {
        const Dense A = many(2, [&] { return random.matrix(m, n); });
        inject_nothing();
        const Triplets good = svd(f, A, {.driver = driver}, {vectors, true, vectors});
        inject(vectors ? Fault::info : Fault::argument, 0);
        const Triplets x = svd(f, A, {.driver = driver}, {vectors, true, vectors});
        expect_same(f, x.s, good.s, name(driver));
        if (vectors) expect_small(f, norm(A - scale_columns(x.U, x.s) * x.Vh), m + n, norm(A), name(driver));
        EXPECT_EQ(x.diagnoses[0].info, 0);
        EXPECT_EQ(x.diagnoses[0].fallback, vectors ? 1 : 2);
        EXPECT_EQ(x.diagnoses[1].fallback, 0);
      }
}

/// A factorisation that fails leaves pivots that are no rows: diagnosed, and nothing is read or written outside.
TEST_P(CudaFaults, failed_lu_is_diagnosed) {
  const Flavour f = flavour();
  for (const Fault fault : {Fault::info, Fault::argument})
    for (const int count : {0, 9}) {
      const Dense A = many(count, [] { return identity(4); });
      const int info = fault == Fault::info ? 1 : 2;
      inject(fault, 0);
      const Solution x = solve(f, A, A);
      EXPECT_TRUE(all_nan(x.X.matrix(0)));
      EXPECT_EQ(x.diagnoses[0].info, info);
      EXPECT_EQ(x.diagnoses[0].fallback, 0);
      inject(fault, 0);
      const Triangles y = lu(f, A);
      EXPECT_EQ(y.diagnoses[0].info, info);
      EXPECT_EQ(y.diagnoses[0].zero_pivot, 0);
      EXPECT_TRUE(all_nan(y.L.matrix(0)) && all_nan(y.U.matrix(0)));
      for (int i = 0; i < 4; ++i) EXPECT_EQ(y.perm(0, i, 0), Z(i)) << "not an exchange";
      if (count > 0) expect_same(f, x.X.matrix(1), identity(4), "the others");
    }
}

/// Above the size up to which another driver takes over.
TEST_P(CudaFaults, large_failure_is_reported) {
  const Flavour f = flavour();
  const int n = 1025;
  for (const Fault fault : {Fault::info, Fault::argument}) {
    inject(fault, 0);
    const Spectrum x = eigh(f, identity(n), {}, {true, false});
    EXPECT_TRUE(all_nan(x.w));
    EXPECT_EQ(x.diagnoses[0].info, fault == Fault::info ? 1 : 2);
    EXPECT_EQ(x.diagnoses[0].fallback, 0);
  }
}

/// Whatever call of whatever operation fails: an exception that names it, no crash, and the next call is right.
TEST_P(CudaFaults, status_is_an_exception) {
  const Flavour f = flavour();
  Random random(48, complex());
  const Dense A = random.hermitian_with({1, 2, 3, 4, 5, 6}), G = random.matrix(6, 6);
  const auto all = [&] {
    const Spectrum e = eigh(f, A);
    const Triplets s = svd(f, A);
    const OrthogonalTriangular q = qr(f, A);
    const Triangles l = lu(f, A);
    const Solution y = solve(f, A, G);
    return std::vector<Dense>{e.w, eigh_vjp(f, e, nullptr, &G).A, s.s, svd_jvp(f, s, &G).s,
                              q.R, qr_vjp(f, q, &G, nullptr).A,   l.U, lu_jvp(f, l, &G).L,
                              y.X, solve_vjp(f, y, &G).A};
  };
  forget_calls();
  const auto expected = all();
  const auto made = calls();
  ASSERT_GT(made.size(), 15u);
  for (const Fault fault : {Fault::status, Fault::allocation})
    for (std::size_t k = 0; k < made.size(); ++k) {
      inject(fault, static_cast<int>(k));
      try {
        all();
        ADD_FAILURE() << "no exception for call " << k << ", " << made[k];
      } catch (const BackendError& e) {
        const std::string what = e.what();
        EXPECT_NE(what.find(fault == Fault::status ? "EXECUTION_FAILED" : "ALLOC_FAILED"), std::string::npos) << what;
      }
    }
  const auto again = all();
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_TRUE(identical(again[i], expected[i])) << i;
}

// --- the double itself ----------------------------------------------------------------------------------------------

TEST(CudaDouble, finds_what_is_wrong) {
  cublasHandle_t handle = nullptr;
  cublasCreate(&handle);
  static double host[4] = {};
  const Kokkos::View<double*> device("device", 4);
  const double one = 1;
  const auto gemm = [&](const double* a, int lda, const double* alpha) {
    cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, alpha, a, lda, device.data(), 2, &one, device.data(), 2);
  };
  EXPECT_NONFATAL_FAILURE(gemm(device.data(), 2, &one), "cublasDgemm: the handle's stream");
  cublasSetStream(handle, the_stream());
  EXPECT_NONFATAL_FAILURE(gemm(host, 2, &one), "A is not device memory");
  EXPECT_NONFATAL_FAILURE(gemm(device.data(), 2, device.data()), "alpha is not host memory");
  EXPECT_NONFATAL_FAILURE(gemm(device.data(), 1, &one), "A has a leading dimension below its rows");
  EXPECT_NONFATAL_FAILURE(gemm(device.data(), 3, &one), "A ends 8 bytes behind its allocation");
  gemm(device.data(), 2, &one);
  cublasDestroy(handle);
}

// --- what a run costs -----------------------------------------------------------------------------------------------

/// "gemm x 3, trsm x 2": calls of one run, in alphabetical order.
std::string summary(const std::vector<std::string>& made) {
  std::map<std::string, int> times;
  for (const std::string& call : made) ++times[call];
  std::string text;
  for (const auto& [call, n] : times)
    text += (text.empty() ? "" : ", ") + call + (n > 1 ? " x " + std::to_string(n) : "");
  return text;
}

struct Cost {
  const char* calls;
  int kernels;
};

/// The ten problems of the published table in the steady state; docs/cuda.md shows the same numbers.
TEST(CudaCost, steady_state_of_the_suite) {
  const std::map<std::string, Cost> expected = {
      {"eigh_jvp", {"cublasDgemm, cusolverDnXsyevd", 14}},
      {"eigh_vjp", {"cublasDgemm, cusolverDnXsyevd", 16}},
      {"lu_jvp", {"cublasDtrmm x 2, cublasDtrsm x 2, cusolverDnXgetrf", 25}},
      {"lu_vjp", {"cublasDtrmm x 2, cublasDtrsm x 2, cusolverDnXgetrf", 24}},
      {"qr_jvp", {"cublasDgemm x 2, cublasDtrmm, cublasDtrsm, cusolverDnDorgqr, cusolverDnXgeqrf", 28}},
      {"qr_vjp", {"cublasDgemm x 2, cublasDtrmm, cublasDtrsm, cusolverDnDorgqr, cusolverDnXgeqrf", 24}},
      {"solve_jvp", {"cublasDgemm, cublasDtrsm x 4, cusolverDnXgetrf", 14}},
      {"solve_vjp", {"cublasDgemm, cublasDtrsm x 4, cusolverDnXgetrf", 14}},
      {"svd_s_jvp", {"cublasDgemm, cusolverDnDgesvdj", 18}},
      {"svd_s_vjp", {"cublasDgemm, cusolverDnDgesvdj", 19}},
  };
  for (const auto& problem : perf::problems("linalg_jvp_vjp", {64})) {
    const auto runner = problem.make(64);
    runner->run();
    runner->run();
    forget_calls();
    {
      const Counting counting;
      runner->run();
    }
    const std::string made = summary(calls());
    std::printf("| %s | %zu | %d | %s |\n", problem.name.c_str(), calls().size(), Counting::kernels.load(),
                made.c_str());
    EXPECT_EQ(Counting::allocations, 0) << problem.name;
    EXPECT_EQ(Counting::fences, 1) << problem.name << ": only the one at the end of run()";
    const auto found = expected.find(problem.name);
    if (found == expected.end()) {
      ADD_FAILURE() << problem.name;
      continue;
    }
    EXPECT_EQ(made, found->second.calls) << problem.name;
    EXPECT_EQ(Counting::kernels, found->second.kernels) << problem.name;
  }
}

}  // namespace
}  // namespace frechet::test
