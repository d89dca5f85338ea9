// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"
#include "json.hpp"
#include "views.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

// Small inputs on which derivatives went wrong somewhere, data/traps.json: its header explains the fields. Each runs in
// every memory layout.

namespace frechet::test {
namespace {

using nlohmann::json;

double number(const json& x) {
  if (!x.is_string()) return x.get<double>();
  const std::string s = x;
  return s == "nan" ? std::nan("") : s == "inf" ? HUGE_VAL : -HUGE_VAL;
}

/// A vector, a matrix or a batch; `tile` repeats it along a new leading axis, here along the batch.
Dense array(const json& j) {
  const auto shape = j["shape"].get<std::vector<int>>();
  const int rank = static_cast<int>(shape.size()), own = rank == 3 ? shape[0] : 1, tile = j.value("tile", 1);
  const int rows = shape[rank == 3 ? 1 : 0], cols = rank == 1 ? 1 : shape[rank - 1];
  Dense A(own * tile, rows, cols, rank == 3);
  const json& data = j["data"];
  for (int b = 0; b < A.count; ++b)
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < cols; ++k) {
        const json& x = data[(std::size_t(b % own) * rows + i) * cols + k];
        A(b, i, k) = x.is_array() ? Z(number(x[0]), number(x[1])) : Z(number(x));
      }
  return A;
}

bool is_complex_array(const json& j) { return j["dtype"] == "c128"; }

/// Cotangents by output name, and their sum over the terms of a loss.
struct Cotangents {
  std::map<std::string, Dense> of;
  void add(const std::string& name, const Dense& g) {
    const auto at = of.find(name);
    if (at == of.end())
      of.emplace(name, g);
    else
      at->second = at->second + g;
  }
  Opt get(const std::string& name) const {
    const auto at = of.find(name);
    return at == of.end() ? nullptr : &at->second;
  }
  double inner_with(const std::string& name, const Dense& tangent) const {
    return get(name) ? inner(*get(name), tangent) : 0.0;
  }
};

/// f(x) and f'(x) of the terms herm_fn and svd_fn.
Dense function_of(const json& term, const Dense& values, bool derivative) {
  Dense r = array(term["c"]);
  for (int i = 0; i < r.rows; ++i) {
    const bool identity = term["f"] == "id";
    r(i) *= derivative ? Z(identity) : identity ? values(i) : Z(1);
  }
  return r;
}

Dense times(const Dense& a, const Dense& b) {
  Dense r = a;
  for (std::size_t i = 0; i < r.data.size(); ++i) r.data[i] *= b.data[i];
  return r;
}

/// What one run gave.
struct Outcome {
  std::map<std::string, Dense> gradients;  ///< vjp
  double directional = 0;                  ///< jvp
  std::string diagnosis;                   ///< first complaint of any step
  void note(const Diagnoses& all) {
    for (const Diagnosis& d : all)
      if (diagnosis.empty()) diagnosis = explain(d);
  }
};

/// Terms that are the same for every operation.
bool common_term(const json& term, const std::map<std::string, const Dense*>& outputs, Cotangents& g) {
  if (term["t"] == "lin") {
    g.add(term["out"], array(term["C"]));
  } else if (term["t"] == "sumabs2") {
    g.add(term["out"], Z(2) * *outputs.at(term["out"]));
  } else {
    return false;
  }
  return true;
}

Outcome run_eigh(const Flavour& f, const json& trap) {
  const Dense A = array(trap["inputs"]["A"]);
  const EighOptions o{.hermitian = trap["opts"].contains("uplo") ? Hermitian::lower : Hermitian::part};
  const Spectrum x = eigh(f, A, o);
  Outcome r;
  r.note(x.diagnoses);
  Cotangents g;
  for (const json& term : trap["loss"]) {
    if (common_term(term, {{"w", &x.w}, {"V", &x.V}}, g)) continue;
    if (term["t"] == "herm_fn") {
      const Dense W = array(term["W"]);
      g.add("w", times(function_of(term, x.w, true), real_diagonal(adjoint(x.V) * W * x.V)));
      g.add("V", scale_columns((W + adjoint(W)) * x.V, function_of(term, x.w, false)));
    } else {  // vec_sign
      Dense signs(x.V.cols, 1);
      for (int j = 0; j < x.V.cols; ++j) {
        double most = 0;
        for (int i = 0; i < x.V.rows; ++i)
          if (std::abs(x.V(i, j)) > std::abs(most)) most = x.V(i, j).real();
        signs(j) = most < 0 ? -1 : 1;
      }
      g.add("V", scale_columns(array(term["C"]), signs));
    }
  }
  if (trap["mode"] == "jvp") {
    const Dense dA = array(trap["tangents"]["A"]);
    const Spectrum d = eigh_jvp(f, x, &dA, o, {true, g.get("V") != nullptr});
    r.note(d.diagnoses);
    r.directional = g.inner_with("w", d.w) + g.inner_with("V", d.V);
  } else {
    const Gradient y = eigh_vjp(f, x, g.get("w"), g.get("V"), o);
    r.note(y.diagnoses);
    r.gradients["A"] = y.A;
  }
  return r;
}

Outcome run_svd(const Flavour& f, const json& trap) {
  const Dense A = array(trap["inputs"]["A"]);
  const Triplets x = svd(f, A);
  Outcome r;
  r.note(x.diagnoses);
  const auto of_product = [&](const Dense& G, const Dense& values,
                              Cotangents& g) {  // L = Re tr(G^H U diag(values) V^H)
    g.add("U", scale_columns(G * adjoint(x.Vh), values));
    g.add("Vh", adjoint(scale_columns(adjoint(G) * x.U, values)));
  };
  Cotangents g;
  for (const json& term : trap["loss"]) {
    if (common_term(term, {{"U", &x.U}, {"S", &x.s}, {"Vh", &x.Vh}}, g)) continue;
    if (term["t"] == "svd_fn") {
      const Dense W = array(term["W"]);
      of_product(W, function_of(term, x.s, false), g);
      g.add("S", times(function_of(term, x.s, true), real_diagonal(adjoint(x.U) * W * adjoint(x.Vh))));
    } else {  // fro_svd
      const Dense M = scale_columns(x.U, x.s) * x.Vh, G = Z(1 / norm(M)) * M;
      of_product(G, x.s, g);
      g.add("S", real_diagonal(adjoint(x.U) * G * adjoint(x.Vh)));
    }
  }
  const Gradient y = svd_vjp(f, x, g.get("U"), g.get("S"), g.get("Vh"));
  r.note(y.diagnoses);
  r.gradients["A"] = y.A;
  return r;
}

Outcome run_qr(const Flavour& f, const json& trap) {
  const Dense A = array(trap["inputs"]["A"]);
  const OrthogonalTriangular x = qr(f, A);
  Outcome r;
  r.note(x.diagnoses);
  Cotangents g;
  for (const json& term : trap["loss"]) {
    if (common_term(term, {{"Q", &x.Q}, {"R", &x.R}}, g)) continue;
    if (term["t"] == "qr_sign") {
      Dense signs(x.Q.cols, 1);
      for (int i = 0; i < signs.rows; ++i) signs(i) = x.R(i, i).real() < 0 ? -1 : 1;
      // of the complete Q and R only the thin part has weights
      const Dense WQ = array(term["WQ"]).block(0, 0, x.Q.rows, x.Q.cols);
      const Dense WR = array(term["WR"]).block(0, 0, x.R.rows, x.R.cols);
      g.add("Q", scale_columns(WQ, signs));
      g.add("R", transpose(scale_columns(transpose(WR), signs)));
    } else {  // qr_proj
      const Dense W = array(term["W"]);
      Dense chosen(x.Q.cols, 1);
      for (int j = term["a"]; j < term["b"].get<int>(); ++j) chosen(j) = 1;
      g.add("Q", scale_columns((W + adjoint(W)) * x.Q, chosen));
    }
  }
  const Gradient y = qr_vjp(f, x, g.get("Q"), g.get("R"));
  r.note(y.diagnoses);
  r.gradients["A"] = y.A;
  return r;
}

Outcome run_lu(const Flavour& f, const json& trap) {
  const Dense A = array(trap["inputs"]["A"]);
  const Triangles x = lu(f, A);
  Outcome r;  // a zero pivot that lu reports in `info` is no complaint about the derivative
  Cotangents g;
  for (const json& term : trap["loss"]) common_term(term, {{"L", &x.L}, {"U", &x.U}}, g);
  if (trap["mode"] == "jvp") {
    const Dense dA = array(trap["tangents"]["A"]);
    const Triangles d = lu_jvp(f, x, &dA);
    r.note(d.diagnoses);
    r.directional = g.inner_with("L", d.L) + g.inner_with("U", d.U);
  } else {
    const Gradient y = lu_vjp(f, x, g.get("L"), g.get("U"));
    r.note(y.diagnoses);
    r.gradients["A"] = y.A;
  }
  return r;
}

Outcome run_solve(const Flavour& f, const json& trap) {
  Dense A = array(trap["inputs"]["A"]);
  const Dense B = array(trap["inputs"]["B"]);
  const bool broadcast = B.batched && !A.batched;
  if (broadcast) A = stack(std::vector<Dense>(B.count, A));
  const Solution x = solve(f, A, B);
  Outcome r;
  r.note(x.diagnoses);
  const Dense gX = array(trap["loss"][0]["C"]);
  const Gradient y = solve_vjp(f, x, &gX);
  r.note(y.diagnoses);
  r.gradients["A"] = y.A;
  r.gradients["B"] = y.B;
  if (broadcast) {
    Dense sum = y.A.matrix(0);
    for (int b = 1; b < y.A.count; ++b) sum = sum + y.A.matrix(b);
    r.gradients["A"] = sum;
  }
  return r;
}

Outcome run(const Flavour& f, const json& trap) {
  const std::string op = trap["op"];
  if (op == "eigh" || op == "eigvalsh") return run_eigh(f, trap);
  if (op == "svd" || op == "svdvals") return run_svd(f, trap);
  if (op == "qr") return run_qr(f, trap);
  if (op == "lu") return run_lu(f, trap);
  return run_solve(f, trap);
}

/// Largest deviation from one of the accepted answers, in units of what is allowed.
double deviation(const json& trap, const Outcome& r, const json& expected) {
  const double rtol = trap["rtol"], atol = trap["atol"];
  if (expected.contains("dir")) {
    const double want = expected["dir"];
    return std::abs(r.directional - want) / (rtol * std::abs(want) + atol);
  }
  double most = 0;
  for (const auto& [name, j] : expected.items()) {
    Dense want = array(j), got = r.gradients.at(name);
    if (want.count < got.count) {  // the expected answer repeats as a tiled input does
      std::vector<Dense> all;
      for (int b = 0; b < got.count; ++b) all.push_back(want.matrix(b % want.count));
      want = stack(all);
    }
    if (trap["compare"] == "herm") {
      want = Z(0.5) * (want + adjoint(want));
      got = Z(0.5) * (got + adjoint(got));
    }
    const double here = max_abs(got - want) / (rtol * max_abs(want) + atol);
    most = here <= most ? most : here;
  }
  return most;
}

/// Functions of the whole matrix at repeated values: (gw, gV) can't carry their gradient, a diagnosis is as good.
bool diagnosis_is_enough(const json& trap) {
  for (const json& term : trap["loss"])
    if (term["t"] == "herm_fn" || term["t"] == "svd_fn") return true;
  return false;
}

/// Hessian times tangent, or its inner product with the tangent, of losses of eigenvalues and singular values.
void expect_second_order(const json& trap) {
  const std::string id = trap["id"].get<std::string>();
  SCOPED_TRACE(id);
  const auto A = put<Matrix<double>>(array(trap["inputs"]["A"])),
             dA = put<Matrix<double>>(array(trap["tangents"]["A"]));
  const bool squares = trap["loss"][0]["t"] == "sumabs2";
  ASSERT_TRUE(squares || max_abs(array(trap["loss"][0]["C"]) - constant(2, 1, 1)) == 0);
  AdContext<Exec> ad;
  const auto product = [&](const auto& values) {
    return squares ? fetch(ad.hvp([&](auto X) { return inner(values(X), values(X)); }, A, dA).product)
                   : fetch(ad.hvp([&](auto X) { return sum(values(X)); }, A, dA).product);
  };
  const Dense H =
      trap["op"] == "eigvalsh" ? product([](auto X) { return eigh(X).w; }) : product([](auto X) { return svdvals(X); });
  const double rtol = trap["rtol"], atol = trap["atol"];
  if (trap["mode"] == "jvp2") {
    const double expected = trap["expected"]["dir"];
    EXPECT_NEAR(inner(H, fetch(dA)), expected, atol + rtol * expected);
  } else {
    const Dense expected = array(trap["expected"]["A"]);
    EXPECT_LE(max_abs(H - expected), atol + rtol * max_abs(expected));
  }
}

TEST(Traps, all) {
  const json file = read_json("traps.json");
  int ran = 0, second_order = 0, full_factors = 0, by_diagnosis = 0;
  for (const json& trap : file["traps"]) {
    if (trap["mode"] == "hvp" || trap["mode"] == "jvp2") {
      ++second_order;
      expect_second_order(trap);
      continue;
    }
    if (trap["opts"].contains("full")) {  // the complete U is not offered
      ++full_factors;
      continue;
    }
    ++ran;
    for (const Form form : all_forms) {
      const Flavour f{is_complex_array(trap["inputs"]["A"]) ? Scalar::c128 : Scalar::f64, form};
      const std::string id = trap["id"].get<std::string>() + " " + name(form);
      const Outcome r = run(f, trap);
      if (trap["behaviour"] == "status") {
        bool finite = std::isfinite(r.directional);
        for (const auto& [name, g] : r.gradients) finite = finite && all_finite(g);
        EXPECT_TRUE(!r.diagnosis.empty() || !finite) << id << ": silent finite numbers";
        continue;
      }
      double best = std::numeric_limits<double>::infinity();
      if (trap["expected"].contains("accept"))
        for (const json& expected : trap["expected"]["accept"]) best = std::min(best, deviation(trap, r, expected));
      else
        best = deviation(trap, r, trap["expected"]);
      if (diagnosis_is_enough(trap) && !(best <= 1) && !r.diagnosis.empty()) {
        by_diagnosis += form == Form::left;
        continue;
      }
      EXPECT_LE(best, 1) << id << ": " << r.diagnosis;
      EXPECT_EQ(r.diagnosis, "") << id << ": false alarm";
    }
  }
  EXPECT_EQ(ran, 60);
  EXPECT_EQ(second_order, 4);
  EXPECT_EQ(full_factors, 1);
  RecordProperty("ran", ran);
  RecordProperty("by_diagnosis", by_diagnosis);
  std::printf("traps: %d ran (%d answered by a diagnosis), and %d of second order; %d with complete factors left out\n",
              ran, by_diagnosis, second_order, full_factors);
}

}  // namespace
}  // namespace frechet::test
