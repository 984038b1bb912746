"""Models of every kind that the forms of others are tried with, and rows for them."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import hinge

MODELS = {
    "two linear": hinge.LinearSVC(),
    "three linear": hinge.LinearSVC(loss="hinge"),
    "crammer": hinge.LinearSVC(multi_class="crammer_singer", fit_intercept=False),
    "linear svr": hinge.LinearSVR(epsilon=0.1),
    "two svc": hinge.SVC(),
    "three svc": hinge.SVC(gamma=0.3),
    "three poly": hinge.SVC(kernel="poly", degree=2, coef0=1.0),
    "four svc linear": hinge.SVC(kernel="linear"),
    "two nu": hinge.NuSVC(nu=0.2),
    "three nu": hinge.NuSVC(nu=0.1),
    "svr": hinge.SVR(),
    "nusvr linear": hinge.NuSVR(kernel="linear"),
    "one class": hinge.OneClassSVM(nu=0.2),
    "one class linear": hinge.OneClassSVM(kernel="linear", nu=0.2),
}
LINEAR = [name for name, model in MODELS.items() if isinstance(model, hinge.LinearSVC | hinge.LinearSVR)]
KERNEL = [name for name in MODELS if name not in LINEAR]


def fitted(name, sparse=False, probability=False):
    """The model, fitted, and its rows."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(80, 5)) * (rng.random((80, 5)) < 0.7), 3)
    X = X + 2.0 if name == "one class linear" else X
    t = X[:, 0] - X[:, 1] + 0.4 * rng.normal(size=80)
    cuts = {"two": [0.0], "fou": [-0.7, 0.0, 0.7]}.get(name[:3], [-0.5, 0.5])
    y = np.array([3, 5, 8, 9])[np.digitize(t, cuts)]
    rows = sp.csr_matrix(X) if sparse else X
    model = clone(MODELS[name]).fit(rows, t if "sv" in name and "svc" not in name else y)
    return (model.calibrate(rows, y) if probability else model), X
