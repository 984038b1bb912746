"""Spans by random signs and conjugate gradients."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.calibration.left_out import SpanRequest, spans_by_kernel
from hinge.calibration.leverage import LinearRows
from hinge.calibration.linear_spans import Guesses, _smoothed, first_guess, spans_by_probes


def text(n, d, common, seed=0):
    """Rows of unit length and uneven lengths in words, of which a few are in most."""
    rng = np.random.default_rng(seed)
    X = sp.lil_array((n, d))
    for i in range(n):
        words = rng.choice(d, rng.integers(5, 60), replace=False)
        X[i, words] = 1.0
        X[i, np.flatnonzero(rng.random(20) < common)] = 1.0
    X = X.tocsr()
    return sp.csr_array(sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)


TEXT = text(700, 3000, 0.5)
PLACE = np.where(np.arange(700) < 600, np.arange(700), -1)


def asked_with(rho):
    return SpanRequest(np.arange(600), np.full(600, rho), np.arange(300, 700), PLACE[300:])


def rows_of(bias, stored=TEXT):
    penalty = np.ones(stored.shape[1] + 1)
    penalty[-1] = bias != "free"
    return LinearRows(stored, 0.0 if bias == "none" else 1.0, penalty)


def estimated(rows, asked, **options):
    return spans_by_probes(rows, asked, Guesses(*first_guess(rows, asked)), **options)


@pytest.mark.sampled
@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("rho", [1.0, 0.1])
def test_they_are_near_the_spans(bias, rho):
    rows, asked = rows_of(bias), asked_with(rho)
    exact = spans_by_kernel(rows.products, rows.sq_norms, bias == "free", asked)
    found = estimated(rows, asked)
    inside = asked.place >= 0
    for part in (inside, ~inside):
        assert found[part].mean() == pytest.approx(exact[part].mean(), rel=0.2)
        assert np.abs(found / exact - 1)[part].mean() < 0.3


def test_a_guess_that_is_right_is_kept():
    """Features that do not meet: c is one, and the first steps show it."""
    alone = sp.csr_array((np.ones(700), (np.arange(700), np.arange(700) % 3000)), shape=(700, 3000))
    rows, asked = rows_of("none", alone), asked_with(0.5)
    np.testing.assert_allclose(estimated(rows, asked), first_guess(rows, asked)[1], rtol=0.01)


@pytest.mark.slow
def test_patience_has_an_end():
    rows, asked = rows_of("penalized", text(700, 600, 0.9)), asked_with(1e-6)
    assert estimated(rows, asked, far=0.3) is None
    assert np.isfinite(estimated(rows, asked)).all()


def test_guesses_that_are_off_differently_are_put_right():
    """Short rows on words of their own, and long ones that share theirs: no one factor would do."""
    rng = np.random.default_rng(1)
    X = np.zeros((700, 2000))
    X[np.arange(0, 700, 2), 100 + np.arange(350)] = 0.5
    X[1::2, :40] = rng.standard_normal((350, 1)) * np.ones(40) + 0.1 * rng.standard_normal((350, 40))
    rows, asked = rows_of("none", sp.csr_array(X)), asked_with(0.05)
    exact = spans_by_kernel(rows.products, rows.sq_norms, False, asked)
    found, guess = estimated(rows, asked), first_guess(rows, asked)[1]
    off = [np.abs(np.log(values / exact)).mean() for values in (found, guess)]
    assert off[0] < 0.6 * off[1]


def test_the_same_call_gives_the_same_bits():
    rows, asked = rows_of("free"), asked_with(0.1)
    np.testing.assert_array_equal(estimated(rows, asked), estimated(rows, asked))
    dense = rows_of("free", TEXT.toarray())
    np.testing.assert_allclose(estimated(dense, asked), estimated(rows, asked), rtol=1e-3)


def test_rows_that_are_there_twice_do_not_speak_for_others():
    """A tenth that takes nothing back, among rows that take back nearly all, and noise of their own size."""
    rng = np.random.default_rng(0)
    kept = np.where(np.arange(2000) % 10 == 0, 0.9, 0.05)
    noisy = kept * (1.0 + 0.4 * rng.standard_normal(2000))
    found = _smoothed(noisy, rng.random(2000), np.linspace(0, 1, 9), np.median)
    np.testing.assert_allclose(found, 0.05, rtol=0.3)  # of means: 0.135
