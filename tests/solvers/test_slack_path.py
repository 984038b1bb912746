import numpy as np
import pytest
from scipy.optimize import linprog

from hinge.datasets import make_known_optimum, make_separable
from hinge.monitoring import Status, Stop
from hinge.problems import Regularized, SlackConstrained
from hinge.solvers import SDCA, Newton, solve, solve_slack


@pytest.mark.slow
@pytest.mark.parametrize("solver", [None, SDCA(), Newton()], ids=["auto", "sdca", "newton"])
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("nu", [0.15, 0.3])
def test_the_slack_asked_for_is_met(tiny, solver, bias, nu):
    X, y = tiny
    problem = SlackConstrained(X, y, nu, bias=bias)
    result = solve_slack(problem, solver, stop=Stop(1e-5, max_time=20))
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 1e-5
    certificate = problem.certificate(result.solution)
    assert certificate.gap <= 1e-5
    norm, loss = problem.criteria(result.solution.w, result.solution.b)
    assert loss / norm == pytest.approx(nu, rel=0.05)
    # w/‖w‖ and b/‖w‖ really have that margin after that slack
    margins = y * (X @ result.solution.w + result.solution.b) / norm
    gamma = certificate.objective
    assert np.maximum(0, gamma - margins).mean() == pytest.approx(nu, rel=1e-6)


@pytest.mark.slow
def test_a_known_margin():
    known = make_known_optimum(100, 8, 0.01, seed=0)
    norm = np.linalg.norm(known.w_star)
    nu = (known.objective - known.lam / 2 * norm**2) / norm
    result = solve_slack(SlackConstrained(known.X_train, known.y_train, nu), stop=Stop(1e-6, max_time=20))
    assert 1 / norm * (1 - 1e-6) <= result.certificate.objective <= 1 / norm * (1 + 1e-9)
    assert result.certificate.bound >= 1 / norm * (1 - 1e-9)
    assert result.certificate.gap <= 1e-6


def test_little_slack_is_maximum_margin():
    known = make_separable(60, 5, 0.3, seed=2)
    result = solve_slack(SlackConstrained(known.X_train, known.y_train, 1e-4), stop=Stop(1e-3, max_time=20))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective == pytest.approx(known.margin, rel=0.01)


@pytest.mark.slow
def test_weights(tiny):
    X, y = tiny
    s = np.arange(60) % 3
    weighted = SlackConstrained(X, y, 0.3, weight=s * 1.0, bias="free")
    repeated = SlackConstrained(np.repeat(X, s, axis=0), np.repeat(y, s), 0.3, bias="free")
    a, b = (solve_slack(p, stop=Stop(1e-5, max_time=20)) for p in (weighted, repeated))
    assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=2e-5)


def test_sparse_rows(adult):
    result = solve_slack(SlackConstrained(*adult, 0.3, bias="free"), stop=Stop(1e-3, max_time=20))
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 1e-3


def least_loss(X, y, free):
    """The least mean hinge loss of any w, by a linear program in w, b, ξ."""
    n, d = X.shape
    A = -np.hstack([y[:, None] * X, y[:, None], np.eye(n)])
    bounds = [(None, None)] * d + [(None, None) if free else (0, 0)] + [(0, None)] * n
    solved = linprog([0.0] * (d + 1) + [1 / n] * n, A, -np.ones(n), bounds=bounds)
    assert solved.status == 0
    return solved.fun


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("nu", [0.001, 0.02])
def test_slack_below_the_regularisation_path(tiny, bias, nu):
    # As λ falls, w stops growing at the least loss L of all: less slack than L/‖w‖ is met inside the ball,
    # by a shorter w of margin ν/L.
    X, y = tiny
    problem = SlackConstrained(X, y, nu, bias=bias)
    result = solve_slack(problem, Newton(), stop=Stop(1e-3, max_time=20))
    assert result.status is Status.CONVERGED
    best = nu / least_loss(X, y, bias == "free")
    assert best * (1 - 1e-3) <= result.certificate.objective <= best * (1 + 1e-9)
    assert result.certificate.bound >= best * (1 - 1e-9)


def test_where_every_row_is_contradicted():
    X, y = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]), np.array([1, -1, 1, -1])
    result = solve_slack(SlackConstrained(X, y, 0.1), stop=Stop(1e-6, max_time=20))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective == pytest.approx(0.1)  # that of w = 0


@pytest.mark.parametrize("nu", [0.04, 0.06])
def test_a_margin_that_exists_is_not_denied(tiny, nu):
    # Here no λ leaves so little slack, for as λ falls w stops growing; but margins are positive.
    X, y = tiny
    problem = SlackConstrained(X, y, nu)
    found = solve(Regularized(X, y, 1e-6), Newton(), stop=Stop(1e-6)).solution
    margin = problem.objective(found)
    assert margin > nu
    result = solve_slack(problem, Newton(), stop=Stop(1e-3, max_time=20))
    assert result.certificate.objective >= 0.99 * margin


@pytest.mark.slow
def test_a_tolerance_beyond_reach_is_not_blamed_on_the_margin(tiny):
    problem = SlackConstrained(*tiny, 0.2)
    result = solve_slack(problem, SDCA(), stop=Stop(1e-12, max_time=1))
    assert result.certificate.gap < 1e-6


def test_the_history_is_one(tiny):
    problem = SlackConstrained(*tiny, 0.2)
    result = solve_slack(problem, SDCA(), stop=Stop(1e-5, max_time=20))
    for name in ("seconds", "iteration", "feature_reads"):
        column = result.history.column(name)
        assert column == sorted(column), name
    assert result.history[-1].iteration == result.n_iter


@pytest.mark.slow
@pytest.mark.parametrize("solver", [None, SDCA(), Newton()], ids=["auto", "sdca", "newton"])
@pytest.mark.parametrize("bias", ["none", "free"])
def test_read_budget_is_never_exceeded(tiny, solver, bias):
    for limit in (0, 500, 5000, 20_000):
        problem = SlackConstrained(*tiny, 0.2, bias=bias)
        result = solve_slack(problem, solver, stop=Stop(1e-9, max_reads=limit, max_time=20))
        assert problem.matrix.reads <= limit
        assert result.status is Status.MAX_READS


def test_other_limits(tiny):
    problem = SlackConstrained(*tiny, 0.2)
    result = solve_slack(problem, SDCA(), stop=Stop(1e-9, max_iter=500))
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 500
    timed = solve_slack(problem, SDCA(), stop=Stop(1e-9, max_time=0.0))
    assert timed.status is Status.MAX_TIME
    passes = solve_slack(problem, SDCA(), stop=Stop(1e-9), passes=2)
    assert passes.status is Status.MAX_ITER
    asked = solve_slack(problem, SDCA(), stop=Stop(1e-9), callbacks=[lambda record, solution: True])
    assert asked.status is Status.CALLBACK


def test_same_seed_same_result(tiny):
    answers = [
        solve_slack(SlackConstrained(*tiny, 0.2, bias="free"), SDCA(), stop=Stop(1e-4), seed=seed).solution.w
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert not np.array_equal(answers[0], answers[2])
