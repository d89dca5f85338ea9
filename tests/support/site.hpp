// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_TESTS_SUPPORT_SITE_HPP
#define FRECHET_TESTS_SUPPORT_SITE_HPP

#include "calls.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>

namespace frechet::test {

template <class T>
T from_dense(const Z& z) {
  if constexpr (is_complex<T>)
    return T(static_cast<Real<T>>(z.real()), static_cast<Real<T>>(z.imag()));
  else
    return static_cast<T>(z.real());
}
template <class T>
Z to_dense(const T& x) {
  if constexpr (is_complex<T>)
    return Z(x.real(), x.imag());
  else
    return Z(x);
}

/// Where the entries of a batch lie in a buffer that has room before, between and after them.
struct Placement {
  std::int64_t batch = 0, row = 0, col = 0, offset = 0, size = 0;
  std::int64_t at(int b, int i, int j) const { return offset + b * batch + i * row + j * col; }
};
Placement place(Form form, const Dense& shape);

/// A buffer in Memory with the entries of a Dense; all other elements hold a mark.
template <class T, class Memory>
class Buffer {
 public:
  Buffer(Form form, const Dense& content) : shape_(content), placement_(place(form, content)) {
    device_ = Kokkos::View<T*, Memory>("frechet::test", placement_.size);
    std::vector<T> host(placement_.size, mark());
    each([&](int b, int i, int j) { host[placement_.at(b, i, j)] = from_dense<T>(content(b, i, j)); });
    Kokkos::deep_copy(device_, Host(host.data(), host.size()));
  }

  T* data() const { return device_.data() + placement_.offset; }
  const Placement& placement() const { return placement_; }

  /// The entries now; fails the test where a mark has changed.
  Dense read() {
    std::vector<T> host(placement_.size);
    Kokkos::deep_copy(Host(host.data(), host.size()), device_);
    each([&](int b, int i, int j) {
      T& x = host[placement_.at(b, i, j)];
      shape_(b, i, j) = to_dense(x);
      x = mark();
    });
    std::size_t changed = 0;
    for (const T& x : host) changed += !(x == mark());
    EXPECT_EQ(changed, 0u) << "elements beside an output were written";
    return shape_;
  }

 private:
  using Host = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static T mark() { return T(-12345); }

  template <class F>
  void each(const F& f) const {
    for (int b = 0; b < shape_.count; ++b)
      for (int j = 0; j < shape_.cols; ++j)
        for (int i = 0; i < shape_.rows; ++i) f(b, i, j);
  }

  Dense shape_;
  Placement placement_;
  Kokkos::View<T*, Memory> device_;
};

/// Makes the Views of one call, of one scalar, execution space, layout and rank.
template <class S, class Exec, class Layout, bool batched>
class Site {
 public:
  using Memory = typename Exec::memory_space;
  template <class T, int rank>
  using ViewOf = Kokkos::View<std::conditional_t<rank == 1, T*, std::conditional_t<rank == 2, T**, T***>>, Layout,
                              Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  template <class T>
  using Matrix = ViewOf<T, batched ? 3 : 2>;
  template <class T>
  using Vector = ViewOf<T, batched ? 2 : 1>;

  Site(const Flavour& flavour, int count) : flavour_(flavour), count_(count), diagnostics_("frechet::test", count) {}

  Exec exec;

  Matrix<const S> matrix(Opt A) { return A ? view<Matrix<const S>>(keep<S>(*A), *A) : Matrix<const S>(); }
  Vector<const Real<S>> vector(Opt v) {
    return v ? view<Vector<const Real<S>>>(keep<Real<S>>(*v), *v) : Vector<const Real<S>>();
  }
  Vector<const int> indices(const Dense& v) { return view<Vector<const int>>(keep<int>(v), v); }

  /// An output: `to` becomes what the library writes. Absent where not wanted.
  Matrix<S> matrix(Dense& to, bool wanted, int rows, int cols, Opt start = nullptr) {
    return output<S, Matrix<S>>(to, wanted, rows, cols, start);
  }
  Vector<Real<S>> vector(Dense& to, bool wanted, int rows) {
    return output<Real<S>, Vector<Real<S>>>(to, wanted, rows, 1, nullptr);
  }
  Vector<int> indices(Dense& to, bool wanted, int rows) {
    return output<int, Vector<int>>(to, wanted, rows, 1, nullptr);
  }

