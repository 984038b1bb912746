"""skops files: models that load with no type to grant trust to."""

import os

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from hinge.export.plain_models import to_sklearn
from hinge.files.replacing import replacing

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
        If skops would ask whoever loads it to trust some of its types: functions, and steps of others. If the support
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
    import skops.io

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
