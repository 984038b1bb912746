import numpy as np
import pytest
from laws.data import known_margin

from hinge.problems.max_min.base import NEGLIGIBLE, Strategies
from hinge.problems.max_min.max_margin import MaxMargin


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_the_known_margin(seed):
    A, sigma = known_margin(seed)
    problem, rng = MaxMargin(A), np.random.default_rng(seed)
    for _ in range(20):
        x, p = rng.standard_normal(6), rng.dirichlet(np.ones(len(A)))
        lower, upper = problem.bounds(Strategies(x, p))
        assert lower <= sigma * (1 + 1e-12)
        assert upper >= sigma * (1 - 1e-12)
        assert lower == pytest.approx(max(0.0, (A @ x).min() / np.linalg.norm(x)), abs=1e-12)
        assert upper == pytest.approx(np.linalg.norm(A.T @ p), rel=1e-12)


def test_labels_turn_rows():
    A, _ = known_margin(1)
    y = np.where(np.arange(len(A)) % 3 == 0, -1, 1)
    plain, turned = MaxMargin(A), MaxMargin(A * y[:, None], y)
    x, p = np.linspace(0, 1, 6), np.random.default_rng(0).dirichlet(np.ones(len(A)))
    np.testing.assert_allclose(turned.values(x), plain.values(x))
    np.testing.assert_allclose(turned.combine(p), plain.combine(p))
    np.testing.assert_allclose(turned.grad_at(3), A[3])
    np.testing.assert_allclose(turned.column(2), A[:, 2])
    np.testing.assert_allclose(turned.sample_of(np.array([0, 3]))(x), A[[0, 3]] @ x)


def test_the_lower_bound_does_not_depend_on_the_length():
    A, _ = known_margin(2)
    problem, x = MaxMargin(A), A.mean(axis=0)
    assert problem.lower(x) == pytest.approx(problem.lower(1e-3 * x), rel=1e-12)
    assert problem.lower(-x) == 0.0 == problem.lower(0 * x)
    np.testing.assert_allclose(np.linalg.norm(problem.present(x)), 1.0)


def test_small_margins_are_measured_by_a_typical_row():
    A, _ = known_margin(0)
    problem = MaxMargin(A)
    typical = np.sqrt(np.median((A**2).sum(axis=1)))
    assert problem.unit(0.0, 1e-9) == pytest.approx(NEGLIGIBLE * typical)
    assert problem.unit(0.0, 2.0) == 2.0
    assert problem.scale == pytest.approx(np.linalg.norm(A, axis=1).max())
    assert problem.reads == 0  # neither is billed


def test_bad_input():
    for y in ([1, 1], [1, 2, 1], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="3 labels, each -1"):
            MaxMargin(np.eye(3), y)
    with pytest.raises(ValueError, match="radius must be"):
        MaxMargin(np.eye(3), radius=0.0)
