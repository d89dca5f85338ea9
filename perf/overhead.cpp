// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "overhead.hpp"

#include <frechet/frechet.hpp>

#include "inputs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <ostream>
#include <string>

namespace perf {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Space = Exec::memory_space;
using MatrixView = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;
using VectorView = Kokkos::View<double*, Kokkos::LayoutLeft, Space>;
using ScalarView = Kokkos::View<double, Kokkos::LayoutLeft, Space>;
using Work = std::function<void()>;

struct Measured {
  double program_us = 0, calls_us = 0;
};

double seconds(const Work& f, int runs) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int i = 0; i < runs; ++i) f();
  return std::chrono::duration<double>(Clock::now() - start).count() / runs;
}

/// Medians in one go, program and calls in turn, so that drifts of the machine meet both.
Measured measure(const Work& program, const Work& calls) {
  for (int i = 0; i < 3; ++i) {
    program();
    calls();
  }
  const int runs = static_cast<int>(std::clamp(1e-3 / seconds(calls, 1), 1.0, 2000.0)), samples = 41;
  std::vector<double> a, b;
  for (int i = 0; i < samples; ++i) {
    a.push_back(seconds(program, runs));
    b.push_back(seconds(calls, runs));
  }
  const auto median = [](std::vector<double>& x) {
    std::nth_element(x.begin(), x.begin() + samples / 2, x.end());
    return 1e6 * x[samples / 2];
  };
  return {median(a), median(b)};
}

/// Views of one size, filled so that every factorisation of A is well conditioned.
struct Operands {
  explicit Operands(int n)
      : size(static_cast<std::size_t>(n)),
        A("A", size, size),
        dA("dA", size, size),
        gA("gA", size, size),
        X("X", size, size),
        Y("Y", size, size),
        dX("dX", size, size),
        dY("dY", size, size),
        ones("ones", size, size),
        b("b", size, 1),
        x("x", size, 1),
        dx("dx", size, 1),
        w("w", size),
        dw("dw", size),
        perm("perm", size) {
    const Matrix a = spd(n, 27), t = data(n, n, 1027);
    const auto fill = [&](const MatrixView& view, const Matrix& from) {
      const auto host = Kokkos::create_mirror_view(view);
      for (std::size_t i = 0; i < view.extent(0); ++i)
        for (std::size_t j = 0; j < view.extent(1); ++j) host(i, j) = from[i * view.extent(1) + j];
      Kokkos::deep_copy(view, host);
    };
    fill(A, a);
    fill(dA, t);
    fill(b, data(n, 1, 28));
    Kokkos::deep_copy(ones, 1.0);
    Kokkos::deep_copy(dw, 1.0);
  }
  std::size_t size;
  MatrixView A, dA, gA, X, Y, dX, dY, ones, b, x, dx;
  VectorView w, dw;
  Kokkos::View<int*, Kokkos::LayoutLeft, Space> perm;
};

struct Line {
  std::string name;
  std::size_t steps;
  Measured time;
};

/// jvp and vjp of f(A), or f(A, b), beside the same work by calls on Views.
template <class F, class In, class Tangents, class Gradients>
void add_lines(std::vector<Line>& lines, const char* name, const F& f, const In& in, const Tangents& tangents,
               const Gradients& gradients, const Work& jvp_calls, const Work& vjp_calls) {
  frechet::AdContext<Exec> ad;
  auto jvp = ad.jvp_program(f, in, frechet::wrt(0));
  auto vjp = ad.vjp_program(f, in, frechet::wrt(0));
  const ScalarView value("value"), slope("slope"), one("one");
  Kokkos::deep_copy(one, 1.0);
  const auto fenced = [&](const Work& work) {
    return Work([&ad, work] {
      work();
      ad.exec().fence("frechet_perf");
    });
  };
  lines.push_back({std::string(name) + "_jvp", jvp.steps().size(),
                   measure(fenced([&] { jvp(in, tangents, value, slope); }), fenced(jvp_calls))});
  lines.push_back({std::string(name) + "_vjp", vjp.steps().size(),
                   measure(fenced([&] { vjp(in, value, one, gradients); }), fenced(vjp_calls))});
}

