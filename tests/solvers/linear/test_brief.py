import time

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.datasets import make_known_optimum
from hinge.problems import L1Regularized, Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.solvers.linear.brief import Way, brief, way_to
from hinge.solvers.linear.subspace_ascent import tools_for


def made(C, loss=SQUARED_HINGE, bias="penalized"):
    rows = make_known_optimum(200, 8, 0.01)
    weight = np.ones(200)
    weight[::4] = 0.0
    return Regularized.from_C(sp.csr_array(rows.X_train), rows.y_train, C, weight=weight, bias=bias, loss=loss)


ASCENT, NEWTON, BOTH = Way(np.inf, False), Way(0.0, True), Way(1.0, True)


@pytest.mark.parametrize(
    ("ways", "loss"),
    [
        pytest.param([ASCENT] * 3, HINGE, marks=pytest.mark.slow),  # which is compiled anew
        ([ASCENT] * 3, SQUARED_HINGE),
        ([NEWTON] * 3, SQUARED_HINGE),
        ([ASCENT, NEWTON, BOTH], SQUARED_HINGE),
        ([BOTH, ASCENT, NEWTON], SQUARED_HINGE),
    ],
)
def test_answers_along_C_are_those_of_the_problems(ways, loss):
    """Whichever method went before."""
    last = tools = None
    for C, way in zip((0.01, 1.0, 20.0), ways, strict=True):
        problem = made(C, loss)
        tools = tools or tools_for(problem, 0, problem.matrix.typical_sq_norm(16))
        last = brief(problem, way, tools, 1e-5, passes=1e4, last=last)
        assert last.gap <= 1e-5 and problem.certificate(last.answer).gap <= 1.001e-5
        if last.responses is not None:
            np.testing.assert_allclose(last.responses, problem.responses(last.answer.w) + last.answer.b, atol=1e-10)


def test_ways_and_limits():
    problem = made(1.0)
    assert way_to(made(1.0, bias="free"), 1e-2) is None
    assert way_to(L1Regularized([[1.0], [2.0]], [1, -1], 0.1), 1e-2) is None
    assert way_to(made(1e3), 1e-2) == NEWTON  # few features, and a large C
    assert way_to(made(1e5, HINGE), 1e-2) is None  # which the driver's solvers do better
    early = way_to(made(1e-6), 1e-2)
    assert early.passes > 0 and early.newton
    tools, now = tools_for(problem, 0, 1.0), time.perf_counter()
    for way in (ASCENT, NEWTON):
        assert brief(problem, way, tools, 1e-5, passes=10.0, ends=now) is None
    cut = brief(problem, ASCENT, tools, 1e-12, passes=1.0)
    assert cut.gap == np.inf and cut.responses is None


def test_a_first_run_tries_the_ascent_where_rows_are_few_for_each_feature():
    def full(n, d, loss, lam=1e-6):
        rng = np.random.default_rng(0)
        return Regularized(rng.standard_normal((n, d)), np.resize([1, -1], n), lam, loss=loss)

    assert way_to(full(100, 50, SQUARED_HINGE), 1e-3) == Way(0.0, True)  # it goes on from a run
    crowded = way_to(full(100, 50, SQUARED_HINGE), 1e-3, first=True)
    assert crowded.passes > 1.0 and crowded.newton
    assert way_to(full(1000, 50, SQUARED_HINGE), 1e-3, first=True) == Way(0.0, True)
    tried = way_to(full(500, 50, HINGE), 1e-3, first=True)
    assert tried.passes > 1.0 and not tried.newton and way_to(full(500, 50, HINGE), 1e-3) is None
    assert way_to(full(5000, 50, HINGE), 1e-3, first=True) is None
