// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "floor.hpp"

#include "context.hpp"
#include "inputs.hpp"

#include <backend.hpp>

#include <algorithm>
#include <memory>

namespace perf {
namespace {

using Exec = frechet::detail::Compiled<Kokkos::DefaultExecutionSpace>;
using Space = Exec::memory_space;
using frechet::detail::Batch;
using View = Kokkos::View<double**, Kokkos::LayoutLeft, Space>;

Batch<double> batch(const View& view) {
  const int rows = static_cast<int>(view.extent(0)), cols = static_cast<int>(view.extent(1));
  return {view.data(), rows, cols, rows, 1, std::int64_t(rows) * cols};
}

/// Memory of one closure; the library's own scratch comes from its Context, as in a rule.
struct Workspace {
  Exec exec;
  frechet::detail::Context<Exec> ctx{exec};
  View A, work, U, V, w;
  Kokkos::View<int*, Space> pivots, info;

  explicit Workspace(int n)
      : A("A", n, n),
        work("work", n, n),
        U("U", n, n),
        V("V", n, n),
        w("w", n, 1),
        pivots("pivots", n),
        info("info", 1) {
    const auto host = Kokkos::create_mirror_view(A);
    const Matrix G = gaussian(n, n, 7);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        host(i, j) = G[static_cast<std::size_t>(std::max(i, j)) * static_cast<std::size_t>(n) +
                       static_cast<std::size_t>(std::min(i, j))];
    Kokkos::deep_copy(A, host);
  }
};

}  // namespace

const char* name(Factorisation kind) {
  switch (kind) {
    case Factorisation::eigh:
      return "heevd";
    case Factorisation::lu:
      return "getrf";
    case Factorisation::qr:
      return "geqrf+ungqr";
    default:
      return "gesvd";
  }
}

std::function<void()> factorisation(Factorisation kind, int n) {
  using namespace frechet::backend;
  const auto s = std::make_shared<Workspace>(n);
  return [s, kind, n] {
    Kokkos::deep_copy(s->exec, s->work, s->A);
    const auto work = batch(s->work);
    switch (kind) {
      case Factorisation::eigh:
        heevd<Exec, double>(s->ctx, true, work, batch(s->w), s->info.data(), frechet::Driver::automatic);
        break;
      case Factorisation::lu:
        getrf<Exec, double>(s->ctx, work, s->pivots.data(), s->info.data(), frechet::Driver::automatic);
        break;
      case Factorisation::qr:
        geqrf<Exec, double>(s->ctx, work, s->w.data(), frechet::Driver::automatic);
        ungqr<Exec, double>(s->ctx, work, n, s->w.data(), frechet::Driver::automatic);
        break;
      case Factorisation::svd:
        gesvd<Exec, double>(s->ctx, work, batch(s->U), batch(s->w), batch(s->V), s->info.data(),
                            frechet::Driver::automatic);
        break;
    }
    s->exec.fence("frechet_perf");
  };
}

std::function<void()> product(int n) {
  const auto s = std::make_shared<Workspace>(n);
  return [s] {
    frechet::backend::gemm<Exec, double>(s->ctx, frechet::Op::none, frechet::Op::none, 1.0, batch(s->A), batch(s->A),
                                         0.0, batch(s->work));
    s->exec.fence("frechet_perf");
  };
}

}  // namespace perf
