import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from hinge import SVCCV, LinearSVCCV
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.selection.certified_choice import FittedPair, FoldRows, Mixing, best_mixing, certify_choice
from tests import certified_choice


@pytest.mark.parametrize("seed", range(len(certified_choice.MACHINES)))
def test_no_C_contradicts_the_bounds(seed):
    found = certified_choice.check(seed, 60)
    assert found.false == 0 and found.gap < 1.0


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE])
def test_the_optimum_lies_in_the_ball_about_a_mixture(loss):
    # One row x = 1: w = min(C, 1) for the hinge, 2C/(1 + 2C) for its square, at which the gap is zero.
    def pair(C):
        w = min(C, 1.0) if loss == HINGE else 2.0 * C / (1.0 + 2.0 * C)
        v = np.array([w])
        return FittedPair(C, v, 1.0 - v, v, (v, v), 0.0, 0.0, 0.0, 0.0, 0.0)

    one, other, s = pair(0.5), pair(3.0), np.ones(1)
    assert Mixing(one, one).gap(0.5, s, loss)[0] < 1e-12
    mixing, ends = best_mixing(one, other, s, loss)[1], np.geomspace(0.5, 3.0, 9)
    R, t = mixing.radii(ends, s, loss), 0.5 * np.add(*mixing.shares(ends))
    for j, C in enumerate(ends[:-1]):
        for inside in np.linspace(C, ends[j + 1], 7):
            share = (inside - C) / (ends[j + 1] - C)
            at = t[j] + share * (t[j + 1] - t[j])
            assert abs(pair(inside).f[0] - ((1 - at) * one.f[0] + at * other.f[0])) <= R[j]
    # From 0.5 to 0.6, w is linear in C for the hinge, and nearly so for its square.
    assert best_mixing(one, pair(0.6), s, loss)[1].radii(np.geomspace(0.5, 0.6, 9), s, loss).max() < 0.01


def test_fits_that_are_too_rough_for_the_radius_they_show_are_made_again():
    # One training row x = 1, and one held out at -1 of the same class: f = -w is wrong for every C.
    calls: dict[float, int] = {}

    def fit(C, stop, near):
        calls[C] = calls.get(C, 0) + 1
        w, apart = 2.0 * C / (1.0 + 2.0 * C), {1: 8.0, 2: 1.0}.get(calls[C], 0.0)
        a, f, v = np.array([w]), np.array([-w * (1.0 + 0.5 * apart)]), np.array([w])
        return [FittedPair(C, a, 1.0 - v, f, (v, v), 0.0, apart * w, 0.0, 0.0, 0.0)]

    one = np.ones(1)
    rows = FoldRows(np.array([1]), one, one, one, [one], [one], SQUARED_HINGE, False)
    found = certify_choice([rows], [fit], [0.5, 1.0, 2.0], 0.5, None, chosen=1.0)
    assert found.chosen == 1.0 and found.gap == 0.0 and max(calls.values()) == 3


def test_a_choice_among_three_classes_is_proven():
    X, y = load_iris(return_X_y=True)
    model = LinearSVCCV(Cs=[0.1, 1.0, 10.0], certify=0.025, random_state=0).fit(X, y)
    found = model.error_bounds_
    assert model.choice_gap_ == found.gap <= 0.025 and found.C[0] == 0.1 and found.C[-1] == 10.0
    assert (found.lower <= found.upper).all() and found.lower.max() > 0.0 and found.n_fits > 0
    np.testing.assert_allclose(found.chosen, 1.0 - model.best_score_, atol=0.02)


def test_what_cannot_be_proven_in_time_is_said(monkeypatch):
    monkeypatch.setattr("hinge.selection.tuning.CERTIFY_TIMES", 0.0)
    X, y, _ = certified_choice.random_problem(1)
    with pytest.warns(ConvergenceWarning, match="not proven in the time allowed"):
        model = LinearSVCCV(Cs=[0.01, 100.0], cv=2, certify=1e-3).fit(X, y)
    assert model.choice_gap_ > 1e-3


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (LinearSVCCV(scoring="f1_macro", certify=0.1), "error rate"),
        (LinearSVCCV(cv="loo", certify=0.1), "a number of folds"),
        (LinearSVCCV(penalty="l1", certify=0.1), "penalty='l2'"),
        (SVCCV(certify=0.1), "multiclass='ovr'"),
        (SVCCV(kernel="sigmoid", multiclass="ovr", certify=0.1), "semidefinite"),
        (LinearSVCCV(certify=-1.0), "certify"),
    ],
)
def test_what_cannot_be_certified_is_refused(model, why):
    with pytest.raises(ValueError, match=why):
        model.fit(*load_iris(return_X_y=True))
