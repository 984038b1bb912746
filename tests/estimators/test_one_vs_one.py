import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_iris

from hinge import SVC
from hinge.kernels import Gaussian


@pytest.fixture(scope="module")
def many():
    """Five overlapping classes of unequal size, with names."""
    rng = np.random.default_rng(1)
    codes = rng.choice(5, 250, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    X = 1.3 * rng.standard_normal((5, 3))[codes] + rng.standard_normal((250, 3))
    return X, np.array(["ash", "birch", "cedar", "elm", "fir"])[codes]


def dense(A):
    return A.toarray() if sp.issparse(A) else A


def assert_same_machine(ours, theirs, X, at=1e-2):
    """Decision values, predictions up to near-ties, support vectors but for a few at their bounds."""
    one, other = ours.decision_function(X), theirs.decision_function(X)
    assert one.shape == other.shape
    np.testing.assert_allclose(one, other, atol=at, rtol=at)
    if len(ours.classes_) == 2 or ours.decision_function_shape == "ovo":
        differ = ours.predict(X) != theirs.predict(X)
        assert not (differ & (np.abs(other).reshape(len(other), -1).min(axis=1) > at)).any()
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=at)
    if isinstance(ours.kernel_, Gaussian):  # of full rank, so that the dual has one answer
        assert len(set(ours.support_) ^ set(theirs.support_)) <= max(2, 0.02 * len(theirs.support_))
    if np.array_equal(ours.support_, theirs.support_):
        np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
        np.testing.assert_allclose(dense(ours.support_vectors_), dense(theirs.support_vectors_))


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
