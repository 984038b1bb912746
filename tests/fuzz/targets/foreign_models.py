"""Model files of LIBSVM and LIBLINEAR with damage, read and asked to predict."""

from functools import lru_cache

import numpy as np

import hinge
from hinge.export import read_liblinear, read_libsvm, write_liblinear, write_libsvm

from ..damage import damaged, folder_of
from ..judging import check_finite

X = np.random.default_rng(0).normal(size=(12, 3))


def case(rng):
    """A damaged file of one of both, read and asked for an answer; no number in it is so large that none is finite."""
    content, read, predicts = stored()[int(rng.integers(len(stored())))]
    with folder_of({"model": damaged(content, rng)}) as folder:
        model = read(folder / "model")
    if model.n_features_in_ > 10**6:
        return
    rows = np.zeros((2, model.n_features_in_))
    rows[:, :3] = X[:2, : model.n_features_in_]
    with np.errstate(all="ignore"):
        found = getattr(model, predicts)(rows)
    size = max((float(np.abs(part).max(initial=0.0)) for part in _numbers(model)), default=0.0)
    if size < 1e30:
        check_finite(predicts, found)


def _numbers(model):
    for name in ("coef_", "dual_coef_", "support_vectors_", "intercept_"):
        part = vars(model).get(name)
        if part is not None:
            yield part.data if hasattr(part, "indptr") else part
    yield np.array([getattr(getattr(model, "kernel_", None), name, 0.0) for name in ("gamma", "coef0", "degree")])


@lru_cache
def stored():
    """Files of every kind, who reads them, and what is asked of the model."""
    y = np.resize([2, 0, 1], 12)
    machines = [
        hinge.SVC(probability=True).fit(X, y),
        hinge.SVC(kernel="poly", coef0=1.0).fit(X, y > 0),
        hinge.NuSVC(nu=0.3, kernel="linear").fit(X, y),
        hinge.SVR(kernel="rbf").fit(X, y),
        hinge.OneClassSVM(nu=0.3).fit(X),
    ]
    linear = [hinge.LinearSVC().fit(X, y), hinge.LinearSVC().fit(X, y > 0), hinge.LinearSVR(epsilon=0.1).fit(X, y)]
    found = []
    for models, write, read in ((machines, write_libsvm, read_libsvm), (linear, write_liblinear, read_liblinear)):
        for model in models:
            with folder_of({}) as folder:
                write(model, folder / "m")
                found.append(((folder / "m").read_bytes(), read, "predict"))
    return found
