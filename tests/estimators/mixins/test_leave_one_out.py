"""Leave-one-out decision values of fitted classifiers."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge import SVC, LinearSVC, NuSVC
from hinge.estimators.mixins.fitted_rows import CheckedRows
from hinge.estimators.mixins.probabilities import as_they_are, without_kernel_rows
from hinge.kernels import Function

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 4))
Y = np.where(X[:, 0] + 0.7 * RNG.standard_normal(40) > 0, 1, -1)
PAIRS = Function(np.dot, on="pairs")
WEIGHT = RNG.choice([0.0, 0.5, 1.0, 2.0], 40)


@pytest.fixture
def kept(monkeypatch):
    """What a calibration hands to the sigmoids."""
    seen = []
    for machine in (LinearSVC, SVC):
        monkeypatch.setattr(machine, "_keep_probabilities", lambda self, judged, *rest: seen.append(judged))
    return seen


def refitted(machine, weight):
    """The decision values of rows that weigh something, each by a machine that was trained without it."""
    values = np.full(len(Y), np.nan)
    for i in np.flatnonzero(weight):
        rest = np.arange(len(Y)) != i
        model = type(machine)(**machine.get_params()).fit(X[rest], Y[rest], weight[rest])
        values[i] = model.decision_function(X[i : i + 1])[0]
    return values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "share"),
    [
        (LinearSVC(C=0.1), 0.25),
        (LinearSVC(C=10.0, intercept="free"), 0.25),
        (LinearSVC(C=1.0, fit_intercept=False), 0.25),
        (LinearSVC(C=1.0, intercept_scaling=3.0), 0.25),
        (LinearSVC(C=1.0, penalty="l1"), 0.35),
        (LinearSVC(C=0.1, loss="hinge"), 0.8),
        (SVC(C=1.0), 0.5),
        (SVC(C=1.0, fit_intercept=False), 0.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("weight", [np.ones(40), WEIGHT], ids=["alike", "weighted"])
def test_values_are_those_of_fits_without_the_row(machine, share, weight, kept):
    """Within a share of how far rows move; for the squared hinge nearly to the digit."""
    machine.set_params(tol=1e-8)
    model = machine.fit(X, Y, weight)
    model.calibrate(X, Y, weight)
    one = kept[-1][0]
    truth = refitted(machine, weight)[one.rows]
    some = weight[one.rows] > 0
    f = model.decision_function(X)[one.rows]
    off, moved = (np.abs(values - truth)[some].mean() for values in (one.f, f))
    assert moved > 0.02
    assert off < share * moved


def test_a_class_weight_is_part_of_the_problem(kept):
    weight = np.where(Y > 0, 3.0, 1.0)
    for machine in (SVC(tol=1e-8), LinearSVC(tol=1e-8)):
        machine.fit(X, Y, weight).calibrate(X, Y, weight)
        machine.set_params(class_weight={1: 3.0, -1: 1.0}).fit(X, Y).calibrate(X, Y)
        one, other = kept[-2][0], kept[-1][0]
        np.testing.assert_allclose(one.f, other.f, atol=1e-4)


@pytest.mark.parametrize("machine", [SVC(tol=1e-8), LinearSVC(tol=1e-8)], ids=str)
def test_sparse_rows_have_the_same_values(machine, kept):
    for rows in (X, sp.csr_matrix(X)):
        machine.fit(rows, Y).calibrate(rows, Y)
    np.testing.assert_allclose(kept[0][0].f, kept[1][0].f, atol=1e-4)


def test_given_kernel_values_and_functions_have_the_same_values(kept):
    K = X @ X.T
    for kernel, rows in (("linear", X), ("precomputed", K), (lambda A, B: A @ B.T, X), (PAIRS, X)):
        SVC(kernel=kernel, tol=1e-8).fit(rows, Y).calibrate(rows, Y)
        np.testing.assert_allclose(kept[-1][0].f, kept[0][0].f, atol=1e-4)


def solved_tasks(model):
    checked = CheckedRows(X, Y, (Y > 0).astype(int), None)
    return model._solved_tasks(checked, model._scores(X))


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_coefficients_of_runs_give_their_decision_values(shape):
    codes = np.digitize(X[:, 0], [-0.5, 0.5])
    model = SVC(kernel="linear", multiclass=shape).fit(X, codes)
    scores = model._scores(X)
    solved = list(model._solved_tasks(CheckedRows(X, codes, codes, None), scores))
    assert len(solved) == 3
    for k, (task, f, beta) in enumerate(solved):
        own = X if task.rows is None else X[task.rows]
        np.testing.assert_array_equal(f, scores[:, k] if task.rows is None else scores[task.rows, k])
        np.testing.assert_allclose(own @ (own.T @ beta) + model.intercept_[k], f, atol=1e-8)


def test_a_bound_that_is_not_known_is_the_largest_weight(kept):
    model = SVC(C=0.3, tol=1e-8).fit(X, Y)
    ((task, f, beta),) = solved_tasks(model)
    known, _ = without_kernel_rows(X, task, model.kernel_, f, beta, 0.3, True)
    guessed, _ = without_kernel_rows(X, task, model.kernel_, f, beta, None, True)
    np.testing.assert_allclose(guessed.f, known.f, rtol=1e-6)
    np.testing.assert_array_equal(as_they_are(task, f).f, f)


def test_nu_machines_have_values_too():
    model = NuSVC(nu=0.4, probability=True, tol=1e-6).fit(X, Y)
    held_out = np.mean((model.predict_proba(X)[:, 1] > 0.5) == (model.decision_function(X) > 0))
    assert held_out == 1.0 and model.probA_[0] < 0


def test_kernel_values_are_counted():
    model = SVC(tol=1e-8).fit(X, Y)
    ((task, f, beta),) = solved_tasks(model)
    _, evals = without_kernel_rows(X, task, model.kernel_, f, beta, 1.0, True)
    assert 0 < evals <= 40**2
