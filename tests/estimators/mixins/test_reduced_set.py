"""Vectors that are moved: their derivatives, and that fewer of them give the same values."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from hinge.estimators.mixins import reduced_set
from hinge.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 3))
VECTORS, A = X[:30], rng.standard_normal((30, 2))
KERNEL = Gaussian(0.3)
VALUES = KERNEL(X, VECTORS) @ A
EVERY = np.ones((8, 2), bool)


def distance(Z, takes_part):
    """What is minimised, with coefficients by least squares over rows and a root of the kernel matrix."""
    total = 0.0
    points = np.concatenate([VECTORS, Z])
    root = np.linalg.cholesky(KERNEL(points, points) + 1e-12 * np.eye(len(points))).T
    for k in range(A.shape[1]):
        used = takes_part[:, k]
        left = np.concatenate([KERNEL(X, Z[used]), root[:, len(VECTORS) :][:, used]])
        right = np.concatenate([VALUES[:, k], root[:, : len(VECTORS)] @ A[:, k]])
        gamma = np.linalg.lstsq(left, right)[0]
        total += float(((left @ gamma - right) ** 2).sum())
    return total


def test_the_derivatives_are_right(monkeypatch):
    """Of functions that share some of the vectors."""
    takes_part = EVERY.copy()
    takes_part[:3, 0] = takes_part[6:, 1] = False
    seen = []

    def look(value, at, **options):
        constant = float(np.einsum("ik,ij,jk->", A, KERNEL(VECTORS, VECTORS), A))
        seen.append((value(at)[0] + constant, distance(at.reshape(8, 3) + X.mean(0), takes_part)))
        exact, slope = value(at)[1], approx_fprime(at, lambda z: value(z)[0], 1e-6)
        np.testing.assert_allclose(exact, slope, atol=1e-5 * np.abs(slope).max())
        return type("Found", (), {"x": at})

    monkeypatch.setattr(reduced_set, "minimize", look)
    found = reduced_set.moved(X, VALUES, VECTORS, A, X[40:48], takes_part, 0.3)
    np.testing.assert_allclose(found, X[40:48])
    ((value, true),) = seen
    assert value == pytest.approx(true, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moved_vectors_come_nearer(dtype):
    at, rows = np.arange(0, 80, 10), X.astype(dtype)
    found = reduced_set.moved(rows, VALUES, rows[:30], A, rows[at], EVERY, 0.3)
    assert found.shape == (8, 3) and found.dtype == dtype
    assert distance(found, EVERY) < 0.3 * distance(X[at], EVERY)


def test_whole_numbers_are_moved_off_their_grid():
    rows = np.random.default_rng(1).integers(0, 5, (60, 3)).astype(np.uint8)
    kernel = Gaussian(0.2)
    values = kernel(rows.astype(float), rows[:20].astype(float)) @ np.ones((20, 1))
    found = reduced_set.moved(rows, values, rows[:20], np.ones((20, 1)), rows[:4], np.ones((4, 1), bool), 0.2)
    assert found.dtype.kind == "f" and np.abs(found - np.round(found)).max() > 0.01


def test_of_many_rows_some_are_used(monkeypatch):
    monkeypatch.setattr(reduced_set, "VALUES", 20 * 8)
    used = []
    monkeypatch.setattr(
        reduced_set, "minimize", lambda value, at, **options: used.append(value.__closure__) or Found(at)
    )
    reduced_set.moved(X, VALUES, VECTORS, A, X[:8], EVERY, 0.3)
    met = next(cell.cell_contents for cell in used[0] if np.shape(cell.cell_contents) == (20 + 30 + 8, 3))
    np.testing.assert_allclose(met[:20] + X[::4].mean(0), X[::4])


class Found:
    """A minimum that is where the search began."""

    def __init__(self, x):
        self.x = x
