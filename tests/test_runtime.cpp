// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "context.hpp"
#include "counting.hpp"

#include <atomic>
#include <thread>

// Calls from several threads, and what a call costs at run time beside its arithmetic.

namespace frechet::test {
namespace {

#if FRECHET_POISONS

// --- scratch under the address sanitizer ----------------------------------------------------------------------------

TEST(Scratch, only_what_was_taken_may_be_used) {
  const Kokkos::DefaultHostExecutionSpace exec;
  detail::Arena<Kokkos::DefaultHostExecutionSpace::memory_space> arena;
  const auto mark = arena.mark();
  const auto within = [](const char* p, int n) {
    for (int i = 0; i < n; ++i)
      if (__asan_address_is_poisoned(p + i)) return i;
    return n;
  };
  for (const int bytes : {1, 100, 128, 1000, 1 << 17}) {  // the last needs a chunk of its own
    const char* const p = static_cast<const char*>(arena.take(static_cast<std::size_t>(bytes)));
    EXPECT_EQ(within(p, bytes + 1), bytes);
  }
  arena.rewind(mark, exec);  // now one chunk for all
  const char* const p = static_cast<const char*>(arena.take(8));
  const auto inner = arena.mark();
  const char* const q = static_cast<const char*>(arena.take(8));
  EXPECT_EQ(within(q, 9), 8);
  arena.rewind(inner, exec);
  EXPECT_EQ(within(p, 9), 8);
  EXPECT_EQ(within(q, 1), 0);
  arena.rewind(mark, exec);
  EXPECT_EQ(within(p, 1), 0);
}

#endif

// --- several threads ------------------------------------------------------------------------------------------------

/// Each thread works on data of its own, many times; results must be those of a lone thread, to the last bit.
void run_concurrently(const Flavour& f) {
  constexpr int threads = 4, times = 25;
  struct Work {
    Dense A, B, gw, gV, gX, w, gA, X, gB;
  };
  std::vector<Work> work(threads);
  const auto compute = [&f](Work& k) {
    const Spectrum x = eigh(f, k.A);
    k.w = x.w;
    k.gA = eigh_vjp(f, x, &k.gw, &k.gV).A;
    const Solution y = solve(f, k.A, k.B);
    k.X = y.X;
    k.gB = solve_vjp(f, y, &k.gX).B;
  };
  for (int t = 0; t < threads; ++t) {
    Random random(121 + t, f.complex());
    const int n = 12 + 3 * t;  // different workspaces
    Work& k = work[t];
    k.A = random.hermitian_with(random.separated(n, 1, 2));
    k.B = random.matrix(n, 3);
    k.gX = random.matrix(n, 3);
    k.gw = random.real_like(Dense(n, 1));
    k.gV = random.matrix(n, n);
    compute(k);
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&, t] {
      Work k = work[t];
      for (int i = 0; i < times; ++i) {
        compute(k);
        wrong += !identical(k.w, work[t].w) || !identical(k.gA, work[t].gA) || !identical(k.X, work[t].X) ||
                 !identical(k.gB, work[t].gB);
      }
    });
  for (auto& thread : pool) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, default_space) {
  for (const Scalar s : {Scalar::f64, Scalar::c64}) run_concurrently({s});
}

#ifdef KOKKOS_ENABLE_SERIAL
TEST(Threads, serial_space) {
  for (const Scalar s : {Scalar::f64, Scalar::c64}) run_concurrently({s, Form::left, true});
}
#endif

// --- steady state ---------------------------------------------------------------------------------------------------

/// The second of two equal calls allocates nothing and waits for nothing.
template <class F>
void expect_steady(const char* what, const F& call) {
  call();
  const Counting counting;
  call();
  EXPECT_EQ(Counting::allocations, 0) << what;
  EXPECT_EQ(Counting::fences, 0) << what;
}

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

/// Views that need copies (LayoutRight), so that workspace is needed.
template <class S>
struct Operands {
  using Matrix = Kokkos::View<S**, Kokkos::LayoutRight, Memory>;
  using Vector = Kokkos::View<Real<S>*, Memory>;
  int n;
  Matrix A, dA, Q, R, dQ, dR, gQ, gR, gA;
  Vector w, dw, gw;
  Kokkos::View<int*, Memory> perm;
  Diagnostics<Memory> diagnostics;

  explicit Operands(int size) : n(size), w("w", n), dw("dw", n), gw("gw", n), perm("perm", n), diagnostics("d", 1) {
    for (Matrix* m : {&A, &dA, &Q, &R, &dQ, &dR, &gQ, &gR, &gA}) *m = Matrix("matrix", n, n);
    for (const Matrix& m : {A, dA, gQ, gR}) {
      const auto host = Kokkos::create_mirror_view(m);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) host(i, j) = S(i == j ? Real<S>(i + 1) : Real<S>(1) / Real<S>(i + j + 1));
      Kokkos::deep_copy(m, host);
    }
    Kokkos::deep_copy(gw, Real<S>(1));
  }
};

template <class S>
void steady_calls(int n) {
  const Exec exec;
  const Operands<S> k(n);
  const DiagnosticsTarget d = k.diagnostics;
  expect_steady("eigh", [&] { frechet::eigh(exec, k.A, k.w, k.Q, {.diagnostics = d}); });
  expect_steady("eigenvalues", [&] { frechet::eigh(exec, k.A, k.dw, none); });
  expect_steady("eigh_jvp", [&] { frechet::eigh_jvp(exec, k.w, k.Q, k.dA, k.dw, k.dQ, {.diagnostics = d}); });
  expect_steady("eigh_vjp", [&] { frechet::eigh_vjp(exec, k.w, k.Q, k.gw, k.gQ, k.gA); });
  expect_steady("svd", [&] { frechet::svd(exec, k.A, k.Q, k.w, k.R); });
  expect_steady("svd_jvp", [&] { frechet::svd_jvp(exec, k.Q, k.w, k.R, k.dA, k.dQ, k.dw, k.dR); });
  expect_steady("svd_vjp", [&] { frechet::svd_vjp(exec, k.Q, k.w, k.R, k.gQ, k.gw, k.gR, k.gA); });
  expect_steady("qr", [&] { frechet::qr(exec, k.A, k.Q, k.R); });
  expect_steady("qr_jvp", [&] { frechet::qr_jvp(exec, k.Q, k.R, k.dA, k.dQ, k.dR); });
  expect_steady("qr_vjp", [&] { frechet::qr_vjp(exec, k.Q, k.R, k.gQ, k.gR, k.gA); });
  expect_steady("lu", [&] { frechet::lu(exec, k.A, k.Q, k.R, k.perm); });
  expect_steady("lu_jvp", [&] { frechet::lu_jvp(exec, k.Q, k.R, k.perm, k.dA, k.dQ, k.dR); });
  expect_steady("lu_vjp", [&] { frechet::lu_vjp(exec, k.Q, k.R, k.perm, k.gQ, k.gR, k.gA); });
  expect_steady("solve", [&] { frechet::solve(exec, k.A, k.dA, k.R, k.Q, k.perm); });
  expect_steady("solve_jvp", [&] { frechet::solve_jvp(exec, k.Q, k.perm, k.R, k.gQ, k.dA, k.dR); });
  expect_steady("solve_vjp", [&] { frechet::solve_vjp(exec, k.Q, k.perm, k.R, k.gR, k.gA, k.dQ); });
}

TEST(SteadyState, allocates_nothing_and_never_waits) {
  steady_calls<double>(24);
  steady_calls<Kokkos::complex<float>>(24);
  steady_calls<double>(200);  // loops in threads
}

}  // namespace
}  // namespace frechet::test
