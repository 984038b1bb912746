import numpy as np
import pytest
from sklearn.base import clone

from hinge import SVC, SVR, LinearSVC, LinearSVR, OneClassSVM
from hinge.selection.without_rows import estimate, left_out_scores


def brute(model, X, y, rows):
    """Decision values of rows by machines that are fitted without them."""
    found = []
    for i in rows:
        rest = np.arange(len(y)) != i
        found.append(clone(model).fit(X[rest], y[rest])._scores(X[[i]])[0])
    return np.array(found)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("model", "near"),
    [
        (LinearSVC(C=0.3, tol=1e-6), 0.02),
        (LinearSVC(C=0.3, tol=1e-6, loss="hinge", intercept="free"), 0.1),
        (SVC(gamma=0.3, tol=1e-5), 0.1),
    ],
)
def test_classes(two, model, near):
    found = left_out_scores(clone(model).fit(*two), *two)[:, 0]
    rows = np.arange(0, 120, 5)
    off = np.abs(found[rows] - brute(model, *two, rows)[:, 0])
    plain = np.abs(clone(model).fit(*two)._scores(two[0])[rows, 0] - brute(model, *two, rows)[:, 0])
    assert np.mean(off) < near and np.mean(off) < 0.7 * np.mean(plain)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "model",
    [
        LinearSVR(C=10.0, tol=1e-6, epsilon=0.1),
        LinearSVR(C=10.0, tol=1e-5),
        LinearSVR(C=1.0, tol=1e-6, loss="squared_epsilon_insensitive"),
        SVR(C=3.0, gamma=0.5, tol=1e-5),
    ],
)
def test_targets(targets, model):
    X, y = targets
    found = left_out_scores(clone(model).fit(X, y), X, y)[:, 0]
    rows = np.arange(0, 100, 4)
    without = brute(model, X, y, rows)[:, 0]
    off, plain = np.abs(found[rows] - without), np.abs(clone(model).fit(X, y).predict(X)[rows] - without)
    assert np.mean(off) < 0.55 * np.mean(plain)


@pytest.mark.slow
@pytest.mark.parametrize("model", [LinearSVC(), SVC(), SVC(multiclass="ovr")])
def test_several_classes(three, model):
    X, y = three
    scores = left_out_scores(model.fit(X, y), X, y)
    assert scores.shape == model._scores(X).shape
    rows = np.arange(0, 120, 4)
    known = clone(model).fit(X, y)
    ours = known._codes_of(scores[rows])
    theirs = known._codes_of(brute(model, X, y, rows))
    assert np.mean(ours == theirs) >= 0.95


def test_the_estimate_and_its_standard_error(two):
    X, y = two
    model = LinearSVC(C=0.1).fit(X, y)
    scores = left_out_scores(model, X, y)
    found = estimate(model, y, scores, None)
    wrong = np.mean((scores[:, 0] > 0) != (y == "yes"))
    assert found.error == pytest.approx(wrong)
    assert found.std == pytest.approx(np.sqrt(wrong * (1 - wrong) / 120))
    weighted = estimate(model, y, scores, np.where((scores[:, 0] > 0) != (y == "yes"), 1.0, 0.0))
    assert weighted.error == 1.0 and weighted.std > 0  # none of so few was right: the next may be
    assert estimate(model, y, np.where(y == "yes", 1.0, -1.0)[:, None], None).std > 0


def test_who_has_none(two):
    with pytest.raises(TypeError, match="no leave-one-out of OneClassSVM"):
        left_out_scores(OneClassSVM().fit(two[0]), *two)
    with pytest.raises(ValueError, match="rows of the fit"):
        left_out_scores(SVC().fit(*two), two[0][::-1], two[1])
