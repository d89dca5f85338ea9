// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fitting a Gaussian process: the log marginal likelihood of the diabetes data set, its gradient and a Hessian-vector
// product with respect to the logarithms of the three parameters of the kernel
//
//   K_ij = variance exp(-|x_i - x_j|^2 / (2 length_scale^2)) + noise delta_ij
//
//   log p(y | X) = - y^T K^-1 y / 2 - log det K / 2 - n/2 log(2 pi)

#include "support.hpp"

#include <tuple>

using namespace example;

namespace {

/// The part of log p(y | X) that depends on the parameters, as a traced function. D holds |x_i - x_j|^2. The operations
/// are those of namespace frechet: they are found through the traced arguments.
struct LogLikelihood {
  template <class S, class M, class V>
  auto operator()(S log_variance, S log_length_scale, S log_noise, M D, V y) const {
    const auto correlation = exp(exp(-2.0 * log_length_scale) * (-0.5 * D));
    const auto K = exp(log_variance) * correlation + exp(log_noise) * identity(D);
    const auto U = lu(K).U;
    const auto log_det = sum(log(abs(diag(U))));  // K = P L U with |det P| = det L = 1
    return -0.5 * (inner(y, solve(K, y)) + log_det);
  }
};

Scalar scalar(double x) {
  Scalar view("scalar");
  view() = x;
  return view;
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const std::string data = data_directory(argc, argv);
  const int n = 442, features = 10;
  const Matrix X = read_table(data + "/diabetes_X.txt", n, features), D("D", n, n);
  const auto y = Kokkos::subview(read_table(data + "/diabetes_y.txt", n, 1), Kokkos::ALL, 0);  // any layout will do
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < features; ++k) D(i, j) += (X(i, k) - X(j, k)) * (X(i, k) - X(j, k));

  const LogLikelihood f;
  const Scalar variance = scalar(std::log(1.3)), length_scale = scalar(std::log(0.11)), noise = scalar(std::log(0.4));
  const auto inputs = std::tie(variance, length_scale, noise, D, y);
  const auto parameters = frechet::wrt(0, 1, 2);  // the data are constants
  frechet::AdContext ad{Exec()};
  Checks check;

  std::printf("log marginal likelihood of the diabetes data, against scikit-learn\n");
  // From GaussianProcessRegressor.log_marginal_likelihood(eval_gradient=True), at these parameters.
  const auto [value, gradient] = ad.value_and_grad(f, inputs, parameters);
  const double log_2_pi = std::log(8 * std::atan(1.0));
  check("log p", value() - n * log_2_pi / 2, -521.2898583331227, 1e-10);
  check("d log p / d log variance", std::get<0>(gradient)(), -29.529106007216903, 1e-10);
  check("d log p / d log length_scale", std::get<1>(gradient)(), 69.08895956241139, 1e-10);
  check("d log p / d log noise", std::get<2>(gradient)(), 4.95694425853685, 1e-10);

  std::printf("Hessian times (1, -1, 0.5), against a central difference of the gradient\n");
  const double direction[] = {1, -1, 0.5}, h = 1e-4;
  const auto second =
      ad.hvp(f, inputs,
             std::tuple(scalar(direction[0]), scalar(direction[1]), scalar(direction[2]), frechet::none, frechet::none),
             parameters);
  const auto gradient_at = [&](double step) {
    const Scalar moved[] = {scalar(variance() + step * direction[0]), scalar(length_scale() + step * direction[1]),
                            scalar(noise() + step * direction[2])};
    return ad.value_and_grad(f, std::tie(moved[0], moved[1], moved[2], D, y), parameters).second;
  };
  const auto ahead = gradient_at(h), behind = gradient_at(-h);
  const auto difference = [&](const auto& to, const auto& from) { return (to() - from()) / (2 * h); };
  check("log variance", std::get<0>(second.product)(), difference(std::get<0>(ahead), std::get<0>(behind)), 1e-6);
  check("log length_scale", std::get<1>(second.product)(), difference(std::get<1>(ahead), std::get<1>(behind)), 1e-6);
  check("log noise", std::get<2>(second.product)(), difference(std::get<2>(ahead), std::get<2>(behind)), 1e-6);
  return check.status();
}
