"""The Hessians of Regularized problems, in each of their forms, in systems."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.monitoring import Stop
from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.solvers import SDCA, Newton, solve
from hinge.solvers.newton import systems
from hinge.solvers.newton.systems import DIRECT, form_of

BIASES = ["none", "penalized", "free"]


def wide(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0, 1, -1)


@pytest.mark.slow
def test_the_form_is_that_of_the_smaller_side():
    for (n, d), form in {(500, 40): "features", (60, 900): "rows", (3000, 2600): "products"}.items():
        X, y = wide(n, d)
        assert form_of(Regularized(X, y, 0.1)) == form
    S = sp.random_array((60, 900), density=0.02, rng=np.random.default_rng(0)).tocsr()
    assert form_of(Regularized(S, np.resize([1, -1], 60), 0.1)) == "products"


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_all_forms_solve_the_same_system(bias, weighted):
    X, y = wide(40, 25)
    rng = np.random.default_rng(1)
    weight = rng.integers(1, 4, 40) / 2.0 if weighted else None
    problem = Regularized(X, y, 0.03, bias=bias, bias_scale=0.7, weight=weight)
    rows, curved, g, scale = rng.permutation(40).astype(np.uint32), rng.random(40) < 0.6, rng.standard_normal(26), 0.4
    if bias == "none":
        g[-1] = 0.0
    B = np.column_stack([X, np.full(40, bias != "none")])[rows[curved]]
    s = problem.weight[rows[curved]] if weighted else np.ones(curved.sum())
    H = np.diag(systems.penalty_of(problem)) + scale * (B.T * s) @ B
    expected = np.linalg.lstsq(H, g)[0]
    by_rows = systems.by_rows(problem, problem.matrix.inner_products(rows), rows, curved, g, scale)
    np.testing.assert_allclose(by_rows, expected, rtol=1e-8, atol=1e-10)
    own = np.zeros((26, 26))
    systems.update_hessian(problem, own, rows, np.zeros(40, bool), curved, 0)
    if bias != "free":  # where a ridge holds the bias
        np.testing.assert_allclose(systems.by_features(problem, own, g, scale), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("bias", BIASES)
def test_without_rows_on_the_parabola_the_penalty_is_all_there_is(bias):
    X, y = wide(10, 25)
    problem, g = Regularized(X, y, 0.5, bias=bias), np.ones(26)
    K, rows = problem.matrix.inner_products(np.arange(10)), np.arange(10, dtype=np.uint32)
    p = systems.by_rows(problem, K, rows, np.zeros(10, bool), g, 1.0)
    np.testing.assert_allclose(p[:-1], 2.0)
    assert np.isfinite(p[-1])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
def test_fewer_rows_than_features(bias, loss):
    X, y = wide(70, DIRECT + 60, seed=3)
    weight = np.random.default_rng(2).integers(0, 3, 70).astype(float)
    for A, s in ((X, None), (X.astype(np.float32), weight), (sp.csr_array(X), None)):
        problem = Regularized(A, y, 1e-3, bias=bias, loss=loss, weight=s)
        assert form_of(problem) == "rows"
        ours, other = (solve(problem, solver, stop=Stop(1e-6, max_iter=200_000)) for solver in (Newton(), SDCA()))
        assert ours.certificate.gap <= 1e-6
        assert ours.certificate.objective == pytest.approx(other.certificate.objective, rel=3e-6)


def test_a_free_bias_is_held_where_no_row_is_on_the_parabola():
    rng = np.random.default_rng(0)
    problem = Regularized(rng.standard_normal((20, 3)), np.where(np.arange(20) % 2, 1, -1), 0.1, bias="free")
    g = np.array([0.5, -1.0, 0.2, 0.25])
    none = np.zeros(0, np.uint32)
    np.testing.assert_allclose(systems.by_products(problem, none, g, 1.0)[:3], g[:3] / 0.1, rtol=0.3)
    assert np.isfinite(systems.by_products(problem, none, g, 1.0)).all()
