"""What `SVR` and `NuSVR` share."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from hinge import SVR, NuSVR
from hinge.estimators.data import validation as checks

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
T = X[:, 0] + np.sin(X[:, 1]) + 3.0
MACHINES = [SVR(gamma=0.5), NuSVR(gamma=0.5)]


@pytest.mark.parametrize("machine", MACHINES)
def test_predictions_are_sums_over_support_vectors(machine):
    model = clone(machine).fit(X, T)
    K = np.exp(-0.5 * ((X[:, None] - model.support_vectors_) ** 2).sum(2))
    np.testing.assert_allclose(model.predict(X), K @ model.dual_coef_[0] + model.intercept_[0], rtol=1e-9)
    sparse = clone(machine).fit(sp.csr_matrix(X), T)
    assert sp.issparse(sparse.dual_coef_) and sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(sparse.predict(X), model.predict(X), rtol=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_rows_held_out_end_the_run(machine):
    model = clone(machine).set_params(target_error=10.0, tol=1e-12).fit(X, T)
    assert model.stop_reason_ == "target"
    with pytest.raises(ValueError, match="leaves none to measure target_error on"):
        clone(machine).set_params(target_error=1.0).fit(X[:2], T[:2])


@pytest.mark.sampled
@pytest.mark.parametrize("limit", [None, 10**9])
def test_rows_held_out_are_measured_while_a_run_is_on_a_subset(limit):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((2500, 2))
    t = np.sin(2 * Z[:, 0]) + 0.1 * rng.standard_normal(2500) + 7.0
    model = NuSVR(C=10.0, tol=0.0, target_error=0.2, random_state=3, max_kernel_evals=limit).fit(Z, t)
    aside = checks.held_out(np.zeros(2500, np.int8), 0.1, checks.seed_of(3))
    error = np.abs(t - model.predict(Z))[aside].mean()
    assert model.stop_reason_ == "target" and not set(aside) & set(model.support_)
    assert model.history_[-1].score == pytest.approx(error, rel=1e-2)  # the bias is the best one only at the end
    assert error <= 0.2
    # Without a limit the error of the first subset is known; with one, that of all rows is the first.
    assert np.isnan(model.history_[0].score) == (limit is not None)
