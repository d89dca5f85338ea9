#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the ratios to the floor in a file of frechet_perf with those of a baseline, never times: a row that has become
slower by more than the baseline's margin, or that is missing, fails.

gate.py BASELINE MEASURED           exit status 0, or 1 where a row fails
gate.py BASELINE MEASURED --write   makes MEASURED the baseline (its margin is kept)
"""

import json
import pathlib
import sys

MARGIN = 2.5


def ratios(measured):
    return {
        f"{r['suite']} {r['problem']} n={r['n']} threads={r['threads']}": r["median_ms"] / r["floor_ms"]
        for r in measured["rows"]
    }


def compare(baseline, measured):
    """(lines to print, number of failures)"""
    found, lines, failures = ratios(measured), [], 0
    for row, before in sorted(baseline["ratios"].items()):
        now = found.get(row)
        bad = now is None or not now <= before * baseline["margin"]
        failures += bad
        if bad:
            lines.append(f"gate: {row}: {'not measured' if now is None else f'{now:.2f}x the floor'}, was {before:.2f}x")
    worst = max((found[r] / b for r, b in baseline["ratios"].items() if r in found), default=0.0)
    lines.append(f"gate: {len(baseline['ratios'])} rows, {failures} failed; worst against the baseline {worst:.2f}x, "
                 f"allowed {baseline['margin']:.2f}x")  # fmt: skip
    return lines, failures


def main(arguments):
    write = "--write" in arguments
    files = [pathlib.Path(a) for a in arguments if a != "--write"]
    if len(files) != 2:
        sys.exit(__doc__)
    measured = json.loads(files[1].read_text())
    if write:
        margin = json.loads(files[0].read_text())["margin"] if files[0].exists() else MARGIN
        # A ratio below 1 is the luck of one run.
        kept = {k: round(max(v, 1.0), 2) for k, v in sorted(ratios(measured).items())}
        baseline = {"margin": margin, "ratios": kept}
        files[0].write_text(json.dumps(baseline, indent=1) + "\n")
        return 0
    lines, failures = compare(json.loads(files[0].read_text()), measured)
    print("\n".join(lines))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