std::vector<Line> measure_all(int n) {
  using frechet::none;
  using frechet::sum;
  const Exec exec;
  const Operands v(n);
  std::vector<Line> lines;
  add_lines(
      lines, "eigh", [](auto A) { return sum(frechet::eigh(A).w); }, v.A, v.dA, v.gA,
      [&] {
        frechet::eigh(exec, v.A, v.w, v.X);
        frechet::eigh_jvp(exec, v.w, v.X, v.dA, v.dw, none);
      },
      [&] {
        frechet::eigh(exec, v.A, v.w, v.X);
        frechet::eigh_vjp(exec, v.w, v.X, v.dw, none, v.gA);
      });
  add_lines(
      lines, "lu",
      [](auto A) {
        const auto f = frechet::lu(A);
        return sum(f.L) + sum(f.U);
      },
      v.A, v.dA, v.gA,
      [&] {
        frechet::lu(exec, v.A, v.X, v.Y, v.perm);
        frechet::lu_jvp(exec, v.X, v.Y, v.perm, v.dA, v.dX, v.dY);
      },
      [&] {
        frechet::lu(exec, v.A, v.X, v.Y, v.perm);
        frechet::lu_vjp(exec, v.X, v.Y, v.perm, v.ones, v.ones, v.gA);
      });
  add_lines(
      lines, "qr",
      [](auto A) {
        const auto f = frechet::qr(A);
        return sum(f.Q) + sum(f.R);
      },
      v.A, v.dA, v.gA,
      [&] {
        frechet::qr(exec, v.A, v.X, v.Y);
        frechet::qr_jvp(exec, v.X, v.Y, v.dA, v.dX, v.dY);
      },
      [&] {
        frechet::qr(exec, v.A, v.X, v.Y);
        frechet::qr_vjp(exec, v.X, v.Y, v.ones, v.ones, v.gA);
      });
  add_lines(
      lines, "solve", [](auto A, auto b) { return sum(frechet::solve(A, b)); }, std::tie(v.A, v.b),
      std::tuple(v.dA, none), std::tuple(v.gA, none),
      [&] {
        frechet::solve(exec, v.A, v.b, v.x, v.X, v.perm);
        frechet::solve_jvp(exec, v.X, v.perm, v.x, v.dA, none, v.dx);
      },
      [&] {
        frechet::solve(exec, v.A, v.b, v.x, v.X, v.perm);
        frechet::solve_vjp(exec, v.X, v.perm, v.x, v.b, v.gA, none);
      });
  add_lines(
      lines, "svd_s", [](auto A) { return sum(frechet::svdvals(A)); }, v.A, v.dA, v.gA,
      [&] {
        frechet::svd(exec, v.A, v.X, v.w, v.Y);
        frechet::svd_jvp(exec, v.X, v.w, v.Y, v.dA, none, v.dw, none);
      },
      [&] {
        frechet::svd(exec, v.A, v.X, v.w, v.Y);
        frechet::svd_vjp(exec, v.X, v.w, v.Y, none, v.dw, none, v.gA);
      });
  return lines;
}

}  // namespace

void overhead(const std::vector<int>& sizes, std::ostream& out) {
  out << "| problem | n | steps | program, us | calls on Views, us | difference, us | per step, us |\n"
      << "|---|---|---|---|---|---|---|\n";
  for (const int n : sizes)
    for (const Line& line : measure_all(n)) {
      char text[200];
      const double extra = line.time.program_us - line.time.calls_us;
      std::snprintf(text, sizeof text, "| %s | %d | %zu | %.2f | %.2f | %.2f | %.2f |\n", line.name.c_str(), n,
                    line.steps, line.time.program_us, line.time.calls_us, extra,
                    extra / static_cast<double>(line.steps));
      out << text << std::flush;
    }
}

}  // namespace perf
