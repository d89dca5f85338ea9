#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merges what frechet_perf and the peers wrote into DIR/report.json and DIR/report.md.

Ratios are time over time, smaller is better: to the floor (the factorisation plus the rule's remaining flops at the
measured speed of gemm) and to the faster of PyTorch and JAX (jit). The speed-up of the table is the inverse of the latter.
Exit status: 0; 1 where a row of Frechet misses its check, or where there is no such row.
"""

import argparse
import json
import math
import pathlib
import sys

CHECK_TOLERANCE = 1e-8
SUMMARY_SIZES = (256, 512)
PUBLISHED = pathlib.Path(__file__).resolve().parent.parent / "reference" / "a100_published.json"


def load(paths):
    """The contexts and rows of Frechet, and those of the peers. A peer's context names its framework."""
    ours, theirs = [], []
    for path in paths:
        content = json.loads(pathlib.Path(path).read_text())
        (theirs if "framework" in content["context"] else ours).append(content)
    return ours, theirs


def key(row):
    return row["suite"], row["problem"], row["n"], row["scalar"], row["threads"]


def ratio(a, b):
    return a / b if a is not None and b else None


def merge(ours, theirs):
    """report.json as a dictionary."""
    context = dict(ours[0]["context"]) if ours else {}
    rows = [dict(row) for content in ours for row in content["rows"]]
    for name in context:  # what differs between the runs, such as the environment, is shown for each; the date is the first
        values = [c["context"].get(name) for c in ours]
        distinct = [v for i, v in enumerate(values) if v not in values[:i]]
        if len(distinct) > 1 and name != "date":
            context[name] = distinct
    context["threads"] = sorted({row["threads"] for row in rows})
    context["peers"] = {}
    for content in theirs:
        name = content["context"]["framework"]
        facts = {k: v for k, v in content["context"].items() if k not in ("framework", "threads", "cores")}
        context["peers"].setdefault(name, facts)

    peer_times = {}
    for content in theirs:
        for row in content["rows"]:
            peer_times.setdefault(key(row), {})[row["framework"]] = row["median_ms"]
    for row in rows:
        row["peers"] = {"pytorch": None, "jax": None, **peer_times.get(key(row), {})}
        known = [row["peers"][p] for p in ("pytorch", "jax") if row["peers"][p] is not None]
        row["ratio_to_floor"] = ratio(row["median_ms"], row.get("floor_ms"))
        row["ratio_to_faster_peer"] = ratio(row["median_ms"], min(known, default=None))
    rows.sort(key=lambda r: (r["suite"], r["problem"], r["n"], r["threads"], r["backend"]))
    return {"context": context, "rows": rows}


def misses_check(row):
    error = row["check_error"]
    return error is None or not error <= CHECK_TOLERANCE


def number(x, digits=3):
    """To so many significant digits, without an exponent; '-' where there is none."""
    if x is None or not math.isfinite(x):
        return "-"
    if x == 0:
        return "0"
    return f"{x:.{max(0, digits - 1 - math.floor(math.log10(abs(x))))}f}"


def times(x):
    return "-" if x is None else f"{x:.2f}x"


def inverse(x):
    return None if x is None else 1.0 / x


def table(header, lines):
    """Markdown, the first column to the left and all others to the right, padded to be read as plain text."""
    cells = [header, *lines]
    widths = [max(len(line[c]) for line in cells) for c in range(len(header))]
    pad = [str.ljust] + [str.rjust] * (len(header) - 1)
    out = ["| " + " | ".join(p(c, w) for p, c, w in zip(pad, line, widths)) + " |" for line in cells]
    out.insert(1, "|:" + "-" * (widths[0] + 1) + "|" + "|".join("-" * (w + 1) + ":" for w in widths[1:]) + "|")
    return out


def suite_table(rows, published):
    """One suite; `published` maps (problem, n) to the medians of the published table and is empty for other suites."""
    backends = {row["backend"] for row in rows}
    plain = any("jax_plain" in row["peers"] for row in rows)
    header = ["problem", "n", "threads"] + (["backend"] if len(backends) > 1 else [])
    header += ["Frechet, ms", "floor, ms", "ratio to floor", "PyTorch, ms", "JAX (jit), ms"]
    header += ["JAX (plain), ms"] if plain else []
    header += ["speed-up over faster peer", "check error"]
    header += ["published, A100: tenferro-rs, ms", "published, A100: PyTorch, ms"] if published else []
    lines = []
    for row in rows:
        line = [row["problem"], str(row["n"]), str(row["threads"])] + ([row["backend"]] if len(backends) > 1 else [])
        line += [
            f"{number(row['median_ms'])} ± {number(row['iqr_ms'], 2)}",
            number(row.get("floor_ms")),
            times(row["ratio_to_floor"]),
            number(row["peers"]["pytorch"]),
            number(row["peers"]["jax"]),
        ]
        line += [number(row["peers"].get("jax_plain"))] if plain else []
        line += [times(inverse(row["ratio_to_faster_peer"]))]
        error = "-" if row["check_error"] is None else f"{row['check_error']:.1e}"
        line += [f"**{error} FAILED**" if misses_check(row) else error]
        if published:
            known = published.get((row["problem"], row["n"]), {})
            line += [number(known.get(s, {}).get("median"), 4) for s in ("tenferro", "pytorch")]
        lines.append(line)
    return table(header, lines)


