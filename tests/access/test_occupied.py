"""Columns without cells take no part in a fit, and nobody notices."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge import LinearSVC, LinearSVR
from hinge.access import as_matrix
from hinge.access.occupied import occupied


def wide(n=60, kept=12, d=4000, dtype=np.int32, seed=0):
    """Rows of a few columns far apart, and the same rows without the others."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, kept)) * (rng.random((n, kept)) < 0.5)
    columns = np.sort(rng.choice(d, kept, replace=False))
    S = sp.csr_array(dense)
    X = sp.csr_array((S.data, columns[S.indices].astype(dtype), S.indptr.astype(dtype)), shape=(n, d))
    y = np.where(dense @ rng.normal(size=kept) + 0.3 * rng.normal(size=n) > 0, 1, -1)
    return X, S, y, columns


@pytest.mark.parametrize("d", [4000, 400_000], ids=["marked", "sorted"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_only_columns_with_cells_are_left(dtype, d):
    X, S, _, columns = wide(d=d, dtype=dtype)
    matrix = as_matrix(X)
    seen = occupied(matrix)
    assert seen.columns.tolist() == columns.tolist() and seen.matrix.shape == S.shape
    assert np.array_equal(seen.matrix.whole().toarray(), S.toarray())
    assert matrix.shape == X.shape and matrix.reads == 0  # and the matrix is as it was
    w = np.arange(12.0)
    assert np.array_equal(seen.narrow(seen.wide(w)), w) and np.array_equal(seen.wide(w)[columns], w)
    assert np.count_nonzero(seen.wide(w)) == 11 and len(seen.wide(w)) == d


@pytest.mark.parametrize(
    "X",
    [np.eye(5), sp.csr_array(np.eye(40)), sp.csr_array((3, 100)), sp.csr_array(np.ones((50, 3)))],
    ids=["dense", "no empty columns", "no cells", "many cells"],
)
def test_others_are_left_alone(X):
    matrix = as_matrix(X)
    seen = occupied(matrix)
    assert seen.matrix is matrix and seen.columns is None
    w = np.ones(X.shape[1])
    assert seen.wide(w) is w and seen.narrow(w) is w


def test_arrays_of_many_zeros_are_compressed_where_it_pays(monkeypatch):
    X, S, y, _ = wide(n=300, d=80)
    rows, settings = X.toarray(), {"loss": "hinge", "tol": 1e-5, "random_state": 0}
    plain = LinearSVC(**settings).fit(rows, y)
    assert not occupied(as_matrix(rows)).matrix.is_sparse  # too few cells to gain by it
    monkeypatch.setattr("hinge.access.occupied.WORTH", 100)
    assert occupied(as_matrix(rows)).matrix.is_sparse and occupied(as_matrix(rows)).columns is None
    assert not occupied(as_matrix(rows), compress=False).matrix.is_sparse
    assert not occupied(as_matrix(S.toarray())).matrix.is_sparse  # half of the cells are not zero
    model = LinearSVC(**settings).fit(rows, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-5) and model.coef_.shape == (1, 80)
    reads = [LinearSVC(solver="sdca", **settings).fit(one, y).n_feature_reads_ for one in (rows, X)]
    assert reads[0] > 5 * reads[1]  # who names a solver has the cells of dense rows counted


def test_a_classifier_is_the_same_with_and_without_empty_columns():
    X, S, y, columns = wide()
    settings = {"tol": 1e-8, "random_state": 0}
    model, other = LinearSVC(**settings).fit(X, y), LinearSVC(**settings).fit(S, y)
    assert model.coef_.shape == (1, 4000) and model.n_features_in_ == 4000
    assert np.array_equal(model.coef_[:, columns], other.coef_)
    assert np.count_nonzero(np.delete(model.coef_, columns, axis=1)) == 0
    assert np.array_equal(model.predict(X), other.predict(S)) and model.gap_ == other.gap_
    assert model.n_feature_reads_ == other.n_feature_reads_


def test_warm_starts_go_on_where_other_columns_have_cells():
    X, _, y, columns = wide()
    model = LinearSVC(warm_start=True, tol=1e-6, random_state=0).fit(X, y)
    again = model.fit(X, y)
    assert again.n_iter_ <= 2 and again._answers[0].w.shape == (4000,)
    moved = sp.csr_array((X.data, (X.indices + 1) % 4000, X.indptr), shape=X.shape)
    model.fit(moved, y)
    assert model.gap_ <= 1e-6 and set(np.flatnonzero(model.coef_)) <= {(c + 1) % 4000 for c in columns.tolist()}


def test_several_classes_and_regression():
    X, S, y, columns = wide()
    three = np.where(S.toarray()[:, 0] > 0.2, 2, y)
    model = LinearSVC(random_state=0).fit(X, three)
    assert np.array_equal(model.coef_[:, columns], LinearSVC(random_state=0).fit(S, three).coef_)
    target = S.toarray() @ np.ones(12)
    regression = LinearSVR(random_state=0).fit(X, target)
    assert regression.coef_.shape == (4000,)
    assert np.array_equal(regression.coef_[columns], LinearSVR(random_state=0).fit(S, target).coef_)


def test_callbacks_see_all_columns():
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    X, _, y, _ = wide()
    shapes = []

    class Shapes:
        def setup(self, *args, **kwargs): ...
        def teardown(self, *args, **kwargs): ...
        def on_fit_task_begin(self, *args, **kwargs): ...
        def on_fit_task_end(self, *args, fitted_estimator=None, **kwargs):
            if fitted_estimator is not None:
                shapes.append(fitted_estimator.coef_.shape)

    assert callback is not None
    LinearSVC(random_state=0).set_callbacks(Shapes()).fit(X, y)
    assert shapes and set(shapes) == {(1, 4000)}
