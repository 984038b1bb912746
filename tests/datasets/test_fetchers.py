"""Downloads through scikit-learn, with fetchers that are made up."""

import urllib.error
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.datasets import DatasetNotFoundError, load

pytestmark = pytest.mark.filterwarnings("error")


def test_fetch_ccat(no_home, monkeypatch):
    import sklearn.datasets

    n, first = 23149 + 7, 23149
    target = sp.lil_matrix((n, 2), dtype=np.uint8)
    target[first + 3, 1] = 1
    rcv1 = SimpleNamespace(
        data=sp.random(n, 5, 0.2, "csr", random_state=0),
        target=target.tocsr(),
        target_names=np.array(["C11", "CCAT"], dtype=object),
    )
    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", lambda: rcv1)
    data = load("rcv1", fetch=True)
    assert data.name == "ccat" and data.X_train.shape == (7, 5) and data.X_test.shape == (23149, 5)
    assert data.X_train.dtype == np.float32
    assert data.y_train.tolist() == [-1, -1, -1, 1, -1, -1, -1]
    assert load("ccat", fetch=True, positive="C11").y_train.max() == -1
    with pytest.raises(ValueError, match="no topic 'GCAT'"):
        load("ccat", fetch=True, positive="GCAT")


def test_fetch_others(no_home, monkeypatch):
    import sklearn.datasets

    rng = np.random.default_rng(0)
    cover = rng.integers(0, 9, (50, 54)).astype(float), rng.integers(1, 8, 50)
    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", lambda return_X_y: cover)
    data = load("covtype", fetch=True)
    assert data.X_train.max() == 1 and data.X_train.dtype == np.float32
    np.testing.assert_array_equal(data.y_train > 0, cover[1] == 1)

    pixels = np.zeros((60010, 3)), np.array([str(i % 10) for i in range(60010)], dtype=object)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda name, **_: pixels)
    data = load("mnist", fetch=True)
    assert len(data.y_train) == 60000 and (data.y_test > 0).sum() == 1

    def newsgroups(subset):
        names = ["alt.atheism", "comp.graphics", "sci.med"]
        return SimpleNamespace(data=sp.identity(3, format="csr"), target=np.arange(3), target_names=names)

    monkeypatch.setattr(sklearn.datasets, "fetch_20newsgroups_vectorized", newsgroups)
    assert load("news20", fetch=True).y_test.tolist() == [-1, 1, 1]


def test_failed_download_is_a_sentence(no_home, monkeypatch):
    import sklearn.datasets

    def refuse(**_):
        raise urllib.error.URLError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", refuse)
    with pytest.raises(DatasetNotFoundError, match=r"could not be fetched .*no route.*check the network"):
        load("covertype", fetch=True)
