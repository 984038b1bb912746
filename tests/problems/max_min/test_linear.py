import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access import DenseTable
from hinge.problems.max_min.linear import LinearMaxMin
from hinge.problems.max_min.sampled_bound import Fraction

A = np.random.default_rng(0).standard_normal((30, 5)) * (np.random.default_rng(1).random((30, 5)) < 0.6)
LAYOUTS = {
    "dense": lambda: A,
    "csr": lambda: sp.csr_array(A),
    "table": lambda: DenseTable(A, np.ascontiguousarray(A.T)),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


@every_layout
def test_values_and_slopes_are_products(layout):
    problem = LinearMaxMin(layout())
    x, p = np.linspace(-1, 1, 5), np.random.default_rng(2).dirichlet(np.ones(30))
    np.testing.assert_allclose(problem.values(x), A @ x, rtol=1e-13)
    np.testing.assert_allclose(problem.quick_values(x), A @ x, rtol=1e-13)
    np.testing.assert_allclose(problem.combine(p), A.T @ p, atol=1e-15)
    np.testing.assert_allclose(problem.quick_combine(p), A.T @ p, atol=1e-15)
    np.testing.assert_allclose(problem.values_at(np.array([3, 7]), x), A[[3, 7]] @ x)
    np.testing.assert_array_equal(problem.grad_at(4), A[4])
    np.testing.assert_array_equal(problem.column(2), A[:, 2])
    np.testing.assert_allclose(problem.sample_of(np.array([3, 7]))(x), A[[3, 7]] @ x)


@every_layout
def test_the_estimate_is_unbiased_and_its_mean_square_is_bounded(layout):
    problem = LinearMaxMin(layout())
    x = np.array([0.5, -0.3, 0.0, 0.2, 0.1])
    chance = x**2 / (x @ x)
    ends = np.cumsum(chance)
    units = [end - c / 2 for end, c in zip(ends, chance, strict=True) if c > 0]  # one for each column
    found = np.array([problem.estimate_values(x, u) for u in units])
    mean = chance[chance > 0] @ found
    np.testing.assert_allclose(mean, A @ x, atol=1e-12)
    square = chance[chance > 0] @ found**2
    assert (square <= (A**2).sum(axis=1) * (x @ x) * (1 + 1e-12)).all()
    assert problem.estimate_values(np.zeros(5), 0.5) is None


def test_reads_are_counted_and_announced():
    problem = LinearMaxMin(sp.csr_array(A))
    assert problem.step_reads == max((A != 0).sum(1)) + max((A != 0).sum(0))
    assert problem.lower_reads == problem.pass_cells == np.count_nonzero(A)
    problem.values(np.ones(5))
    assert problem.reads == np.count_nonzero(A)
    sampled = LinearMaxMin(A, fraction=Fraction(0.5, 0.1))
    assert sampled.lower_reads == sampled.fraction.size * 5
    sampled.least(np.ones(5))
    assert 0 < sampled.reads <= sampled.fraction.size * 5
    assert sampled.lower_reads == 0  # the sample is read once


def test_rounding_is_bounded():
    from fractions import Fraction as Exact

    problem, x = LinearMaxMin(A), np.random.default_rng(3).standard_normal(5)
    values = problem.values(x)
    for i in range(30):
        exact = sum(Exact(a) * Exact(b) for a, b in zip(A[i].tolist(), x.tolist(), strict=True))
        assert abs(Exact(float(values[i])) - exact) <= Exact(problem.value_error(x, 0.0))


def test_bad_input():
    with pytest.raises(ValueError, match="nothing to solve"):
        LinearMaxMin(np.zeros((3, 0)))
    broken = A.copy()
    broken[2, 1] = np.nan
    with pytest.raises(ValueError, match="Value number 2 is not finite"):
        LinearMaxMin(DenseTable(broken, np.ascontiguousarray(broken.T))).values(np.ones(5))
