import numpy as np
import pytest
import scipy.sparse as sp
from calibration.problems import drawn

from hinge.calibration import probes
from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.calibration.leverage import spans_by_features
from hinge.calibration.probes import spans_by_probes

X, _ = drawn(400, 60)
PLACE = np.where(np.arange(400) < 300, np.arange(400), -1)
ASKED = Asked(np.arange(300), np.full(300, 2.0), np.arange(100, 400), PLACE[100:])


def rows_of(bias, stored=X):
    penalty = np.ones(61)
    penalty[-1] = bias != "free"
    return Features(stored, 0.0 if bias == "none" else 1.5, penalty)


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
def test_many_probes_come_near(bias, monkeypatch):
    monkeypatch.setattr(probes, "PROBES", 2000)
    monkeypatch.setattr(probes, "NEAR", 1e-4)
    exact = spans_by_features(rows_of(bias), ASKED)
    found = spans_by_probes(rows_of(bias), ASKED)
    np.testing.assert_allclose(found, exact, rtol=0.25)
    assert np.abs(found / exact - 1).mean() < 0.05


def test_few_are_right_on_average():
    exact = spans_by_features(rows_of("penalized"), ASKED)
    found = spans_by_probes(rows_of("penalized"), ASKED)
    for part in (ASKED.place >= 0, ASKED.place < 0):
        assert found[part].mean() == pytest.approx(exact[part].mean(), rel=0.2)
        assert np.abs(found[part] / exact[part] - 1).mean() < 0.3


def test_the_same_call_gives_the_same_bits():
    one, other = (spans_by_probes(rows_of("free", stored), ASKED) for stored in (X, X.copy()))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(spans_by_probes(rows_of("free", sp.csr_array(X)), ASKED), one, rtol=1e-3)
