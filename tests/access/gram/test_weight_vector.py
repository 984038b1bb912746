"""Sums of linear kernel values by way of the weight vector."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access.gram.inner_points import WeightVector, weight_vector


def exact(X, i, coef, columns):
    rows = [[Fraction(float(v)) for v in row] for row in X]
    w = [sum(Fraction(float(c)) * rows[j][k] for j, c in zip(i, coef, strict=True)) for k in range(X.shape[1])]
    return [sum(a * b for a, b in zip(w, rows[c], strict=True)) for c in columns]


@pytest.mark.slow
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("size", [1.0, 1e12])
def test_sums_that_cancel_are_within_their_bound(make, size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 5)) * (rng.random((12, 5)) < 0.7)
    X[6:] = X[:6] + 1e-9 * rng.standard_normal((6, 5))
    coef = size * np.concatenate([np.ones(6), -np.ones(6)])  # nearly nothing is left
    vector = WeightVector(make(X))
    values, error = vector.again(np.arange(12), coef, np.arange(4))
    for value, off, true in zip(values, error, exact(X, range(12), coef, range(4)), strict=True):
        assert abs(Fraction(float(value)) - true) <= Fraction(float(off))
    naive = 12 * 2.0**-53 * np.abs(coef) @ np.linalg.norm(X, axis=1)
    assert error.max() < 1e-3 * naive  # better than any plain sum can promise


def test_what_is_promised_before_the_sums_are_made():
    X = np.random.default_rng(1).standard_normal((20, 5))
    vector, size = WeightVector(X), np.abs(np.random.default_rng(2).standard_normal(20))
    promised = vector.error(size, 20)
    plain = X.astype(np.float32).astype(float) @ X.T @ size
    assert promised.shape == (20,) and (promised > 0).all()
    np.testing.assert_allclose(vector.norms, np.linalg.norm(X, axis=1))
    values, error = vector.again(np.arange(20), size, np.arange(20))
    assert (error <= promised).all()
    np.testing.assert_allclose(values, plain, rtol=1e-4, atol=1e-4)
    assert vector.evals == 40


def test_numbers_of_another_machine():  # SciPy has no sparse ones
    X = np.random.default_rng(0).standard_normal((6, 3))
    foreign = X.astype(X.dtype.newbyteorder())
    rows, coef = np.arange(6), np.linspace(-1, 1, 6)
    found, _ = WeightVector(foreign).again(rows, coef, rows)
    np.testing.assert_allclose(found, coef @ X @ X.T, rtol=1e-12)


@pytest.mark.parametrize(
    "make", [np.asarray, sp.csr_array, lambda X: X.astype(">f8")], ids=["dense", "csr", "big-endian"]
)
def test_weights_are_rounded_once(make):
    rng = np.random.default_rng(3)
    X = np.round(1e6 * rng.standard_normal((1500, 3)))
    coef = np.concatenate([rng.standard_normal(1499), [0.0]])
    coef[-1] = -(coef @ X[:, 0]) / X[-1, 0]  # next to nothing is left of the first one
    w = weight_vector(make(X), np.arange(1500), coef)
    for k in range(3):
        true = sum(Fraction(c) * Fraction(x) for c, x in zip(coef.tolist(), X[:, k].tolist(), strict=True))
        assert abs(Fraction(float(w[k])) - true) <= Fraction(2.0**-52) * abs(true)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, ">f4", ">f8", np.int8, np.uint64, bool])
def test_rows_of_any_type(dtype):
    X = np.array([[1, 0], [1, 1], [0, 1]], dtype)
    assert weight_vector(X, np.array([0, 2]), np.array([2.0, 3.0])).tolist() == [2.0, 3.0]
