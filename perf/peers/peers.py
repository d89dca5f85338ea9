#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the problems of frechet_perf on PyTorch (torch.func) or JAX (jit, and plain as "jax_plain"), on the CPU in float64.

Timed: value and slope (jvp), value and gradient for the cotangent 1 (vjp), everything from A on; inputs are made before.
Each row's derivatives are checked: the gradient contracted with the tangent is the slope.
Exit status: 0, 1 where a check failed, 3 where the framework can't be imported.
"""

import argparse
import gc
import json
import math
import os
import platform
import statistics
import sys
import time

WARM_UPS = 3
MIN_RUNS = 7
MAX_RUNS = 101
MIN_SAMPLE_S = 1e-3  # a sample shorter than this repeats the call and divides
CHECK_TOLERANCE = 1e-8
JAX_PLAIN_MAX_N = 512  # what plain adds is the cost per operation, seen well enough up to here


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--framework", choices=["pytorch", "jax"], required=True)
    p.add_argument("--suite", action="append", help="default: the two of first order; may be repeated or a comma list")
    p.add_argument("--sizes", help="comma list; default: the sizes of the suite, up to 1024")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: PyTorch only")
    p.add_argument("--min-time", type=float, default=0.3, help="seconds of timed runs to aim at per row (default 0.3)")
    p.add_argument("--no-plain", action="store_true", help="JAX: only jit")
    p.add_argument("--out", help="JSON file (default: standard output)")
    return p.parse_args()


def limit_threads(threads, device):
    """Before the frameworks are imported. One-thread runs need pinning too (scripts/perf): XLA keeps other threads."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["NPROC"] = str(threads)  # the size of XLA's thread pools
    if threads == 1:
        os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false").strip()
    os.environ["JAX_PLATFORMS"] = "cpu"
    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


# A framework is (context, variants); a variant maps (op, data) to {"jvp": run, "vjp": run} or {"hvp": run}, where run() does the
# whole timed work, waits for it, and returns (value, slope), (value, gradient) or (value, Hessian times tangent).


def pytorch(threads, device):
    import warnings

    import torch

    warnings.filterwarnings("ignore", category=FutureWarning, module="torch")  # torch.func.jvp itself uses torch.jit
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    # eigvalsh and svdvals compute vectors only when a derivative is asked for, and their rules then form no tangents of
    # the vectors: never slower than eigh and svd with the vectors unused.
    outputs = {
        "eigh": lambda A, b: torch.linalg.eigh(A),
        "eigh_values": lambda A, b: (torch.linalg.eigvalsh(A),),
        "lu": lambda A, b: torch.linalg.lu(A)[1:],
        "qr": lambda A, b: torch.linalg.qr(A, mode="reduced"),
        "solve": lambda A, b: (torch.linalg.solve(A, b),),
        "svd": lambda A, b: torch.linalg.svd(A, full_matrices=False),
        "svd_s": lambda A, b: (torch.linalg.svdvals(A),),
    }

    def variant(op, data):
        def put(x):
            return torch.from_numpy(x).to(device)

        A, dA = put(data["A"]), put(data["dA"])
        b = None if data["b"] is None else put(data["b"])
        C = None if data["cotangents"] is None else [put(c) for c in data["cotangents"]]
        one = torch.ones((), dtype=torch.float64, device=device)
        function = None if data["second"] else outputs["eigh_values" if op == "eigh" and C is None else op]

        def loss(X):
            outs = function(X, b)
            return sum(o.sum() for o in outs) if C is None else sum((c * o).sum() for c, o in zip(C, outs))

        def vjp():
            value, pullback = torch.func.vjp(loss, A)
            return value, pullback(one)[0]

        def waiting(run):
            def timed():
                result = run()
                torch.cuda.synchronize()
                return result

            return timed if device == "cuda" else run

        if data["second"]:

            def scalar(X):
                return torch.linalg.slogdet(X)[1] if op == "logdet" else (torch.linalg.eigvalsh(X) ** 2).sum()

            def hvp():
                (_, value), (product, _) = torch.func.jvp(torch.func.grad_and_value(scalar), (A,), (dA,))
                return value, product

            return {"hvp": waiting(hvp)}
        return {"jvp": waiting(lambda: torch.func.jvp(loss, (A,), (dA,))), "vjp": waiting(vjp)}

    config = torch.__config__.show().splitlines()
    lapack = next((line.strip(" -") for line in config if "Math Kernel" in line or "OpenBLAS" in line), "unknown")
    return {"version": torch.__version__, "lapack": lapack}, {"pytorch": variant}


