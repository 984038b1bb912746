import numpy as np
import pytest
import scipy.sparse as sp
from reference.multiclass import row_step

from hinge.monitoring import Stop
from hinge.problems import Multiclass
from hinge.problems.max_min.linear import onto_simplex
from hinge.solvers import MulticlassSDCA, solve
from hinge.solvers.newton.multiclass_face import MOST, face_step, project, rows_read, step_work


def drawn(seed, n=80, d=30, k=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.argmax(X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)), axis=1)


def value(problem, p):
    Z, mass = problem.combination(p)
    return mass @ np.broadcast_to(problem.weight, problem.n) - (Z**2).sum() * problem.total / (2 * problem.lam)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", [0.0, 0.5])
def test_from_near_the_optimum_it_leads_there(sparse, scale):
    X, y = drawn(0)
    s = np.random.default_rng(1).integers(0, 3, 80) / 2.0
    problem = Multiclass(sp.csr_array(X) if sparse else X, y, 0.02, weight=s, bias_scale=scale)
    best = solve(problem, MulticlassSDCA(), stop=Stop(1e-11, max_iter=10**6)).solution.alpha
    p = best.copy()
    free = np.count_nonzero(p > 1e-9, axis=1) > 1
    p[free] = np.where(
        p[free] > 1e-9, 0.99 * p[free] + 0.01 / np.count_nonzero(p[free] > 1e-9, axis=1, keepdims=True), 0
    )
    V = problem.combination(p)[0] * problem.total
    before, reads = value(problem, p), problem.reads
    rise = face_step(problem, p, V, np.flatnonzero(free))
    assert problem.reads - reads == (np.count_nonzero(X[free]) if sparse else X[free].size)
    assert rise == pytest.approx(value(problem, p) - before, rel=1e-6)
    assert value(problem, p) == pytest.approx(value(problem, best), rel=1e-10)
    np.testing.assert_allclose(V, problem.combination(p)[0] * problem.total, atol=1e-9)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(10))
def test_from_anywhere_the_dual_does_not_fall(seed):
    X, y = drawn(seed, d=3)  # of so few features, the system is singular
    problem = Multiclass(X, y, 0.02)
    p = problem.feasible(np.random.default_rng(seed).dirichlet(np.full(5, 0.3), 80))
    V = problem.combination(p)[0] * problem.total
    before = value(problem, p)
    rise = face_step(problem, p, V, np.flatnonzero(np.count_nonzero(p > 0, axis=1) > 1))
    assert rise >= 0
    assert value(problem, p) == pytest.approx(before + rise, rel=1e-9)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)


def test_what_a_step_takes():
    problem = Multiclass(*drawn(0), 0.1)
    assert rows_read(problem) == 80
    assert step_work(problem, 20, 30) < step_work(problem, 40, 60) < np.inf
    assert step_work(problem, 80, MOST + 1) == np.inf
    assert rows_read(Multiclass(np.ones((3 * MOST, 1)), np.arange(3 * MOST) % 3, 0.1)) == MOST


def test_the_projection_is_the_one_by_sorting():
    rng = np.random.default_rng(0)
    for _ in range(300):
        m = int(rng.integers(1, 12))
        G, old, h = rng.standard_normal(m).round(1), rng.dirichlet(np.full(m, 0.5)), 10.0 ** rng.uniform(-3, 3)
        new = np.append(old + G / h, [9.0, 9.0])
        project(new, m)
        np.testing.assert_array_equal(new[m:], 9.0)
        np.testing.assert_allclose(new[:m], onto_simplex(old + G / h), atol=1e-9)
        if m > 1:
            right = np.eye(m)[0]
            np.testing.assert_allclose(right - new[:m], row_step(G - h * (right - old), h, right), atol=1e-9)


def test_the_projection_where_others_are_infinitely_far():
    z = np.array([-np.inf, 0.0, 0.0])
    project(z, 3)
    np.testing.assert_array_equal(z, [0.0, 0.5, 0.5])
