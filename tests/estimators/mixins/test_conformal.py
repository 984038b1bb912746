import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_regression
from sklearn.exceptions import NotFittedError

import hinge
from hinge import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR

CLASSIFIERS = [LinearSVC(C=0.1), LinearSVC(loss="hinge"), SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.6)]
REGRESSIONS = [LinearSVR(), LinearSVR(loss="squared_epsilon_insensitive"), SVR(C=10.0), NuSVR(C=10.0)]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(600, centers=3, cluster_std=3.0, random_state=0)


@pytest.fixture(scope="module")
def line():
    X, t = make_regression(600, 5, noise=20.0, random_state=0)
    return X, t / t.std()


def own(sets, model, y):
    return sets[np.arange(len(y)), np.searchsorted(model.classes_, y)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("machine", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_of_a_plain_fit_have_the_class_as_often_as_asked(machine, n_classes, blobs):
    X, y = (part[blobs[1] < n_classes] for part in blobs)
    model = clone(machine).fit(X[::2], y[::2])
    for alpha in (0.05, 0.2):
        sets = model.predict_set(X[1::2], alpha)
        assert sets.dtype == bool and sets.shape == (len(X[1::2]), n_classes)
        # Both the quantile and the test are of 200 rows or more: four standard deviations.
        assert abs(own(sets, model, y[1::2]).mean() - (1 - alpha)) < 4 * np.sqrt(2 * alpha * (1 - alpha) / 200)
    wide, narrow = model.predict_set(X, 0.05), model.predict_set(X, 0.2)
    assert (wide >= narrow).all() and wide.sum() > narrow.sum()


def test_each_class_is_covered_on_its_own(blobs):
    X, y = blobs
    rare = np.flatnonzero((y < 2) | (np.arange(len(y)) % 3 == 0))
    X, y = X[rare], y[rare]
    model = SVC().fit(X[::2], y[::2])
    found = {flag: own(model.predict_set(X[1::2], 0.2, flag), model, y[1::2]) for flag in (False, True)}
    least = {flag: min(hit[y[1::2] == k].mean() for k in range(3)) for flag, hit in found.items()}
    assert least[True] > 0.65 and least[True] > least[False]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("machine", REGRESSIONS, ids=str)
def test_intervals_of_a_plain_fit_have_the_target_as_often_as_asked(machine, line):
    X, t = line
    model = clone(machine).fit(X[::2], t[::2])
    for alpha in (0.05, 0.2):
        ends = model.predict_interval(X[1::2], alpha)
        assert ends.shape == (300, 2)
        np.testing.assert_allclose(ends.mean(axis=1), model.predict(X[1::2]), rtol=1e-6, atol=1e-6)
        hit = (ends[:, 0] <= t[1::2]) & (t[1::2] <= ends[:, 1])
        assert abs(hit.mean() - (1 - alpha)) < 4 * np.sqrt(2 * alpha * (1 - alpha) / 300)


def test_rows_of_the_fit_are_not_taken_as_they_are():
    """A machine that reaches every target of its fit has residuals of zero there, and none without the row."""
    rng = np.random.default_rng(0)
    X, t = rng.standard_normal((200, 10)), rng.standard_normal(200)
    model = SVR(C=1e4, epsilon=0.01).fit(X[:100], t[:100])
    assert np.abs(model.predict(X[:100]) - t[:100]).max() < 0.1
    ends = model.predict_interval(X[100:], 0.2)
    assert np.mean((ends[:, 0] <= t[100:]) & (t[100:] <= ends[:, 1])) > 0.65
    y = np.where(t > 0, 1, -1)
    model = SVC(C=1e4, gamma=1.0).fit(X[:100], y[:100])
    assert (model.predict(X[:100]) == y[:100]).all()
    assert own(model.predict_set(X[100:], 0.2), model, y[100:]).mean() > 0.65


def test_rows_of_the_fit_may_be_given_and_others_too(blobs, line):
    X, y = blobs
    first = LinearSVC().fit(X[::2], y[::2])
    again = pickle.loads(pickle.dumps(first)).conformalize(X[::2], y[::2])
    np.testing.assert_array_equal(first.predict_set(X), again.predict_set(X))
    split = LinearSVC().fit(X[::2], y[::2]).conformalize(X[1::2], y[1::2], held_out=True)
    # The quantile of the given rows themselves: their coverage is what was asked for, but for one row.
    assert abs(own(split.predict_set(X[1::2], 0.1), split, y[1::2]).mean() - 0.9) <= 2 / 300
    model = SVR().fit(line[0][::2], line[1][::2]).conformalize(line[0][1::2], line[1][1::2], held_out=True)
    ends = model.predict_interval(line[0][1::2], 0.1)
    assert abs(np.mean((ends[:, 0] <= line[1][1::2]) & (line[1][1::2] <= ends[:, 1])) - 0.9) <= 2 / 300


def test_a_weight_is_a_number_of_rows(line):
    X, t = line
    weight = np.random.default_rng(0).integers(0, 3, 100)
    fitted = LinearSVR().fit(X[100:], t[100:])
    one = clone(fitted).fit(X[100:], t[100:]).conformalize(X[:100], t[:100], weight, held_out=True)
    rows = np.repeat(np.arange(100), weight)
    other = fitted.conformalize(X[rows], t[rows], held_out=True)
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


def test_too_few_rows_for_alpha_exclude_nothing(blobs, line):
    X, y = blobs
    model = SVC().fit(X[:18], y[:18])
    assert model.predict_set(X, 0.05).all() and not model.predict_set(X, 0.5).all()
    assert np.isinf(LinearSVR().fit(line[0][:18], line[1][:18]).predict_interval(line[0], 0.05)).all()


def test_sparse_rows_give_the_same(blobs):
    X, y = blobs
    dense, sparse = SVC().fit(X, y).predict_set(X), SVC().fit(sp.csr_matrix(X), y).predict_set(sp.csr_matrix(X))
    assert np.mean(dense != sparse) < 0.01


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, np.nan, "a"])
def test_alpha_is_a_share(alpha, blobs, line):
    with pytest.raises(ValueError, match="alpha must be a number greater than 0 and less than 1"):
        LinearSVC().fit(*blobs).predict_set(blobs[0], alpha)
    with pytest.raises(ValueError, match="alpha must be"):
        LinearSVR().fit(*line).predict_interval(line[0], alpha)


