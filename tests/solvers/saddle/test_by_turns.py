"""Two methods in turns: neither is waited for in vain, and the answer is the best of both."""

import numpy as np
import pytest

from hinge.monitoring import Status, Stop
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.solvers.driver import solve
from hinge.solvers.saddle.by_turns import ByTurns
from hinge.solvers.saddle.working_set import WorkingSet


def tiny_margin(n=1500, d=15):
    """Rows that a hyperplane through zero separates, with no margin planted."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d))
    return A * np.sign(A @ rng.standard_normal(d))[:, None]


@pytest.mark.slow
def test_a_tiny_margin_where_the_working_set_alone_is_far_from_it():
    problem = MaxMargin(tiny_margin())
    result = solve(problem, ByTurns(tol=1e-2), stop=Stop(1e-2, max_iter=20_000))
    assert result.status is Status.CONVERGED
    assert result.state.gradients.t > 0
    alone = solve(problem, WorkingSet(tol=1e-2), stop=Stop(1e-2, max_iter=result.n_iter))
    assert alone.certificate.gap > 5 * result.certificate.gap


def test_an_easy_margin_is_the_working_sets_alone():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((3000, 20))
    A[:, 0] = 0.5 + 0.3 * rng.random(3000)
    solvers = ByTurns(tol=1e-2), WorkingSet(tol=1e-2)
    result, alone = (solve(MaxMargin(A), solver, stop=Stop(1e-2)) for solver in solvers)
    assert result.state.gradients.t == 0
    assert (result.n_iter, result.certificate.gap) == (alone.n_iter, alone.certificate.gap)


def test_turns_are_of_equal_work_and_double():
    problem, solver = MaxMargin(tiny_margin(300)), ByTurns(turn=8.0)
    state, turns = solver.init(problem), []
    for _ in range(200):
        before = bool(state.s.second)
        state = solver.advance(problem, state, 1)
        turns += [float(state.s.turn)] if bool(state.s.second) != before else []
    assert turns[:5] == [8.0, 16.0, 16.0, 32.0, 32.0]


def test_the_best_of_both_is_the_answer():
    A = tiny_margin(300)
    problem, solver = MaxMargin(A), ByTurns(turn=8.0)
    state = solver.advance(problem, solver.init(problem), 60)
    x, p = solver.solution(problem, state)[:2]
    one, other = state.ascent.s, state.gradients.s
    assert (A @ x).min() / np.linalg.norm(x) >= max(one.lower, other.lower) * (1 - 1e-9)
    assert np.linalg.norm(A.T @ p) <= min(one.upper, other.upper) * (1 + 1e-9)


def test_one_that_has_stalled_has_no_turn():
    problem, solver = MaxMargin(tiny_margin(100)), ByTurns(turn=4.0)
    state = solver.advance(problem, solver.init(problem), 30)
    state.ascent.s.still = 10**6
    steps = state.ascent.t
    state = solver.advance(problem, state, 40)
    assert state.ascent.t <= steps + 40 and bool(state.s.second)
    steps = state.ascent.t
    state = solver.advance(problem, state, 40)
    assert state.ascent.t == steps and solver.pause(problem, state) > 0


def test_settings():
    with pytest.raises(ValueError, match="turn must be a number greater than 0"):
        ByTurns(turn=0.0)
    assert "ByTurns solves MaxMargin" in ByTurns().rejects(object())
