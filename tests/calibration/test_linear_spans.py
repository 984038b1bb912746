import numpy as np
import pytest
import scipy.sparse as sp
from calibration.problems import drawn

from hinge.calibration import linear_spans as module
from hinge.calibration.left_out import SpanRequest
from hinge.calibration.leverage import LinearRows, Squares, spans_by_features
from hinge.calibration.linear_spans import linear_spans

WAYS = ("first_guess", "spans_by_features", "spans_by_kernel", "spans_by_probes")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("n", "d", "rho", "sparse", "way"),
    [
        (200, 5, 1.0, False, ["spans_by_features"]),
        (20, 300, 1.0, False, ["spans_by_kernel"]),
        (2000, 20, 1.0, False, []),  # features are few for so many rows
        (400, 400, 60.0, True, ["first_guess"]),  # where hardly any row matters
        (400, 1600, 1.0, True, ["first_guess", "spans_by_probes"]),
        (400, 400, 1e-6, True, ["first_guess", "spans_by_probes", "spans_by_kernel"]),  # which takes too many steps
    ],
)
def test_the_shortest_way_is_taken(n, d, rho, sparse, way, monkeypatch):
    taken = []
    for name in WAYS:
        direct = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, f=direct, name=name, **more: taken.append(name) or f(*given, **more)
        )
    X, _ = drawn(n, d)
    if sparse:
        X[np.random.default_rng(0).random((n, d)) < 0.97] = 0.0
    rows, every = LinearRows(sp.csr_array(X) if sparse else X, 1.0, np.ones(d + 1)), np.arange(n)
    asked = SpanRequest(every, np.full(n, rho), every, every)
    found = linear_spans(rows, asked)
    assert taken == way
    exact = spans_by_features(rows, asked)
    assert found.mean() == pytest.approx(exact.mean(), rel=0.5)


def test_errors_are_counted_with_more_care(monkeypatch):
    """Features that say the same thing: as if they were uncorrelated, rows seem to take back too much."""
    rng, signs = np.random.default_rng(0), []
    direct = module.spans_by_features
    monkeypatch.setattr(module, "spans_by_features", lambda *given: signs.append(given[3:]) or direct(*given))
    X = rng.standard_normal((1200, 5)) @ rng.standard_normal((5, 200)) + 0.3 * rng.standard_normal((1200, 200))
    rows, every = LinearRows(X, 1.0, np.ones(201)), np.arange(1200)
    asked = SpanRequest(every, np.full(1200, 500.0), every, every)
    exact, crude, careful = direct(rows, asked), linear_spans(rows, asked), linear_spans(rows, asked, Squares())
    assert signs == [(module.SIGNS,)]
    assert careful.mean() == pytest.approx(exact.mean(), rel=0.05)
    assert abs(crude.mean() / exact.mean() - 1) > 0.2


def test_what_is_not_penalised_goes_by_features():
    X, _ = drawn(10, 30)
    every = np.arange(10)
    found = linear_spans(LinearRows(X, 1.0, np.zeros(31)), SpanRequest(every, np.ones(10), every, every))
    assert np.isfinite(found).all()


@pytest.mark.parametrize("rho", [0.5, 5.0])
def test_spans_have_no_common_error_where_rows_are_counted(rho):
    """Features are correlated, so that the first guess, enough for probabilities, makes most spans too small."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 10)) @ rng.standard_normal((10, 300)) + 0.3 * rng.standard_normal((1500, 300))
    rows, every = LinearRows(X, 1.0, np.ones(301)), np.arange(1500)
    asked = SpanRequest(every, np.full(1500, rho), every, every)
    mean = float(np.mean(spans_by_features(rows, asked)))
    assert np.mean(linear_spans(rows, asked, counted=True)) == pytest.approx(mean, rel=0.02)
    assert np.mean(linear_spans(rows, asked)) < 0.9 * mean
