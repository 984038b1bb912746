"""The game of SIMBA: margins with a given slack."""

import numpy as np
import pytest
from scipy.optimize import linprog

from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.max_margin import SlackGame


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 4))
    X /= 1.1 * np.linalg.norm(X, axis=1).max()
    return X, np.where(X[:, 0] + 0.2 * rng.standard_normal(24) > 0, 1, -1)


@pytest.mark.parametrize("nu", [0.0, 0.1, 0.55, 1.0])
def test_the_greedy_slack_is_the_best_response(rows, nu):
    X, y = rows
    game = SlackGame(X, y, nu)
    p = np.random.default_rng(1).dirichlet(np.ones(24))
    best = linprog(-p, np.ones((1, 24)), [nu * 24], bounds=[(0, 2)] * 24)
    point = game.respond(p, game.start())
    xi = point[5:]
    assert p @ xi == pytest.approx(-best.fun)
    assert xi.sum() <= nu * 24 + 1e-9
    assert point[4] == np.sign(p @ y)
    assert SlackGame(X, y, nu, bias=False).respond(p, game.start())[4] == 0.0


@pytest.mark.parametrize("bias", [False, True])
def test_every_point_is_below_every_p(rows, bias):
    X, y = rows
    game, rng = SlackGame(X, y, 0.3, bias=bias), np.random.default_rng(2)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(24), 2)
        w = rng.standard_normal(4)
        point = game.respond(q, np.concatenate([w / np.linalg.norm(w), np.zeros(25)]))
        lower, upper = game.bounds(Strategies(point, p))
        assert lower <= upper
        expected = y * (X @ point[:4] + point[4]) + point[5:]
        np.testing.assert_allclose(game.values(point), expected, atol=1e-14)
        assert lower == pytest.approx(expected.min(), abs=1e-10)
        assert p @ expected <= upper  # the mixture at this point is no higher than at the best


def test_steps_act_on_w_alone(rows):
    X, y = rows
    game = SlackGame(X, y, 0.3)
    gradient = game.grad_at(5)
    np.testing.assert_allclose(gradient[:4], y[5] * X[5])
    assert not gradient[4:].any()
    point = np.arange(29.0)
    projected = game.project(point)
    assert np.linalg.norm(projected[:4]) == pytest.approx(1.0)
    np.testing.assert_array_equal(projected[4:], point[4:])


def test_bad_input(rows):
    X, y = rows
    with pytest.raises(ValueError, match="nu must lie"):
        SlackGame(X, y, 1.5)
    with pytest.raises(ValueError, match="unit ball"):
        SlackGame(3 * X, y, 0.1)
