"""Algorithm 1, and that Algorithm 2 on its problem is the same."""

import numpy as np
import pytest
from reference import sublinear

from hinge.monitoring import Status, Stop
from hinge.problems import MaxMargin, Semidefinite, SlackGame
from hinge.solvers import PrimalDual, SublinearPerceptron, solve


def rows_of(n=60, d=20, margin=0.2):
    """Unit rows with a margin of at least this."""
    A = np.random.default_rng(0).standard_normal((n, d))
    A[:, 0] = 0.0
    A *= np.sqrt(1 - margin**2) / np.linalg.norm(A, axis=1, keepdims=True)
    A[:, 0] = margin
    return A


A = rows_of()


@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_the_perceptron_of_algorithm_1(seed):
    T = SublinearPerceptron("fixed", 0.3).horizon(MaxMargin(A, relative=False))
    assert int(np.ceil(4 * np.log(60) / (0.3 / MaxMargin(A).scale) ** 2)) == T
    result = solve(MaxMargin(A, relative=False), SublinearPerceptron("fixed", 0.3), stop=Stop(0), seed=seed)
    x, draws = sublinear.perceptron(A / MaxMargin(A).scale, T, seed)
    assert result.status is Status.FINISHED
    np.testing.assert_allclose(result.solution.x, x, atol=1e-12)
    np.testing.assert_array_equal(np.bincount(draws, minlength=60), result.state.drawn)


def test_adaptive_rates_are_those_of_every_t():
    result = solve(MaxMargin(A), SublinearPerceptron(rate=1.0), stop=Stop(0, max_iter=200), seed=3)
    x, _ = sublinear.perceptron(A / MaxMargin(A).scale, 200, 3, T_of=lambda t: t)
    np.testing.assert_allclose(result.solution.x, x, atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"steps": "fixed", "epsilon": 0.3}, {"rate": 1.0}])
def test_it_is_algorithm_2_on_margins(settings):
    y = np.where(np.arange(60) % 3 == 0, -1, 1)
    problem, states = MaxMargin(3.0 * A * y[:, None], y, relative=False), []
    for kind in (SublinearPerceptron, PrimalDual):
        solver, before = kind(**settings), problem.reads
        states.append(solver.advance(problem, solver.init(problem, 5), 120))
        assert problem.reads - before <= 120 * (60 + 20)
    for name in ("y", "x_sum", "p", "drawn", "g_sum"):
        np.testing.assert_allclose(*(getattr(state, name) for state in states), atol=1e-12)


def test_pieces_make_the_whole():
    solver, problem = SublinearPerceptron(), MaxMargin(A)
    whole, pieces = solver.advance(problem, solver.init(problem, 4), 130), solver.init(problem, 4)
    for size in (1, 7, 64, 58):
        pieces = solver.advance(problem, pieces, size)
    for a, b in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "problem", [Semidefinite(np.eye(2)[None]), SlackGame(A[:10], np.ones(10), nu=0.1)], ids=["semidefinite", "slack"]
)
def test_other_problems_are_refused(problem):
    with pytest.raises(ValueError, match="use PrimalDual"):
        solve(problem, SublinearPerceptron())