  DiagnosticsTarget diagnostics() const {
    return flavour_.diagnose ? DiagnosticsTarget(diagnostics_) : DiagnosticsTarget{};
  }

  /// Brings all outputs home.
  void finish(Diagnoses& diagnoses) {
    exec.fence();
    for (const auto& read : readers_) read();
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), diagnostics_);
    diagnoses.assign(host.data(), host.data() + host.extent(0));
  }

 private:
  template <class T>
  Buffer<T, Memory>& keep(const Dense& A) {
    auto buffer = std::make_shared<Buffer<T, Memory>>(flavour_.form, A);
    keep_.push_back(buffer);
    return *buffer;
  }

  template <class T, class V>
  V output(Dense& to, bool wanted, int rows, int cols, Opt start) {
    to = Dense(count_, rows, cols, batched);
    if (!wanted) return V();
    const double nothing = std::is_integral_v<T> ? -7 : std::numeric_limits<double>::quiet_NaN();
    for (Z& z : to.data) z = Z(nothing, nothing);
    if (start) to = *start;
    auto& buffer = keep<T>(to);
    readers_.push_back([&buffer, &to] { to = buffer.read(); });
    return view<V>(buffer, to);
  }

  template <class V, class B>
  V view(const B& buffer, const Dense& shape) const {
    constexpr bool strided = std::is_same_v<Layout, Kokkos::LayoutStride>;
    const Placement& p = buffer.placement();
    const std::size_t b = shape.count, m = shape.rows, n = shape.cols;
    if constexpr (V::rank() == 1) {
      if constexpr (strided)
        return V(buffer.data(), Kokkos::LayoutStride(m, p.row));
      else
        return V(buffer.data(), m);
    } else if constexpr (V::rank() == 2 && batched) {
      if constexpr (strided)
        return V(buffer.data(), Kokkos::LayoutStride(b, p.batch, m, p.row));
      else
        return V(buffer.data(), b, m);
    } else if constexpr (V::rank() == 2) {
      if constexpr (strided)
        return V(buffer.data(), Kokkos::LayoutStride(m, p.row, n, p.col));
      else
        return V(buffer.data(), m, n);
    } else {
      if constexpr (strided)
        return V(buffer.data(), Kokkos::LayoutStride(b, p.batch, m, p.row, n, p.col));
      else
        return V(buffer.data(), b, m, n);
    }
  }

  Flavour flavour_;
  int count_;
  Diagnostics<Memory> diagnostics_;
  std::deque<std::shared_ptr<void>> keep_;
  std::vector<std::function<void()>> readers_;
};

/// f(site) with the Site for a flavour and the batch of A. To keep compile times low only two scalars have a View type
/// for each layout; the others say the same in strides.
template <class F>
void on_site(const Flavour& flavour, const Dense& A, const F& f) {
  const auto with_layout = [&]<class S, class Exec, class Layout>() {
    if (A.batched)
      f(Site<S, Exec, Layout, true>(flavour, A.count));
    else
      f(Site<S, Exec, Layout, false>(flavour, A.count));
  };
  using Default = Kokkos::DefaultExecutionSpace;
  const auto with_strides = [&]<class S>() {
    if (flavour.serial) throw std::logic_error("test: Serial goes with f64 and c64");
    with_layout.template operator()<S, Default, Kokkos::LayoutStride>();
  };
  const auto with_each_layout = [&]<class S>() {
#ifdef KOKKOS_ENABLE_SERIAL
    if (flavour.serial) {
      if (flavour.form != Form::left) throw std::logic_error("test: Serial goes with Form::left");
      return with_layout.template operator()<S, Kokkos::Serial, Kokkos::LayoutLeft>();
    }
#endif
    if (flavour.form == Form::left)
      with_layout.template operator()<S, Default, Kokkos::LayoutLeft>();
    else if (flavour.form == Form::right)
      with_layout.template operator()<S, Default, Kokkos::LayoutRight>();
    else
      with_layout.template operator()<S, Default, Kokkos::LayoutStride>();
  };
  switch (flavour.scalar) {
    case Scalar::f32:
      return with_strides.template operator()<float>();
    case Scalar::f64:
      return with_each_layout.template operator()<double>();
    case Scalar::c64:
      return with_each_layout.template operator()<Kokkos::complex<float>>();
    case Scalar::c128:
      return with_strides.template operator()<Kokkos::complex<double>>();
  }
}

}  // namespace frechet::test

#endif
