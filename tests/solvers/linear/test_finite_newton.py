import time

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import Regularized
from hinge.problems.svm.losses import SQUARED_HINGE, squared_epsilon_insensitive
from hinge.solvers.linear.finite_newton import begin_at, descend, moved_to


def made(C, loss=SQUARED_HINGE, bias="penalized"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6)) + 0.5
    f = X @ rng.normal(size=6) + 0.5 * rng.normal(size=150)
    weight = rng.uniform(0.5, 2.0, 150)
    weight[::5] = 0.0
    y = f if loss.two_sided else np.where(f > 0, 1, -1)
    return Regularized.from_C(sp.csr_array(X), y, C, weight=weight, bias=bias, loss=loss)


@pytest.mark.parametrize("loss", [SQUARED_HINGE, squared_epsilon_insensitive(0.2)], ids=["labels", "targets"])
@pytest.mark.parametrize("bias", ["none", "penalized"])
def test_the_gap_is_that_of_the_certificate_along_C(loss, bias):
    curve = begin_at(made(1e-3, loss, bias), None)
    for C in (1e-3, 0.1, 10.0, 1e3):
        problem = made(C, loss, bias)
        found = descend(problem, curve, 1e-9)
        assert found.gap <= 1e-9 and problem.certificate(found.answer).gap <= 1.1e-9
        assert (found.answer.alpha[::5] == 0).all()
        fresh = descend(problem, begin_at(problem, None), 1e-9)
        np.testing.assert_allclose(found.answer.w, fresh.answer.w, atol=1e-4)


def test_it_begins_where_it_is_told_to():
    problem = made(1.0)
    best = descend(problem, begin_at(problem, None), 1e-10).answer
    curve = begin_at(problem, best)
    assert descend(problem, curve, 1e-9).gap <= 1e-9 and curve.moved[0] == 0  # without a step
    descend(made(1e-4), curve, 1e-9)
    moved_to(problem, curve, best)
    before = int(curve.moved[0])
    assert descend(problem, curve, 1e-9).gap <= 1e-9 and curve.moved[0] == before


def test_rounding_and_the_clock_end_it():
    problem = made(1.0)
    assert 0 <= descend(problem, begin_at(problem, None), 0.0).gap < 1e-12
    assert descend(problem, begin_at(problem, None), 0.0, ends=time.perf_counter()) is None
