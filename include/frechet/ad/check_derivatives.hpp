// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FRECHET_AD_CHECK_DERIVATIVES_HPP
#define FRECHET_AD_CHECK_DERIVATIVES_HPP

#include <frechet/ad/context.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

namespace frechet {

/// What check_derivatives found. Errors are relative to the size of the terms that make up the compared numbers; zero
/// where these differ by no more than the rounding of the function's value, as derivatives of a constant do.
struct DerivativeReport {
  double jvp_against_differences = 0;  ///< <c, jvp(v)> against a central difference of <c, f>
  double vjp_against_jvp = 0;          ///< <vjp(c), v> against <c, jvp(v)>
  double hvp_against_differences = 0;  ///< <H v, u> against a central difference of <vjp(c), u> along v
  double hvp_asymmetry = 0;            ///< <H v, u> against <H u, v>
  bool second_order = false;           ///< whether the two lines above were computed
  bool ok = false;                     ///< all errors within the tolerances
  std::string text;                    ///< the same, to read
};

/// tight: for the vjp against the jvp and the symmetry of H, loose: for central differences; negative: 1e-9 and 1e-5
/// for double, 1e-3 and 5e-2 for float. step: of the differences, relative to the largest entry of each input.
struct CheckOptions {
  double tight = -1, loose = -1, step = -1;
  unsigned seed = 1;
  bool second_order = true;
};

namespace detail {

template <class V, class F>
void for_each_element(const V& view, const F& f) {
  const auto e = [&](std::size_t r) { return static_cast<int>(r) < static_cast<int>(V::rank()) ? view.extent(r) : 1; };
  for (std::size_t i = 0; i < e(0); ++i)
    for (std::size_t j = 0; j < e(1); ++j)
      for (std::size_t k = 0; k < e(2); ++k) {
        if constexpr (V::rank() == 0)
          f(view());
        else if constexpr (V::rank() == 1)
          f(view(i));
        else if constexpr (V::rank() == 2)
          f(view(i, j));
        else
          f(view(i, j, k));
      }
}

/// Entries of a View, in order of its indices, on the host.
template <class V>
auto entries_of(const V& view) {
  std::vector<typename V::non_const_value_type> entries;
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  for_each_element(host, [&](const auto& x) { entries.push_back(x); });
  return entries;
}
template <class V, class S>
void set_entries(const V& view, const std::vector<S>& entries) {
  const auto host = Kokkos::create_mirror_view(view);
  std::size_t next = 0;
  for_each_element(host, [&](auto& x) { x = entries[next++]; });
  Kokkos::deep_copy(view, host);
}

template <class S>
double inner_product(const std::vector<S>& a, const std::vector<S>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double(real(conj(a[i]) * b[i]));
  return sum;
}
template <class S>
double largest_entry(const std::vector<S>& a) {
  double most = 0;
  for (const S& x : a) most = std::max(most, double(abs(x)));
  return most;
}
template <class S>
double two_norm(const std::vector<S>& a) {
  const double most = largest_entry(a);
  if (!(most > 0) || !std::isfinite(most)) return most;
  double sum = 0;
  for (const S& x : a) sum += std::pow(double(abs(x)) / most, 2);
  return most * std::sqrt(sum);
}

/// Vectors of entries, one for each View of a tuple, as an element of one space.
template <class... S>
struct Point {
  std::tuple<std::vector<S>...> parts;

  static double dot(const Point& a, const Point& b) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((inner_product(std::get<I>(a.parts), std::get<I>(b.parts))) + ... + 0.0);
    }
    (std::index_sequence_for<S...>());
  }
  static double sizes(const Point& a, const Point& b) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((two_norm(std::get<I>(a.parts)) * two_norm(std::get<I>(b.parts))) + ... + 0.0);
    }
    (std::index_sequence_for<S...>());
  }
  /// this + h direction
  Point moved(double h, const Point& direction) const {
    Point to = *this;
    const auto move = [&](auto& x, const auto& d) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<decltype(real(x[i]))>(h) * d[i];
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (move(std::get<I>(to.parts), std::get<I>(direction.parts)), ...);
    }
    (std::index_sequence_for<S...>());
    return to;
  }
};

