import numpy as np
import pytest
import scipy.sparse as sp
from calibration.problems import drawn

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.calibration.leverage import spans_by_features
from hinge.calibration.probes import Effort, diagonal_of, first_guess, spans_by_probes

X, _ = drawn(400, 60)
PLACE = np.where(np.arange(400) < 300, np.arange(400), -1)
ASKED = Asked(np.arange(300), np.full(300, 2.0), np.arange(100, 400), PLACE[100:])


def rows_of(bias, stored=X):
    penalty = np.ones(61)
    penalty[-1] = bias != "free"
    return Features(stored, 0.0 if bias == "none" else 1.5, penalty)


def guessed(rows):
    diagonal = diagonal_of(rows, ASKED.free, ASKED.rho)
    return diagonal, first_guess(rows, ASKED, diagonal)


def estimated(rows, probes, near):
    return spans_by_probes(rows, ASKED, *guessed(rows), Effort(probes, near))


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("stored", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_the_first_guess_is_right_where_features_do_not_meet(bias, stored):
    """Rows of one feature each, so that H has a diagonal only but for the bias."""
    alone = np.zeros((400, 60))
    alone[np.arange(400), np.arange(400) % 60] = X[:, 0]
    rows = rows_of(bias, alone if isinstance(stored, np.ndarray) else sp.csr_array(alone))
    exact = spans_by_features(rows, ASKED)
    _, guess = guessed(rows)
    np.testing.assert_allclose(guess, exact, rtol=1e-6 if bias == "none" else 0.1, atol=0.02 * exact.mean())


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
def test_many_probes_come_near(bias):
    exact = spans_by_features(rows_of(bias), ASKED)
    found = estimated(rows_of(bias), 2000, 1e-4)
    np.testing.assert_allclose(found, exact, rtol=0.25)
    assert np.abs(found / exact - 1).mean() < 0.05


@pytest.mark.parametrize(("effort", "share"), [((1, 0.1), 0.6), ((4, 0.03), 0.25)])
def test_few_are_right_on_average(effort, share):
    exact = spans_by_features(rows_of("penalized"), ASKED)
    found = estimated(rows_of("penalized"), *effort)
    assert found.mean() == pytest.approx(exact.mean(), rel=share)
    assert np.abs(found / exact - 1).mean() < 1.4 * share


def test_the_same_call_gives_the_same_bits():
    one, other = (estimated(rows_of("free", stored), 4, 0.03) for stored in (X, X.copy()))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(estimated(rows_of("free", sp.csr_array(X)), 4, 0.03), one, rtol=1e-2)
