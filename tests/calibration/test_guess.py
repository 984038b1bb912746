"""Spans as if features were uncorrelated."""

import numpy as np
import pytest
import scipy.sparse as sp
from calibration.problems import drawn

from hinge.calibration.left_out import SpanRequest
from hinge.calibration.leverage import LinearRows, spans_by_features
from hinge.calibration.linear_spans import first_guess

X, _ = drawn(400, 60)
PLACE = np.where(np.arange(400) < 300, np.arange(400), -1)
ASKED = SpanRequest(np.arange(300), np.full(300, 2.0), np.arange(100, 400), PLACE[100:])


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, sp.csr_matrix], ids=["dense", "array", "matrix"])
def test_it_is_right_where_features_do_not_meet(bias, stored):
    """Rows of one feature each, so that H has a diagonal only but for the bias."""
    alone = np.zeros((400, 60))
    alone[np.arange(400), np.arange(400) % 60] = X[:, 0]
    penalty = np.ones(61)
    penalty[-1] = bias != "free"
    rows = LinearRows(stored(alone), 0.0 if bias == "none" else 1.5, penalty)
    exact = spans_by_features(rows, ASKED)
    free, judged = first_guess(rows, ASKED)
    np.testing.assert_allclose(judged, exact, rtol=1e-6 if bias == "none" else 0.1, atol=0.02 * exact.mean())
    np.testing.assert_array_equal(judged[:200], free[100:])


def test_features_that_nobody_has_are_no_trouble():
    rows = LinearRows(np.zeros((400, 60)), 0.0, np.zeros(61))
    assert (first_guess(rows, ASKED)[1] == 0).all()
