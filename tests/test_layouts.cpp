// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"

// Operands in any layout, const or not, managed or not, alone or as a batch, with or without diagnostics, from any host
// space: always the same numbers. Bytes beside the outputs are checked by every call of the tests (support/site.hpp).

namespace frechet::test {
namespace {

class Layouts : public ScalarTest {
 protected:
  /// Everything but Form::left itself.
  std::vector<Flavour> others() const {
    std::vector<Flavour> all;
    for (const Form form : all_forms)
      if (form != Form::left) all.push_back({GetParam(), form});
    all.push_back({GetParam(), Form::right, false, false});
#ifdef KOKKOS_ENABLE_SERIAL
    if (GetParam() == Scalar::f64 || GetParam() == Scalar::c64) all.push_back({GetParam(), Form::left, true});
#endif
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(, Layouts, testing::ValuesIn(all_scalars), scalar_name);

TEST_P(Layouts, eigh) {
  const Flavour f = flavour();
  for (const int n : {1, 6, 190})
    for (const int count : n > 100 ? std::vector<int>{0} : std::vector<int>{0, 3}) {
      Random random(101, complex());
      const Dense A = many(count, [&] { return random.hermitian_with(random.separated(n, -1, 1)); });
      const Spectrum x = eigh(f, A);
      const Dense dA = random.like(A), gw = random.real_like(x.w), gV = random.like(A), start = random.like(A);
      const Spectrum dx = eigh_jvp(f, x, &dA);
      const Dense gA = eigh_vjp(f, x, &gw, &gV).A, g_values = eigh_vjp(f, x, &gw, nullptr).A;
      for (const Flavour& g : others()) {
        expect_same(g, eigh(g, A).w, x.w, "w", 40 * n);
        expect_same(g, eigh_jvp(g, x, &dA).w, dx.w, "dw", 40 * n);
        expect_same(g, eigh_jvp(g, x, &dA).V, dx.V, "dV", 40 * n);
        expect_same(g, eigh_vjp(g, x, &gw, &gV).A, gA, "gA", 40 * n);
        expect_same(g, eigh_vjp(g, x, &gw, nullptr).A, g_values, "gA of values", 40 * n);
        const EighOptions add{.hermitian = Hermitian::part, .store = Store::accumulate};
        expect_same(g, eigh_vjp(g, x, &gw, &gV, add, &start).A, start + gA, "start + gA", 40 * n);
      }
    }
}

TEST_P(Layouts, svd) {
  const Flavour f = flavour();
  for (const auto [m, n] : {Extents{1, 1}, Extents{5, 5}, Extents{7, 4}, Extents{4, 7}, Extents{190, 180}})
    for (const int count : m > 100 ? std::vector<int>{0} : std::vector<int>{0, 3}) {
      Random random(102, complex());
      const Dense A = many(count, [&, m = m, n = n] { return random.well_conditioned(m, n); });
      const Triplets x = svd(f, A);
      const Dense dA = random.like(A), gU = random.like(x.U), gs = random.real_like(x.s), gVh = random.like(x.Vh);
      const Dense start = random.like(A);
      const Triplets dx = svd_jvp(f, x, &dA);
      const Dense gA = svd_vjp(f, x, &gU, &gs, &gVh).A, g_values = svd_vjp(f, x, nullptr, &gs, nullptr).A;
      const double units = 40 * std::max(m, n);
      for (const Flavour& g : others()) {
        expect_same(g, svd(g, A).s, x.s, "s", units);
        const Triplets dy = svd_jvp(g, x, &dA);
        expect_same(g, dy.U, dx.U, "dU", units);
        expect_same(g, dy.s, dx.s, "ds", units);
        expect_same(g, dy.Vh, dx.Vh, "dVh", units);
        expect_same(g, svd_vjp(g, x, &gU, &gs, &gVh).A, gA, "gA", units);
        expect_same(g, svd_vjp(g, x, nullptr, &gs, nullptr).A, g_values, "gA of values", units);
        expect_same(g, svd_vjp(g, x, &gU, &gs, &gVh, {.store = Store::accumulate}, &start).A, start + gA, "sum", units);
      }
    }
}

TEST_P(Layouts, qr) {
  const Flavour f = flavour();
  for (const auto [m, n] : {Extents{1, 1}, Extents{5, 5}, Extents{7, 4}, Extents{4, 7}, Extents{200, 170}})
    for (const int count : m > 100 ? std::vector<int>{0} : std::vector<int>{0, 3}) {
      Random random(103, complex());
      const Dense A = many(count, [&, m = m, n = n] { return random.well_conditioned(m, n); });
      const OrthogonalTriangular x = qr(f, A);
      const Dense dA = random.like(A), gQ = random.like(x.Q), gR = random.like(x.R), start = random.like(A);
      const OrthogonalTriangular dx = qr_jvp(f, x, &dA);
      const Dense gA = qr_vjp(f, x, &gQ, &gR).A;
      const double units = 200 * std::max(m, n);
      for (const Flavour& g : others()) {
        const OrthogonalTriangular y = qr(g, A), dy = qr_jvp(g, x, &dA);
        expect_same(g, y.Q, x.Q, "Q", units);
        expect_same(g, y.R, x.R, "R", units);
        expect_same(g, dy.Q, dx.Q, "dQ", units);
        expect_same(g, dy.R, dx.R, "dR", units);
        expect_same(g, qr_vjp(g, x, &gQ, &gR).A, gA, "gA", units);
        expect_same(g, qr_vjp(g, x, &gQ, &gR, {.store = Store::accumulate}, &start).A, start + gA, "sum", units);
      }
    }
}

TEST_P(Layouts, lu) {
  const Flavour f = flavour();
  for (const auto [m, n] : {Extents{1, 1}, Extents{5, 5}, Extents{7, 4}, Extents{4, 7}, Extents{200, 170}})
    for (const int count : m > 100 ? std::vector<int>{0} : std::vector<int>{0, 3}) {
      Random random(104, complex());
      const Dense A = many(count, [&, m = m, n = n] { return random.well_conditioned(m, n); });
      const Triangles x = lu(f, A);
      const Dense dA = random.like(A), gL = random.like(x.L), gU = random.like(x.U), start = random.like(A);
      const Triangles dx = lu_jvp(f, x, &dA);
      const Dense gA = lu_vjp(f, x, &gL, &gU).A;
      const double units = 200 * std::max(m, n);
      for (const Flavour& g : others()) {
        const Triangles y = lu(g, A), dy = lu_jvp(g, x, &dA);
        EXPECT_TRUE(identical(y.perm, x.perm));
        expect_same(g, y.L, x.L, "L", units);
        expect_same(g, y.U, x.U, "U", units);
        expect_same(g, dy.L, dx.L, "dL", units);
        expect_same(g, dy.U, dx.U, "dU", units);
        expect_same(g, lu_vjp(g, x, &gL, &gU).A, gA, "gA", units);
        expect_same(g, lu_vjp(g, x, &gL, &gU, {.store = Store::accumulate}, &start).A, start + gA, "sum", units);
      }
    }
}

TEST_P(Layouts, solve) {
  const Flavour f = flavour();
  for (const Op op : {Op::none, Op::transpose, Op::adjoint})
    for (const int n : {1, 6, 190})
      for (const int count : n > 100 ? std::vector<int>{0} : std::vector<int>{0, 3}) {
        Random random(105, complex());
        const SolveOptions o{.op = op}, add{.op = op, .store = Store::accumulate};
        const Dense A = many(count, [&] { return random.well_conditioned(n, n); });
        const Dense B = random.like(many(count, [&] { return Dense(n, n > 100 ? 180 : 2); })), gX = random.like(B);
        const Solution x = solve(f, A, B, o);
        const Dense dA = random.like(A), dB = random.like(B), start_a = random.like(A), start_b = random.like(B);
        const Dense dX = solve_jvp(f, x, &dA, &dB, o).X;
        const Gradient g0 = solve_vjp(f, x, &gX, o);
        const double units = 100 * n;
        for (const Flavour& g : others()) {
          const Solution y = solve(g, A, B, o);
          expect_same(g, y.X, x.X, "X", units);
          expect_same(g, y.LU, x.LU, "LU", units);
          EXPECT_TRUE(identical(y.perm, x.perm));
          expect_same(g, solve_jvp(g, x, &dA, &dB, o).X, dX, "dX", units);
          const Gradient g1 = solve_vjp(g, x, &gX, o), sum = solve_vjp(g, x, &gX, add, {}, &start_a, &start_b);
          expect_same(g, g1.A, g0.A, "gA", units);
          expect_same(g, g1.B, g0.B, "gB", units);
          expect_same(g, sum.A, start_a + g0.A, "start + gA", units);
          expect_same(g, sum.B, start_b + g0.B, "start + gB", units);
        }
      }
}

// --- Views as users have them ---------------------------------------------------------------------------------------

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

template <class V>
void upload(const V& view, const Dense& A) {
  const auto host = Kokkos::create_mirror_view(view);
  for (int i = 0; i < A.rows; ++i) {
    if constexpr (V::rank() == 1) {
      host(i) = A(i).real();
    } else {
      for (int j = 0; j < A.cols; ++j) host(i, j) = A(i, j).real();
    }
  }
  Kokkos::deep_copy(view, host);
}

template <class V>
Dense download(const V& view) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  Dense A(static_cast<int>(view.extent(0)), V::rank() == 1 ? 1 : static_cast<int>(view.extent(V::rank() - 1)));
  for (int i = 0; i < A.rows; ++i) {
    if constexpr (V::rank() == 1) {
      A(i) = host(i);
    } else {
      for (int j = 0; j < A.cols; ++j) A(i, j) = host(i, j);
    }
  }
  return A;
}

TEST(Views, one_call_mixes_layouts_const_and_managed) {
  const Flavour f;
  const Exec exec;
  Random random(106);
  const int n = 6;
  const Dense A = random.hermitian_with(random.separated(n, -1, 1)), gV = random.matrix(n, n), gw = random.matrix(n, 1);
  const Spectrum x = eigh(f, A);
  const Kokkos::View<double**, Memory> a("a", n, n);  // the default layout, managed
  const Kokkos::View<double**, Kokkos::LayoutRight, Memory> V("V", n, n), cotangent("gV", n, n);
  const Kokkos::View<double**, Kokkos::LayoutLeft, Memory> columns("columns", n, 3), gA("gA", n, n);
  const auto w = Kokkos::subview(columns, Kokkos::ALL, 1);
  upload(a, A);
  frechet::eigh(exec, Kokkos::View<const double**, Memory>(a), w, V);
  upload(cotangent, gV);
  const Kokkos::View<double*, Memory> values("gw", n);
  upload(values, gw);
  frechet::eigh_vjp(exec, w, Kokkos::View<const double**, Kokkos::LayoutRight, Memory>(V), values, cotangent, gA);
  exec.fence();
  expect_same(f, download(w), x.w, "w");
  const Spectrum mine{x.w, download(V), {}};  // the same phases
  expect_same(f, download(gA), eigh_vjp(f, mine, &gw, &gV).A, "gA");
  const Dense beside = download(columns);
  for (int i = 0; i < n; ++i) EXPECT_EQ(std::abs(beside(i, 0)) + std::abs(beside(i, 2)), 0);
}

TEST(Views, none_and_empty_views_are_absent) {
  const Flavour f;
  const Exec exec;
  Random random(107);
  const Dense A = random.matrix(5, 3), gs = random.matrix(3, 1);
  const Kokkos::View<double**, Kokkos::LayoutRight, Memory> a("a", 5, 3), U("U", 5, 3), Vh("Vh", 3, 3), gA("gA", 5, 3);
  const Kokkos::View<double*, Memory> s("s", 3), t("t", 3), cotangent("gs", 3);
  upload(a, A);
  upload(cotangent, gs);
  frechet::svdvals(exec, a, s);
  frechet::svd(exec, a, Kokkos::View<double**, Memory>(), t, none);
  exec.fence();
  expect_same(f, download(s), svd(f, A).s, "s");
  EXPECT_TRUE(identical(download(s), download(t)));
  frechet::svd(exec, a, U, s, Vh);
  frechet::svd_vjp(exec, U, s, Vh, none, cotangent, Kokkos::View<double**, Memory>(), gA);
  exec.fence();
  const Triplets x{download(U), download(s), download(Vh), {}};
  expect_same(f, download(gA), svd_vjp(f, x, nullptr, &gs, nullptr).A, "gA");
  frechet::svd_jvp(exec, U, s, Vh, a, none, t, none);  // dA = A: ds = s
  exec.fence();
  expect_same(f, download(t), x.s, "ds");
}

TEST(Views, a_right_side_can_be_a_vector) {
  const Flavour f;
  const Exec exec;
  Random random(108);
  const Dense A = random.well_conditioned(5, 5), B = random.matrix(5, 1), gX = random.matrix(5, 1),
              dA = random.matrix(5, 5);
  const Kokkos::View<double**, Memory> a("a", 5, 5), LU("LU", 5, 5), gA("gA", 5, 5), da("da", 5, 5);
  const Kokkos::View<double*, Memory> b("b", 5), X("X", 5), cotangent("gX", 5), gB("gB", 5), dX("dX", 5);
  const Kokkos::View<int*, Memory> perm("perm", 5);
  upload(a, A), upload(b, B), upload(cotangent, gX), upload(da, dA);
  frechet::solve(exec, a, b, X, LU, perm);
  frechet::solve_jvp(exec, LU, perm, X, da, none, dX);
  frechet::solve_vjp(exec, LU, perm, X, cotangent, gA, gB);
  exec.fence();
  const Solution x = solve(f, A, B);
  const Gradient g = solve_vjp(f, x, &gX);
  expect_same(f, download(X), x.X, "X");
  expect_same(f, download(dX), solve_jvp(f, x, &dA, nullptr).X, "dX");
  expect_same(f, download(gA), g.A, "gA");
  expect_same(f, download(gB), g.B, "gB");
  frechet::solve(exec, a, b, X);  // no factorisation wanted
  exec.fence();
  expect_same(f, download(X), x.X, "X");
}

TEST(Views, a_batch_of_right_side_vectors) {
  const Flavour f;
  const Exec exec;
  Random random(109);
  const int count = 3, n = 4;
  const Kokkos::View<double***, Memory> a("a", count, n, n);
  const Kokkos::View<double**, Memory> b("b", count, n), X("X", count, n);
  const auto a_host = Kokkos::create_mirror_view(a);
  const auto b_host = Kokkos::create_mirror_view(b);
  std::vector<Dense> A, B;
  for (int k = 0; k < count; ++k) {
    A.push_back(random.well_conditioned(n, n));
    B.push_back(random.matrix(n, 1));
    for (int i = 0; i < n; ++i) {
      b_host(k, i) = B[k](i).real();
      for (int j = 0; j < n; ++j) a_host(k, i, j) = A[k](i, j).real();
    }
  }
  Kokkos::deep_copy(a, a_host);
  Kokkos::deep_copy(b, b_host);
  frechet::solve(exec, a, b, X);
  exec.fence();
  const auto X_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), X);
  for (int k = 0; k < count; ++k) {
    const Dense expected = solve(f, A[k], B[k]).X;
    for (int i = 0; i < n; ++i) EXPECT_NEAR(X_host(k, i), expected(i).real(), 1e-13);
  }
}

}  // namespace
}  // namespace frechet::test
