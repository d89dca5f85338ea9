// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// frechet_perf: times the suites and the pieces of their floors with Google Benchmark, verifies every row, writes JSON.

#include <frechet/frechet.hpp>

#include "environment.hpp"
#include "floor.hpp"
#include "overhead.hpp"
#include "problems.hpp"
#include "tune.hpp"

#include <CLI/CLI.hpp>
#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>

namespace {

using nlohmann::json;

constexpr int warm_ups = 3;
constexpr double tolerance = 1e-8;  // of every check, relative

struct Timing {
  double median_ms = 0, iqr_ms = 0;
};

double quantile(std::vector<double> x, double q) {
  std::sort(x.begin(), x.end());
  const double at = q * static_cast<double>(x.size() - 1);
  const auto i = static_cast<std::size_t>(at);
  return i + 1 < x.size() ? x[i] + (at - static_cast<double>(i)) * (x[i + 1] - x[i]) : x.back();
}

/// One line a row as it is measured; medians and quartiles by name.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Aggregate) continue;
      Timing& t = timings[run.run_name.function_name];
      if (run.aggregate_name == "median") t.median_ms = run.GetAdjustedRealTime();
      if (run.aggregate_name != "iqr") continue;
      t.iqr_ms = run.GetAdjustedRealTime();
      std::printf("  %-20s %12.4f ms, iqr %10.4f ms\n", run.run_name.function_name.c_str(), t.median_ms, t.iqr_ms);
      std::fflush(stdout);
    }
  }
  std::map<std::string, Timing> timings;
};

/// Registers f: warm-ups, then `repetitions` samples of as many runs as last about two milliseconds.
template <class F>
void time_it(const std::string& name, int repetitions, const F& f) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < warm_ups; ++i) f();
  const auto start = Clock::now();
  f();
  const double once = std::chrono::duration<double>(Clock::now() - start).count();
  const auto runs = static_cast<benchmark::IterationCount>(std::clamp(2e-3 / std::max(once, 1e-7), 1.0, 1e4));
  benchmark::RegisterBenchmark(name.c_str(),
                               [f](benchmark::State& state) {
                                 for (auto _ : state) f();
                               })
      ->Iterations(runs)
      ->Repetitions(repetitions)
      ->ReportAggregatesOnly()
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->ComputeStatistics("iqr", [](const std::vector<double>& x) { return quantile(x, 0.75) - quantile(x, 0.25); });
}

struct Options {
  std::vector<std::string> suites = {"linalg_jvp_vjp", "linalg_jvp_vjp_random"}, problems;
  std::vector<int> sizes;
  int repetitions = 0;
  std::string out = "frechet_perf.json";
  bool tune = false, overhead = false;
};

/// One suite at one size: the rows and the pieces of their floors run next to each other, so that the ratios stay fair
/// when the speed of the machine drifts.
bool run(const std::string& suite, int n, const Options& options, json& rows) {
  const int repetitions = options.repetitions > 0 ? options.repetitions : n >= 1024 ? 7 : n >= 512 ? 9 : 15;
  auto all = perf::problems(suite, {n});
  if (!options.problems.empty())
    std::erase_if(all, [&](const perf::Problem& p) {
      return std::find(options.problems.begin(), options.problems.end(), p.name) == options.problems.end();
    });
  const std::string at = "/" + std::to_string(n);
  std::vector<std::shared_ptr<perf::Runner>> runners;
  std::map<std::string, bool> floors;
  time_it("gemm" + at, repetitions, perf::product(n));
  for (const auto& p : all) {
    const std::string piece = perf::name(p.factorisation) + at;
    if (!floors[piece]) time_it(piece, repetitions, perf::factorisation(p.factorisation, n));
    floors[piece] = true;
    runners.emplace_back(p.make(n));
    time_it(p.name + at, repetitions, [r = runners.back()] { r->run(); });
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();  // they hold Views, which have to go before Kokkos does
  const double gemm = collector.timings["gemm" + at].median_ms / (2.0 * n * n * n);  // ms per flop
  bool fine = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& p = all[i];
    const Timing t = collector.timings[p.name + at];
    const double error = runners[i]->mode_error();
    const double difference = p.differences ? runners[i]->difference_error() : 0.0;
    const bool good = error <= tolerance && difference <= tolerance;  // false for NaN
    fine = fine && good;
    std::printf("check %s %s n = %d: %.1e against the other mode", suite.c_str(), p.name.c_str(), n, error);
    if (p.differences) std::printf(", %.1e against a central difference", difference);
    const std::size_t workspace = runners[i]->workspace_bytes();
    std::printf(", workspace %.1f n^2%s\n", double(workspace) / (double(n) * n * sizeof(double)),
                good ? "" : "  FAILED");
    json row = {{"suite", suite},
                {"problem", p.name},
                {"n", n},
                {"scalar", "f64"},
                {"backend", perf::backend()},
                {"threads", perf::threads()},
                {"median_ms", t.median_ms},
                {"iqr_ms", t.iqr_ms},
                {"floor_ms", collector.timings[perf::name(p.factorisation) + at].median_ms + p.rule_flops * gemm},
                {"workspace_bytes", workspace},
                {"check_error", error > difference ? error : difference}};
    if (p.differences) row["checks"] = {{"other_mode", error}, {"central_difference", difference}};
    rows.push_back(row);
  }
  return fine;
}

