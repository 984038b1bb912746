"""LIBLINEAR's model files, as its ``train`` writes and ``predict`` reads them, both ways.

A file is lines of names and numbers, and after ``w`` a line for each feature: its weight for each class, or one for two
classes, where a positive value means the first label. With a bias of B ≥ 0 every row has one more feature, of value B.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hinge.estimators import LinearSVC, LinearSVR
from hinge.export.libsvm import digits, labels_of
from hinge.files.replacing import replacing

SOLVERS: dict[str, dict[str, Any]] = {
    "L2R_L2LOSS_SVC": {"loss": "squared_hinge"},
    "L2R_L1LOSS_SVC_DUAL": {"loss": "hinge"},
    "L1R_L2LOSS_SVC": {"penalty": "l1"},
    "MCSVM_CS": {"multi_class": "crammer_singer"},
    "L2R_L2LOSS_SVC_DUAL": {"loss": "squared_hinge"},
    "L2R_L2LOSS_SVR": {"loss": "squared_epsilon_insensitive"},
    "L2R_L2LOSS_SVR_DUAL": {"loss": "squared_epsilon_insensitive"},
    "L2R_L1LOSS_SVR_DUAL": {"loss": "epsilon_insensitive"},
}
"""LIBLINEAR's names of problems, and what they are here."""


def write_liblinear(model: BaseEstimator, path: str | os.PathLike[str], *, number_classes: bool = False) -> None:
    """Write a fitted linear machine as a model file of LIBLINEAR.

    Parameters
    ----------
    model : LinearSVC or LinearSVR
        A fitted one. LIBLINEAR has no probabilities of these, so that they are left out.
    path : str or path-like
        The file, which appears whole or not at all.
    number_classes : bool, default=False
        Write 0, 1, ... for `classes_`, in their order: LIBLINEAR's labels are whole numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hinge import LinearSVC
    >>> from hinge.export import read_liblinear, write_liblinear
    >>> file = Path(tempfile.mkdtemp(), "rows.model")
    >>> write_liblinear(LinearSVC().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]), file)
    >>> file.read_text().splitlines()[:2]
    ['solver_type L2R_L2LOSS_SVC', 'nr_class 2']
    """
    if not isinstance(model, LinearSVC | LinearSVR):
        raise TypeError(f"LIBLINEAR has no {type(model).__name__}: use write_libsvm for kernel machines.")
    check_is_fitted(model)
    coef: Any = model.coef_
    w = np.atleast_2d(coef.toarray() if sp.issparse(coef) else coef)
    has_bias = bool(np.any(model.intercept_))
    lines = [f"solver_type {_solver_of(model)}"]
    if isinstance(model, LinearSVC):
        labels = labels_of(model.classes_, number_classes)
        lines += [
            f"nr_class {len(labels)}",
            f"label {' '.join(map(str, labels[::-1] if len(labels) == 2 else labels))}",
        ]
    else:
        lines += ["nr_class 2"]
    lines += [f"nr_feature {w.shape[1]}", f"bias {1 if has_bias else -1}", "w", ""]
    rows = np.concatenate([w.T, model.intercept_[None]]) if has_bias else w.T
    with replacing(path) as stream:
        stream.write("\n".join(lines).encode())
        for row in rows:
            stream.write(f"{' '.join(map(digits, row))} \n".encode())


def read_liblinear(path: str | os.PathLike[str]) -> LinearSVC | LinearSVR:
    """Read a model file of LIBLINEAR.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    LinearSVC or LinearSVR
        Fitted, without a certificate, as the file has none. Of its parameters the problem is known, the others have
        their defaults.

    Raises
    ------
    ValueError
        If the file is no such model, is a logistic regression, or its parts do not fit together.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hinge import LinearSVC
    >>> from hinge.export import read_liblinear, write_liblinear
    >>> file = Path(tempfile.mkdtemp(), "rows.model")
    >>> write_liblinear(LinearSVC().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]), file)
    >>> read_liblinear(file).predict([[0.9, 0.8]])
    array([1])
    """
    path = Path(path)
    try:
        return _model_of(path.read_text(encoding="ascii"))
    except (ValueError, KeyError, IndexError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} is not a support vector machine of LIBLINEAR that fits together: {error}.") from error


def _solver_of(model: LinearSVC | LinearSVR) -> str:
    """LIBLINEAR's name of the problem; its Crammer-Singer problem has no form with one w for two classes."""
    if isinstance(model, LinearSVR):
        return "L2R_L1LOSS_SVR_DUAL" if model.loss == "epsilon_insensitive" else "L2R_L2LOSS_SVR"
    if model.multi_class == "crammer_singer" and len(model.classes_) > 2:
        return "MCSVM_CS"
    if model.penalty == "l1":
        return "L1R_L2LOSS_SVC"
    return "L2R_L1LOSS_SVC_DUAL" if model.loss == "hinge" else "L2R_L2LOSS_SVC"


def _model_of(text: str) -> LinearSVC | LinearSVR:
    head, separator, tail = text.partition("\nw")
    if not separator:
        raise ValueError("it has no weights")
    said = {words[0]: words[1:] for words in (line.split() for line in head.splitlines()) if words}
    name = said["solver_type"][0]
    if name not in SOLVERS:
        raise ValueError(f"it holds a model of {name}, which is no support vector machine of hinge")
    d, k, bias = int(said["nr_feature"][0]), int(said["nr_class"][0]), float(said["bias"][0])
    w = np.array([[float(word) for word in line.split()] for line in tail.splitlines()[1:] if line.strip()])
    regression = name.endswith(("SVR", "SVR_DUAL"))
    wide = 1 if regression or (k == 2 and name != "MCSVM_CS") else k
    if w.shape != (d + (bias >= 0), wide) or d < 1 or not (np.isfinite(w).all() and np.isfinite(bias)):
        raise ValueError(f"it has not {wide} finite weights for each of {d} features")
    intercept = bias * w[-1] if bias >= 0 else np.zeros(wide)
    coef = np.ascontiguousarray(w[:d].T)
    model: Any = (LinearSVR if regression else LinearSVC)(**SOLVERS[name], fit_intercept=bias >= 0)
    if regression:
        coef = coef[0]
    else:
        labels = np.array([int(float(word)) for word in said["label"]])
        if len(labels) != k or len(set(labels.tolist())) != k or k < 2:
            raise ValueError(f"it has not {k} different labels")
        order = np.argsort(labels)
        if wide == 1:
            sign = 1.0 if order[0] == 1 else -1.0  # the first label is the positive one there, the larger one here
            coef, intercept = sign * coef, sign * intercept
        else:
            coef, intercept = coef[order], intercept[order]
            if k == 2:
                coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        model.classes_ = labels[order]
    model.coef_, model.intercept_, model.n_features_in_ = coef, intercept, d
    return model
