"""The smallest enclosing ball: values, bounds, estimates, and points far from zero."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import as_table
from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair
from hinge.problems.max_min.base import Fraction, Strategies
from hinge.problems.max_min.check_problem import check_problem
from hinge.problems.max_min.enclosing_ball import EnclosingBall


@pytest.fixture
def points():
    return np.random.default_rng(3).standard_normal((40, 6))


def stored(A, kind, folder):
    if kind == "csr":
        return sp.csr_array(A)
    if kind == "table":
        return as_table(A)
    if kind == "disk":
        write_pair(A, folder / "pair")
        return open_pair(folder / "pair", keep=False)
    return A


@pytest.mark.parametrize("kind", ["dense", "csr", "table", "disk"])
def test_values_and_bounds(points, kind, tmp_path):
    A = points * (np.abs(points) > 0.3)
    problem = EnclosingBall(stored(A, kind, tmp_path))
    x, p = np.linspace(-1, 1, 6), np.random.default_rng(0).dirichlet(np.ones(40))
    D = ((A - x) ** 2).sum(axis=1)
    np.testing.assert_allclose(problem.values(x), -D, rtol=1e-12)
    np.testing.assert_allclose(problem.values_at(np.array([7, 3]), x), -D[[7, 3]], rtol=1e-12)
    np.testing.assert_allclose(problem.grad_at(4, x), 2 * (A[4] - x), rtol=1e-12)
    variance = p @ (A**2).sum(axis=1) - ((A.T @ p) ** 2).sum()
    assert problem.dual_bound(p) == pytest.approx(-variance, rel=1e-12)
    assert problem.dual_bound(3 * p) == pytest.approx(-variance, rel=1e-12)
    certificate = problem.certificate(Strategies(x, p))
    assert certificate.objective == pytest.approx(-D.max())
    assert certificate.gap == pytest.approx((D.max() - variance) / D.max())


@pytest.mark.slow
@pytest.mark.parametrize("far", [0.0, 50.0])
def test_it_keeps_the_contract_of_max_min(points, far):
    tested = check_problem(EnclosingBall(points + far))
    assert {"values", "grad_at", "estimate_values", "dual_bound"} <= set(tested)


def test_the_estimate_is_exact_at_the_centre(points):
    problem = EnclosingBall(points)
    np.testing.assert_allclose(problem.estimate_values(problem.start(), 0.5), problem.values(problem.start()))


def test_points_far_from_zero_cost_no_digits(points):
    x, p = points.mean(axis=0), np.full(40, 1 / 40)
    near = EnclosingBall(points).bounds(Strategies(x, p))
    far = EnclosingBall(points + 1e6).bounds(Strategies(x + 1e6, p))
    np.testing.assert_allclose(far, near, rtol=1e-8)


def test_norms_are_one_pass(points):
    problem = EnclosingBall(points)
    problem.estimate_values(points[0], 0.3)
    assert problem.reads <= 2 * problem.pass_cells + 40  # the rows of the centre, the norms, a column
    before = problem.reads
    problem.estimate_values(points[1], 0.3)
    assert problem.reads - before == 40


def test_a_fraction_bounds_from_a_sample():
    A = np.random.default_rng(0).standard_normal((5000, 3))
    problem = EnclosingBall(A, fraction=Fraction(rho=0.05, delta=0.01))
    lower = problem.lower(np.zeros(3))
    assert np.mean((A**2).sum(axis=1) > -lower) <= 0.05
    assert problem.reads < problem.pass_cells / 10


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(points, bad):
    A = points.copy()
    A[11, 2] = bad
    with pytest.raises(ValueError, match="NaN or infinite"):
        EnclosingBall(A).values(np.zeros(6))


def test_nothing_to_enclose():
    with pytest.raises(ValueError, match="nothing to solve"):
        EnclosingBall(np.zeros((0, 3)))
