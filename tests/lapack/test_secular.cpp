// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <lapack/secular.hpp>

#include <cstdio>
#include <random>
#include <vector>

// The secular equation alone, on poles and weights that no matrix of a test would lead to: gaps and weights down to the
// least that deflation leaves over.

namespace frechet::backend::lapack {
namespace {

template <class T>
class Hard {
 public:
  explicit Hard(bool squares) : squares_(squares) {}

  void make(std::vector<T>& d, std::vector<T>& w) {
    const int k = 1 + static_cast<int>(generator_() % 40), gaps = static_cast<int>(generator_() % 5),
              weights = static_cast<int>(generator_() % 4);
    d.resize(static_cast<std::size_t>(k));
    w.resize(d.size());
    const double least_weight = 64 * eps * eps;
    double x = squares_ ? 0 : -1;
    for (std::size_t i = 0; i < d.size(); ++i) {
      d[i] = static_cast<T>(x);
      if (i > 0 && !(d[i] > d[i - 1])) d[i] = std::nextafter(d[i - 1], T(10));
      const double u = uniform();
      const double gap = gaps == 0   ? u
                         : gaps == 1 ? std::pow(10, -14 * u)
                         : gaps == 2 ? (u < 0.5 ? 8 * eps : 1)
                         : gaps == 3 ? std::pow(10, -3 * u)
                                     : 16 * eps;
      x += std::max(gap / k, 8 * eps * std::max(1.0, std::abs(x)));
      const double v = uniform();
      w[i] = static_cast<T>(std::max(least_weight, weights == 0   ? v
                                                   : weights == 1 ? std::pow(least_weight, v)
                                                   : weights == 2 ? least_weight
                                                                  : 1));
    }
    if (squares_ && k > 2 && gaps == 2) d[1] = static_cast<T>(4 * eps);
  }

 private:
  static constexpr double eps = std::numeric_limits<T>::epsilon();
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(generator_); }
  bool squares_;
  std::mt19937_64 generator_{7};
};

template <bool Squares, class T>
void check() {
  Hard<T> hard(Squares);
  std::vector<T> d, w, column;
  int roots = 0;
  double worst = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    hard.make(d, w);
    const int k = static_cast<int>(d.size());
    column.resize(d.size());
    const Secular<Squares, T> secular(k, d.data(), w.data());
    for (int j = 0; j < k; ++j, ++roots) {
      int p = -1;
      T mu = 0;
      ASSERT_TRUE(secular.root(j, column.data(), p, mu)) << "trial " << trial << " root " << j;
      ASSERT_TRUE(p == j || p == j + 1);
      long double f = 1, size = 1;
      for (int i = 0; i < k; ++i) {
        const T x = column[static_cast<std::size_t>(i)];
        ASSERT_TRUE(i <= j ? x < 0 : x > 0) << "trial " << trial << " root " << j << ": not between its poles";
        const long double term = static_cast<long double>(w[static_cast<std::size_t>(i)]) / x;
        f += term;
        size += std::abs(term);
      }
      worst = std::max(worst, static_cast<double>(std::abs(f) / size) / std::numeric_limits<T>::epsilon() / k);
    }
  }
  std::printf("[ secular  ] %d roots, largest residual %.2f k eps sum |w / (D - lambda)|\n", roots, worst);
  EXPECT_LT(worst, 10);
  EXPECT_GT(roots, 50000);
}

TEST(Secular, RootsOfHardEquations) {
  check<false, double>();
  check<true, double>();
  check<false, float>();
  check<true, float>();
}

}  // namespace
}  // namespace frechet::backend::lapack
