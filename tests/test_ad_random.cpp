// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random compositions of all operations of AdContext: jvp against central differences, vjp against jvp, hvp against
// differences of vjp, and its symmetry.

#include "support/views.hpp"

#include <gtest/gtest.h>

#include <random>

namespace frechet::test {
namespace {

/// Elementwise functors of a user.
struct Softplus {
  template <class X>
  KOKKOS_FUNCTION auto operator()(const X& x) const {
    return frechet::log(1.0 + frechet::exp(frechet::real(x)));
  }
};
struct OnePlusSoftplus {  // a divisor that is never zero
  template <class X>
  KOKKOS_FUNCTION auto operator()(const X& x) const {
    return 1.0 + Softplus{}(x);
  }
};
struct Complex {
  template <class X, class Y>
  KOKKOS_FUNCTION auto operator()(const X& re, const Y& im) const {
    return re + Kokkos::complex<double>(0, 1) * im;
  }
};
struct Blend {
  double t;
  template <class X, class Y, class W>
  KOKKOS_FUNCTION auto operator()(const X& x, const Y& y, const W& w) const {
    return x * frechet::conj(y) / (2.0 + frechet::abs2(w)) + t * w;
  }
};

/// x o x with rules written by hand.
struct Square {
  template <class E, class X, class Y>
  void operator()(const E& exec, const X& x, const Y& y) const {
    const auto n = static_cast<int>(x.extent(0));
    Kokkos::parallel_for(
        Kokkos::RangePolicy<E>(exec, 0, n * n),
        KOKKOS_LAMBDA(int e) { y(e % n, e / n) = x(e % n, e / n) * x(e % n, e / n); });
  }
};
struct SquareJvp {
  template <class E, class X, class Y, class DY>
  void operator()(const E& exec, const X& x, const Y&, const X& dx, const DY& dy) const {
    const auto n = static_cast<int>(x.extent(0));
    Kokkos::parallel_for(
        Kokkos::RangePolicy<E>(exec, 0, n * n),
        KOKKOS_LAMBDA(int e) { dy(e % n, e / n) = 2.0 * x(e % n, e / n) * dx(e % n, e / n); });
  }
};
struct SquareVjp {
  template <class E, class X, class Y, class GX>
  void operator()(const E& exec, const X& x, const Y&, const Y& gy, const GX& gx) const {
    const auto n = static_cast<int>(x.extent(0));
    Kokkos::parallel_for(
        Kokkos::RangePolicy<E>(exec, 0, n * n),
        KOKKOS_LAMBDA(int e) { gx(e % n, e / n) = 2.0 * frechet::conj(x(e % n, e / n)) * gy(e % n, e / n); });
  }
};

/// A function of two n x n matrices drawn by seed; every value is kept at a size near one.
template <class S>
struct RandomFunction {
  static constexpr int n = 4, kinds = 27;
  unsigned seed;
  int depth;
  bool with_custom;
  mutable std::vector<int> used;

