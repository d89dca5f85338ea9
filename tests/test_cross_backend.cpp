// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checks.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>

// Backends against each other: one process writes what its backend computed (FRECHET_WRITE_RESULTS=file), another
// compares (FRECHET_COMPARE_RESULTS=file). Only numbers that no phase and no choice of basis can change.

namespace frechet::test {
namespace {

struct Result {
  std::string name;
  double epsilon;
  Dense value;
};

class Results {
 public:
  explicit Results(const Flavour& f) : flavour_(f) {}
  void add(const std::string& what, const Dense& value) {
    all.push_back({name(flavour_.scalar) + " " + what, flavour_.epsilon(), value});
  }
  std::vector<Result> all;

 private:
  Flavour flavour_;
};

void eigh_results(const Flavour& f, Random& random, Results& r) {
  for (const int n : {1, 4, 33, 70}) {
    const std::string tag = extents(n, n);
    const Dense A = random.hermitian_with(random.separated(n, -1, 1)), dA = random.hermitian(n),
                W = random.matrix(n, n);
    const Dense gw = random.real_like(Dense(n, 1)), c = random.real_like(gw);
    const Spectrum x = eigh(f, A), dx = eigh_jvp(f, x, &dA);
    const Dense gV = scale_columns((W + adjoint(W)) * x.V, c);  // loss sum c_k Re v_k^H W v_k
    r.add("eigh w" + tag, x.w);
    r.add("eigh dw" + tag, dx.w);
    r.add("eigh slope" + tag, real_diagonal(adjoint(gV) * dx.V));
    r.add("eigh gA" + tag, eigh_vjp(f, x, &gw, &gV).A);
    r.add("eigh gA of values" + tag, eigh_vjp(f, x, &gw, nullptr).A);
  }
}

void svd_results(const Flavour& f, Random& random, Results& r) {
  for (const auto [m, n] : {Extents{1, 1}, Extents{5, 5}, Extents{33, 20}, Extents{20, 33}}) {
    const std::string tag = extents(m, n);
    const Dense A = random.well_conditioned(m, n), dA = random.matrix(m, n), W = random.matrix(m, n);
    const Triplets x = svd(f, A), dx = svd_jvp(f, x, &dA);
    const Dense gs = random.real_like(x.s), c = random.real_like(x.s);
    const Dense gU = scale_columns(W * adjoint(x.Vh), c), gVh = adjoint(scale_columns(adjoint(W) * x.U, c));
    r.add("svd s" + tag, x.s);
    r.add("svd ds" + tag, dx.s);
    r.add("svd slope" + tag, real_diagonal(adjoint(gU) * dx.U) + real_diagonal(dx.Vh * adjoint(gVh)));
    r.add("svd gA" + tag, svd_vjp(f, x, &gU, &gs, &gVh).A);
    r.add("svd gA of values" + tag, svd_vjp(f, x, nullptr, &gs, nullptr).A);
  }
}

void factor_results(const Flavour& f, Random& random, Results& r) {
  for (const auto [m, n] : {Extents{1, 1}, Extents{5, 5}, Extents{33, 20}, Extents{20, 33}}) {
    const std::string tag = extents(m, n);
    const Dense A = random.well_conditioned(m, n), dA = random.matrix(m, n);
    for (const QrSigns signs : {QrSigns::lapack, QrSigns::positive}) {
      const QrOptions o{.signs = signs};
      const OrthogonalTriangular x = qr(f, A, o), dx = qr_jvp(f, x, &dA, o);
      const Dense gQ = random.like(x.Q), gR = random.like(x.R);
      r.add("qr Q" + tag, x.Q);
      r.add("qr R" + tag, x.R);
      r.add("qr dQ" + tag, dx.Q);
      r.add("qr dR" + tag, dx.R);
      r.add("qr gA" + tag, qr_vjp(f, x, &gQ, &gR, o).A);
    }
    const Triangles y = lu(f, A), dy = lu_jvp(f, y, &dA);
    const Dense gL = random.like(y.L), gU = random.like(y.U);
    r.add("lu perm" + tag, y.perm);
    r.add("lu L" + tag, y.L);
    r.add("lu U" + tag, y.U);
    r.add("lu dL" + tag, dy.L);
    r.add("lu dU" + tag, dy.U);
    r.add("lu gA" + tag, lu_vjp(f, y, &gL, &gU).A);
  }
}

void solve_results(const Flavour& f, Random& random, Results& r) {
  for (const Op op : {Op::none, Op::transpose, Op::adjoint})
    for (const int n : {1, 5, 40}) {
      std::string tag = op == Op::none ? " N" : op == Op::transpose ? " T" : " C";
      tag += extents(n, n);
      const SolveOptions o{.op = op};
      const Dense A = random.well_conditioned(n, n), B = random.matrix(n, 3), gX = random.matrix(n, 3);
      const Dense dA = random.matrix(n, n), dB = random.matrix(n, 3);
      const Solution x = solve(f, A, B, o);
      const Gradient g = solve_vjp(f, x, &gX, o);
      r.add("solve X" + tag, x.X);
      r.add("solve dX" + tag, solve_jvp(f, x, &dA, &dB, o).X);
      r.add("solve gA" + tag, g.A);
      r.add("solve gB" + tag, g.B);
    }
}

std::vector<Result> all_results() {
  std::vector<Result> all;
  for (const Scalar scalar : all_scalars) {
    const Flavour f{scalar};
    Results r(f);
    Random random(141, f.complex());
    eigh_results(f, random, r);
    svd_results(f, random, r);
    factor_results(f, random, r);
    solve_results(f, random, r);
    all.insert(all.end(), r.all.begin(), r.all.end());
  }
  return all;
}

TEST(CrossBackend, results) {
  const char* write = std::getenv("FRECHET_WRITE_RESULTS");
  const char* compare = std::getenv("FRECHET_COMPARE_RESULTS");
  ASSERT_TRUE(write || compare) << "set FRECHET_WRITE_RESULTS or FRECHET_COMPARE_RESULTS to a file";
  const auto results = all_results();
  if (write) {
    std::ofstream out(write);
    out << std::hexfloat;
    for (const Result& r : results) {
      out << r.name << '\n' << r.value.data.size() << '\n';
      for (const Z& z : r.value.data) out << z.real() << ' ' << z.imag() << '\n';
    }
    ASSERT_TRUE(out.good());
    return;
  }
  std::ifstream in(compare);
  ASSERT_TRUE(in.good()) << compare;
  const auto next = [&in] {  // operator>> does not read hexadecimal
    std::string word;
    in >> word;
    return std::strtod(word.c_str(), nullptr);
  };
  for (const Result& r : results) {
    std::string name;
    std::getline(in >> std::ws, name);
    ASSERT_EQ(name, r.name);
    ASSERT_EQ(next(), static_cast<double>(r.value.data.size()));
    Dense other = r.value;
    for (Z& z : other.data) {
      const double re = next();
      z = Z(re, next());
    }
    // Inputs are well conditioned (gaps of about 1/n): a few thousand units of rounding at most.
    EXPECT_LE(max_abs(other - r.value), 2e4 * r.epsilon * max_abs(r.value)) << r.name;
  }
  std::printf("compared %zu arrays\n", results.size());
}

}  // namespace
}  // namespace frechet::test
