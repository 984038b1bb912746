"""Values go into JSON and arrays and come back the same; what is neither numbers nor text does not."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import chi2, f_oneway
from sklearn.preprocessing import StandardScaler

from hinge.datasets.base import plain_array
from hinge.files.plain_values import plain, restored, stored, value_of, width_of
from hinge.kernels import Gaussian
from hinge.solvers import SDCA


def there_and_back(value):
    arrays = {}
    text = json.dumps(stored(value, "x", arrays), allow_nan=False)
    unpacked = {name.removesuffix(".npy"): plain_array(content) for name, content in arrays.items()}
    again = restored(json.loads(text), "x", unpacked)
    assert not unpacked
    return again


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -0.5,
        "späm",
        float("inf"),
        (1, ("a", None)),
        {1: "a", "b": (2.0,)},
        [1, [None, "x"]],
        slice(0, 3),
        slice(None, None, 2),
        SDCA(block_rows=4),
        Gaussian(0.5),
        chi2,
        np.float32,
        np.dtype(object),
    ],
)
def test_values(value):
    again = there_and_back(value)
    assert again == value and type(again) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.5, np.nan]]),
        np.array([2, 3], np.uint8),
        np.array(["a", "bb"]),
        np.array(["a", None, 1.5, True], dtype=object),
        np.array([], dtype=object),
    ],
    ids=str,
)
def test_arrays(array):
    again = there_and_back([array])[0]
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tolist() == array.tolist() or np.array_equal(again, array, equal_nan=True)


def test_sparse_matrices():
    X = sp.csr_array([[0.0, 2.0], [1.0, 0.0]])
    again = there_and_back(X)
    assert type(again) is sp.csr_array
    assert (again.toarray() == X.toarray()).all()


@pytest.mark.parametrize("value", [object(), print, f_oneway, lambda x: x, {1, 2}, b"bytes", dict, np.random])
def test_what_is_neither_numbers_nor_text(value):
    with pytest.raises(TypeError, match="neither numbers nor text"):
        stored([value], "x", {})
    with pytest.raises(TypeError, match="neither numbers nor text"):
        plain((value,))


@pytest.mark.parametrize(
    "found",
    [
        {"solver": "Magic", "settings": {}},
        {"kernel": "Function", "settings": {}},
        {"function": "eval"},
        {"os": "system"},
        {"dtype": "M8[s]"},
        {"array": "x"},
        {"csr": "coo_array", "shape": [1, 1]},
        {"slice": [1]},
    ],
    ids=str,
)
def test_names_that_are_not_known(found):
    with pytest.raises((ValueError, KeyError)):
        restored(found, "x", {})


def test_numbers_of_numpy_become_pythons():
    assert type(value_of(plain(np.float32(0.5)))) is float
    assert type(value_of(plain(np.int8(3)))) is int


@pytest.mark.parametrize("n", [2, 3])
def test_attributes_of_a_wrong_shape_are_found_whatever_the_number_of_features(n):
    scaler = StandardScaler().fit(np.random.default_rng(0).normal(size=(9, n)))
    assert width_of(scaler) == n
    scaler.mean_ = scaler.mean_[:, None]  # rows as many as features would fit it
    with pytest.raises(ValueError, match="broadcast"):
        width_of(scaler)
