"""Generators: the answers they promise hold."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge.datasets import make_known_optimum, make_separable, make_text
from tests.datasets.made_up import norms, same

pytestmark = pytest.mark.filterwarnings("error")


some = settings(max_examples=60, deadline=None)


sizes = st.tuples(st.integers(2, 80), st.integers(1, 40), st.floats(0.05, 1.0), st.integers(0, 9))


@pytest.mark.slow
@some
@given(sizes, st.floats(0.01, 1.0))
def test_separable_margin_is_attained_and_maximal(size, fraction):
    n, d, density, seed = size
    k = max(1, round(density * d))
    margin = fraction * min(d // k, n // 2) ** -0.5
    data = make_separable(n, d, margin, density=density, seed=seed)
    X, y, w = data.X_train, data.y_train, data.w_star
    assert X.shape == (n, d) and set(y.tolist()) == {-1, 1}
    assert sp.issparse(X) == (k < d)
    assert norms(X).max() <= 1 + 1e-12
    assert np.linalg.norm(w) == pytest.approx(1, abs=1e-12)
    margins = y * (X @ w)
    assert margins.min() == pytest.approx(margin, abs=1e-12)
    # No unit vector has a larger margin than the norm of a convex combination of the rows.
    assert data.p_star.min() >= 0 and data.p_star.sum() == pytest.approx(1)
    assert np.linalg.norm(X.T @ (data.p_star * y)) == pytest.approx(margin, abs=1e-12)


def test_separable_is_not_all_on_the_margin():
    data = make_separable(1000, 50, 0.1, density=0.2, seed=1)
    margins = data.y_train * (data.X_train @ data.w_star)
    assert 0.05 < np.mean(margins < 0.1 + 1e-9) < 0.2
    assert margins.max() > 0.3
    assert np.diff(data.X_train.indptr).tolist() == [10] * 1000
    assert len({tuple(row) for row in data.X_train.indices.reshape(1000, 10).tolist()}) > 500
    assert data.X_train.has_sorted_indices
    assert "ynthetic" in data.description


@pytest.mark.slow
@some
@given(sizes, st.floats(1e-6, 1.0), st.floats(0, 0.3))
def test_known_optimum_has_no_duality_gap(size, fraction, noise):
    n, d, density, seed = size
    with pytest.raises(ValueError, match=r"lam must lie in \(0, ") as caught:
        make_known_optimum(n, d, 9.0, density=density, noise=noise, seed=seed)
    limit = float(str(caught.value).split("(0, ")[1].split("]")[0])
    lam = fraction * limit * (1 - 1e-5)
    data = make_known_optimum(n, d, lam, density=density, noise=noise, seed=seed)
    X, y, w, alpha = data.X_train, data.y_train, data.w_star, data.alpha_star
    hinge = np.maximum(0, 1 - y * (X @ w))
    primal = lam / 2 * w @ w + hinge.mean()
    dual = alpha.mean() - np.sum((X.T @ (alpha * y)) ** 2) / (2 * lam * n**2)
    assert alpha.min() >= 0 and alpha.max() <= 1
    assert abs(primal - dual) < 1e-12 * max(1, 1 / (lam * n))
    assert data.objective == pytest.approx(primal, abs=1e-12)
    np.testing.assert_allclose(w, X.T @ (alpha * y) / (lam * n), atol=1e-11 * max(1, np.linalg.norm(w)))
    assert norms(X).max() <= 1 + 1e-9
    assert set(y.tolist()) == {-1, 1}


def test_known_optimum_has_rows_of_every_kind():
    data = make_known_optimum(2000, 300, 1e-4, density=0.05, noise=0.1, seed=3)
    margins = data.y_train * (data.X_train @ data.w_star)
    free = (data.alpha_star > 0) & (data.alpha_star < 1)
    assert np.mean(margins < 0) == pytest.approx(0.1, abs=0.01)
    assert np.mean(free) == pytest.approx(0.2, abs=0.01)
    np.testing.assert_allclose(margins[free], 1, atol=1e-10)
    assert margins[data.alpha_star == 0].min() > 1
    assert margins[data.alpha_star == 1].max() < 1
    assert abs(np.mean(data.y_train)) < 0.1
    assert data.lam == 1e-4 and data.X_train.nnz == 2000 * 15


def test_known_optimum_agrees_with_a_solver():
    from sklearn.svm import LinearSVC

    n, lam = 200, 1e-2
    data = make_known_optimum(n, 20, lam, seed=5)
    model = LinearSVC(C=1 / (lam * n), loss="hinge", fit_intercept=False, tol=1e-8, max_iter=100_000)
    w = model.fit(data.X_train, data.y_train).coef_.ravel()
    np.testing.assert_allclose(w, data.w_star, atol=1e-4)
    value = lam / 2 * w @ w + np.maximum(0, 1 - data.y_train * (data.X_train @ w)).mean()
    assert data.objective <= value < data.objective + 1e-6


@pytest.mark.parametrize("density", [1.0, 0.2])
def test_generators_repeat_themselves(density):
    for make in (
        lambda s: make_separable(30, 10, 0.05, density=density, seed=s),
        lambda s: make_known_optimum(30, 10, 1e-3, density=density, seed=s),
    ):
        assert same(make(4).X_train, make(4).X_train)
        assert not same(make(4).X_train, make(5).X_train)


def test_generators_refuse_in_words():
    with pytest.raises(ValueError, match=r"margin must lie in \(0, 1\].* but is 1.5"):
        make_separable(10, 5, 1.5)
    with pytest.raises(ValueError, match="At least 2 rows"):
        make_separable(1, 5, 0.1)
    with pytest.raises(ValueError, match="density must lie in"):
        make_known_optimum(10, 5, 0.1, density=0.0)
    with pytest.raises(ValueError, match="noise must lie in"):
        make_known_optimum(10, 5, 0.1, noise=0.7)
    with pytest.raises(ValueError, match=r"nnz_per_row must lie in .* at most 25"):
        make_text(10, d=100, nnz_per_row=60)
    with pytest.raises(ValueError, match="at least 2 topics"):
        make_text(10, topics=1)
    with pytest.raises(ValueError, match="At least 1 training row"):
        make_text(0)
    with pytest.raises(ValueError, match="noise must lie in"):
        make_text(10, noise=0.9)
