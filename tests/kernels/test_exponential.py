import numpy as np
import pytest
from sklearn.metrics import pairwise

from hinge.kernels.exponential import gaussian_of_dots, gaussian_to_rows

RNG = np.random.default_rng(0)


X, Z = RNG.standard_normal((31, 7)), RNG.standard_normal((18, 7))


# --- the exponential --------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 3, 4, 11])
@pytest.mark.parametrize("columns", [1, 5, 16, 33])
def test_exponential_at_exponents_of_every_size(rows, columns):
    z = -np.geomspace(1e-8, 80, rows * columns).reshape(rows, columns)
    G, zero = (z / 2).astype(np.float32), np.zeros(max(rows, columns), np.float32)
    expected = np.exp(2 * G.astype(float))
    slab = np.zeros((rows, columns + 3), np.float32)
    gaussian_to_rows(G.copy(), zero[:rows], zero[:columns], 1.0, slab, np.arange(rows)[::-1].copy(), 2)
    np.testing.assert_allclose(slab[::-1, 2:-1], expected, rtol=6e-6)  # of the exponent's rounding
    np.testing.assert_allclose(np.log(slab[::-1, 2:-1]), 2 * G, rtol=1e-6, atol=2e-7)
    gaussian_of_dots(G, zero[:rows], zero[:columns], 1.0)
    np.testing.assert_array_equal(G, slab[::-1, 2:-1])


def test_exponential_by_its_polynomial():
    """Small exponents: no rounding but that of the polynomial."""
    z = np.linspace(-1, 0, 4096, dtype=np.float32).reshape(4, -1)
    G = z / 2
    gaussian_of_dots(G, np.zeros(4, np.float32), np.zeros(1024, np.float32), 1.0)
    assert np.abs(G / np.exp(z.astype(float)) - 1).max() < 4e-7
    assert G[-1, -1] == 1.0


@pytest.mark.parametrize("rows", [2, 4])
@pytest.mark.parametrize("norm", [0.0, 1e3])
def test_exponential_of_what_is_no_distance(rows, norm):
    """Rounding gives no value above one; what is not a number stays visible; what is tiny is not negative."""
    sq = np.full(rows, norm, np.float32)
    other = np.full(5, norm, np.float32)
    G = np.full((rows, 5), norm, np.float32)
    G[:, 1] += 0.01
    G[:, 2] = np.nan
    G[:, 3] -= 0.5
    slab = np.empty((rows, 5), np.float32)
    gaussian_to_rows(G.copy(), sq, other, 1.0, slab, np.arange(rows), 0)
    gaussian_of_dots(G, sq, other, 1.0)
    for values in (G, slab):
        assert (values[:, [0, 1, 4]] == 1).all() and np.isnan(values[:, 2]).all()
        np.testing.assert_allclose(values[:, 3], np.exp(-1), rtol=1e-6)
    far = np.zeros((rows, 5), np.float32)
    gaussian_of_dots(far, np.full(rows, 1e6, np.float32), other, 1.0)
    assert ((far >= 0) & (far < 2e-38)).all()
    far[:] = np.inf
    gaussian_of_dots(far, np.full(rows, np.inf, np.float32), other, 1.0)
    assert np.isnan(far).all()


def test_exponential_in_double_precision():
    G, sq, other = X @ Z.T, (X * X).sum(1), (Z * Z).sum(1)
    gaussian_of_dots(G, sq, other, 0.2)
    np.testing.assert_allclose(G, pairwise.rbf_kernel(X, Z, gamma=0.2), rtol=1e-13)
    for empty in (np.empty((0, 5), np.float32), np.empty((5, 0), np.float32)):
        gaussian_of_dots(empty, np.empty(len(empty), np.float32), np.empty(empty.shape[1], np.float32), 1.0)
