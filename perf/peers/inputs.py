# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inputs of both suites, bit for bit those of frechet_perf (up to the last bit of log, sin and cos in the Gaussian
suite). Everything is float64 and filled row-major; all integer arithmetic is modulo 2^64."""

import numpy as np

FIXED = "linalg_jvp_vjp"  # closed-form inputs, losses that are plain sums
RANDOM = "linalg_jvp_vjp_random"  # Gaussian inputs, a random cotangent on every output
SECOND = "second_order"  # value, gradient and Hessian times tangent
OPERATIONS = {
    FIXED: ["eigh", "lu", "qr", "solve", "svd_s"],
    RANDOM: ["eigh", "lu", "qr", "solve", "svd"],
    SECOND: ["logdet", "eigh"],
}
MODES = {FIXED: ["jvp", "vjp"], RANDOM: ["jvp", "vjp"], SECOND: ["hvp"]}
SIZES = {SECOND: [8, 64, 256], FIXED: [2, 4, 8, 256, 512], RANDOM: [8, 32, 64, 128, 256, 512, 1024]}

_SEEDS_SMALL = {"svd_s": 10, "qr": 4, "eigh": 5, "lu": 52, "solve": 11}  # n <= 8
_SEEDS = {"svd_s": 34, "qr": 26, "eigh": 27, "lu": 54, "solve": 35}
_MASK = (1 << 64) - 1


def data(rows, cols, seed):
    """((x mod 1024) - 512) / 512 with x(i) = i * 6364136223846793005 + seed * 1442695040888963407."""
    i = np.arange(rows * cols, dtype=np.uint64)
    x = i * np.uint64(6364136223846793005) + np.uint64((seed * 1442695040888963407) & _MASK)
    return (((x % np.uint64(1024)).astype(np.float64) - 512.0) / 512.0).reshape(rows, cols)


def well_conditioned(n, seed):
    return 0.05 * data(n, n, seed) + np.diag(1.0 + np.arange(n) / n)


def spd(n, seed):
    w = well_conditioned(n, seed)
    return w.T @ w + np.eye(n)


def splitmix64(count, seed):
    """The first `count` outputs of splitmix64 whose state starts at `seed`."""
    z = np.uint64(seed & _MASK) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def gaussian(rows, cols, seed):
    """Box-Muller on uniform = (next() >> 11) * 2^-53: the pair (u1, u2) gives the row-major entries 2k and 2k + 1,
    sqrt(-2 log(1 - u1)) times cos(2 pi u2) and sin(2 pi u2). Of an odd number of entries the last sine is dropped."""
    count = rows * cols
    pairs = (count + 1) // 2
    u = (splitmix64(2 * pairs, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    radius = np.sqrt(-2.0 * np.log(1.0 - u[0::2]))
    angle = 2.0 * np.pi * u[1::2]
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return z.reshape(-1)[:count].reshape(rows, cols)


def _fixed(op, n):
    seed = (_SEEDS_SMALL if n <= 8 else _SEEDS)[op]
    a = spd(n, seed) if op in ("eigh", "solve") else well_conditioned(n, seed)
    b = data(n, 1, seed + 1) if op == "solve" else None
    return {"A": a, "dA": data(n, n, seed + 1000), "b": b, "cotangents": None}


def _random(op, n):
    seed = 100 + OPERATIONS[RANDOM].index(op)
    g = gaussian(n, n, seed)
    a = {"eigh": lambda: (g + g.T) / 2.0, "solve": lambda: g / np.sqrt(n) + 2.0 * np.eye(n)}.get(op, lambda: g)()
    b = gaussian(n, 1, seed + 1) if op == "solve" else None
    shapes = {  # of the outputs, in their order; a vector is a column
        "eigh": [(n,), (n, n)],
        "lu": [(n, n), (n, n)],
        "qr": [(n, n), (n, n)],
        "solve": [(n, 1)],
        "svd": [(n, n), (n,), (n, n)],
    }[op]
    cotangents = [
        gaussian(s[0], s[1] if len(s) == 2 else 1, seed + 2000 + k).reshape(s) for k, s in enumerate(shapes)
    ]
    t = gaussian(n, n, seed + 1000)
    if op == "eigh":  # torch.linalg.eigh gives a wrong JVP for a tangent that is not symmetric
        t = (t + t.T) / 2.0
    return {"A": a, "dA": t, "b": b, "cotangents": cotangents}


def _second(op, n):
    seed = (_SEEDS_SMALL if n <= 8 else _SEEDS)["eigh"]
    t = data(n, n, seed + 1000)
    if op == "eigh":  # the frameworks want symmetric tangents
        t = (t + t.T) / 2.0
    return {"A": spd(n, seed), "dA": t, "b": None, "cotangents": None}


def hessian_product(op, a, t):
    """The second derivative in closed form: of log |det A|, and of the sum of squared eigenvalues."""
    if op == "logdet":
        inverse = np.linalg.inv(a).T
        return -inverse @ t.T @ inverse
    return t + t.T


def problem(suite, op, n):
    """A, its tangent dA, the right side b (solve only, else None) and one cotangent per output (None: all ones)."""
    return {FIXED: _fixed, RANDOM: _random, SECOND: _second}[suite](op, n)