def jax(threads, device):
    import jax
    import jax.numpy as jnp
    import scipy

    jax.config.update("jax_enable_x64", True)

    def lu(A, b):
        packed, _, _ = jax.lax.linalg.lu(A)  # jax.scipy.linalg.lu would also form the permutation matrix
        return jnp.tril(packed, -1) + jnp.eye(*A.shape, dtype=A.dtype), jnp.triu(packed)

    outputs = {
        "eigh": lambda A, b: jnp.linalg.eigh(A),
        "eigh_values": lambda A, b: (jnp.linalg.eigvalsh(A),),
        "lu": lu,
        "qr": lambda A, b: jnp.linalg.qr(A, mode="reduced"),
        "solve": lambda A, b: (jnp.linalg.solve(A, b),),
        "svd": lambda A, b: jnp.linalg.svd(A, full_matrices=False),
        "svd_s": lambda A, b: (jnp.linalg.svd(A, compute_uv=False),),
    }

    def variant(wrap):
        def make(op, data):
            A, dA = jnp.asarray(data["A"]), jnp.asarray(data["dA"])
            # b and the cotangents are arguments, not constants that the compiler could fold.
            b = None if data["b"] is None else jnp.asarray(data["b"])
            C = None if data["cotangents"] is None else [jnp.asarray(c) for c in data["cotangents"]]
            if data["second"]:

                def scalar(X):
                    return jnp.linalg.slogdet(X)[1] if op == "logdet" else jnp.sum(jnp.linalg.eigvalsh(X) ** 2)

                second = wrap(lambda A, dA: jax.jvp(jax.value_and_grad(scalar), (A,), (dA,)))

                def hvp():
                    (value, _), (_, product) = jax.block_until_ready(second(A, dA))
                    return value, product

                return {"hvp": hvp}
            function = outputs["eigh_values" if op == "eigh" and C is None else op]

            def loss(X, b, C):
                outs = function(X, b)
                return sum(jnp.sum(o) for o in outs) if C is None else sum(jnp.sum(c * o) for c, o in zip(C, outs))

            jvp = wrap(lambda A, dA, b, C: jax.jvp(lambda X: loss(X, b, C), (A,), (dA,)))
            vjp = wrap(lambda A, b, C: jax.value_and_grad(lambda X: loss(X, b, C))(A))
            return {
                "jvp": lambda: jax.block_until_ready(jvp(A, dA, b, C)),
                "vjp": lambda: jax.block_until_ready(vjp(A, b, C)),
            }

        return make

    try:
        found = scipy.__config__.CONFIG["Build Dependencies"]["lapack"]
        lapack = f"{found['name']} {found['version']} of scipy {scipy.__version__}"
    except (AttributeError, KeyError):
        lapack = f"scipy {scipy.__version__}"
    context = {"version": jax.__version__, "jaxlib": jax.lib.__version__, "lapack": lapack}
    return context, {"jax": variant(jax.jit), "jax_plain": variant(lambda f: f)}


