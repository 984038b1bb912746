"""From stored rows and classes to the rows and labels of a task."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.datasets import load

pytestmark = pytest.mark.filterwarnings("error")


def digits(n=40):
    rng = np.random.default_rng(0)
    return dict(X_train=rng.integers(0, 256, (n, 2, 2), np.uint8), y_train=np.arange(n) % 10)


def test_positive_chooses_the_task(no_home):
    np.savez(no_home / "mnist.npz", **digits())
    data = load("mnist")
    assert data.X_train.shape == (40, 4) and data.X_train.max() <= 1 and data.X_train.dtype == np.float32
    np.testing.assert_array_equal(data.y_train, np.where(np.arange(40) % 10 == 8, 1, -1))
    np.testing.assert_array_equal(load("mnist", positive="3").y_train > 0, np.arange(40) % 10 == 3)
    np.testing.assert_array_equal(load("mnist", positive="all").y_train, np.arange(40) % 10)
    with pytest.raises(ValueError, match="mnist has no class 11 to make positive: its classes are 0, 1, 2"):
        load("mnist", positive=11)


def test_unit_rows_and_columns(no_home):
    counts = sp.csr_matrix(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]]))
    pieces = dict(data=counts.data, indices=counts.indices, indptr=counts.indptr, shape=counts.shape)
    np.savez(no_home / "basehock.npz", y=np.array([1, -1, 1]), **pieces)
    np.testing.assert_allclose(load("basehock").X_train.toarray(), [[0.6, 0.8], [0, 0], [0, 1]], rtol=1e-7)
    np.savez(no_home / "covertype.npz", X=np.array([[2, 0, 7], [4, 1, 7], [3, 0, 7]]), y=np.array([1, 2, 7]))
    data = load("covertype")
    np.testing.assert_allclose(data.X_train, [[0, 0, 0], [1, 1, 0], [0.5, 0, 0]])
    assert data.y_train.tolist() == [1, -1, -1]
