// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_VIEWS_HPP
#define FRECHET_TESTS_SUPPORT_VIEWS_HPP

#include <frechet/frechet.hpp>

#include "dense.hpp"

#include <string>

// Between Dense and Views in the default execution space.

namespace frechet::test {

using Exec = Kokkos::DefaultExecutionSpace;
using Compiled = detail::Compiled<Exec>;  // of traced values
using Space = Exec::memory_space;
template <class S>
using Matrix = Kokkos::View<S**, Kokkos::LayoutLeft, Space>;
template <class S>
using Vector = Kokkos::View<S*, Kokkos::LayoutLeft, Space>;
/// Matrices of a batch, batch index first.
template <class S>
using Matrices = Kokkos::View<S***, Kokkos::LayoutRight, Space>;

template <class S>
S scalar_of(const Z& z) {
  if constexpr (is_complex<S>)
    return S(z.real(), z.imag());
  else
    return S(z.real());
}

template <class V>
V put(const Dense& A) {
  using S = typename V::value_type;
  V view;
  if constexpr (V::rank() == 1)
    view = V("test", A.rows);
  else
    view = V("test", A.rows, A.cols);
  const auto host = Kokkos::create_mirror_view(view);
  for (int j = 0; j < A.cols; ++j)
    for (int i = 0; i < A.rows; ++i) {
      if constexpr (V::rank() == 1)
        host(i) = scalar_of<S>(A(i, j));
      else
        host(i, j) = scalar_of<S>(A(i, j));
    }
  Kokkos::deep_copy(view, host);
  return view;
}

template <class V>
Dense fetch(const V& view) {
  Kokkos::fence();
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  Dense A(V::rank() > 0 ? int(view.extent(0)) : 1, V::rank() > 1 ? int(view.extent(1)) : 1);
  for (int j = 0; j < A.cols; ++j)
    for (int i = 0; i < A.rows; ++i) {
      if constexpr (V::rank() == 0)
        A(i, j) = Z(Kokkos::real(host()), Kokkos::imag(host()));
      else if constexpr (V::rank() == 1)
        A(i, j) = Z(Kokkos::real(host(i)), Kokkos::imag(host(i)));
      else
        A(i, j) = Z(Kokkos::real(host(i, j)), Kokkos::imag(host(i, j)));
    }
  return A;
}
template <class V>
double number(const V& view) {
  return fetch(view)(0).real();
}

template <class S>
Matrices<S> put_batch(const Dense& A) {
  const Matrices<S> view("test", A.count, A.rows, A.cols);
  const auto host = Kokkos::create_mirror_view(view);
  for (int b = 0; b < A.count; ++b)
    for (int i = 0; i < A.rows; ++i)
      for (int j = 0; j < A.cols; ++j) host(b, i, j) = scalar_of<S>(A(b, i, j));
  Kokkos::deep_copy(view, host);
  return view;
}
template <class V>
Dense fetch_batch(const V& view) {
  Kokkos::fence();
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  Dense A(int(view.extent(0)), V::rank() > 1 ? int(view.extent(1)) : 1, V::rank() > 2 ? int(view.extent(2)) : 1);
  for (int b = 0; b < A.count; ++b)
    for (int i = 0; i < A.rows; ++i)
      for (int j = 0; j < A.cols; ++j) {
        if constexpr (V::rank() == 1)
          A(b, i, j) = Z(Kokkos::real(host(b)), Kokkos::imag(host(b)));
        else if constexpr (V::rank() == 2)
          A(b, i, j) = Z(Kokkos::real(host(b, i)), Kokkos::imag(host(b, i)));
        else
          A(b, i, j) = Z(Kokkos::real(host(b, i, j)), Kokkos::imag(host(b, i, j)));
      }
  return A;
}

/// What the ArgumentError of f() says.
template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const ArgumentError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace frechet::test

#endif
