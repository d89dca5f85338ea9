# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m unittest discover -s perf/report"""

import json
import math
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import gate  # noqa: E402
import report  # noqa: E402

SUITE = "linalg_jvp_vjp"


def row(problem="eigh_jvp", n=256, threads=1, median=8.0, floor=5.0, error=1e-12, **more):
    return {"suite": SUITE, "problem": problem, "n": n, "scalar": "f64", "backend": "lapack", "threads": threads,
            "median_ms": median, "iqr_ms": 0.1, "floor_ms": floor, "check_error": error, **more}  # fmt: skip


def peer(framework, label, median, **more):
    r = row(**more)
    r.update(framework=label, median_ms=median)
    del r["backend"], r["floor_ms"]
    return {"context": {"framework": framework, "version": "1.2", "threads": r["threads"]}, "rows": [r]}


def frechet(*rows):
    return {"context": {"git": "abc", "threads": rows[0]["threads"] if rows else 1, "backend": "lapack"},
            "rows": list(rows)}  # fmt: skip


class Gate(unittest.TestCase):
    def setUp(self):
        self.measured = frechet(row("eigh_jvp", median=6.0, floor=5.0), row("lu_vjp", median=8.0, floor=5.0))
        self.baseline = {"margin": 1.5, "ratios": gate.ratios(self.measured)}

    def test_the_same_ratios_pass_whatever_the_times(self):
        faster = frechet(row("eigh_jvp", median=0.6, floor=0.5), row("lu_vjp", median=0.8, floor=0.5))
        self.assertEqual(gate.compare(self.baseline, faster)[1], 0)

    def test_a_slower_row_fails(self):
        slower = frechet(row("eigh_jvp", median=6.0, floor=5.0), row("lu_vjp", median=12.1, floor=5.0))
        lines, failures = gate.compare(self.baseline, slower)
        self.assertEqual(failures, 1)
        self.assertIn("lu_vjp n=256 threads=1: 2.42x the floor, was 1.60x", lines[0])

    def test_a_missing_row_fails(self):
        self.assertEqual(gate.compare(self.baseline, frechet(row("eigh_jvp", median=6.0, floor=5.0)))[1], 1)

    def test_not_a_number_fails(self):
        broken = frechet(row("eigh_jvp", median=math.nan, floor=5.0), row("lu_vjp", median=8.0, floor=5.0))
        self.assertEqual(gate.compare(self.baseline, broken)[1], 1)


class Report(unittest.TestCase):
    def run_report(self, *contents):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for i, content in enumerate(contents):
                files.append(str(pathlib.Path(folder, f"raw-{i}.json")))
                pathlib.Path(files[-1]).write_text(json.dumps(content))
            out = pathlib.Path(folder, "out")
            code = report.main(["--out", str(out), *files, str(pathlib.Path(folder, "*.nothing"))])
            if not out.is_dir():
                return code, None, None
            text = (out / "report.md").read_text(encoding="utf-8")
            return code, json.loads((out / "report.json").read_text()), text

    def cells(self, text, problem, n=256, threads=1):
        lines = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
        found = [c for c in lines if c[:3] == [problem, str(n), str(threads)]]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_peers_are_matched_by_suite_problem_size_and_threads(self):
        code, merged, text = self.run_report(
            frechet(row(median=8.0), row(n=512, median=40.0)),
            frechet(row(threads=2, median=6.0)),
            peer("pytorch", "pytorch", 12.0),
            peer("jax", "jax", 10.0),
            peer("jax", "jax_plain", 30.0),
            peer("jax", "jax", 9.0, threads=2),
        )
        self.assertEqual(code, 0)
        first, second, third = merged["rows"]
        self.assertEqual(first["peers"], {"pytorch": 12.0, "jax": 10.0, "jax_plain": 30.0})
        self.assertAlmostEqual(first["ratio_to_floor"], 1.6)
        self.assertAlmostEqual(first["ratio_to_faster_peer"], 0.8)
        self.assertEqual((second["threads"], second["peers"]), (2, {"pytorch": None, "jax": 9.0}))
        self.assertEqual((third["n"], third["ratio_to_faster_peer"]), (512, None))
        self.assertEqual(merged["context"]["threads"], [1, 2])
        self.assertEqual(merged["context"]["peers"]["jax"], {"version": "1.2"})
        self.assertEqual(
            self.cells(text, "eigh_jvp"),
            ["eigh_jvp", "256", "1", "8.00 ± 0.10", "5.00", "1.60x", "12.0", "10.0", "30.0", "1.25x", "1.0e-12",
             "3.287", "3.116"],
        )  # fmt: skip

    def test_rows_hold_exactly_what_is_promised(self):
        _, merged, _ = self.run_report(frechet(row()))
        self.assertEqual(
            set(merged["rows"][0]),
            {"suite", "problem", "n", "scalar", "backend", "threads", "median_ms", "iqr_ms", "floor_ms", "peers",
             "check_error", "ratio_to_floor", "ratio_to_faster_peer"},
        )  # fmt: skip

    def test_what_is_missing_shows_as_a_dash(self):
        code, merged, text = self.run_report(frechet(row(floor=None)))
        self.assertEqual(code, 0)
        self.assertEqual(merged["rows"][0]["peers"], {"pytorch": None, "jax": None})
        self.assertEqual(self.cells(text, "eigh_jvp")[4:9], ["-"] * 5)

    def test_published_columns_only_for_the_published_suite(self):
        _, _, text = self.run_report(frechet(row(suite="linalg_jvp_vjp_random")))
        self.assertNotIn("published, A100", text)

    def test_failed_check(self):
        for error in (1e-7, math.nan, None):
            code, _, text = self.run_report(frechet(row(error=error), row(problem="lu_vjp")))
            self.assertEqual(code, 1)
            self.assertEqual(text.count("FAILED"), 1)

    def test_nothing_measured(self):
        self.assertEqual(self.run_report(peer("jax", "jax", 1.0))[0], 1)

    def test_context_that_differs_between_runs(self):
        one, two = frechet(row()), frechet(row(threads=2))
        one["context"].update(date="a", environment={"OMP_NUM_THREADS": "1"})
        two["context"].update(date="b", environment={"OMP_NUM_THREADS": "2"})
        _, merged, text = self.run_report(one, two)
        self.assertEqual((merged["context"]["date"], merged["context"]["git"]), ("a", "abc"))
        self.assertIn("- environment: OMP_NUM_THREADS 1, OMP_NUM_THREADS 2\n", text)

    def test_geometric_means(self):
        rows = [row(median=2.0, floor=1.0), row(problem="lu_vjp", median=8.0, floor=1.0)]
        _, _, text = self.run_report(frechet(*rows), peer("pytorch", "pytorch", 4.0),
                                     peer("pytorch", "pytorch", 32.0, problem="lu_vjp"))  # fmt: skip
        lines = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| " + SUITE)]
        self.assertEqual(lines, [[SUITE, "256", "1", "2", "4.00x", "8.00x", "2.83x", "2.00x", "2.83x", "-"]])

    def test_numbers(self):
        known = {0.012345: "0.0123", 1.0: "1.00", 12.345: "12.3", 1234.5: "1234", 0.0: "0", None: "-", math.nan: "-"}
        for value, text in known.items():
            self.assertEqual(report.number(value), text)


if __name__ == "__main__":
    unittest.main()
