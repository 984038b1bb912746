import numpy as np
import pytest

from hinge import LinearSVC
from hinge.calibration.expected_error import error_in_words, error_interval
from hinge.selection.without_rows import estimate, left_out_scores


def test_ends_are_possible_errors():
    assert error_interval(0.01, 0.02, 1.0) == (0.0, pytest.approx(0.0492))
    assert error_interval(0.99, 0.02, 1.0)[1] == 1.0
    assert error_interval(7.0, 1.0) == (pytest.approx(5.04), pytest.approx(8.96))


def test_words():
    assert error_in_words(0.1, 0.01, True) == "10.00% (95% interval: 8.04% to 11.96%)"
    assert error_in_words(12.0, 1.0, False) == "12 (95% interval: 10.04 to 13.96)"


@pytest.mark.slow
def test_the_interval_has_the_error_on_new_rows():
    """In 95 of 100 samples; less than 85 of 100 would happen once in 20,000 times."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(100):
        X = rng.standard_normal((5200, 5))
        y = np.where(X[:, 0] + 0.7 * rng.standard_normal(5200) > 0, 1, -1)
        model = LinearSVC().fit(X[:200], y[:200])
        found = estimate(model, y[:200], left_out_scores(model, X[:200], y[:200]), None)
        low, high = error_interval(*found, 1.0)
        held += low <= np.mean(model.predict(X[200:]) != y[200:]) <= high
    assert held >= 85
