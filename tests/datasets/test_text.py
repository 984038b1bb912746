"""Rows like text."""

import numpy as np
import pytest

from hinge.datasets import make_text
from tests.datasets.made_up import norms, same

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.slow
def test_text_looks_like_text():
    data = make_text(20000, n_test=3000, seed=2)
    X = data.X_train
    assert X.shape == (20000, 47236) and data.X_test.shape == (3000, 47236)
    assert X.dtype == np.float32 and X.indices.dtype == np.int32 and X.indptr.dtype == np.int32
    assert data.y_train.dtype == np.int8 and set(data.y_test.tolist()) == {-1, 1}
    assert X.has_canonical_format and X.data.min() > 0
    assert X.nnz / 20000 == pytest.approx(69, rel=0.01)
    np.testing.assert_allclose(norms(X), 1, atol=1e-5)
    assert abs(np.mean(data.y_train)) < 0.05
    # Zipf: the commonest hundred of 47,236 words make up a good part of the entries, most words are rare.
    frequency = np.sort(np.bincount(X.indices, minlength=47236))[::-1]
    assert frequency[:100].sum() > 0.1 * X.nnz
    assert frequency[0] < 0.6 * 20000
    assert np.median(frequency) < 20
    assert "ynthetic" in data.description and "ynthetic" in data.source


def test_text_repeats_itself_whatever_the_test_part():
    first, again = make_text(300, 2000, 20, topics=6), make_text(300, 2000, 20, topics=6, n_test=50)
    assert same(first.X_train, again.X_train) and np.array_equal(first.y_train, again.y_train)
    assert first.X_test is None and again.X_test.shape == (50, 2000)
    assert not same(first.X_train, make_text(300, 2000, 20, topics=6, seed=1).X_train)


@pytest.mark.slow
def test_text_noise_is_what_no_model_learns():
    clean, noisy = (make_text(4000, 2000, 30, topics=6, noise=noise) for noise in (0.0, 0.25))
    assert same(clean.X_train, noisy.X_train)
    assert np.mean(clean.y_train != noisy.y_train) == pytest.approx(0.25, abs=0.03)


@pytest.mark.slow
def test_text_is_as_hard_as_ccat():
    from sklearn.svm import LinearSVC

    n = 60000
    data = make_text(n, n_test=6000)
    model = LinearSVC(C=1 / (1e-4 * n), loss="hinge", fit_intercept=False, tol=1e-2, max_iter=200)
    model.fit(data.X_train, data.y_train)
    assert 0.045 < 1 - model.score(data.X_test, data.y_test) < 0.075
