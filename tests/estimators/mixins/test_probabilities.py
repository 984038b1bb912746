import pickle
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from hinge import SVC, LinearSVC, NuSVC

MACHINES = [LinearSVC(), LinearSVC(loss="hinge"), SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.2)]


def calibrated(machine, X, y, weight=None):
    model = clone(machine)
    if "probability" in model.get_params():
        return model.set_params(probability=True).fit(X, y, weight)
    return model.fit(X, y, weight).calibrate(X, y, weight)


def halves(load, seed=0):
    X, y = load(return_X_y=True)
    return train_test_split(StandardScaler().fit_transform(X), y, random_state=seed, test_size=0.5, stratify=y)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("kind", ["two", "three", "many"])
def test_the_most_probable_class_is_the_predicted_one(machine, kind, request):
    X, y = request.getfixturevalue(kind)
    model = calibrated(machine, X, y)
    grid = np.concatenate([X, 3.0 * X, np.zeros_like(X[:1])])
    p = model.predict_proba(grid)
    assert p.shape == (len(grid), len(np.unique(y))) and (p >= 0).all()
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(grid))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(grid)), p, rtol=1e-9, atol=1e-300)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("machine", [LinearSVC(), SVC(), SVC(multiclass="ovr")], ids=str)
@pytest.mark.parametrize("method", ["isotonic", "venn_abers"])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_nor_do_other_methods_contradict_it(machine, method, kind, request):
    X, y = request.getfixturevalue(kind)
    model = clone(machine).fit(X, y).calibrate(X, y, method=method)
    grid = np.concatenate([X, 3.0 * X, np.zeros_like(X[:1])])
    p = model.predict_proba(grid)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(grid))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p > 0).all() and (p < 1).all()  # whatever the label, its loss is finite
    assert not hasattr(model, "probA_")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(grid), p)
    assert hasattr(model.calibrate(X, y), "probA_") and not hasattr(model, "predict_proba_interval")


def test_intervals_hold_the_probability(two, three):
    X, y = two
    model = LinearSVC().fit(X, y).calibrate(X, y, method="venn_abers")
    lower, upper = model.predict_proba_interval(X)
    assert lower.shape == upper.shape == (len(X), 2) and (lower <= upper).all()
    np.testing.assert_allclose(lower[:, 0], 1.0 - upper[:, 1])
    p = model.predict_proba(X)
    agreed = np.abs(p[:, 1] - 0.5) > 1e-6  # others were brought in line with what is predicted
    assert agreed.any() and ((lower <= p + 1e-12) & (p <= upper + 1e-12))[agreed].all()
    X, y = three
    model = SVC(multiclass="ovr").fit(X, y).calibrate(X, y, method="venn_abers")
    assert all(end.shape == (len(X), 3) for end in model.predict_proba_interval(X))


def test_intervals_that_are_not_there_say_why(three):
    X, y = three
    model = SVC().fit(X, y)
    with pytest.raises(AttributeError) as error:
        model.predict_proba_interval  # noqa: B018
    assert "before calibrate(X, y, method='venn_abers')" in str(error.value.__cause__)
    with pytest.raises(AttributeError) as error:
        model.calibrate(X, y, method="venn_abers").predict_proba_interval  # noqa: B018
    assert "multiclass='ovr'" in str(error.value.__cause__)
    with pytest.raises(ValueError, match="method must be one of 'sigmoid', 'isotonic', 'venn_abers', got 'platt'"):
        model.calibrate(X, y, method="platt")


def test_a_shape_that_is_no_sigmoid_is_learned_by_isotonic_steps():
    """A band within one class: the probability is flat in the middle of the scores."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 1))
    likely = np.select([X[:, 0] < -0.2, X[:, 0] < 0.6], [0.02, 0.6], 0.98)
    y = rng.random(4000) < likely
    model = LinearSVC().fit(X[:2000], y[:2000])
    losses = {}
    for method in ("sigmoid", "isotonic", "venn_abers"):
        model.calibrate(X[:2000], y[:2000], method=method)
        losses[method] = log_loss(y[2000:], model.predict_proba(X[2000:]))
    assert max(losses["isotonic"], losses["venn_abers"]) < 0.97 * losses["sigmoid"]


@pytest.mark.parametrize("break_ties", [False, True])
def test_nor_do_votes_contradict_it(many, break_ties):
    X, y = many
    model = SVC(C=100.0, gamma=5.0, probability=True, break_ties=break_ties).fit(X, y)
    grid = np.random.default_rng(0).uniform(-3, 3, (2000, 3))
    np.testing.assert_array_equal(model.classes_[model.predict_proba(grid).argmax(axis=1)], model.predict(grid))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The `probability` parameter")
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
@pytest.mark.parametrize("machine", [LinearSVC(), LinearSVC(C=100.0), SVC(), SVC(C=100.0)], ids=str)
def test_they_are_as_good_as_those_of_five_folds(load, machine):
    """Of rows that were not seen, by the mean over splits; within 10% and a hundredth, where five folds differ.

    The rival for pairs of classes is scikit-learn's own ``probability=True``, which couples them as we do.
    """
    ours, theirs = [], []
    for seed in range(4):
        X, X_new, y, y_new = halves(load, seed)
        ours.append(log_loss(y_new, calibrated(machine, X, y).predict_proba(X_new)))
        rival = CalibratedClassifierCV(clone(machine), ensemble=False, cv=5)
        if isinstance(machine, SVC) and load is not load_breast_cancer:
            rival = svm.SVC(C=machine.C, probability=True, random_state=0)
        theirs.append(log_loss(y_new, rival.fit(X, y).predict_proba(X_new)))
    assert np.mean(ours) <= 1.1 * np.mean(theirs) + 0.01


@pytest.mark.slow
def test_they_are_honest_where_training_values_are_not():
    """More features than rows and labels by chance: nothing is known of new rows."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 400)), rng.integers(2, size=200)
    X_new, y_new = rng.standard_normal((500, 400)), rng.integers(2, size=500)
    for machine in (LinearSVC(), SVC(kernel="linear"), SVC(C=10.0)):
        model = calibrated(machine, X, y)
        assert (model.predict(X) == y).all()
        assert log_loss(y_new, model.predict_proba(X_new)) < 0.8  # 0.69 is the best there is


