"""The largest margin with a kernel."""

import numpy as np
import pytest
from laws.data import known_margin

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.max_margin import KernelMaxMargin, MaxMargin


def expanded(problem, p, K):
    return np.concatenate([problem.y * p, K @ (problem.y * p)])


@pytest.mark.parametrize("seed", range(3))
def test_with_a_linear_kernel_it_is_the_linear_problem(seed):
    A, sigma = known_margin(seed)
    y = np.where(np.arange(len(A)) % 4, 1, -1)
    A = A * y[:, None]
    kernel, linear = KernelMaxMargin(Gram(as_points(A, Linear(), exact=True)), y), MaxMargin(A, y)
    K, rng = A @ A.T, np.random.default_rng(seed)
    for _ in range(5):
        p, q = rng.dirichlet(np.ones(len(A)), 2)
        x, w = expanded(kernel, q, K), A.T @ (y * q)
        np.testing.assert_allclose(kernel.values(x), linear.values(w), atol=1e-12)
        ours, theirs = kernel.bounds(Strategies(x, p)), linear.bounds(Strategies(w, p))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
        assert ours[0] <= sigma <= ours[1]
        np.testing.assert_allclose(kernel.combine(p), expanded(kernel, p, K), atol=1e-12)


def test_norms_and_projections():
    X = np.random.default_rng(0).standard_normal((20, 3))
    problem = KernelMaxMargin(X, None, Gaussian(0.5))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2))
    x = expanded(problem, np.full(20, 0.3), K)
    assert problem.support(x) == pytest.approx(np.sqrt(0.09 * K.sum()), rel=1e-6)
    assert problem.support(problem.project(x)) == pytest.approx(1.0)
    small = 0.01 * x
    np.testing.assert_array_equal(problem.project(small), small)
    expansion = problem.present(x)
    np.testing.assert_array_equal(expansion.beta, x[:20])
    np.testing.assert_array_equal(expansion.responses, x[20:])


def test_a_step_costs_one_row_and_bounds_nothing():
    X = np.random.default_rng(0).standard_normal((20, 3))
    problem = KernelMaxMargin(X, None, Gaussian(0.5))
    x = problem.grad_at(3)
    assert problem.kernel_evals == 20
    problem.lower(x)
    problem.dual_bound(np.full(20, 0.05), x)
    problem.estimate_values(x, 0.5)
    assert problem.kernel_evals == 20


def test_bad_input():
    with pytest.raises(ValueError, match="takes a Gram, or points and a kernel"):
        KernelMaxMargin(np.eye(3))
    with pytest.raises(ValueError, match="3 labels, each -1"):
        KernelMaxMargin(np.eye(3), [1, 0, 1], Linear())
