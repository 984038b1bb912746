import numpy as np
import pytest
from estimators.made_up import assert_same_machine
from sklearn import svm
from sklearn.datasets import load_iris

from hinge import SVC

# --- the same machine as scikit-learn's ---------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("parameters", [{}, {"kernel": "poly", "degree": 2}, {"kernel": "linear"}], ids=str)
def test_many_classes(shape, parameters, many):
    X, y = many
    options = {"decision_function_shape": shape, **parameters}
    ours = SVC(tol=1e-5, **options).fit(X, y)
    theirs = svm.SVC(tol=1e-6, **options).fit(X, y)
    scores = svm.SVC(tol=1e-6, **{**options, "decision_function_shape": "ovo"}).fit(X, y).decision_function(X)
    clear = np.abs(scores).min(axis=1) > 1e-2
    assert clear.mean() > 0.9
    assert_same_machine(ours, theirs, X[clear])
    np.testing.assert_array_equal(ours.predict(X[clear]), theirs.predict(X[clear]))
    assert ours.dual_coef_.shape == (4, len(ours.support_))
    assert ours.intercept_.shape == (10,)
    codes = np.searchsorted(ours.classes_, y)
    assert (np.diff(codes[ours.support_]) >= 0).all()  # class by class, as LIBSVM has them
    if not parameters:
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=0.05)
    if parameters.get("kernel") == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-2)
        np.testing.assert_allclose(
            X @ ours.coef_.T + ours.intercept_,
            ours.set_params(decision_function_shape="ovo").decision_function(X),
            atol=1e-10,
        )


def test_ties_are_broken_as_scikit_learn_breaks_them(many):
    X, y = many
    for data in ((X, y), load_iris(return_X_y=True)):
        ours = SVC(tol=1e-6, break_ties=True).fit(*data)
        theirs = svm.SVC(tol=1e-7, break_ties=True).fit(*data)
        differ = ours.predict(data[0]) != theirs.predict(data[0])
        assert differ.mean() < 0.01
        np.testing.assert_array_equal(
            ours.predict(data[0]), ours.classes_[ours.decision_function(data[0]).argmax(axis=1)]
        )


def test_a_score_of_zero_votes_as_in_scikit_learn():
    X = np.repeat(np.eye(3), 2, axis=0) * 100.0  # so far apart that K is the identity, and scores elsewhere are zero
    y = np.repeat([0, 1, 2], 2)
    nowhere = np.full((1, 3), -50.0)
    for break_ties in (False, True):
        ours = SVC(gamma=1.0, break_ties=break_ties).fit(X, y)
        theirs = svm.SVC(gamma=1.0, break_ties=break_ties).fit(X, y)
        np.testing.assert_array_equal(ours.predict(nowhere), theirs.predict(nowhere))
        np.testing.assert_allclose(ours.decision_function(nowhere), theirs.decision_function(nowhere), atol=1e-6)