  template <class M>
  static auto promote(const M& x) {  // to the scalar of the composition
    if constexpr (is_complex<S> && !is_complex<typename M::scalar>)
      return map(Complex{}, x, x);
    else
      return x;
  }
  template <class M>
  M apply(int kind, const M& x, const M& y) const {
    const auto safe = [&](const M& a) { return a + 2.5 * (identity(a) + 0.1 * diagonal(diag(triu(tril(y))))); };
    const auto hermitian = [](const M& a) { return a + adjoint(a); };
    switch (kind) {
      case 0:
        return matmul(x, y);
      case 1:
        return x + y;
      case 2:
        return x - y;
      case 3:
        return multiply(x, y);
      case 4:
        return divide(multiply(x, spread(mean(abs2(y)) * mean(y), n, n)), promote(map(OnePlusSoftplus{}, y)));
      case 5:
        return trace(y) * x;
      case 6:
        return norm(y) * x;
      case 7:
        return transpose(x);
      case 8:
        return matmul(adjoint(x), y);
      case 9:
        return conj(x);
      case 10:
        return promote(real(x));
      case 11:
        return multiply(y, promote(imag(x)));
      case 12:
        return promote(abs2(x));
      case 13:
        return multiply(y, spread(mean(x), n, n));
      case 14:
        return diagonal(diag(x)) + y;
      case 15:
        return tril(x) + triu(y, 1);
      case 16:
        return concatenate(0, slice(x, 1, 0, 2, n), slice(y, 0, 0, n - 2, n));
      case 17:
        return concatenate(1, slice(x, 0, 1, n, 3), slice(y, 0, 0, n, n - 3));
      case 18:
        return scatter(slice(x, 1, 1, 2, 3), 0, 1, n, n) + y;
      case 19:
        return map(Blend{0.5}, x, y, x);
      case 20: {
        const auto [w, V] = eigh(hermitian(x));
        const auto column = promote(sin(w));
        return matmul(matmul(V, diagonal(column)), adjoint(V));
      }
      case 21:
        return solve(safe(x), y);
      case 22: {
        const auto f = lu(safe(x));
        return f.L + matmul(f.U, y);
      }
      case 23: {
        const auto f = qr(safe(x));
        return matmul(f.Q, y) + f.R;
      }
      case 24: {
        const auto [U, s, Vh] = svd(safe(x));
        return norm(s) * matmul(U, Vh) + y;
      }
      case 25:
        return sum(x) * sin(x) + exp(0.3 * y) + tanh(0.2 * x) + cos(y) + sqrt(promote(map(Softplus{}, x)));
      default:
        return with_custom ? custom(matrix_shape<S>(n, n), Square{}, SquareJvp{}, SquareVjp{}, x) : multiply(x, x);
    }
  }
  template <class M>
  auto operator()(const M& a, const M& b) const {
    std::mt19937 random(seed);
    std::vector<M> values{a, b};
    for (int d = 0; d < depth; ++d) {
      const int kind = static_cast<int>(random() % kinds);
      used.push_back(kind);
      // Deep rather than wide: the last value always takes part.
      const M next = apply(kind, values.back(), values[random() % values.size()]);
      const auto size = norm(next);
      values.push_back(map(Scaled{}, next, spread(size, n, n)));
    }
    // A vector in the middle, a slice of it, and a loss that sees all.
    const auto v = matmul(values.back(), diag(values[values.size() - 2]));
    const auto tail = concatenate(0, scatter(slice(v, 1, 2), 0, 3), slice(v, 0, 1));
    return inner(values.back(), a) + inner(tail, v) + sum(abs(diag(values.back()) + diag(3.0 * identity(a)))) + norm(v);
  }
  struct Scaled {
    template <class X, class R>
    KOKKOS_FUNCTION auto operator()(const X& x, const R& size) const {
      return 2.0 * x / (1.0 + size);
    }
  };
};

template <class S, class Put>
void expect_random_functions(int programs, const Put& put_input, const char* what) {
  std::vector<int> uses(RandomFunction<S>::kinds, 0);
  int second = 0;
  for (int p = 0; p < programs; ++p) {
    Random random(1000 + p, is_complex<S>);
    const auto inputs = std::tuple(put_input(random), put_input(random));
    const RandomFunction<S> f{static_cast<unsigned>(p), 1 + p % 8, p % 4 == 0, {}};
    AdContext<Exec> ad;
    CheckOptions options;
    options.seed = static_cast<unsigned>(p);
    const DerivativeReport report = check_derivatives(ad, f, inputs, options);
    std::string kinds;
    for (std::size_t k = 0; k < f.used.size() && k < std::size_t(f.depth); ++k) {
      ++uses[std::size_t(f.used[k])];
      kinds += std::to_string(f.used[k]) + " ";
    }
    EXPECT_TRUE(report.ok) << what << ", program " << p << ", operations " << kinds << ": " << report.text;
    second += report.second_order ? 1 : 0;
  }
  for (std::size_t k = 0; k < uses.size(); ++k) EXPECT_GT(uses[k], 0) << "operation " << k << " never drawn";
  EXPECT_GT(second, programs / 2);
  std::printf("[ random   ] %s: %d programs, %d with second order\n", what, programs, second);
}

TEST(RandomCompositions, Real) {
  expect_random_functions<double>(
      240, [](Random& random) { return put<Matrix<double>>(random.well_conditioned(4, 4)); }, "real");
}
TEST(RandomCompositions, Complex) {
  using S = Kokkos::complex<double>;
  expect_random_functions<S>(
      240, [](Random& random) { return put<Matrix<S>>(random.well_conditioned(4, 4)); }, "complex");
}
TEST(RandomCompositions, Batches) {
  expect_random_functions<double>(
      120,
      [](Random& random) {
        return put_batch<double>(stack({random.well_conditioned(4, 4), random.well_conditioned(4, 4)}));
      },
      "batches of two");
}

}  // namespace
}  // namespace frechet::test
