import numpy as np
import pytest
import scipy.sparse as sp
from calibration.problems import drawn

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.calibration.leverage import spans_by_features
from hinge.calibration.span import spans_by_kernel

X, _ = drawn(60, 5)
PLACE = np.where(np.arange(60) < 40, np.arange(60), -1)
ASKED = Asked(np.arange(40), np.linspace(0.1, 2.0, 40), np.arange(20, 60), PLACE[20:])


@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("stored", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_they_are_the_spans_by_inner_products(bias, stored):
    penalty = np.ones(6)
    penalty[-1] = bias != "free"
    rows = Features(stored, 0.0 if bias == "none" else 1.5, penalty)
    other = spans_by_kernel(rows.products, rows.sq_norms, bias == "free", ASKED)
    np.testing.assert_allclose(spans_by_features(rows, ASKED), other, rtol=1e-3, atol=1e-5)


def test_what_costs_nothing_is_no_trouble():
    rows = Features(np.zeros((60, 3)), 0.0, np.zeros(4))
    assert np.isfinite(spans_by_features(rows, ASKED)).all()
