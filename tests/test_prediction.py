import numpy as np
import pytest
import scipy.sparse as sp

from hinge.prediction import ReadingOrder


def drawn(n=400, d=12, classes=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(3.0, 0.05, d) + rng.standard_normal(d)
    return X, rng.standard_normal((classes, d)), rng.standard_normal(classes)


def test_columns_come_by_what_they_move_for_their_price():
    X, w, b = drawn()
    w[0, 3] = 0.0
    moved = np.abs(w[0]) * X.std(axis=0)
    order = ReadingOrder(w, b, X)
    assert 3 not in order.columns
    assert (np.diff(moved[order.columns]) <= 0).all()
    prices = np.geomspace(1, 1000, 12)
    dear = ReadingOrder(w, b, X, prices)
    assert (np.diff((moved / prices)[dear.columns]) <= 0).all()
    free = ReadingOrder(w, b, X, np.where(np.arange(12) == 11, 0.0, 1.0))
    assert free.columns[0] == 11


@pytest.mark.parametrize("classes", [1, 3])
def test_estimates_are_least_squares_of_the_scores(classes):
    X, w, b = drawn(classes=classes)
    order = ReadingOrder(w, b, X)
    scores = X @ w.T + b
    assert order.cuts[0] == 0 and order.cuts[-1] == 12
    for k in (0, 3, len(order.cuts) - 1):
        read = order.columns[: order.cuts[k]]
        sums = X[:, read] @ w[:, read].T + b
        missed = scores - order.estimate(k, sums)
        np.testing.assert_allclose(np.sqrt((missed**2).mean(axis=0)), order.looks.spread[k], atol=1e-8)
        np.testing.assert_allclose(missed.mean(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose((missed * (sums - sums.mean(axis=0))).mean(axis=0), 0.0, atol=1e-8)


def test_compressed_rows_say_the_same():
    X, w, b = drawn()
    X[X < 0] = 0.0
    dense, sparse = ReadingOrder(w, b, X), ReadingOrder(w, b, sp.csr_array(X))
    assert dense.columns.tolist() == sparse.columns.tolist()
    np.testing.assert_allclose(dense.looks.spread, sparse.looks.spread, atol=1e-7)


@pytest.mark.parametrize("classes", [1, 4])
@pytest.mark.parametrize("confidence", [0.9, 0.97])
def test_the_share_of_rows_that_differ_is_counted(classes, confidence):
    X, w, b = drawn(3000, classes=classes)
    order = ReadingOrder(w, b, X)
    z = order.ahead_for(confidence)
    stops = order._ahead >= z
    stops[-1] = True
    k = stops.argmax(axis=0)
    wrong = order._wrong[k, np.arange(X.shape[0])].mean()
    assert wrong <= 1 - confidence
    assert wrong > 0.3 * (1 - confidence)  # it is not more careful than was asked for
    assert order.cuts[k].mean() < 9
    assert z < order.ahead_for(0.999)


def test_few_rows_are_no_evidence():
    X, w, b = drawn(50)
    assert ReadingOrder(w, b, X).ahead_for(0.99) == np.inf
    assert ReadingOrder(w, b, X).ahead_for(1.0) == np.inf


@pytest.mark.parametrize("classes", [1, 3])
def test_what_ranges_settle_no_cell_can_change(classes):
    X, w, b = drawn(classes=classes)
    low, high = X.min(axis=0), X.max(axis=0)
    order = ReadingOrder(w, b, X, ranges=(low, high))
    k = len(order.cuts) // 2
    read, rest = order.columns[: order.cuts[k]], order.columns[order.cuts[k] :]
    sums = X[:, read] @ w[:, read].T + b
    found = order.settled(k, sums)
    settled = found >= 0
    assert 0 < settled.sum() < len(X)

    def label(scores):
        return (scores[:, 0] > 0).astype(int) if classes == 1 else scores.argmax(axis=1)

    rng = np.random.default_rng(1)
    expected = label(X @ w.T + b)
    assert (found[settled] == expected[settled]).all()
    for _ in range(50):
        other = X.copy()
        corner = np.where(rng.random((len(X), len(rest))) < 0.5, low[rest], high[rest])
        other[:, rest] = corner
        scores = other @ w.T + b
        assert (label(scores)[settled] == expected[settled]).all()
    inside = order.interval(np.full(len(X), k), sums, np.inf)
    scores = X @ w.T + b
    assert (inside[0] <= scores + 1e-9).all() and (inside[1] >= scores - 1e-9).all()


def test_nothing_to_read_and_bad_input():
    X, w, b = drawn()
    empty = ReadingOrder(np.zeros((1, 12)), b, X)
    assert len(empty.columns) == 0 and empty.cuts.tolist() == [0]
    with pytest.raises(ValueError, match="12 finite numbers, one for each column"):
        ReadingOrder(w, b, X, np.ones(11))
    with pytest.raises(ValueError, match="12 finite numbers, one for each column"):
        ReadingOrder(w, b, X, ["dear"] * 12)
    with pytest.raises(ValueError, match="none negative"):
        ReadingOrder(w, b, X, -np.ones(12))
    with pytest.raises(ValueError, match="least value above the largest"):
        ReadingOrder(w, b, X, ranges=(1.0, 0.0))
    with pytest.raises(ValueError, match="of the 12 columns"):
        ReadingOrder(w, b, X, ranges=(np.zeros(3), np.ones(3)))
