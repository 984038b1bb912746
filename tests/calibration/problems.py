"""Small problems with kernel values, solved by LIBSVM, and their literal leave-one-out values."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from hinge.calibration.left_out import SolvedProblem


def drawn(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1, -1)


def gaussian(X):
    return rbf_kernel(X, gamma=1 / X.shape[1])


def solved(K, y, C):
    model = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
    a = np.zeros(len(y))
    a[model.support_] = np.abs(model.dual_coef_[0])
    return SolvedProblem(model.decision_function(K), y, a, np.full(len(y), C))


def refitted(K, y, C):
    """The decision value of each row by a machine that was trained without it."""
    values = np.empty(len(y))
    for i in range(len(y)):
        rest = np.flatnonzero(np.arange(len(y)) != i)
        model = SVC(kernel="precomputed", C=C, tol=1e-6).fit(K[np.ix_(rest, rest)], y[rest])
        values[i] = model.decision_function(K[i : i + 1, rest])[0]
    return values
