from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from hinge import LinearSVC, LinearSVR
from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.problems.svm.losses import SQUARED_HINGE
from hinge.selection.linear_path import LinearPath, LinearRun, scaled
from hinge.selection.scoring import training_of
from hinge.solvers import SDCA, solve

CS = [0.01, 0.1, 3.0]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC(loss="hinge", intercept="free"),
        LinearSVC(class_weight="balanced", solver="sdca", max_iter=100_000),
        LinearSVC("l1", dual=False),
    ],
)
def test_fits_are_those_of_the_rows_alone(three, parts, model):
    """A model of some rows, begun from a smaller C, is the one that a fit of these rows finds."""
    (X, y), (train, test) = three, parts
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    path = LinearPath(model, training_of(clone(model), sp.csr_array(X), y, weight))
    found = list(path.along([(train, test)], CS, 1e-8, None))
    for C, (one,) in zip(CS, found, strict=True):
        alone = clone(model).set_params(C=C, tol=1e-8).fit(X[train], y[train], weight[train])
        np.testing.assert_allclose(one.decision_function(None), alone.decision_function(X[test]), atol=2e-3)
        np.testing.assert_array_equal(one.predict(None), alone.predict(X[test]))


def test_targets(targets, parts):
    (X, y), (train, test) = targets, parts
    model = LinearSVR(epsilon=0.1)
    path = LinearPath(model, training_of(model, X, y, None))
    for C, (one,) in zip(CS, path.along([(train, test)], CS, 1e-8, None), strict=True):
        alone = LinearSVR(epsilon=0.1, C=C, tol=1e-8).fit(X[train], y[train]).predict(X[test])
        np.testing.assert_allclose(one.predict(None), alone, atol=2e-3)


def test_the_start_is_the_best_multiple(two):
    X, y = two[0], np.where(two[1] == "yes", 1, -1)
    for loss in ({}, {"loss": SQUARED_HINGE}):
        before, after = (Regularized.from_C(X, y, C, **loss) for C in (0.01, 0.05))
        answer = solve(before, SDCA(), stop=Stop(1e-6)).solution
        start = scaled(before, answer, after)
        best = after.dual(start)
        for factor in (0.9, 1.1):
            other = np.clip(start.alpha * factor, 0, after.loss.high)
            assert after.dual(Solution(start.w, start.b, other)) <= best + 1e-12
        assert scaled(before, answer._replace(alpha=None), after).alpha is None


def test_leave_one_out_and_the_clock(two):
    model = LinearSVC(C=0.1)
    data = training_of(model, *two, None)
    one = next(iter(LinearPath(model, data).without([0.1], 1e-8, None))).left_out()
    rows = np.flatnonzero(np.abs(one.decision_function(None)) < 0.5)[:10]
    for i in rows:
        rest = np.arange(len(data.y)) != i
        alone = LinearSVC(C=0.1, tol=1e-8).fit(two[0][rest], two[1][rest]).decision_function(two[0][[i]])
        assert one.decision_function(None)[i] == pytest.approx(alone[0], abs=0.05)
    assert list(LinearPath(model, data).along([(np.arange(100), np.arange(100, 120))], CS, 1e-3, 0.0)) == []
    path = LinearPath(LinearSVC(loss="hinge"), data)
    ((problem, result),) = next(iter(path._solved([None], [0.1], 1e-2, None)))
    lost = replace(result, solution=result.solution._replace(alpha=None))
    with pytest.raises(ValueError, match="cv='loo' needs dual weights"):
        path._left_out(0, LinearRun(problem, lost), np.zeros(problem.n))


@pytest.mark.parametrize(
    "model", [LinearSVC(), LinearSVC(loss="hinge"), LinearSVC(class_weight="balanced"), LinearSVR()]
)
def test_folds_are_members_of_one_batch(three, targets, model):
    """They have the answers of each fold alone, whatever the number of threads that share them."""
    X, y = targets if isinstance(model, LinearSVR) else three
    data = training_of(clone(model), X, y, None)
    folds = [(np.flatnonzero(np.arange(len(y)) % 3 != k), np.arange(k, len(y), 3)) for k in range(3)]
    path = LinearPath(model, data)
    assert path.groups([0, 1, 2], 1) == [[0, 1, 2]] and path.groups([0, 2], 2) == [[0], [2]]
    for k, models in enumerate(zip(*path.along(folds, CS, 1e-8, None), strict=True)):
        for ours, (alone,) in zip(models, path.along(folds[k : k + 1], CS, 1e-8, None), strict=True):
            np.testing.assert_allclose(ours._scores(None), alone._scores(None), atol=2e-3)