template <class... V>
auto point_of(const std::tuple<V...>& views) {
  return std::apply(
      [](const auto&... v) {
        return Point<typename std::remove_cvref_t<decltype(view_of(v))>::non_const_value_type...>{
            {entries_of(view_of(v))...}};
      },
      views);
}
template <class... V, class... S>
void set_point(const std::tuple<V...>& views, const Point<S...>& point) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (set_entries(view_of(std::get<I>(views)), std::get<I>(point.parts)), ...);
  }
  (std::index_sequence_for<V...>());
}
/// Random entries, in each part of the size of its largest entry; with `inverse` of one over it, so that sums of their
/// products neither overflow nor vanish.
template <class... S>
Point<S...> random_like(Point<S...> point, std::mt19937& random, bool inverse = false) {
  const auto draw = [&](auto& part) {
    using T = typename std::remove_cvref_t<decltype(part)>::value_type;
    const double most = largest_entry(part), size = inverse ? 1 / most : most;
    std::normal_distribution<double> normal(0, size > 0 && std::isfinite(size) ? size : 1);
    for (auto& x : part) {
      const double re = normal(random), im = normal(random);
      if constexpr (is_complex<T>)
        x = T(static_cast<Real<T>>(re), static_cast<Real<T>>(im));
      else
        x = static_cast<T>(re);
    }
  };
  std::apply([&](auto&... part) { (draw(part), ...); }, point.parts);
  return point;
}

/// f'(0) by central differences over h and h/2, extrapolated: the error is of order h^4.
template <class F>
double difference(const F& f, double h) {
  const double wide = (f(h) - f(-h)) / (2 * h), narrow = (f(h / 2) - f(-h / 2)) / h;
  return (4 * narrow - wide) / 3;
}

/// A View of one's own with the extents of x, in a batch where x is one.
template <class Space, class V>
auto copy_like(const V& x) {
  const auto& view = view_of(x);
  using W = std::remove_cvref_t<decltype(view)>;
  using Own = RankView<typename W::non_const_value_type, static_cast<int>(W::rank()), Kokkos::LayoutRight, Space>;
  std::array<std::size_t, 4> extents{};
  for (std::size_t r = 0; r < W::rank(); ++r) extents[r] = view.extent(r);
  const Own own = new_view<Own>(extents);
  if constexpr (std::is_same_v<V, W>)
    return own;
  else
    return batch(own);
}

}  // namespace detail

