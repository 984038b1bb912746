"""Rows with the constant feature of the bias."""

import numpy as np
import pytest
import scipy.sparse as sp
from calibration.problems import drawn

from hinge.calibration.leverage import LinearRows

X, _ = drawn(10, 4)


@pytest.mark.parametrize("stored", [X, X.astype(np.float32), sp.csr_array(X), sp.csr_matrix(X)])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_rows_have_the_feature_of_the_bias(stored, penalty):
    rows = LinearRows(stored, 2.0, np.array([1.0, 1.0, 1.0, 1.0, penalty]))
    full = np.concatenate([X, np.full((10, 1), 2.0)], axis=1)
    some, others = np.array([1, 5, 7]), np.array([0, 5])
    np.testing.assert_allclose(rows.dense(some), full[some], rtol=1e-6)
    K = X @ X.T + 4.0 * penalty  # one that is free is no part of an inner product
    np.testing.assert_allclose(rows.products(some, others), K[np.ix_(some, others)], rtol=1e-5)
    np.testing.assert_allclose(rows.sq_norms(some), np.diag(K)[some], rtol=1e-5)
    np.testing.assert_allclose(rows.products(every := np.arange(10), every), K, rtol=1e-5)
    assert rows.width == rows.cells_per_row == 5
    assert rows.cells_per_product == (40 if sp.issparse(stored) else 5)
    assert np.diag(K).min() < rows.typical_sq_norm() < np.diag(K).max()
    v = np.arange(1.0, 6.0)
    np.testing.assert_allclose(rows.responses(some, v), full[some] @ v, rtol=1e-5)
    np.testing.assert_allclose(rows.combination(some, v[:3]), full[some].T @ v[:3], rtol=1e-5)


def test_a_typical_norm_of_nothing_is_no_trouble():
    rows = LinearRows(np.zeros((3, 2)), 0.0, np.ones(3))
    assert rows.typical_sq_norm() == 1.0
