"""Models for other libraries: plain copies without callbacks or torch, in skops' and ONNX' formats."""

import os
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from hinge.files.replacing import replacing


def to_sklearn(model: BaseEstimator) -> Any:
    """The fitted model with scikit-learn's estimator in place of ours.

    Parameters
    ----------
    model : estimator of hinge, or a Pipeline that ends with one
        A fitted one; of scikit-learn's searches, the model that was chosen.

    Returns
    -------
    estimator of sklearn.svm, or Pipeline
        See `hinge.SVC.to_sklearn`. The other steps of a pipeline are the same objects.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.export import to_sklearn
    >>> model = SVC().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    >>> plain = to_sklearn(model)
    >>> type(plain).__module__, plain.predict([[0.9, 0.8]])
    ('sklearn.svm._classes', array([1]))
    """
    check_is_fitted(model)
    if not hasattr(model, "to_sklearn"):
        model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return Pipeline([*model.steps[:-1], (name, to_sklearn(last))])
    if not hasattr(model, "to_sklearn"):
        raise TypeError(
            f"A fitted estimator of hinge is needed, or a Pipeline that ends with one, not a {type(model).__name__}."
        )
    return model.to_sklearn()


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
        A few rows of data, which show the types of the inputs: one input for each column of a frame. Without
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
    try:
        import skl2onnx
    except ImportError as error:
        raise ImportError("Models in ONNX need skl2onnx and onnxruntime: pip install 'hinge[onnx]'.") from error
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
    with warnings.catch_warnings(action="ignore"):  # of attributes that will be gone
        made = skl2onnx.to_onnx(plain, rows[:1], options=options)
    if path is not None:
        with replacing(path) as stream:
            stream.write(made.SerializeToString())
    return made


MOST_CELLS = 10**8
"""So many cells of sparse support vectors are written out."""


def to_skops(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted model into a file that ``skops.io.load(path)`` opens, without hinge, and with nothing to trust.

    Parameters
    ----------
    model : estimator of hinge, or a Pipeline that ends with one
        It is stored as `hinge.export.to_sklearn` gives it.
    path : str or path-like
        The file, which appears whole or not at all.

    Notes
    -----
    skops asks for trust in sparse matrices, so support vectors of sparse rows are stored as an array, and scikit-learn
    then predicts for arrays only.

    Raises
    ------
    ValueError
        If skops would ask the user who loads it to trust some of its types: functions, foreign steps. If the support
        vectors are sparse and have more than 10⁸ cells.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import skops.io
    >>> from hinge import LinearSVC
    >>> from hinge.export import to_skops
    >>> file = Path(tempfile.mkdtemp(), "model.skops")
    >>> to_skops(LinearSVC().fit([[0.0], [1.0]], [0, 1]), file)
    >>> skops.io.load(file).predict([[0.9]])
    array([1])
    """
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Files of skops need skops: pip install 'hinge[skops]'.") from error
    plain = to_sklearn(model)
    _make_dense(plain.steps[-1][1] if isinstance(plain, Pipeline) else plain)
    content = skops.io.dumps(plain)
    asked = skops.io.get_untrusted_types(data=content)
    if asked:
        raise ValueError(
            f"skops does not trust {', '.join(asked)}, of which this model is made: use hinge.save, or a model "
            "without them."
        )
    with replacing(path) as stream:
        stream.write(content)


def _make_dense(machine: BaseEstimator) -> None:
    """Arrays in place of the sparse matrices of a machine."""
    if sp.issparse(getattr(machine, "support_vectors_", None)):
        if np.prod(machine.support_vectors_.shape, dtype=float) > MOST_CELLS:
            raise ValueError(
                "The support vectors of this model are too many to be stored as an array, and skops does not trust "
                "sparse matrices: use hinge.save, or hinge.export.write_libsvm."
            )
        machine._sparse = False
        if not hasattr(machine, "classes_"):
            machine._n_support = np.full(2, len(machine.support_), np.int32)
    for name in ("support_vectors_", "dual_coef_", "_dual_coef_", "coef_"):
        if sp.issparse(vars(machine).get(name)):
            setattr(machine, name, vars(machine)[name].toarray())
