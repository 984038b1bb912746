import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import Regularized
from hinge.problems.svm.losses import SQUARED_HINGE, epsilon_insensitive
from hinge.solvers.choice.cost_model import (
    ascent_price,
    leaps_pay,
    newton_price,
    row_differences,
    stiffness,
    visit_price,
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
    assert ascent_price(made, 1e-2) < ascent_price(made, 1e-3) < ascent_price(made, 1e-9)
    assert ascent_price(problem(5000, 100, 1e-6), 1e-3) > 100 * ascent_price(made, 1e-3)
    alone, leaping = problem(5000, 100, 1e-3), problem(5000, 100, 1e-5)
    assert not leaps_pay(alone, 1e-2) and leaps_pay(leaping, 1e-2)
    # with steps in two directions, by the root
    assert ascent_price(problem(5000, 100, 1e-7), 1e-2) == pytest.approx(10 * ascent_price(leaping, 1e-2), rel=0.1)


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
    assert 0.0 < stiffness(none) < 1e-200 and ascent_price(none, 1e-3) > 0.0


def test_a_visit_costs_more_where_rows_are_long_or_sparse_or_far():
    X = sp.random_array((2000, 20), density=0.999, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    sparse = Regularized(X, np.resize([1, -1], 2000), 0.1)
    short, long, many = problem(2000, 20), problem(2000, 200), problem(60_000, 20)
    assert visit_price(short) < visit_price(sparse) < visit_price(long)
    assert visit_price(short) < visit_price(many)


def test_newtons_method_takes_more_where_there_are_more_features_and_less_where_nothing_is_smoothed_or_stiff():
    assert newton_price(problem(5000, 20)) < newton_price(problem(5000, 400))
    assert newton_price(problem(5000, 20, loss=SQUARED_HINGE)) < newton_price(problem(5000, 20))
    assert (
        newton_price(problem(5000, 20), 0.1) < newton_price(problem(5000, 20), 100.0) < newton_price(problem(5000, 20))
    )
    assert newton_price(problem(300, 3000)) > newton_price(problem(300, 100))  # by inner products