def test_what_is_missing_is_said(blobs, tmp_path):
    X, y = blobs
    with pytest.raises(NotFittedError):
        SVC().predict_set(X)
    loaded = pickle.loads(pickle.dumps(SVC().fit(X, y)))
    with pytest.raises(ValueError, match=r"rows of the fit are not at hand.*conformalize\(X, y\)"):
        loaded.predict_set(X)
    with pytest.raises(ValueError, match="needs the rows of the fit"):
        loaded.conformalize(X + 1.0, y)
    with pytest.raises(ValueError, match="not at hand"):
        LinearSVC().partial_fit(X, y, classes=[0, 1, 2]).predict_set(X)


def test_a_new_fit_forgets_and_changed_rows_are_refused(blobs):
    X, y = blobs[0].copy(), blobs[1]
    model = SVC().fit(X, y).conformalize()
    assert len(model.fit(X[:300], y[:300]).conformalize()._conformity_scores) == 300
    model.fit(X, y)
    X *= 2.0
    with pytest.raises(ValueError, match="needs the rows of the fit"):
        model.predict_set(X)


@pytest.mark.parametrize("machine", [SVC(), LinearSVR()], ids=str)
def test_model_files_have_what_was_learned(machine, blobs, tmp_path):
    X, y = blobs
    model = clone(machine).fit(X, y).conformalize()
    hinge.save(model, tmp_path / "model")
    other = hinge.load(tmp_path / "model")
    what = "predict_set" if isinstance(model, SVC) else "predict_interval"
    np.testing.assert_array_equal(getattr(model, what)(X), getattr(other, what)(X))
    model._conformity_codes = model._conformity_codes - 7
    with pytest.raises(ValueError, match="prediction sets do not belong to its classes"):
        hinge.save(model, tmp_path / "model")


@pytest.mark.parametrize("machine", [LinearSVC(), LinearSVC(loss="hinge"), LinearSVR()], ids=str)
def test_rows_that_were_changed_in_place_after_the_fit_are_refused(machine, line):
    X, t = line[0].copy(), line[1] if isinstance(machine, LinearSVR) else (line[1] > 0).astype(int)
    model = clone(machine).fit(X, t)
    X *= 50.0
    with pytest.raises(ValueError, match="changed in place"):
        model.conformalize()


def test_what_was_learned_in_pieces_has_no_objective_that_rows_are_checked_by(line):
    X, t = line[0], (line[1] > 0).astype(int)
    model = LinearSVC().fit(X, t).partial_fit(50.0 * X, t)
    assert model.conformalize(X, t).predict_set(X[:2]).shape == (2, 2)
    with pytest.raises(ValueError, match="partial_fit gives no certificate"):
        hinge.explain.removable_rows(model, X, t)
