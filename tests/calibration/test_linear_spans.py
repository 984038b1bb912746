import numpy as np
import pytest
from calibration.problems import drawn

from hinge.calibration import linear_spans as module
from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.calibration.leverage import spans_by_features
from hinge.calibration.linear_spans import linear_spans

WAYS = ("spans_by_features", "spans_by_kernel", "spans_by_probes")


@pytest.mark.parametrize(
    ("n", "d", "rho", "little", "much", "way"),
    [
        (200, 5, 1.0, 1e10, 1e10, ["spans_by_features"]),
        (20, 300, 1.0, 1e10, 1e10, ["spans_by_kernel"]),
        (200, 200, 100.0, 1e5, 1e10, ["spans_by_probes"]),  # where a row matters less
        (200, 500, 1.0, 1e5, 1e10, ["spans_by_kernel"]),
        (200, 500, 1.0, 1e5, 1e5, ["spans_by_probes"]),  # where it is too much work
        (200, 5, 1e5, 1e3, 1e10, []),  # where hardly any row matters
    ],
)
def test_the_shortest_way_is_taken(n, d, rho, little, much, way, monkeypatch):
    monkeypatch.setattr(module, "LITTLE_WORK", little)
    monkeypatch.setattr(module, "MUCH_WORK", much)
    taken = []
    for name in WAYS:
        direct = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, f=direct, name=name: taken.append(name) or f(*given))
    X, _ = drawn(n, d)
    rows, every = Features(X, 1.0, np.ones(d + 1)), np.arange(n)
    asked = Asked(every, np.full(n, rho), every, every)
    found = linear_spans(rows, asked)
    assert taken == way
    exact = spans_by_features(rows, asked)
    assert found.mean() == pytest.approx(exact.mean(), rel=0.5)


def test_what_is_not_penalised_goes_by_features():
    X, _ = drawn(10, 30)
    every = np.arange(10)
    found = linear_spans(Features(X, 1.0, np.zeros(31)), Asked(every, np.ones(10), every, every))
    assert np.isfinite(found).all()
