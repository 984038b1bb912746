import numpy as np
import pytest
import scipy.sparse as sp
from calibration.problems import drawn

from hinge.calibration.left_out import SpanRequest, spans_by_kernel
from hinge.calibration.leverage import LinearRows, Squares, spans_by_features

X, _ = drawn(60, 5)
PLACE = np.where(np.arange(60) < 40, np.arange(60), -1)
ASKED = SpanRequest(np.arange(40), np.linspace(0.1, 2.0, 40), np.arange(20, 60), PLACE[20:])


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("stored", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_they_are_the_spans_by_inner_products(bias, stored):
    penalty = np.ones(6)
    penalty[-1] = bias != "free"
    rows = LinearRows(stored, 0.0 if bias == "none" else 1.5, penalty)
    other = spans_by_kernel(rows.products, rows.sq_norms, bias == "free", ASKED)
    np.testing.assert_allclose(spans_by_features(rows, ASKED), other, rtol=1e-3, atol=1e-5)


def test_what_costs_nothing_is_no_trouble():
    rows = LinearRows(np.zeros((60, 3)), 0.0, np.zeros(4))
    assert np.isfinite(spans_by_features(rows, ASKED)).all()


def test_random_signs_are_right_in_the_mean():
    X, _ = drawn(900, 40)
    rows, every = LinearRows(X.astype(np.float32), 1.0, np.ones(41)), np.arange(900)
    asked = SpanRequest(every, np.full(900, 0.5), every, every)
    exact, found = spans_by_features(rows, asked), spans_by_features(rows, asked, None, 64)
    assert found.mean() == pytest.approx(exact.mean(), rel=0.03)
    assert 0.05 < np.std(found / exact) < 0.25  # sqrt(2/64) of what a row has


def test_rows_that_take_nearly_all_back_are_not_left_to_signs():
    X, _ = drawn(60, 40)
    rows, every = LinearRows(X, 1.0, np.ones(41)), np.arange(60)
    asked = SpanRequest(every, np.full(60, 0.01), every, every)
    np.testing.assert_array_equal(spans_by_features(rows, asked, None, 64), spans_by_features(rows, asked))


def test_sums_follow_rows_that_come_and_go():
    rows, kept = LinearRows(X, 1.5, np.ones(6)), Squares()
    for free, rho in ((np.arange(50), 2.0), (np.arange(5, 55), 1.0), (np.arange(3), 0.5), (np.arange(2, 48), 0.1)):
        fresh = Squares().sum_over(rows, free, np.full(len(free), rho))
        np.testing.assert_allclose(kept.sum_over(rows, free, np.full(len(free), rho)), fresh, rtol=1e-9, atol=1e-9)
    assert kept.moved == 0  # the last has too little of the one before
