"""The best multiple of a direction."""

import numpy as np
import pytest

from hinge.problems.svm.examples import sorted_bias
from hinge.problems.svm.kernel_duality import best_scale

N = 400


def primal(lam, sq, r, y, c, s, b, epsilon):
    short = 1.0 - y * (s * r + b) if epsilon is None else np.abs(y - s * r - b) - epsilon
    return 0.5 * lam * s**2 * sq + float((c * np.maximum(short, 0.0)).sum())


@pytest.mark.sampled
@pytest.mark.parametrize("epsilon", [None, 0.05])
@pytest.mark.parametrize("length", [0.7, 1.4])
@pytest.mark.parametrize("free", [True, False])
def test_it_is_the_best_of_all(epsilon, length, free):
    """Responses that are too short or too long by a factor."""
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=N) < 0.4, 1.0, -1.0) if epsilon is None else rng.standard_normal(N)
    r = (length * y * rng.uniform(1.0, 3.0, N)) if epsilon is None else length * y + 0.01 * rng.standard_normal(N)
    lam, sq, c = 1e-3, 4.0, rng.uniform(0.5, 1.5, N) / N
    r = r - (0.3 if free else 0.0)
    b = float(sorted_bias(r, y, c, epsilon)) if free else 0.0
    now = primal(lam, sq, r, y, c, 1.0, b, epsilon)
    s, its, found = best_scale(lam, sq, r, y, c, b, now, epsilon, free)
    grid = np.linspace(0.3, 2.5, 2000)
    biases = [float(sorted_bias(t * r, y, c, epsilon)) if free else 0.0 for t in grid]
    least = min(primal(lam, sq, r, y, c, t, own, epsilon) for t, own in zip(grid, biases, strict=True))
    if found == np.inf:  # there was little to gain
        assert s == 1.0 and its == b and now - least < 0.5 * now
    else:
        assert found == pytest.approx(primal(lam, sq, r, y, c, s, its, epsilon), rel=1e-12)
        assert found - least <= 0.1 * (now - least)


def test_none_where_the_length_is_right():
    rng = np.random.default_rng(1)
    y = np.where(rng.uniform(size=N) < 0.5, 1.0, -1.0)
    r = y * rng.choice([0.5, 1.0, 1.0, 2.0], N)
    lam, c = 0.2, 1.0 / N  # longer costs more than the short rows gain, shorter makes half of all rows short
    assert best_scale(lam, 1.0, r, y, c, 0.0, 1e-6, None, False) == (1.0, 0.0, np.inf)
