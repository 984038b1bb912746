"""Words for kernels of anything, and what makes two machines the same."""

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from hinge.kernels import Gaussian

WORDS = ["ab", "abab", "aabb", "bab", "abba", "baba", "cd", "cdcd", "ccdd", "dcd", "cddc", "dcdc", "", "x"]
SIDES = ["left"] * 6 + ["right"] * 6 + ["none"] * 2


def bigrams(s, t):
    """How many pairs of neighbouring letters two words share."""
    mine, yours = ([w[i : i + 2] for i in range(len(w) - 1)] for w in (f"^{s}$", f"^{t}$"))
    return float(sum(min(mine.count(p), yours.count(p)) for p in set(mine)))


def half_gaussian(A, B):
    return rbf_kernel(A, B, gamma=0.5)


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
