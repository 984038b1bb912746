import time

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive, squared_epsilon_insensitive
from hinge.solvers.linear.subspace_ascent import DualPoint, climb, point_of, tools_for

OTHERS = HINGE, epsilon_insensitive(0.1), squared_epsilon_insensitive(0.2)
LOSSES = [SQUARED_HINGE, *(pytest.param(loss, marks=pytest.mark.slow) for loss in OTHERS)]  # each is compiled anew


def made(loss, C, bias="penalized", seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random(120, 30, 0.3, random_state=seed, format="csr")
    f = X @ rng.normal(size=30) + 0.3 * rng.normal(size=120)
    y = f if loss.two_sided else np.where(f > 0, 1, -1)
    weight = rng.uniform(0.5, 2.0, 120)
    weight[::5] = 0.0  # held out
    return Regularized.from_C(X, y, C, weight=weight, bias=bias, bias_scale=2.0 if bias != "none" else 1.0, loss=loss)


def tools_of(problem):
    return tools_for(problem, 0, problem.matrix.typical_sq_norm(16))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("bias", ["none", "penalized"])
def test_it_ends_where_the_problem_agrees_that_it_may(loss, bias):
    """From nothing and from another λ: the certificate has the gap that was asked for, and rows their responses."""
    point, tools = None, None
    for C in (0.05, 1.0, 30.0):
        problem = made(loss, C, bias)
        tools = tools or tools_of(problem)
        found = climb(problem, point, tools, 1e-5)
        assert found.gap <= 1e-5 and problem.certificate(found.answer).gap <= 1.001e-5
        np.testing.assert_allclose(found.responses, problem.responses(found.answer.w) + found.answer.b, atol=1e-10)
        assert (found.answer.alpha[::5] == 0.0).all()
        again = point_of(problem, found.point.alpha)
        np.testing.assert_allclose(found.point.v, again.v, atol=1e-9)
        point = found.point


@pytest.mark.slow
def test_subspace_steps_save_passes():
    """On rows that are nearly dependent, with a large C."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40)) @ np.diag(np.geomspace(1.0, 0.05, 40))
    y = np.where(X @ rng.normal(size=40) + 0.1 * rng.normal(size=300) > 0, 1, -1)
    problem = Regularized.from_C(sp.csr_array(X), y, 100.0, bias="penalized", loss=SQUARED_HINGE)
    tools = tools_of(problem)
    climb(problem, None, tools, 1e-4)
    plain = tools_of(problem)
    dual = DualPoint(np.zeros(300), np.zeros(40), 0.0)
    while True:  # each call of one pass forgets the last step
        found = climb(problem, dual, plain, 1e-4, passes=1.0)
        if found.gap <= 1e-4:
            break
        dual = found.point
    assert tools.epoch.t < 0.7 * plain.epoch.t


def test_limits():
    problem = made(SQUARED_HINGE, 100.0)
    assert climb(problem, None, tools_of(problem), 1e-12, ends=time.perf_counter()) is None
    found = climb(problem, None, tools_of(problem), 1e-12, passes=2.0)
    assert found.gap == np.inf and problem.certificate(found.answer).gap > 1e-12


@pytest.mark.slow
def test_v_is_the_sum_over_rows_whatever_their_units():
    """Steps far beyond the bounds, on few features of unequal units: what is projected leaves no trace in v."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, d = int(rng.integers(5, 80)), int(rng.integers(1, 20))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-4, 4, d)
        y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)
        point, tools = None, None
        for C in (1e-3, 1.0, 1e3):
            problem = Regularized.from_C(sp.csr_array(X), y, C, bias="penalized", loss=HINGE)
            tools = tools or tools_of(problem)
            found = climb(problem, point, tools, 1e-3, passes=100.0)
            point, again = found.point, point_of(problem, found.point.alpha)
            mass = float(np.linalg.norm(X, axis=1) @ point.alpha)
            assert np.linalg.norm(point.v - again.v) <= 1e-11 * mass
            if found.gap <= 1e-3:
                assert problem.dual(found.answer) >= (1.0 - 2e-3) * problem.objective(found.answer) - 1e-9
