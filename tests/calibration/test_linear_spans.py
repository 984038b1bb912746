import numpy as np
import pytest
from calibration.problems import drawn

from hinge.calibration import linear_spans as module
from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.calibration.linear_spans import linear_spans


@pytest.mark.parametrize(
    ("n", "d", "most", "way"),
    [(200, 5, 1e10, "spans_by_features"), (20, 300, 1e10, "spans_by_kernel"), (200, 200, 1e5, "spans_by_probes")],
)
def test_the_shortest_way_is_taken(n, d, most, way, monkeypatch):
    monkeypatch.setattr(module, "MOST_WORK", most)
    X, _ = drawn(n, d)
    rows, every = Features(X, 1.0, np.ones(d + 1)), np.arange(n)
    asked = Asked(every, np.ones(n), every, every)
    found = linear_spans(rows, asked)
    taken = []
    direct = getattr(module, way)
    monkeypatch.setattr(module, way, lambda *given: taken.append(way) or direct(*given))
    np.testing.assert_array_equal(linear_spans(rows, asked), found)
    assert taken == [way]


def test_what_is_not_penalised_goes_by_features():
    X, _ = drawn(10, 30)
    every = np.arange(10)
    found = linear_spans(Features(X, 1.0, np.zeros(31)), Asked(every, np.ones(10), every, every))
    assert np.isfinite(found).all()
