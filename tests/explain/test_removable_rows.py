"""`removable_rows`: the model without them is the same."""

import os

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC
from hinge.explain import removable_rows

LONG = bool(os.environ.get("HINGE_LONG_TESTS"))  # then all 300 random problems are tried, not 24
MACHINES = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(loss="hinge", intercept="free"),
    LinearSVC(intercept="free"),
    LinearSVR(epsilon=0.5),
    LinearSVR(epsilon=0.5, intercept="free", loss="squared_epsilon_insensitive"),
    SVC(gamma=0.5),
    SVC(kernel="linear"),
    SVC(kernel="poly", gamma=0.5, degree=2, coef0=1.0),
    SVC(gamma=0.5, multiclass="ovr"),
    SVC(gamma=0.5, fit_intercept=False),
    SVR(gamma=0.5, epsilon=0.3),
]


def drawn(seed):
    """A machine, rows, labels or targets, and weights."""
    rng = np.random.default_rng(seed)
    machine = clone(MACHINES[seed % len(MACHINES)]).set_params(C=float(10 ** rng.uniform(-1.5, 1.0)))
    n, d = int(rng.integers(30, 120)), int(rng.integers(1, 6))
    X, y = make_blobs(n, d, centers=int(rng.integers(2, 4)), cluster_std=rng.uniform(1.0, 4.0), random_state=seed)
    X /= X.std(axis=0)
    weight = rng.uniform(0.5, 2.0, n) if rng.random() < 0.5 else None
    return machine, X, y if hasattr(machine, "predict_set") else np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n), weight


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(300 if LONG else 24))
@pytest.mark.filterwarnings("ignore:The fit ended because no more progress")
@pytest.mark.filterwarnings("ignore::hinge.ConstantPredictionWarning")
def test_the_optimum_without_them_is_the_same(seed):
    machine, X, y, weight = drawn(seed)
    rough = clone(machine).set_params(tol=float(10 ** np.random.default_rng(seed).uniform(-5, -2))).fit(X, y, weight)
    found = removable_rows(rough, X, y, weight)
    kept = np.delete(np.arange(len(y)), found.row)
    assert (found.slack > found.change).all()
    fine = {"max_iter": 100_000} if isinstance(machine, LinearSVC | LinearSVR) else {}
    fine = clone(machine).set_params(tol=1e-9, **fine)
    every = clone(fine).fit(X, y, weight)._scores(X)
    less = clone(fine).fit(X[kept], y[kept], None if weight is None else weight[kept])._scores(X)
    np.testing.assert_allclose(less, every, atol=1e-3 * max(1.0, float(np.abs(every).max())))


def test_a_smaller_gap_proves_more():
    X, y = make_blobs(300, centers=2, cluster_std=2.0, random_state=0)
    found = [removable_rows(SVC(gamma=0.3, tol=tol).fit(X, y), X, y) for tol in (1e-2, 1e-4, 1e-6)]
    assert len(found[0]) <= len(found[1]) < len(found[2])
    model = SVC(gamma=0.3, tol=1e-6).fit(X, y)
    assert not np.isin(found[2].row, model.support_).any()


def test_a_pipeline_and_a_row_of_each_class():
    X, y = make_blobs(100, centers=2, cluster_std=0.1, random_state=0)
    model = make_pipeline(StandardScaler(), LinearSVC(C=100.0)).fit(X, y)
    rows = removable_rows(model, X, y).row
    assert len(rows) > 50 and set(np.delete(y, rows)) == {0, 1}


@pytest.mark.filterwarnings("ignore:The kernel is not positive semidefinite")
def test_what_cannot_be_proven_is_refused():
    X, y = make_blobs(60, centers=2, random_state=0)
    for model, words in (
        (LinearSVC(lam=0.1), "With lam, the loss is a mean"),
        (LinearSVC(loss="hinge", slack=0.1), "With slack"),
        (LinearSVC(class_weight="balanced"), "give the weights as a dict"),
        (LinearSVC(penalty="l1", dual=False), "penalty='l2'"),
        (SVC(kernel="sigmoid", gamma=0.01), "no feature space"),
    ):
        with pytest.raises(ValueError, match=words):
            removable_rows(model.fit(X, y), X, y)
    with pytest.raises(TypeError, match="not for hinge's NuSVC"):
        removable_rows(NuSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="not the rows of the fit"):
        removable_rows(LinearSVC().fit(X, y), 2.0 * X, y)
    with pytest.raises(ValueError, match="rows of the fit"):
        removable_rows(SVC().fit(X, y), X, 1 - y)
