// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tune.hpp"

#include <frechet/frechet.hpp>

#include "context.hpp"
#include "inputs.hpp"

#include <backend.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <ostream>
#include <string>

namespace perf {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using frechet::Driver;
using frechet::backend::Operation;

constexpr int batches[] = {1, 8, 128};
constexpr double most_entries = 1 << 24;  // of a batch

template <class S>
using Matrices = Kokkos::View<S***, Kokkos::LayoutRight, Exec::memory_space>;

template <class S>
struct Operands {
  Exec exec;
  Matrices<S> A, X, Y, Z;
  Kokkos::View<frechet::Real<S>**, Kokkos::LayoutRight, Exec::memory_space> values;
  Kokkos::View<int**, Kokkos::LayoutRight, Exec::memory_space> perm;
  frechet::Diagnostics<Exec::memory_space> diagnostics;

  Operands(int n, int count)
      : A("A", count, n, n),
        X("X", count, n, n),
        Y("Y", count, n, n),
        Z("Z", count, n, n),
        values("values", count, n),
        perm("perm", count, n),
        diagnostics("diagnostics", count) {
    const auto host = Kokkos::create_mirror_view(A);
    const Matrix G = gaussian(n, n, 11);
    for (int b = 0; b < count; ++b)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
          host(b, i, j) = static_cast<S>(
              G[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)]);
    Kokkos::deep_copy(A, host);
  }

  void run(Operation operation, Driver driver) {
    const frechet::DiagnosticsTarget d = diagnostics;
    if (operation == Operation::eigh) frechet::eigh(exec, A, values, X, {.driver = driver, .diagnostics = d});
    if (operation == Operation::svd) frechet::svd(exec, A, X, values, Y, {.driver = driver, .diagnostics = d});
    if (operation == Operation::lu) frechet::lu(exec, A, X, Y, perm, {.driver = driver, .diagnostics = d});
    if (operation == Operation::qr) frechet::qr(exec, A, X, Y, {.driver = driver, .diagnostics = d});
    exec.fence("frechet_perf");
  }
  /// Whether the driver itself, without a fallback, found an answer.
  bool fine() const {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), diagnostics);
    for (std::size_t b = 0; b < host.extent(0); ++b)
      if (!frechet::explain(host(b)).empty() || host(b).fallback != 0) return false;
    return true;
  }
};

/// Median of a few runs, in seconds; only the first one where it takes much longer than `other`.
double time_of(const std::function<void()>& f, double other) {
  const auto once = [&f] {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    f();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  if (const double first = once(); first > 4 * other) return first;
  std::vector<double> times(5);
  for (double& t : times) t = once();
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

template <class S>
Driver fastest(Operation operation, int n, int count, std::ostream& out) {
  const auto& table = frechet::backend::drivers<frechet::detail::Compiled<Exec>>();
  Operands<S> operands(n, count);
  Driver best = Driver::automatic;
  double least = std::numeric_limits<double>::infinity();
  for (int d = 1; d < frechet::driver_count; ++d) {
    const auto driver = static_cast<Driver>(d);
    if (!table.offers(operation, driver)) continue;
    if (driver == Driver::reference && n > 128) continue;  // one team per matrix
    const double t = time_of([&] { operands.run(operation, driver); }, least);
    const bool fine = operands.fine();
    out << "# " << name(operation) << " n " << n << " batch " << count << ": " << name(driver) << " " << 1e3 * t
        << " ms" << (fine ? "" : ", FAILED") << std::endl;
    if (fine && t < least) {
      least = t;
      best = driver;
    }
  }
  return best;
}

template <class S>
void tune(Operation operation, const char* scalar, const std::vector<int>& sizes, std::ostream& out) {
  std::string lines;
  for (const int count : batches) {
    const std::string batch = count == batches[std::size(batches) - 1] ? "*" : std::to_string(count);
    Driver before = Driver::automatic;
    int upto = 0;
    const auto line = [&](const std::string& n) {
      if (before != Driver::automatic)
        lines += std::string(name(operation)) + " " + scalar + " " + n + " " + batch + " " + name(before) + "\n";
    };
    for (const int n : sizes) {
      if (count > 1 && double(n) * n * count > most_entries) break;
      const Driver now = fastest<S>(operation, n, count, out);
      if (now != before) line(std::to_string(upto));
      before = now;
      upto = n;
    }
    line(count == 1 ? "*" : std::to_string(upto));
  }
  out << lines;
}

}  // namespace

void tune(const std::vector<int>& sizes, std::ostream& out) {
  out << "# FRECHET_DRIVERS=@<this file>; backend " << frechet::backend::name<frechet::detail::Compiled<Exec>>()
      << "\n";
  for (const Operation operation : {Operation::eigh, Operation::svd, Operation::lu, Operation::qr}) {
    tune<double>(operation, "f64", sizes, out);
    tune<float>(operation, "f32", sizes, out);
    tune<Kokkos::complex<double>>(operation, "c128", sizes, out);
    tune<Kokkos::complex<float>>(operation, "c64", sizes, out);
  }
}

}  // namespace perf