/// How the time of each problem grows: the exponent of a fit over the sizes from 256 on, and the largest one between
/// two sizes.
void print_growth(const json& rows) {
  std::map<std::string, std::vector<std::pair<double, double>>> times;  // logarithms of n and ms
  for (const json& row : rows)
    if (row["n"] >= 256)
      times[row["suite"].get<std::string>() + " " + row["problem"].get<std::string>()].emplace_back(
          std::log(row["n"].get<double>()), std::log(row["median_ms"].get<double>()));
  for (auto& [name, points] : times) {
    if (points.size() < 3) continue;
    std::sort(points.begin(), points.end());
    double x = 0, y = 0, xx = 0, xy = 0, steepest = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto [px, py] = points[i];
      x += px;
      y += py;
      xx += px * px;
      xy += px * py;
      if (i > 0) steepest = std::max(steepest, (py - points[i - 1].second) / (px - points[i - 1].first));
    }
    const auto count = static_cast<double>(points.size());
    std::printf("growth %s: n^%.2f over %.0f .. %.0f, at most n^%.2f in one step\n", name.c_str(),
                (count * xy - x * y) / (count * xx - x * x), std::exp(points.front().first),
                std::exp(points.back().first), steepest);
  }
}

int run_all(const Options& options) {
  json report = {{"context", perf::context()}, {"rows", json::array()}};
  bool fine = true;
  for (const auto& suite : options.suites) {
    const auto sizes = options.sizes.empty() ? perf::default_sizes(suite) : options.sizes;
    for (const int n : sizes) {
      std::printf("\n%s, n = %d, %d thread%s\n", suite.c_str(), n, perf::threads(), perf::threads() == 1 ? "" : "s");
      fine = run(suite, n, options, report["rows"]) && fine;
    }
  }
  print_growth(report["rows"]);
  std::ofstream file(options.out);
  file << report.dump(1) << "\n";
  if (!file.flush()) {
    std::fprintf(stderr, "frechet_perf: cannot write %s\n", options.out.c_str());
    return 1;
  }
  std::printf("\n%zu rows %s -> %s\n", report["rows"].size(), fine ? "verified" : "measured, NOT ALL VERIFIED",
              options.out.c_str());
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  Options options;
  CLI::App app{"Times value + JVP and value + VJP of the decompositions, beside their floors, and verifies every row."};
  app.add_option("--suite", options.suites, "suites, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(perf::suites()));
  app.add_option("--sizes", options.sizes, "matrix sizes, separated by commas; default: the suite's own")
      ->delimiter(',')
      ->check(CLI::Range(1, 30000));
  app.add_option("--problems", options.problems, "only these, e.g. lu_jvp,qr_vjp")->delimiter(',');
  app.add_option("--repetitions", options.repetitions, "timed samples per row, at least 7; default: by size")
      ->check(CLI::Range(7, 1000));
  app.add_option("--out", options.out, "the JSON file to write")->capture_default_str();
  app.add_flag("--tune", options.tune, "measure the drivers instead and print the table for FRECHET_DRIVERS");
  app.add_flag("--overhead", options.overhead,
               "measure instead what a traced program costs beyond its calls on Views, and print a table");
  CLI11_PARSE(app, argc, argv);
  int one = 1;
  benchmark::Initialize(&one, argv);
  try {
    if (options.overhead) {
      perf::overhead(options.sizes.empty() ? std::vector<int>{8, 64, 256} : options.sizes, std::cout);
      return 0;
    }
    if (!options.tune) return run_all(options);
    perf::tune(options.sizes.empty() ? std::vector<int>{8, 16, 32, 64, 128, 256, 512, 1024} : options.sizes, std::cout);
    return 0;
  } catch (const std::exception& e) {
    benchmark::ClearRegisteredBenchmarks();  // as above
    std::fprintf(stderr, "frechet_perf: %s\n", e.what());
    return 1;
  }
}
