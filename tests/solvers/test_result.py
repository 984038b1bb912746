"""The result of `solve`."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from hinge.monitoring import Status, Stop
from hinge.problems import Regularized
from hinge.solvers import SDCA, solve


def test_a_result_holds_one_run(tiny):
    problem = Regularized(*tiny, 0.1)
    result = solve(problem, SDCA(), stop=Stop(1e-4))
    assert result.status is Status.CONVERGED
    assert result.solver == SDCA()
    assert result.n_iter == result.history[-1].iteration
    assert result.history[-1].feature_reads == problem.reads
    assert result.certificate.objective == pytest.approx(problem.objective(result.solution), rel=1e-12)
    assert result.solution.b == result.certificate.b
    with pytest.raises(FrozenInstanceError):
        result.n_iter = 0


def test_it_survives_a_pickle(tiny):
    result = solve(Regularized(*tiny, 0.1), SDCA(), stop=Stop(1e-4))
    copy = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(copy.solution.w, result.solution.w)
    assert repr(copy.history) == repr(result.history) and copy.status is result.status