def geometric_mean(values):
    values = [v for v in values if v is not None and v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary_table(rows):
    """Geometric means over the problems of each suite, per thread count and size; the worst row beside each mean."""
    header = ["suite", "n", "threads", "rows", "ratio to floor", "worst", "speed-up over faster peer", "worst"]
    header += ["over PyTorch", "over JAX (jit)"]
    lines = []
    groups = {(r["suite"], r["backend"], r["n"], r["threads"]) for r in rows if r["n"] in SUMMARY_SIZES}
    several = len({r["backend"] for r in rows}) > 1
    for suite, backend, n, threads in sorted(groups):
        group = [r for r in rows if (r["suite"], r["backend"], r["n"], r["threads"]) == (suite, backend, n, threads)]
        floors = [r["ratio_to_floor"] for r in group if r["ratio_to_floor"] is not None]
        faster = [inverse(r["ratio_to_faster_peer"]) for r in group if r["ratio_to_faster_peer"]]
        line = [f"{suite} ({backend})" if several else suite, str(n), str(threads), str(len(group))]
        line += [times(geometric_mean(floors)), times(max(floors, default=None))]
        line += [times(geometric_mean(faster)), times(min(faster, default=None))]
        line += [times(geometric_mean(ratio(r["peers"][p], r["median_ms"]) for r in group)) for p in ("pytorch", "jax")]
        lines.append(line)
    return table(header, lines) if lines else []


def describe(value):
    if isinstance(value, dict):
        return ", ".join(f"{k} {describe(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(describe, value))
    return " ".join(str(value).split())


def markdown(report, published):
    rows, context = report["rows"], report["context"]
    out = ["# Frechet: derivatives of dense linear algebra, measured", ""]
    for name, value in context.items():
        if name != "peers":
            out.append(f"- {name}: {describe(value)}")
    for name, facts in context["peers"].items():
        out.append(f"- peer {name}: {describe(facts)}")
    out += [
        "",
        "Median ± interquartile range in ms. Timed: value and derivative (jvp: slope, vjp: gradient), device fence inside;",
        "inputs made before, outputs not downloaded. Floor: the factorisation, plus the rule's remaining flops at the speed",
        "of gemm, both measured in this run. Speed-up: time of the faster of PyTorch and JAX (jit) over that of Frechet.",
        "Check: against an independent derivative in the same run, relative.",
        "",
    ]
    means = summary_table(rows)
    if means:
        out += ["## Geometric means", "", *means, ""]
    for suite in sorted({row["suite"] for row in rows}):
        # The published suite is named gpu/<suite>.
        known = {}
        if published and published["suite"].split("/")[-1] == suite:
            known = {(r["problem"], r["n"]): r for r in published["rows"]}
        out += [f"## {suite}", "", *suite_table([r for r in rows if r["suite"] == suite], known), ""]
        if known:
            out += [
                f"Published, A100: {published['title']}, {published['date']}, {published['device']}, CUDA "
                f"{published['cuda']}; {' and '.join(published['systems'])}. Another machine: shown for orientation.",
                "",
            ]
    return "\n".join(out)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="*", help="what frechet_perf and peers.py wrote")
    p.add_argument("--out", default="perf-report", help="folder for report.json and report.md (default perf-report)")
    p.add_argument("--published", default=str(PUBLISHED), help="the published table")
    args = p.parse_args(argv)

    files = [f for f in args.files if pathlib.Path(f).is_file()]  # an unmatched pattern of the shell names no file
    report = merge(*load(files))
    if not report["rows"]:
        print("[report] no row of Frechet: no report", file=sys.stderr)
        return 1
    published = json.loads(pathlib.Path(args.published).read_text())
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    (out / "report.md").write_text(markdown(report, published), encoding="utf-8")
    failed = [row for row in report["rows"] if misses_check(row)]
    for row in failed[:10]:
        print(f"[report] check failed: {key(row)}: {row['check_error']}", file=sys.stderr)
    if failed:
        print(f"[report] {len(failed)} of {len(report['rows'])} rows failed their check", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