/// Compares the derivatives of a user's function with central differences and with each other, along random directions:
///
///   auto report = frechet::check_derivatives(ad, f, std::tie(A, b));
///   if (!report.ok) std::puts(report.text.c_str());
///
/// All inputs are differentiated, all outputs count. For functions that have no derivative at the inputs (a gauge
/// dependent loss, repeated eigenvalues) it fails, as it should. Waits for the device.
template <class Exec, class F, class In>
DerivativeReport check_derivatives(AdContext<Exec>& ad, const F& f, const In& inputs, CheckOptions options = {}) {
  using Space = typename Exec::memory_space;
  const auto views = detail::tuple_of(inputs);
  auto program = ad.vjp_program(f, views);
  const bool precise = !program.has_single_precision();
  if (options.tight < 0) options.tight = precise ? 1e-9 : 1e-3;
  if (options.loose < 0) options.loose = precise ? 1e-5 : 5e-2;
  if (options.step < 0) options.step = precise ? 2e-4 : 2e-2;

  const auto like = [](const auto& tuple) {
    return std::apply([](const auto&... v) { return std::tuple(detail::copy_like<Space>(v)...); }, tuple);
  };
  const auto x = like(views), tangents = like(views), gradients = like(views), products = like(views);
  const auto values = program.new_outputs(), slopes = program.new_outputs(), cotangents = program.new_outputs();

  std::mt19937 random(options.seed);
  const auto at = detail::point_of(views);
  const double h = options.step;
  const auto v = detail::random_like(at, random), u = detail::random_like(at, random);
  const auto fence = [&] { ad.exec().fence("frechet::check_derivatives"); };
  const auto gradient_at = [&](const auto& point) {
    detail::set_point(x, point);
    program(x, values, cotangents, gradients);
    fence();
    return detail::point_of(gradients);
  };
  detail::set_point(x, at);
  program.forward(x, values);
  fence();
  const auto result = detail::point_of(values), c = detail::random_like(result, random, true);
  detail::set_point(cotangents, c);
  const double rounding = 100 * decltype(c)::sizes(c, result) *
                          (precise ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon());
  const auto error = [](double a, double b, double size, double noise) {
    if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
    return std::abs(a - b) <= noise ? 0.0 : std::abs(a - b) / std::max(size, std::max(std::abs(a), std::abs(b)));
  };

  DerivativeReport report;
  detail::set_point(tangents, v);
  ad.jvp_program(f, views)(x, tangents, values, slopes);
  fence();
  const auto moved = detail::point_of(slopes);
  const double slope = decltype(c)::dot(c, moved), size = decltype(c)::sizes(c, moved);
  const auto g = gradient_at(at);
  const double reverse = decltype(g)::dot(g, v);
  report.vjp_against_jvp = error(reverse, slope, std::max(size, decltype(g)::sizes(g, v)), rounding);
  auto value_program = ad.value_program(f, views);
  const auto value_at = [&](double step) {
    detail::set_point(x, at.moved(step, v));
    value_program(x, values);
    fence();
    return decltype(c)::dot(c, detail::point_of(values));
  };
  report.jvp_against_differences =
      error(detail::difference(value_at, h), slope, std::max(size, decltype(g)::sizes(g, v)), rounding / h);

  std::string second = "not asked for";
  if (options.second_order) try {
      auto hvp = ad.hvp_program(f, views);
      const auto product = [&](const auto& direction) {
        detail::set_point(x, at);
        detail::set_point(tangents, direction);
        hvp(x, tangents, none, cotangents, none, products);
        fence();
        return detail::point_of(products);
      };
      const auto hv = product(v), hu = product(u);
      // Where the Hessian is zero but for rounding: relative to what it could be.
      const double scale =
          std::max(1e-3 * decltype(g)::sizes(g, u), std::max(decltype(g)::sizes(hv, u), decltype(g)::sizes(hu, v)));
      const double uhv = decltype(g)::dot(hv, u);
      report.hvp_asymmetry = error(uhv, decltype(g)::dot(hu, v), scale, 100 * rounding);
      const auto slope_at = [&](double step) { return decltype(g)::dot(gradient_at(at.moved(step, v)), u); };
      report.hvp_against_differences = error(detail::difference(slope_at, h), uhv, scale, rounding / h);
      report.second_order = true;
    } catch (const ArgumentError& e) {
      second = e.what();
    }

  report.ok = report.vjp_against_jvp <= options.tight && report.jvp_against_differences <= options.loose &&
              report.hvp_asymmetry <= options.tight && report.hvp_against_differences <= options.loose;
  const auto line = [&](const char* what, double value, double tolerance) {
    char text[160];
    std::snprintf(text, sizeof text, "  %-42s %9.2e  (tolerance %.0e)%s\n", what, value, tolerance,
                  value <= tolerance ? "" : "  FAILED");
    report.text += text;
  };
  report.text = report.ok ? "derivatives agree, relative errors:\n" : "derivatives do not agree, relative errors:\n";
  line("jvp against central differences", report.jvp_against_differences, options.loose);
  line("vjp against jvp", report.vjp_against_jvp, options.tight);
  if (report.second_order) {
    line("hvp against central differences of vjp", report.hvp_against_differences, options.loose);
    line("symmetry of the Hessian", report.hvp_asymmetry, options.tight);
  } else {
    report.text += "  second order: " + second + "\n";
  }
  return report;
}

}  // namespace frechet

#endif
