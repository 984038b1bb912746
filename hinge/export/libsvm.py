"""LIBSVM's and LIBLINEAR's text files of models, written and read."""

import io
import os
from dataclasses import asdict
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.datasets import load_svmlight_file
from sklearn.utils.validation import check_is_fitted

from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hinge.estimators.data.any_arrays import host_model
from hinge.estimators.mixins.to_sklearn import NAMES
from hinge.files.replacing import replacing
from hinge.kernels import Precomputed

TYPES: dict[str, Any] = {"c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM, "epsilon_svr": SVR, "nu_svr": NuSVR}
KERNELS = {"polynomial" if name == "poly" else name: kind for kind, name in NAMES.items()}
"""By LIBSVM's names."""
MOST_FEATURES = 1 << 31


def write_libsvm(model: BaseEstimator, path: str | os.PathLike[str], *, number_classes: bool = False) -> None:
    """Write a fitted kernel machine as a model file of LIBSVM.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        A fitted one, whose kernel is one of LIBSVM's; classes each against each other. Sigmoids of probabilities are
        written too.
    path : str or path-like
        The file, which appears whole or not at all.
    number_classes : bool, default=False
        Write 0, 1, ... for `classes_`, in their order: LIBSVM's labels are whole numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hinge import SVC
    >>> from hinge.export import read_libsvm, write_libsvm
    >>> file = Path(tempfile.mkdtemp(), "rows.model")
    >>> write_libsvm(SVC(gamma=0.5).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]), file)
    >>> file.read_text().splitlines()[:2]
    ['svm_type c_svc', 'kernel_type rbf']
    """
    made = model.to_sklearn()
    kind = next((name for name, cls in TYPES.items() if isinstance(model, cls)), None)
    if kind is None:
        raise TypeError(f"LIBSVM has no {type(model).__name__}: use write_liblinear for linear models.")
    kernel = next((name for name, cls in KERNELS.items() if type(model.kernel_) is cls), None)
    if kernel is None:
        raise ValueError(f"LIBSVM has no {type(model.kernel_).__name__} kernel.")
    lines = [f"svm_type {kind}", f"kernel_type {kernel}"]
    lines += [f"{name} {digits(value)}" for name, value in asdict(model.kernel_).items()]
    classes = getattr(model, "classes_", None)
    lines += [f"nr_class {2 if classes is None else len(classes)}", f"total_sv {len(made.support_)}"]
    lines += [f"rho {_joined(-made._intercept_)}"]
    if classes is not None:
        lines += [f"label {' '.join(map(str, labels_of(classes, number_classes)))}"]
        if len(made._probA):
            lines += [f"probA {_joined(made._probA)}", f"probB {_joined(made._probB)}"]
        lines += [f"nr_sv {' '.join(map(str, made._n_support))}"]
    dual = made._dual_coef_.toarray() if sp.issparse(made._dual_coef_) else made._dual_coef_
    given = kernel == "precomputed"  # whose rows have only their number, as feature 0
    rows, first = sp.csr_matrix(made.support_[:, None] + 1 if given else made.support_vectors_), 0 if given else 1
    with replacing(path) as stream:
        stream.write("\n".join([*lines, "SV", ""]).encode())
        for k, (lo, hi) in enumerate(pairwise(rows.indptr)):
            pairs = zip(rows.indices[lo:hi], rows.data[lo:hi], strict=True)
            cells = " ".join(f"{j + first}:{digits(value)}" for j, value in pairs)
            stream.write(f"{_joined(dual[:, k])} {cells}\n".encode())


def read_libsvm(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """Read a model file of LIBSVM.

    Parameters
    ----------
    path : str or path-like
    n_features : int, optional
        The number of features, or of training rows where the kernel is precomputed; by default the largest index in
        the file.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted, without a certificate, as the file has none. Only the kernel's parameters are known, the
        others have their defaults; `support_` counts the support vectors, unless the kernel is precomputed.

    Raises
    ------
    ValueError
        If the file is no such model, or its parts do not fit together.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hinge import SVC
    >>> from hinge.export import read_libsvm, write_libsvm
    >>> file = Path(tempfile.mkdtemp(), "rows.model")
    >>> write_libsvm(SVC(gamma=0.5).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]), file)
    >>> read_libsvm(file).predict([[0.9, 0.8]])
    array([1])
    """
    try:
        return _model_of(path, n_features)
    except (ValueError, KeyError, IndexError, OverflowError, MemoryError) as error:
        raise ValueError(f"{Path(path)} is not a model file of LIBSVM that fits together: {error}.") from error


def labels_of(classes: np.ndarray, number_classes: bool) -> list[int]:
    """Labels that are whole numbers, for files that hold no others."""
    if number_classes:
        return list(range(len(classes)))
    if classes.dtype.kind in "biu" or (classes.dtype.kind == "f" and (classes == np.rint(classes)).all()):
        return [int(label) for label in classes]
    raise ValueError(
        f"Labels in these files are whole numbers, and those of this model are {classes.tolist()}: with "
        "number_classes=True they are written as 0, 1, ... in this order."
    )


def digits(number: float) -> str:
    """A number with all its digits."""
    return format(float(number), ".17g")


def _joined(numbers: np.ndarray) -> str:
    return " ".join(map(digits, numbers))


# --- and back ------------------------------------------------------------------------------------


def _lines_of(path: str | os.PathLike[str], mark: str, what: str) -> tuple[dict[str, list[str]], list[list[str]]]:
    """The words after each name above the line `mark`, and the words of each line below it, which holds `what`."""
    head, separator, tail = Path(path).read_text(encoding="ascii").partition(f"\n{mark}")
    if not separator:
        raise ValueError(f"it has no {what}")
    said = {words[0]: words[1:] for words in (line.split() for line in head.splitlines()) if words}
    return said, [line.split() for line in tail.splitlines()[1:] if line.strip()]


def _parts_of(path: str | os.PathLike[str]) -> tuple[dict[str, list[str]], np.ndarray, sp.csr_matrix]:
    """The words after each name, the coefficients, and the support vectors.

    These have a column 0, in which a precomputed kernel has the number of its row.
    """
    said, rows = _lines_of(path, "SV", "support vectors")
    count = int(said["nr_class"][0]) - 1
    if len(rows) != int(said["total_sv"][0]) or count < 1:
        raise ValueError(f"it has {len(rows)} support vectors where it says {said['total_sv'][0]}")
    dual = np.array([row[:count] for row in rows], np.float64).reshape(len(rows), count).T
    cells = "".join(f"0 {' '.join(row[count:])}\n" for row in rows)
    vectors, _ = load_svmlight_file(io.BytesIO(cells.encode()), zero_based=True)
    if vectors.shape[1] > MOST_FEATURES:
        raise ValueError("it has an index that is no number of a feature")
    return said, dual, vectors


def _model_of(path: str | os.PathLike[str], n_features: int | None) -> Any:
    said, dual, vectors = _parts_of(path)
    cls, kind = TYPES[said["svm_type"][0]], KERNELS[said["kernel_type"][0]]
    settings: dict[str, Any] = {key: float(said[key][0]) for key in ("gamma", "coef0") if key in said}
    if "degree" in said:
        settings["degree"] = int(float(said["degree"][0]))
    model = cls(kernel=NAMES[kind], **settings)
    model.kernel_ = kind(**{key: value for key, value in settings.items() if hasattr(kind(), key)})
    rho, order = np.array(said["rho"], np.float64), np.arange(dual.shape[1])
    if cls in (SVC, NuSVC):
        order, dual, rho = _sorted_classes(model, said, dual, rho)
    elif dual.shape[0] != 1 or len(rho) != 1:
        raise ValueError("it has coefficients of several decision values, where one is meant")
    else:
        model.n_support_ = np.array([dual.shape[1]], np.int32)
    model.intercept_, model.dual_coef_ = -rho, dual
    if not (np.isfinite(rho).all() and np.isfinite(dual).all() and np.isfinite(vectors.data).all()):
        raise ValueError("it has a number that is not finite")
    vectors = vectors[order]
    if kind is Precomputed:
        numbers = vectors[:, :1].toarray().ravel()
        if (numbers < 1).any():
            raise ValueError("it has a support vector without the number of its row, as 0:number")
        model.support_, vectors = numbers.astype(np.int32) - 1, np.empty((0, 0))
        width = max(1, int(numbers.max(initial=0))) if n_features is None else n_features
        model.shape_fit_ = (max(width, 1), width)
    else:
        vectors = vectors[:, 1:]
        width = max(1, vectors.shape[1]) if n_features is None else n_features
        if vectors.shape[1] > width:
            raise ValueError(f"it has {vectors.shape[1]} features, more than {width}")
        vectors.resize((vectors.shape[0], width))
        if vectors.nnz * 2 < vectors.shape[0] * width:
            model.dual_coef_ = sp.csr_matrix(dual)
        else:
            vectors = vectors.toarray()
        model.support_, model.shape_fit_ = np.arange(dual.shape[1], dtype=np.int32), (dual.shape[1], width)
    model.support_vectors_, model.n_features_in_ = vectors, width
    if isinstance(model, OneClassSVM):
        model.offset_ = rho
    return model


def _sorted_classes(
    model: SVC | NuSVC, said: dict[str, list[str]], dual: np.ndarray, rho: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order of support vectors by sorted classes, and the coefficients, levels and sigmoids in this order."""
    labels, sizes = (np.array([int(float(word)) for word in said[key]]) for key in ("label", "nr_sv"))
    k, n = len(labels), dual.shape[1]
    pairs = list(combinations(range(k), 2))
    if len(set(labels.tolist())) != k or k < 2 or len(sizes) != k or sizes.min() < 0 or sizes.sum() != n:
        raise ValueError("its classes are not told apart, or their support vectors not counted")
    if dual.shape[0] != k - 1 or len(rho) != len(pairs):
        raise ValueError(f"it has not the coefficients of {len(pairs)} pairs of classes")
    rank = np.argsort(np.argsort(labels))  # of each class of the file among all
    sign = -1.0 if k == 2 else 1.0  # of two classes, ours have the second as the positive one
    probabilities = {name: np.array(said[name], np.float64) for name in ("probA", "probB") if name in said}
    if any(values.shape != rho.shape for values in probabilities.values()) or len(probabilities) == 1:
        raise ValueError("it has not the two numbers of a sigmoid for each pair of classes")
    own = np.repeat(np.arange(k), sizes)
    order = np.argsort(rank[own], kind="stable")
    place = {pair: at for at, pair in enumerate(pairs)}
    ours = list(combinations(np.argsort(labels).tolist(), 2))  # the same pairs in the order of sorted classes
    source = [place[min(pair), max(pair)] for pair in ours]
    flips = np.array([sign if i < j else -sign for i, j in ours])
    new_dual = np.zeros_like(dual)
    for (a, b), (i, j), flip in zip(pairs, ours, flips, strict=True):
        new_dual[b - 1, own == i] = flip * dual[j - (j > i), own == i]
        new_dual[a, own == j] = flip * dual[i - (i > j), own == j]
    if probabilities:
        model.probA_, model.probB_ = probabilities["probA"][source], flips * probabilities["probB"][source]
    model.classes_ = np.sort(labels)
    model.class_weight_ = np.ones(k)
    model.n_support_ = np.bincount(rank[own], minlength=k).astype(np.int32)
    return order, new_dual[:, order], flips * rho[source]


SOLVERS: dict[int, tuple[str, dict[str, Any]]] = {
    1: ("L2R_L2LOSS_SVC_DUAL", {"loss": "squared_hinge"}),
    2: ("L2R_L2LOSS_SVC", {"loss": "squared_hinge"}),
    3: ("L2R_L1LOSS_SVC_DUAL", {"loss": "hinge"}),
    4: ("MCSVM_CS", {"multi_class": "crammer_singer"}),
    5: ("L1R_L2LOSS_SVC", {"penalty": "l1", "loss": "squared_hinge"}),
    11: ("L2R_L2LOSS_SVR", {"loss": "squared_epsilon_insensitive"}),
    12: ("L2R_L2LOSS_SVR_DUAL", {"loss": "squared_epsilon_insensitive"}),
    13: ("L2R_L1LOSS_SVR_DUAL", {"loss": "epsilon_insensitive"}),
}
"""LIBLINEAR's numbers and names of problems, and what they are here."""


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
    model = host_model(model)
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
        np.savetxt(stream, rows, fmt="%.17g", newline=" \n")


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
    try:
        return _linear_model_of(path)
    except (ValueError, KeyError, IndexError, OverflowError, MemoryError) as error:
        raise ValueError(
            f"{Path(path)} is not a support vector machine of LIBLINEAR that fits together: {error}."
        ) from error


def _solver_of(model: LinearSVC | LinearSVR) -> str:
    """LIBLINEAR's name of the problem; its Crammer-Singer problem has no form with one w for two classes."""
    if isinstance(model, LinearSVR):
        return "L2R_L1LOSS_SVR_DUAL" if model.loss == "epsilon_insensitive" else "L2R_L2LOSS_SVR"
    if model.multi_class == "crammer_singer" and len(model.classes_) > 2:
        return "MCSVM_CS"
    if model.penalty == "l1":
        return "L1R_L2LOSS_SVC"
    return "L2R_L1LOSS_SVC_DUAL" if model.loss == "hinge" else "L2R_L2LOSS_SVC"


def _linear_model_of(path: str | os.PathLike[str]) -> LinearSVC | LinearSVR:
    said, rows = _lines_of(path, "w", "weights")
    name = said["solver_type"][0]
    settings = dict(SOLVERS.values()).get(name)
    if settings is None:
        raise ValueError(f"it holds a model of {name}, which is no support vector machine of hinge")
    d, k, bias = int(said["nr_feature"][0]), int(said["nr_class"][0]), float(said["bias"][0])
    w = np.array(rows, np.float64)
    regression = name.endswith(("SVR", "SVR_DUAL"))
    wide = 1 if regression or (k == 2 and name != "MCSVM_CS") else k
    if w.shape != (d + (bias >= 0), wide) or d < 1 or not (np.isfinite(w).all() and np.isfinite(bias)):
        raise ValueError(f"it has not {wide} finite weights for each of {d} features")
    intercept = bias * w[-1] if bias >= 0 else np.zeros(wide)
    coef = np.ascontiguousarray(w[:d].T)
    model: Any = (LinearSVR if regression else LinearSVC)(**settings, fit_intercept=bias >= 0)
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
