import numpy as np
import pytest
from sklearn.base import clone

from hinge import SVC, SVR
from hinge.access import Gram
from hinge.selection.kernel_path import KernelPath
from hinge.selection.scoring import training_of

CS = [0.05, 0.3, 1.0, 50.0]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        SVC(multiclass="ovr", fit_intercept=False),
        SVC(class_weight="balanced", kernel="poly"),
        SVC(solver="blockdual"),
        SVC(solver="activeset"),
    ],
)
def test_fits_are_those_of_the_rows_alone(three, parts, model):
    """A model over shared kernel values, begun from a smaller C, is the one that a fit of these rows finds."""
    (X, y), (train, test) = three, parts
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    path = KernelPath(model, training_of(clone(model), X, y, weight), 0.3)
    assert isinstance(path.held, Gram) == (model.solver != "auto")
    for C, (one,) in zip(CS, path.along([(train, test)], CS, 1e-7, None), strict=True):
        alone = clone(model).set_params(C=C, gamma=0.3, tol=1e-7).fit(X[train], y[train], weight[train])
        one.set_params(decision_function_shape="ovo"), alone.set_params(decision_function_shape="ovo")
        np.testing.assert_allclose(one.decision_function(None), alone.decision_function(X[test]), atol=5e-3)
        np.testing.assert_array_equal(one.predict(None), alone.predict(X[test]))


@pytest.mark.parametrize("solver", ["auto", "blockdual"])
def test_targets(targets, parts, solver):
    (X, y), (train, test) = targets, parts
    model = SVR(solver=solver)
    path = KernelPath(model, training_of(model, X, y, None), 0.3)
    for C, (one,) in zip(CS, path.along([(train, test)], CS, 1e-7, None), strict=True):
        alone = SVR(C=C, gamma=0.3, tol=1e-7).fit(X[train], y[train]).predict(X[test])
        np.testing.assert_allclose(one.predict(None), alone, atol=5e-3)


def test_kernels_that_are_given(two, parts):
    train, test = parts
    X, y = two
    given = SVC(kernel="precomputed")
    values = []
    for model, points in ((SVC(kernel="linear"), X), (given, X @ X.T), (SVC(kernel=lambda a, b: a @ b.T), X)):
        path = KernelPath(model, training_of(model, points, y, None), None)
        values += next(path.along([(train, test)], [1.0], 1e-6, None))
    for other in values[1:]:
        np.testing.assert_allclose(other.decision_function(None), values[0].decision_function(None), atol=1e-3)


@pytest.mark.parametrize("solver", ["auto", "blockdual"])
def test_leave_one_out(two, solver):
    model = SVC(solver=solver)
    data = training_of(model, *two, None)
    one = next(iter(KernelPath(model, data, 0.3).without([1.0], 1e-6, None))).left_out()
    wrong = np.mean(one.predict(None) != two[1])
    errs = []
    for i in range(0, 120, 4):
        rest = np.arange(120) != i
        alone = SVC(gamma=0.3).fit(two[0][rest], two[1][rest]).decision_function(two[0][[i]])[0]
        errs.append(abs(one.decision_function(None)[i] - alone))
    assert np.median(errs) < 0.02 and max(errs) < 0.3
    assert 0 < wrong < 0.5


def test_what_is_kept_and_the_clock(two):
    data = training_of(SVC(), *two, None)
    assert KernelPath.fits(SVC(), data) and not KernelPath.fits(SVC(device="cuda"), data)
    assert not KernelPath.fits(SVC(), data._replace(y=np.zeros(10_001)))
    assert KernelPath.fits(SVC(cache_size=500), data._replace(y=np.zeros(10_001)))
    for solver in ("auto", "blockdual"):
        path = KernelPath(SVC(solver=solver), data, 0.3)
        assert list(path.along([(np.arange(100), np.arange(100, 120))], CS, 1e-3, 0.0)) == []


def test_values_in_single_precision_count_as_they_are():
    """So that no sum is computed again to certify a fit: all kernel values are computed once."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 5))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(1200) > 0, 1, -1)
    model = SVC()
    path = KernelPath(model, training_of(model, X, y, None), 3.0)
    assert path.held.dtype == np.float32 and not path.held.errors[0].any()
    rows = np.arange(1200)
    ((one,),) = path.along([(rows[:1000], rows[1000:])], [1e4], 1e-2, None)
    assert path.held.evals == 1200**2
    alone = SVC(C=1e4, gamma=3.0).fit(X[:1000], y[:1000])
    assert np.mean(one.predict(None) == alone.predict(X[1000:])) > 0.95
