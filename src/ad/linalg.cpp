// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <frechet/ad/linalg.hpp>

#include "instantiate.hpp"
#include "operands.hpp"
#include "ruled.hpp"
#include "rules.hpp"

// The decompositions and solves as operations of a graph: which operand goes where, and what the rules read.

namespace frechet::detail {
namespace {

/// The caller's options with the diagnosis of this call, and in vjp how to store.
template <class Options, class Exec>
Options with(Options options, const Call<Exec>& call, Store store = Store::overwrite) {
  options.diagnostics = DiagnosticsTarget{};
  options.diagnostics.data = call.diagnosis;
  options.diagnostics.extent = static_cast<std::size_t>(call.diagnoses);
  options.store = store;
  return options;
}

constexpr unsigned bit(int i) { return 1U << static_cast<unsigned>(i); }

/// Outputs w, V.
template <class Exec, class S>
struct Eigh final : Ruled<Exec, S, Eigh<Exec, S>> {
  using R = Real<S>;
  EighOptions options;
  explicit Eigh(const EighOptions& o) : options(o) {}
  const char* name() const override { return "eigh"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {0, bit(0) | bit(1)}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {0, bit(0) | bit(1)}; }
  void value(const Call<Exec>& c) const override {
    eigh<Exec, S>(c.ctx, c.template in<S>(0), c.template out<R>(0), c.template out<S>(1), with(options, c));
  }
  void jvp(const Call<Exec>& c) const override {
    eigh_jvp<Exec, S>(c.ctx, c.template out<R>(0), c.template out<S>(1), c.template din<S>(0), c.template dout<R>(0),
                      c.template dout<S>(1), with(options, c));
  }
  bool adapts() const override { return true; }
  void adapt(const Call<Exec>& c) const override {
    eigh_adapt<Exec, S>(c.ctx, c.template out<R>(0), c.template out<S>(1), c.template din<S>(0), with(options, c));
  }
  template <class T>
  void pull(const Call<Exec>& c) const {
    using P = Real<T>;
    eigh_vjp<Exec, T>(c.ctx, c.template out<P>(0), c.template out<T>(1), c.template gout<P>(0), c.template gout<T>(1),
                      c.template gin<T>(0), with(options, c, c.store(0)));
  }
};

/// Outputs U, s, Vh.
template <class Exec, class S>
struct Svd final : Ruled<Exec, S, Svd<Exec, S>> {
  using R = Real<S>;
  SvdOptions options;
  explicit Svd(const SvdOptions& o) : options(o) {}
  const char* name() const override { return "svd"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {0, bit(0) | bit(1) | bit(2)}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {0, bit(0) | bit(1) | bit(2)}; }
  void value(const Call<Exec>& c) const override {
    svd<Exec, S>(c.ctx, c.template in<S>(0), c.template out<S>(0), c.template out<R>(1), c.template out<S>(2),
                 with(options, c));
  }
  void jvp(const Call<Exec>& c) const override {
    svd_jvp<Exec, S>(c.ctx, c.template out<S>(0), c.template out<R>(1), c.template out<S>(2), c.template din<S>(0),
                     c.template dout<S>(0), c.template dout<R>(1), c.template dout<S>(2), with(options, c));
  }
  bool adapts() const override { return true; }
  void adapt(const Call<Exec>& c) const override {
    svd_adapt<Exec, S>(c.ctx, c.template out<S>(0), c.template out<R>(1), c.template out<S>(2), c.template din<S>(0),
                       with(options, c));
  }
  template <class T>
  void pull(const Call<Exec>& c) const {
    using P = Real<T>;
    svd_vjp<Exec, T>(c.ctx, c.template out<T>(0), c.template out<P>(1), c.template out<T>(2), c.template gout<T>(0),
                     c.template gout<P>(1), c.template gout<T>(2), c.template gin<T>(0), with(options, c, c.store(0)));
  }
};

/// Outputs Q, R.
template <class Exec, class S>
struct Qr final : Ruled<Exec, S, Qr<Exec, S>> {
  QrOptions options;
  explicit Qr(const QrOptions& o) : options(o) {}
  const char* name() const override { return "qr"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {0, bit(0) | bit(1)}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {0, bit(0) | bit(1)}; }
  void value(const Call<Exec>& c) const override {
    qr<Exec, S>(c.ctx, c.template in<S>(0), c.template out<S>(0), c.template out<S>(1), with(options, c));
  }
  void jvp(const Call<Exec>& c) const override {
    qr_jvp<Exec, S>(c.ctx, c.template out<S>(0), c.template out<S>(1), c.template din<S>(0), c.template dout<S>(0),
                    c.template dout<S>(1), with(options, c));
  }
  template <class T>
  void pull(const Call<Exec>& c) const {
    qr_vjp<Exec, T>(c.ctx, c.template out<T>(0), c.template out<T>(1), c.template gout<T>(0), c.template gout<T>(1),
                    c.template gin<T>(0), with(options, c, c.store(0)));
  }
};

/// Outputs L, U, perm.
template <class Exec, class S>
struct Lu final : Ruled<Exec, S, Lu<Exec, S>> {
  LuOptions options;
  explicit Lu(const LuOptions& o) : options(o) {}
  const char* name() const override { return "lu"; }
  Reads jvp_reads(unsigned, unsigned) const override { return {0, bit(0) | bit(1) | bit(2)}; }
  Reads vjp_reads(unsigned, unsigned) const override { return {0, bit(0) | bit(1) | bit(2)}; }
  void value(const Call<Exec>& c) const override {
    lu<Exec, S>(c.ctx, c.template in<S>(0), c.template out<S>(0), c.template out<S>(1), c.template out<int>(2),
                with(options, c));
  }
  void jvp(const Call<Exec>& c) const override {
    lu_jvp<Exec, S>(c.ctx, c.template out<S>(0), c.template out<S>(1), c.template out<int>(2), c.template din<S>(0),
                    c.template dout<S>(0), c.template dout<S>(1), with(options, c));
  }
  template <class T>
  void pull(const Call<Exec>& c) const {
    lu_vjp<Exec, T>(c.ctx, c.template out<T>(0), c.template out<T>(1), c.template out<int>(2), c.template gout<T>(0),
                    c.template gout<T>(1), c.template gin<T>(0), with(options, c, c.store(0)));
  }
};

/// Inputs A, B; outputs X, and for the rules the factorisation LU, perm.
template <class Exec, class S>
struct Solve final : Ruled<Exec, S, Solve<Exec, S>> {
  SolveOptions options;
  explicit Solve(const SolveOptions& o) : options(o) {}
  const char* name() const override { return "solve"; }
  Reads jvp_reads(unsigned din, unsigned) const override { return {0, (din & bit(0)) | bit(1) | bit(2)}; }
  Reads vjp_reads(unsigned, unsigned din) const override { return {0, (din & bit(0)) | bit(1) | bit(2)}; }
  void value(const Call<Exec>& c) const override {
    solve<Exec, S>(c.ctx, c.template in<S>(0), c.template in<S>(1), c.template out<S>(0), c.template out<S>(1),
                   c.template out<int>(2), with(options, c));
  }
  void jvp(const Call<Exec>& c) const override {
    solve_jvp<Exec, S>(c.ctx, c.template out<S>(1), c.template out<int>(2), c.template out<S>(0), c.template din<S>(0),
                       c.template din<S>(1), c.template dout<S>(0), with(options, c));
  }
  /// The factors move with A: see solve_vjp in rules.hpp.
  Reads hvp_reads(unsigned, unsigned gin) const override { return {bit(0), gin & bit(0)}; }
  template <class T>
  void pull(const Call<Exec>& c) const {
    const auto gA = c.template gin<T>(0), gB = c.template gin<T>(1);
    // One option for both gradients: where only one of them adds, the other starts from zero.
    const bool add = (gA && c.store(0) == Store::accumulate) || (gB && c.store(1) == Store::accumulate);
    for (int i = 0; i < 2 && add; ++i)
      if (c.store(i) == Store::overwrite) Output<Exec, T>(c.ctx, i == 0 ? gA : gB).commit_zero();
    solve_vjp<Exec, T>(c.ctx, factors<T>(c), c.template out<int>(2), c.template out<T>(0), c.template gout<T>(0), gA,
                       gB, with(options, c, add ? Store::accumulate : Store::overwrite));
  }
  template <class T>
  static Strided<const T> factors(const Call<Exec>& c) {
    if constexpr (is_dual<T>)
      return {c.outs[1].template as<const S>(), c.dins[0].template as<const S>()};
    else
      return c.template out<S>(1);
  }
};

}  // namespace

template <class Exec, class S>
OperationPtr<Exec> eigh_operation(const EighOptions& options) {
  return std::make_shared<const Eigh<Exec, S>>(options);
}
template <class Exec, class S>
OperationPtr<Exec> svd_operation(const SvdOptions& options) {
  return std::make_shared<const Svd<Exec, S>>(options);
}
template <class Exec, class S>
OperationPtr<Exec> qr_operation(const QrOptions& options) {
  return std::make_shared<const Qr<Exec, S>>(options);
}
template <class Exec, class S>
OperationPtr<Exec> lu_operation(const LuOptions& options) {
  return std::make_shared<const Lu<Exec, S>>(options);
}
template <class Exec, class S>
OperationPtr<Exec> solve_operation(const SolveOptions& options) {
  return std::make_shared<const Solve<Exec, S>>(options);
}

#define FRECHET_LINALG(EXEC, S)                                            \
  template OperationPtr<EXEC> eigh_operation<EXEC, S>(const EighOptions&); \
  template OperationPtr<EXEC> svd_operation<EXEC, S>(const SvdOptions&);   \
  template OperationPtr<EXEC> qr_operation<EXEC, S>(const QrOptions&);     \
  template OperationPtr<EXEC> lu_operation<EXEC, S>(const LuOptions&);     \
  template OperationPtr<EXEC> solve_operation<EXEC, S>(const SolveOptions&);
FRECHET_FOR_EACH_SCALAR(FRECHET_LINALG)

}  // namespace frechet::detail
