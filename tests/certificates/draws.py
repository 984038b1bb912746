"""Random data of every kind: sizes, scales, offsets, duplicates, constants, storage."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Data(NamedTuple):
    """Rows as a solver gets them, and the same values in extended precision."""

    X: Any
    exact: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None


def rows(rng: np.random.Generator, *, largest: int = 40, decades: float = 20.0) -> tuple[Any, np.ndarray]:
    """A random matrix, sparse or dense, float32 or float64; and exactly the same values as long doubles."""
    n, d = (int(size) for size in np.ceil(np.exp(rng.uniform(0.0, np.log(largest), 2))))
    shape = rng.integers(6)
    if shape == 0:
        n *= 4
    X = rng.standard_normal((n, d))
    if shape == 1:
        X = np.round(2 * X)
    if shape == 2:  # few directions
        X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 1e-6 * X
    if rng.random() < 0.3:
        X[rng.random(X.shape) < rng.choice([0.3, 0.8])] = 0.0
    if rng.random() < 0.2:
        X[rng.integers(0, n, n // 2)] = X[rng.integers(0, n)]
    if rng.random() < 0.2:
        X[:, rng.integers(0, d)] = rng.choice([0.0, 1.0, 3.7])
    if rng.random() < 0.25:  # far from zero
        X += 10.0 ** rng.uniform(0, 8) * rng.standard_normal(d if rng.random() < 0.5 else 1)
    if rng.random() < 0.15:
        X *= 10.0 ** rng.uniform(-3, 3, d)
    if rng.random() < 0.15:
        X *= 10.0 ** rng.uniform(-3, 3, (n, 1))
    if rng.random() < 0.5:
        X *= 10.0 ** rng.uniform(-decades, decades)
    X = X.astype(rng.choice([np.float32, np.float64]))
    exact = X.astype(np.longdouble)
    return (sp.csr_array(X) if rng.random() < 0.35 else X), exact


def cut(rng: np.random.Generator, cells: int) -> dict[str, float]:
    """Sometimes a limit of reads, or no time at all; other limits of time would not come out the same."""
    chance = rng.random()
    if chance < 0.05:
        return {"max_time": 0.0}
    return {"max_reads": int(rng.integers(1, 30 * cells + 2))} if chance < 0.2 else {}


def examples(rng: np.random.Generator, **options: Any) -> Data:
    """Rows with two labels, by chance or by a plane, and sometimes weights."""
    X, exact = rows(rng, **options)
    n, d = exact.shape
    y = rng.choice([-1, 1], n)
    if rng.random() < 0.6:
        along = (exact / (np.abs(exact).max() or 1)).astype(float) @ rng.standard_normal(d)
        y = np.where(along > np.median(along) * rng.integers(0, 2), 1, -1)
        y[rng.random(n) < rng.choice([0.0, 0.1])] *= -1
    weight = None
    if rng.random() < 0.3:
        weight = 10.0 ** rng.uniform(-rng.choice([0.5, 6.0]), 1, n)
        weight[rng.random(n) < 0.1] = 0.0
        weight[0] = 1.0
    return Data(X, exact, y, weight)
