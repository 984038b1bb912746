import numpy as np
import pytest

from hinge.problems import Regularized
from hinge.problems.svm.losses import SQUARED_HINGE, epsilon_insensitive
from hinge.solvers.choice.cost_model import (
    ascent_cost,
    ascent_passes,
    newton_cost,
    newton_steps,
    row_differences,
    stiffness,
)


def problem(n, d, lam=0.1, **options):
    """Rows of unit variance in all cells."""
    X = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    return Regularized(X, np.where(np.arange(n) % 2, 1, -1), lam, **options)


def test_stiffness_is_the_squared_norm_of_a_row_over_lambda_n():
    made = problem(5000, 100, 1e-3)
    assert stiffness(made) == pytest.approx(100 / 5, rel=0.1)
    X, t = made.matrix.whole(), 100.0 * made.y
    assert stiffness(Regularized(X, t, 1e-5, loss=epsilon_insensitive(0.1))) == pytest.approx(100 / 5, rel=0.2)


def test_the_ascent_takes_longer_for_more_digits_and_for_a_smaller_lambda():
    made = problem(5000, 100)
    assert ascent_cost(made, 1e-2) < ascent_cost(made, 1e-3) < ascent_cost(made, 1e-9)
    assert ascent_cost(problem(5000, 100, 1e-6), 1e-3) > 10 * ascent_cost(made, 1e-3)
    # subspace steps make passes grow with the root
    assert ascent_passes(1e6, 1e-2) == pytest.approx(10 * ascent_passes(1e4, 1e-2), rel=0.1)
    assert ascent_passes(1e6, 1e-2, accelerated=False) > 100 * ascent_passes(1e6, 1e-2)


def test_few_rows_are_nearly_orthogonal():
    few = problem(50, 2000, 1e-9)
    assert row_differences(few).directions > 1000
    assert row_differences(few).sq == pytest.approx(2000, rel=0.05)
    assert stiffness(few) < 2 < 1e6 < stiffness(problem(2000, 50, 1e-9))


def test_few_rows_far_from_the_origin_are_nearly_parallel():
    few = problem(50, 2000, 1e-9)
    far = Regularized(few.matrix.whole() + 30.0, few.y, 1e-9)
    assert row_differences(far).directions > 1000
    assert row_differences(far).sq == pytest.approx(2000, rel=0.05)
    assert stiffness(far) == pytest.approx(901 * stiffness(few), rel=0.1)
    same = Regularized(np.ones((50, 2000)), few.y, 1e-9)
    assert stiffness(same) > 1e9


@pytest.mark.parametrize("n", [2, 3, 50])
def test_rows_of_zeros_have_a_price(n):
    none = Regularized(np.zeros((n, 2000)), np.resize([1, -1], n), 1e-3)
    assert 0.0 < stiffness(none) < 1e-200 and ascent_cost(none, 1e-3) > 0.0


def test_steps_of_newtons_method_are_fewer_with_more_rows_a_feature():
    assert newton_steps(problem(500, 50)) > newton_steps(problem(5000, 50)) > newton_steps(problem(5000, 5))


def test_newtons_method_takes_more_where_there_are_more_features_and_less_where_nothing_is_smoothed():
    assert newton_cost(problem(5000, 20)) < newton_cost(problem(5000, 400))
    assert newton_cost(problem(5000, 20, loss=SQUARED_HINGE)) < newton_cost(problem(5000, 20))
    assert newton_cost(problem(300, 3000)) > newton_cost(problem(300, 100))  # by inner products