@pytest.mark.sampled
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_rows_of_weight_zero_are_not_there(machine, three):
    X, y = three
    weight = np.ones(90)
    weight[::3] = 0.0
    turned = np.where(weight > 0, y, (y + 1) % 3)
    some = weight > 0
    machine = clone(machine).set_params(tol=1e-6, random_state=0)
    if "gamma" in machine.get_params():
        machine.set_params(gamma=0.2)  # by itself it goes by all rows
    one = calibrated(machine, X, turned, weight)
    other = calibrated(machine, X[some], y[some])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("machine", [LinearSVC(), SVC(), NuSVC(nu=0.1)], ids=str)
def test_one_row_of_a_class_is_said(machine, three):
    X, y = three
    alone = np.where(np.arange(90) < 1, "a", np.where(y == 1, "b", "c"))
    with pytest.warns(UserWarning, match="Class 'a' has one row, without which nothing is left to learn it from"):
        model = calibrated(machine.set_params(**({"nu": 0.02} if isinstance(machine, NuSVC) else {})), X, alone)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_equal_scores_give_the_share_of_the_class():
    X, y = np.zeros((30, 2)), np.repeat([0, 1], [10, 20])
    model = SVC(kernel="linear", probability=True).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 2 / 3, atol=0.03)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        linear = LinearSVC().fit(X, y).calibrate(X, y)
    for method in ("sigmoid", "isotonic", "venn_abers"):
        linear.calibrate(X, y, method=method)
        np.testing.assert_allclose(linear.predict_proba(X)[:, 1], 2 / 3, atol=0.03)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_they_survive_pickling_and_do_not_survive_cloning(machine, three):
    X, y = three
    model = calibrated(machine, X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), p)
    np.testing.assert_array_equal(calibrated(clone(model), X, y).predict_proba(X).shape, p.shape)
    assert not hasattr(clone(model), "probA_")


def test_sparse_and_dense_rows_have_the_same(three):
    X, y = three
    for machine in (LinearSVC(tol=1e-6), SVC(tol=1e-6)):
        one, other = calibrated(machine, X, y), calibrated(machine, sp.csr_matrix(X), y)
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(sp.csr_matrix(X)), atol=1e-4)


def test_held_out_rows_are_taken_as_they_are(three):
    X, y = three
    for machine in (LinearSVC(), SVC(), LinearSVC(multi_class="crammer_singer"), SVC(slack=0.1)):
        model = clone(machine).fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2], held_out=True)
        assert log_loss(y[1::2], model.predict_proba(X[1::2])) < 0.5


def test_numbers_that_underflow_have_a_logarithm(two):
    X, y = two
    model = SVC(kernel="linear", probability=True).fit(X, y)
    model.probA_[:] = -1.0
    assert np.isfinite(model.predict_log_proba(1e6 * X)).all()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_ctrl_c_while_a_fit_is_calibrated_keeps_the_model_without_probabilities(machine, two, monkeypatch):
    X, y = two
    model = machine(probability=True, on_interrupt="keep")

    def judge(*args):
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the calibration went on")

    monkeypatch.setattr(machine, "_left_out", judge)
    with pytest.warns(UserWarning, match="interrupted before its probabilities") as told:
        model.fit(X, y)
    assert told[0].filename == __file__
    monkeypatch.undo()
    assert model.stop_reason_ == "converged"
    with pytest.raises(NotFittedError, match="where Ctrl-C ended the fit"):
        model.predict_proba(X)
    assert model.calibrate(X, y).predict_proba(X).shape == (len(X), 2)
