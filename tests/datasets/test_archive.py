"""NumPy archives: every layout gives the same rows, and what does not fit is named."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hinge.datasets import DataFormatError, read
from tests.datasets.made_up import few, npz_bytes, singles, written

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.slow
@few
@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=singles), st.data())
def test_npz_dense_csr_and_compact_agree(folder, X, data):
    y = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(X), max_size=len(X))), np.int8)
    S = sp.csr_matrix(X)
    steps = np.concatenate([np.diff(row.indices, prepend=0) for row in S] or [[]]).astype(np.uint16)
    forms = {
        "dense": dict(X=X, y=y),
        "csr": dict(data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y),
        "prefixed": dict(X_data=S.data, X_indices=S.indices, X_indptr=S.indptr, X_shape=S.shape, y=y),
        "compact": dict(X_data=S.data, X_indices=steps, X_indptr=np.diff(S.indptr), X_shape=np.array(S.shape), y=y),
    }
    for form, arrays in forms.items():
        path = written(folder, "a.npz", npz_bytes(**arrays))
        A, b = read(path)
        assert sp.issparse(A) == (form != "dense")
        np.testing.assert_array_equal(A.toarray() if sp.issparse(A) else A, X)
        np.testing.assert_array_equal(b, y)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        (dict(X=np.eye(2)), "no labels 'y' among X"),
        (dict(y=[1, 2]), "no 'data' among y"),
        (dict(X=np.eye(2), y=[1, 2, 3]), "2 rows but 3 labels"),
        (dict(X=np.ones(2), y=[1, 2]), "rows and columns are needed"),
        (dict(X=[[np.nan]], y=[1]), "NaN or infinite"),
        (dict(X=[["a"]], y=[1]), "but numbers are needed"),
        (dict(X=np.eye(1), y=[np.nan]), "not finite"),
        (dict(data=[1.0], indices=[7], indptr=[0, 1], shape=[1, 2], y=[1]), "index lies outside 0..1"),
        (dict(data=[1.0], indices=[0], indptr=[2], shape=[1, 2], y=[1]), "claim 2 entries, but 1"),
        (dict(data=[1.0], indices=[0.5], indptr=[0, 1], shape=[1, 2], y=[1]), "must be whole numbers"),
        (dict(data=[1.0], indices=[0], indptr=[0, 1, 1, 1], shape=[1, 2], y=[1]), "does not fit together"),
        (dict(X_train=np.eye(2), y_train=[1, 2], X_test=np.eye(2), y_test=[1, 2]), "use hinge.datasets.load"),
        (dict(data=[1.0], indices=[0], indptr=[0, 1], shape=[1, 10**9], y=[1]), "declares 1000000000 features"),
        (dict(X=np.array([[object()]]), y=[1]), "not a readable NumPy archive of plain arrays"),
    ],
)
def test_npz_that_does_not_fit(tmp_path, arrays, says):
    with pytest.raises(DataFormatError) as caught:
        read(written(tmp_path, "a.npz", npz_bytes(**arrays)))
    assert says in str(caught.value)


def test_npz_label_key_and_width(tmp_path):
    path = written(tmp_path, "a.npz", npz_bytes(X=np.eye(2), kind=np.array(["a", "b"])))
    assert read(path, label="kind")[1].tolist() == ["a", "b"]
    with pytest.raises(DataFormatError, match="has 2 features, but 3 were asked for"):
        read(path, label="kind", n_features=3)


@pytest.mark.slow
@few
@given(st.data())
def test_damaged_archive_is_refused_in_words(folder, data):
    content = bytearray(npz_bytes(data=[1.0, 2.0], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], y=[1, -1]))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = written(folder, "a.npz", bytes(content[: data.draw(st.integers(0, len(content)))]))
    try:
        X, y = read(path)
    except DataFormatError as error:
        assert str(path) in str(error)
    else:
        assert X.shape[0] == len(y) > 0
