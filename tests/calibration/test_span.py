"""Spans from kernel values."""

import numpy as np
import pytest
from calibration.problems import drawn, gaussian

from hinge.calibration import left_out as span
from hinge.calibration.left_out import SpanRequest, spans_by_kernel


def asked_of(free, judged, rho=0.0):
    place = np.full(1000, -1)
    place[free] = np.arange(len(free))
    return SpanRequest(free, np.full(len(free), rho), judged, place[judged])


def found(K, asked, free_bias):
    return spans_by_kernel(lambda i, j: K[np.ix_(i, j)], lambda i: K[i, i], free_bias, asked)


def distances(X, free, judged, affine):
    """Squared distances from what the free rows but the row itself span, by least squares."""
    values = []
    for i in judged:
        rest = X[free[free != i]]
        if affine:
            values.append(_residual(rest[1:] - rest[0], X[i] - rest[0]))
        else:
            values.append(_residual(rest, X[i]))
    return np.array(values)


def _residual(A, x):
    return float(np.sum((x - A.T @ np.linalg.lstsq(A.T, x, rcond=None)[0]) ** 2))


@pytest.mark.parametrize("affine", [False, True])
def test_spans_are_distances(affine):
    X, _ = drawn(30, 20)
    free, judged = np.arange(0, 12), np.arange(5, 25)
    S2 = found(X @ X.T, asked_of(free, judged), affine)
    np.testing.assert_allclose(S2, distances(X, free, judged, affine), rtol=1e-3)


def test_a_row_that_is_there_twice_has_none():
    X, _ = drawn(20, 30)
    X[3] = X[4]
    S2 = found(X @ X.T, asked_of(np.arange(10), np.array([3, 4, 5])), True)
    assert S2[0] < 1e-4 and S2[1] < 1e-4 and S2[2] > 1.0


def test_without_rows_on_the_margin_it_is_the_norm():
    X, _ = drawn(20, 3)
    np.testing.assert_allclose(
        found(X @ X.T, asked_of(np.zeros(0, int), np.arange(20)), True), np.einsum("ij,ij->i", X, X)
    )


def test_one_row_alone_is_finite():
    X, _ = drawn(20, 3)
    S2 = found(gaussian(X), asked_of(np.array([3]), np.array([3, 4])), True)
    assert np.isfinite(S2).all() and (S2 <= 2.0 + 1e-12).all()


def test_of_too_many_rows_on_the_margin_some_count(monkeypatch):
    X, _ = drawn(100, 3)
    K = gaussian(X)
    every = found(K, asked_of(np.arange(80), np.arange(100), 0.01), True)
    monkeypatch.setattr(span, "MOST_FREE", 60)
    some = found(K, asked_of(np.arange(80), np.arange(100), 0.01), True)
    assert (some >= every - 1e-9).mean() > 0.9  # farther from fewer
    assert np.abs(some - every).mean() < 0.5 * every.mean()


def test_a_kernel_that_is_not_positive_has_spans_too():
    X, _ = drawn(30, 3)
    K = np.tanh(X @ X.T - 1.0)
    S2 = found(K, asked_of(np.arange(20), np.arange(30)), True)
    assert np.isfinite(S2).all()
