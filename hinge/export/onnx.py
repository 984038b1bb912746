"""ONNX: models that other languages and runtimes evaluate, by skl2onnx."""

import os
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from hinge.export.plain_models import to_sklearn
from hinge.files.replacing import replacing


def to_onnx(model: BaseEstimator, path: str | os.PathLike[str] | None = None, *, rows: Any = None) -> Any:
    """Convert a fitted model to ONNX, and write it to a file if one is named.

    Its outputs are those that skl2onnx gives: the label and, for classifiers, an array of probabilities where the
    model has them and of decision values where it has none; a number of regressions; the label and the decision value
    of one class. ONNX computes in float32, so that they agree with ours to about six digits.

    Parameters
    ----------
    model : estimator of hinge, or a Pipeline that ends with one
        A fitted one, whose kernel is one of LIBSVM's and not precomputed.
    path : str or path-like, optional
        The file, which appears whole or not at all.
    rows : array or DataFrame, optional
        A few rows of data, by which the types of the inputs are told: one input for each column of a frame. Without
        it there is one input, an array of float32. Needed where columns are text.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> import hinge
    >>> model = hinge.LinearSVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> onx = hinge.export.to_onnx(model, "yes_or_no.onnx")  # doctest: +SKIP
    """
    import skl2onnx

    plain = to_sklearn(model)
    machine = plain.steps[-1][1] if isinstance(plain, Pipeline) else plain
    if not isinstance(getattr(machine, "kernel", ""), str) or getattr(machine, "kernel", "") == "precomputed":
        raise ValueError("ONNX has the linear, rbf, poly and sigmoid kernels, and the kernel of this model is another.")
    if rows is None:
        rows = np.zeros((1, plain.n_features_in_), np.float32)
    elif not hasattr(rows, "columns"):
        rows = np.asarray(rows)
        rows = rows.astype(np.float32) if rows.dtype.kind in "biuf" else rows
    options: dict[int, dict[str, bool]] | None = None
    if hasattr(machine, "classes_"):
        options = {id(machine): {"raw_scores": not hasattr(machine, "predict_proba")}}
        if not isinstance(machine, LinearSVC):
            options[id(machine)]["zipmap"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of attributes that it reads, and a later scikit-learn will not have
        made = skl2onnx.to_onnx(plain, rows[:1], options=options)
    if path is not None:
        with replacing(path) as stream:
            stream.write(made.SerializeToString())
    return made
