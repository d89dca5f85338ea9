// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_SRC_AD_TRANSFER_HPP
#define FRECHET_SRC_AD_TRANSFER_HPP

#include <frechet/ad/traced.hpp>

#include "operands.hpp"

// Moving operands whose scalar is known at run time only.

namespace frechet::detail {

template <class F>
void with_scalar(ScalarKind kind, const F& f) {
  switch (kind) {
    case ScalarKind::f32:
      return f(float{});
    case ScalarKind::f64:
      return f(double{});
    case ScalarKind::c64:
      return f(Kokkos::complex<float>{});
    case ScalarKind::c128:
      return f(Kokkos::complex<double>{});
    case ScalarKind::i32:
      return f(int{});
  }
}

template <class Exec, class S, class From, class To>
void transfer_entries(Context<Exec>& ctx, const From& from, const To& to, bool add) {
  const bool zero = !from;
  for_each_pair(
      ctx, "frechet::transfer", to, from, KOKKOS_LAMBDA(int b, int i, int j) {
        const S x = zero ? S(0) : from(b, i, j);
        to(b, i, j) = add ? to(b, i, j) + x : x;
      });
}
/// to = from, or to += from; an absent `from` counts as zero.
template <class Exec, class S>
void transfer(Context<Exec>& ctx, const Strided<const S>& from, const Strided<S>& to, bool add) {
  in_memory_order([&](const auto& y, const auto& x) { transfer_entries<Exec, S>(ctx, x, y, add); }, to, from);
}

template <class Exec>
void transfer(Context<Exec>& ctx, const Operand& from, const Operand& to, Store store) {
  const bool add = store == Store::accumulate;
  if (!to.data || (add && !from.data)) return;
  with_scalar(to.type.scalar, [&](auto scalar) {
    using S = decltype(scalar);
    transfer<Exec, S>(ctx, from.template as<const S>(), to.template as<S>(), add);
  });
}

/// Ones on the diagonal, zeros elsewhere.
template <class Exec, class S>
void set_identity(Context<Exec>& ctx, const Strided<S>& A) {
  for_each_entry(
      ctx, "frechet::identity", A.rows, A.cols, A.count,
      KOKKOS_LAMBDA(int b, int i, int j) { A(b, i, j) = S(i == j ? 1 : 0); });
}

inline Operand packed(const Type& type, void* data) {
  Operand o{type, data};
  o.col_stride = type.rows > 0 ? type.rows : 1;
  o.batch_stride = o.col_stride * type.cols;
  return o;
}

}  // namespace frechet::detail

#endif