def measure(run, min_time):
    """(median, interquartile range, samples) in ms."""
    for _ in range(WARM_UPS):
        run()
    start = time.perf_counter()
    run()
    once = time.perf_counter() - start
    repeat = max(1, math.ceil(MIN_SAMPLE_S / once))
    count = int(min(MAX_RUNS, max(MIN_RUNS, min_time / (once * repeat))))
    samples = []
    gc.collect()
    gc.disable()
    for _ in range(count):
        start = time.perf_counter()
        for _ in range(repeat):
            run()
        samples.append(1e3 * (time.perf_counter() - start) / repeat)
    gc.enable()
    q1, median, q3 = statistics.quantiles(samples, n=4, method="inclusive")
    return median, q3 - q1, count


def contraction_error(slope, gradient, tangent):
    """|<gradient, tangent> - slope|, relative to the slope; where the terms cancel, to 1e-3 of |gradient| |tangent|."""
    import numpy as np

    gradient = gradient.cpu() if hasattr(gradient, "cpu") else gradient
    slope, gradient = float(slope), np.asarray(gradient)
    scale = max(abs(slope), 1e-3 * float(np.linalg.norm(gradient) * np.linalg.norm(tangent)), sys.float_info.min)
    return abs(float(np.vdot(gradient, tangent)) - slope) / scale


def relative_error(x, exact):
    import numpy as np

    x = np.asarray(x.cpu() if hasattr(x, "cpu") else x)
    return float(np.linalg.norm(x - exact) / np.linalg.norm(exact))


def main():
    args = arguments()
    if args.device == "cuda" and args.framework != "pytorch":
        sys.exit("--device cuda goes with --framework pytorch")
    limit_threads(args.threads, args.device)
    try:
        import numpy

        import inputs

        context, variants = {"pytorch": pytorch, "jax": jax}[args.framework](args.threads, args.device)
    except ImportError as e:
        print(f"[peers] {args.framework} not importable: {e}", file=sys.stderr)
        return 3
    context = {
        "framework": args.framework,
        **context,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "threads": args.threads,
        "device": args.device,
        "cores": len(os.sched_getaffinity(0)),
    }
    suites = [s for item in args.suite or [inputs.FIXED, inputs.RANDOM] for s in item.split(",")]
    for suite in suites:
        if suite not in inputs.SIZES:
            sys.exit(f"unknown suite {suite}; there are {', '.join(inputs.SIZES)}")

    rows, failed = [], False
    for suite in suites:
        sizes = [int(n) for n in args.sizes.split(",")] if args.sizes else inputs.SIZES[suite]
        for n in sizes:
            for op in inputs.OPERATIONS[suite]:
                data = inputs.problem(suite, op, n)
                data["second"] = suite == inputs.SECOND
                for label, variant in variants.items():
                    if label == "jax_plain" and (args.no_plain or n > JAX_PLAIN_MAX_N):
                        continue
                    runs = variant(op, data)
                    if data["second"]:
                        error = relative_error(runs["hvp"]()[1], inputs.hessian_product(op, data["A"], data["dA"]))
                    else:
                        error = contraction_error(runs["jvp"]()[1], runs["vjp"]()[1], data["dA"])
                    bad = not error <= CHECK_TOLERANCE
                    failed |= bad
                    for mode in inputs.MODES[suite]:
                        median, iqr, count = measure(runs[mode], args.min_time)
                        rows.append({
                            "suite": suite, "problem": f"{op}_{mode}", "n": n, "scalar": "f64", "framework": label,
                            "threads": args.threads, "median_ms": median, "iqr_ms": iqr, "runs": count,
                            "check_error": error,
                        })  # fmt: skip
                        print(f"[peers] {label:9} {suite} {op + '_' + mode:9} n={n:<4} threads={args.threads} "
                              f"{median:9.3f} +- {iqr:.3f} ms, check {error:.1e}{' FAILED' if bad else ''}",
                              file=sys.stderr, flush=True)  # fmt: skip
    text = json.dumps({"context": context, "rows": rows}, indent=1) + "\n"
    if args.out:
        with open(args.out, "w") as f:
            f.write(text)
    else:
        sys.stdout.write(text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
