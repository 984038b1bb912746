"""Bounds on the rounding of kernel sums, against the same sums in extended precision, for every way of storing."""

import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian

N = 60


def pixels(rng, d, dtype):
    X = (rng.integers(0, 256, (N, d)) * (rng.random((N, d)) < 0.3) / 255.0).astype(dtype)
    X[0, 0], X[1, 0] = 1, X.dtype.type(1 / 255)  # so that the step of the grid is seen
    return X


MADE = {
    "bytes32": lambda rng, d: pixels(rng, d, np.float32),
    "bytes64": lambda rng, d: pixels(rng, d, np.float64),
    "bits": lambda rng, d: (rng.random((N, d)) < 0.2) * 1.0,
    "float32": lambda rng, d: rng.standard_normal((N, d)).astype(np.float32) * np.float32(10 ** rng.uniform(-2, 2)),
    "offset": lambda rng, d: (rng.standard_normal((N, d)) + 10 ** rng.uniform(0, 2)).astype(np.float32),
    "long": lambda rng, d: (rng.standard_normal((N, d)) * 10 ** rng.uniform(0, 2, (N, 1))).astype(np.float32),
    "far": lambda rng, d: rng.standard_normal((N, d)) + 1e6,
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("d", [3, 150, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("width", [0.05, 1.0, 40.0])
def test_every_level_of_exactness_keeps_its_bound(kind, d, width):
    rng = np.random.default_rng([d, int(100 * width), list(MADE).index(kind)])
    X = MADE[kind](rng, d)
    long = X.astype(np.longdouble)
    distances = ((long[:, None] - long) ** 2).sum(2)
    gamma = width / float(np.median(distances[distances > 0]))
    beta = rng.standard_normal(N) * rng.integers(0, 2, N) * 10 ** rng.uniform(-3, 3, N)
    exact = beta.astype(np.longdouble) @ np.exp(-np.longdouble(gamma) * distances)
    used = np.flatnonzero(beta)
    level = Gram(as_points(X, Gaussian(gamma)))
    while level is not None:
        sums, bound = level.again(used, beta[used], np.arange(N))
        off = np.abs(sums - exact)
        assert (off <= bound).all()
        assert (off <= level.error(np.abs(beta), len(used) + 1)).all()
        level = level.finer
    assert (bound <= 1e-6 * np.abs(beta).sum()).all(), "the finest level is no better than float32"
