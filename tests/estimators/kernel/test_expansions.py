import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

from hinge import SVC

# --- the same machine as scikit-learn's ---------------------------------------------------------


def test_thin_sparse_rows_are_not_written_out_in_full():
    rng = np.random.default_rng(0)
    X = sp.random_array((90, 3000), density=0.003, rng=rng, format="csr", dtype=np.float32)
    y = np.asarray(X[:, :1500].sum(axis=1) > X[:, 1500:].sum(axis=1)).ravel().astype(int)
    ours = SVC(tol=1e-5, gamma=0.5).fit(X, y)
    theirs = svm.SVC(tol=1e-6, gamma=0.5).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(ours.decision_function(X.toarray()), ours.decision_function(X), atol=1e-6)


# --- input --------------------------------------------------------------------------------------


def test_float32_predicts_as_float64_does(two):
    X, y = two[0].astype(np.float32), two[1]
    model = SVC(C=5.0).fit(X, y)
    exact = model.set_params(tol=1e-6).decision_function(X)
    single = model.set_params(tol=1e-3).decision_function(X)
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, exact, atol=2e-5)
    assert not np.array_equal(single, exact)
    far = SVC(C=5.0).fit(X + 1000, y)  # where float32 products cancel
    np.testing.assert_allclose(
        far.decision_function(X + 1000), far.set_params(tol=1e-6).decision_function(X + 1000), atol=2e-5
    )


@pytest.mark.slow
def test_predictions_take_little_memory(two):
    X, y = np.tile(two[0], 30).astype(np.float32), two[1]
    new = np.random.default_rng(0).standard_normal((60_000, 90)).astype(np.float32)
    for form in (np.asarray, sp.csr_array):
        model = SVC(gamma=0.01).fit(form(X), y)
        many = form(new[:20_000]) if form is sp.csr_array else new
        model.decision_function(many[:10])
        tracemalloc.start()
        try:
            model.decision_function(many)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 12e6 < new.nbytes
