import numpy as np
import pytest
from scipy.optimize import minimize

from hinge.solvers.papers.simplex_minimum import simplex_minimum


def best(K, b):
    n = len(b)
    found = minimize(
        lambda x: 0.5 * x @ K @ x - b @ x,
        np.full(n, 1 / n),
        jac=lambda x: K @ x - b,
        bounds=[(0, 1)] * n,
        constraints=[{"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return found.fun


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rank", [2, 5, 30])
def test_it_is_the_minimum(seed, rank):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((12, rank)), rng.standard_normal(12)
    K = A @ A.T
    beta, e = np.zeros(12), np.zeros(12)
    beta[seed] = 1.0
    simplex_minimum(K, b, beta, e)
    assert (beta >= 0).all() and beta.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(e, K @ beta - b, atol=1e-10)
    # nobody outside has a smaller gradient than those inside: this proves it
    assert e.min() >= e[beta > 0].max() - 1e-9 * (np.diag(K).max() + np.abs(b).max())
    assert 0.5 * beta @ K @ beta - b @ beta <= best(K, b) + 1e-9


def test_from_the_minimum_it_stays():
    K, b = np.diag([1.0, 2.0, 4.0]), np.zeros(3)
    beta, e = np.array([4.0, 2.0, 1.0]) / 7, np.zeros(3)
    simplex_minimum(K, b, beta, e)
    np.testing.assert_allclose(beta, np.array([4.0, 2.0, 1.0]) / 7, rtol=1e-12)


def test_a_vertex_and_a_single_weight():
    beta, e = np.array([0.5, 0.5]), np.zeros(2)
    simplex_minimum(np.eye(2), np.array([10.0, 0.0]), beta, e)
    assert beta.tolist() == [1.0, 0.0]
    beta, e = np.ones(1), np.zeros(1)
    simplex_minimum(np.array([[3.0]]), np.array([1.0]), beta, e)
    assert beta.tolist() == [1.0] and e.tolist() == [2.0]
