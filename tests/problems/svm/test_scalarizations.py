import numpy as np
import pytest

from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized, SlackConstrained, Solution
from hinge.problems.svm.scalarizations import scalarizations
from hinge.solvers import SDCA, solve


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [0.01, 0.3])
def test_one_solution_three_problems(tiny, bias, weighted, lam):
    X, y = tiny
    s = np.random.default_rng(0).integers(0, 4, 60) * 1.0 if weighted else None
    problem = Regularized(X, y, lam, bias=bias, weight=s)
    result = solve(problem, SDCA(), stop=Stop(tol=1e-10, max_time=20))
    assert result.status is Status.CONVERGED
    here = scalarizations(problem, result.solution)
    assert (here.norm, here.loss) == pytest.approx(problem.criteria(result.solution.w, result.solution.b))
    assert here.lam == pytest.approx(lam, rel=1e-9)
    assert here.nu == pytest.approx(here.loss / here.norm)
    assert here.norm == here.B

    slack = SlackConstrained(X, y, here.nu, bias=bias, weight=s)
    ball = NormConstrained(X, y, here.B, bias=bias, weight=s)
    assert slack.certificate(result.solution).gap < 1e-7
    assert slack.objective(result.solution) == pytest.approx(1 / here.norm, rel=1e-6)
    assert ball.certificate(result.solution).gap < 1e-7

    # and back again
    back = scalarizations(slack, result.solution)
    assert back.lam == pytest.approx(lam, rel=1e-4)
    assert back.nu == pytest.approx(here.nu, rel=1e-4)
    assert back.norm == pytest.approx(here.norm, rel=1e-4)
    assert scalarizations(ball, result.solution).lam == pytest.approx(lam, rel=1e-6)


def test_without_a_dual_there_is_no_lam(tiny):
    X, y = tiny
    here = scalarizations(Regularized(X, y, 0.1), Solution(np.ones(7)))
    assert np.isnan(here.lam)
    assert here.norm == pytest.approx(np.sqrt(7))
    at_rest = scalarizations(Regularized(X, y, 0.1), Solution(np.zeros(7), alpha=np.ones(60)))
    assert (at_rest.norm, at_rest.loss, at_rest.nu) == (0, 1, np.inf)


def test_rows_with_a_weight_are_read_and_billed(tiny):
    X, y = tiny
    problem = Regularized(X, y, 0.1)
    scalarizations(problem, Solution(np.ones(7), alpha=(np.arange(60) < 10) * 0.5))
    assert problem.matrix.reads == 10 * 7
