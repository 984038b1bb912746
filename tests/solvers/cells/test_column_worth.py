"""The worth of columns that may be bought."""

import numpy as np
import pytest

from hinge.solvers.cells.thrifty import column_worth, columns_to_buy, columns_to_use, explained, kinds_of


def drawn(m, seed=0):
    """Ten columns that explain half of the labels' variance together, and ten that explain nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 20))
    return X, X[:, :10].sum(axis=1) / np.sqrt(10) + rng.standard_normal(m)


@pytest.mark.slow
@pytest.mark.parametrize("m", [15, 200])  # fewer rows than columns, and more
def test_the_variance_of_labels_is_divided_among_kinds(m):
    each = [column_worth(*drawn(m, seed), np.arange(20) // 10) for seed in range(20)]
    found, hope = np.mean(each, axis=0)
    assert (0.15 if m < 20 else 0.4) < found[:10].sum() < 0.6
    assert found[10:].sum() < (0.6 if m < 20 else 0.1) * found[:10].sum()
    assert (np.array([hope for _, hope in each]) >= np.array([worth for worth, _ in each])).all()
    assert hope[10:].sum() - found[10:].sum() > (0.2 if m < 20 else 0.01)  # few rows leave more to hope for


def test_columns_of_no_variance_are_worth_nothing_and_a_scale_changes_nothing():
    X, y = drawn(100)
    wide = np.column_stack([X * np.geomspace(1e-3, 1e3, 20) + 5.0, np.ones(100)])
    found, _ = column_worth(wide, y, np.append(np.arange(20) // 10, 2))
    np.testing.assert_allclose(found[:20], column_worth(X, y, np.arange(20) // 10)[0], rtol=1e-3, atol=1e-6)
    assert found[20] <= 1e-6


def test_kinds_are_prices():
    assert kinds_of(np.array([3.0, 1.0, 3.0])).tolist() == [1, 0, 1]
    many = kinds_of(np.random.default_rng(0).random(1000))
    assert np.bincount(many).tolist() == [125] * 8


def test_rows_and_columns_share_the_money():
    worth, prices = np.array([0.3, 0.2, 0.0001, 0.1]), np.array([1.0, 1.0, 50.0, 10.0])
    path = [0, 1, 3, 2]
    for money, count in ((1e6, 4), (3000.0, 3), (20.0, 2)):
        rows = money / prices[path].cumsum()
        assert count == 1 + np.argmax(explained(worth[path].cumsum(), rows, np.arange(1, 5)))
        assert columns_to_buy(worth, worth, prices, 0, money, 10**9, 0.0).tolist() == path[:count]
    assert columns_to_use(worth, prices).tolist() == [0, 1, 3]


def test_what_may_be_worth_its_price_is_bought_all_the_same():
    worth, prices = np.array([0.5, 1e-9, 1e-9, 1e-9]), np.array([8.0, 1.0, 1.0, 20.0])
    hope = np.array([0.5, 0.1, 0.05, 0.0])
    assert columns_to_buy(worth, hope, prices, 10, 100.0, 1000, 0.25).tolist() == [0, 1, 2]
    assert columns_to_buy(worth, hope, prices, 10, 100.0, 1000, 0.2).tolist() == [0, 1]  # for no more than 1.6
    assert columns_to_buy(worth, worth, prices, 10, 100.0, 1000, 3.0).tolist() == [0]  # what promises nothing is not
    hope[3] = 0.4  # the dear one, if it may be
    assert columns_to_buy(worth, hope, prices, 10, 1000.0, 1000, 3.0).tolist() == [0, 1, 2, 3]
    assert columns_to_buy(worth, hope, prices, 10, 1000.0, 1000, 0.25).tolist() == [0, 1, 2]
