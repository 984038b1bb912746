import numpy as np
import pytest
from laws.data import known_game

from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.matrix_game import MatrixGame


@pytest.mark.parametrize("seed", range(4))
def test_strategies_bound_the_value(seed):
    A, value = known_game(seed)
    game, rng = MatrixGame(A), np.random.default_rng(seed)
    for _ in range(20):
        x, p = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(12))
        lower, upper = game.bounds(Strategies(x, p))
        assert lower == pytest.approx((A @ x).min(), abs=1e-12)
        assert upper == pytest.approx((p @ A).max(), abs=1e-12)
        assert lower <= value + 1e-9 and upper >= value - 1e-9


def test_gaps_are_relative_to_the_largest_payoff():
    A, _ = known_game()
    game = MatrixGame(A)
    assert game.scale == np.abs(A).max()
    assert game.gap(0.0, 0.5) == pytest.approx(0.5 / np.abs(A).max())
    assert MatrixGame(A, largest=4.0).scale == 4.0
    assert MatrixGame(np.zeros((2, 2))).scale == 1.0


def test_a_column_is_drawn_by_its_weight():
    A, _ = known_game()
    game, x = MatrixGame(A), np.array([0.5, 0.25, 0.25] + [0.0] * 6)
    for unit, j in ((0.1, 0), (0.6, 1), (0.9, 2)):
        np.testing.assert_array_equal(game.estimate_values(x, unit), A[:, j])


def test_the_simplex():
    game = MatrixGame(known_game()[0])
    assert game.start().sum() == pytest.approx(1.0)
    assert game.support(np.array([1.0, 3.0, 2.0])) == 3.0
    x = game.project(np.array([2.0, 1.0] + [0.0] * 7))
    assert x.tolist() == [1.0] + [0.0] * 8
    # a mean that sums to 1 only to rounding counts as if it did
    assert game.lower(0.5 * game.start()) == pytest.approx(game.lower(game.start()), abs=1e-14)
