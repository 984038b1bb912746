"""hinge's own estimators in model files: which of their attributes, and the checks when they are read again."""

from dataclasses import asdict
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hinge.estimators.data.any_arrays import host_model
from hinge.estimators.fitting.parameters import check_kernel_numbers
from hinge.estimators.mixins.conformal import LEARNED as CONFORMITY
from hinge.files.plain_values import NUMBERS_AND_TEXT, npy, plain, restored_csr, stored_csr, value_of
from hinge.kernels import Function, Kernel, Precomputed
from hinge.prediction import ReadingOrder
from hinge.types import Stored

Machine: TypeAlias = LinearSVC | LinearSVR | SVC | SVR | NuSVC | NuSVR | OneClassSVM
"""What a file can hold."""
LINEAR = ("intercept_", "n_features_in_", "coef_")
EXPANSION = ("support_", "support_vectors_", "n_support_", "dual_coef_")
MACHINE = ("intercept_", "n_features_in_", "kernel_", "shape_fit_", *EXPANSION)
NEEDED: dict[Any, tuple[str, ...]] = {
    LinearSVC: ("classes_", *LINEAR),
    LinearSVR: LINEAR,
    SVC: ("classes_", *MACHINE),
    SVR: MACHINE,
    NuSVC: ("classes_", *MACHINE),
    NuSVR: MACHINE,
    OneClassSVM: MACHINE,
}
"""Attributes without which a model does not predict."""
MACHINES: dict[str, Any] = {f"hinge.{cls.__name__}": cls for cls in NEEDED}
"""By the name of their format."""
SIGMOIDS, STEPS = ("probA_", "probB_"), ("_step_cuts", "_step_scores", "_step_values")
NUMBER = ("gap_", "radius_", "n_feature_reads_", "n_kernel_evals_", "n_kernel_asked_", "_mass", "fit_status_")
NUMBERS = ("objective_", "lam_", "slack_", "n_iter_")
"""Attributes that are one number, and those that may be one for each problem."""
PLAIN = {"stop_reason_": str, "training_": dict, "compression_": dict, "shape_fit_": tuple, "n_features_in_": int}
"""Attributes of other types that JSON has."""
OTHERS = ("offset_", "feature_names_in_", "_weights", "class_weight_", *SIGMOIDS, *STEPS, *CONFORMITY)
ATTRIBUTES = tuple(dict.fromkeys((*NEEDED[LinearSVC], *NEEDED[SVC], *NUMBER, *NUMBERS, *PLAIN, *OTHERS)))
ORDER = "reading_order_"
"""What `learn_order` has learned: arrays with names of their own."""
LARGEST = int(np.iinfo(np.int64).max)
UNKNOWN = ("gap_", "objective_", "lam_", "slack_", "radius_")
"""Attributes that are infinite or nan where there is no certificate, or no ball."""


def stored_machine(model: Machine, prefix: str, arrays: dict[str, bytes]) -> dict[str, Any]:
    """A fitted machine in JSON's terms; its arrays are put aside, under names that begin with `prefix`."""
    check_is_fitted(model)
    model = host_model(model)
    if isinstance(getattr(model, "kernel_", None), Function):
        raise ValueError(
            "The kernel of this model is a function, and model files hold no code: use pickle for that, or "
            "fit the matrix of kernel values with kernel='precomputed'."
        )
    attributes = {}
    for name in ATTRIBUTES:
        value: Any = vars(model).get(name)
        if sp.issparse(value):
            attributes[name] = stored_csr(value, prefix + name, arrays)
        elif isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS_AND_TEXT:
            arrays[f"{prefix}{name}.npy"] = npy(value)
        elif value is not None:
            try:
                attributes[name] = plain(value)
            except TypeError as error:
                raise ValueError(f"{name} cannot be stored in a model file: {error}") from error
    if isinstance(order := vars(model).get(ORDER), ReadingOrder):
        arrays.update({f"{prefix}{ORDER}.{part}.npy": npy(value) for part, value in order.parts().items()})
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        try:
            parameters[name] = plain(value)
        except TypeError:
            continue  # the loaded model has the default
    return {"format": f"hinge.{type(model).__name__}", "parameters": parameters, "attributes": attributes}


def machine_of(found: dict[str, Any], prefix: str, arrays: dict[str, np.ndarray]) -> Machine:
    """The inverse of `stored_machine`; takes its arrays out of `arrays`."""
    cls = MACHINES[found["format"]]
    values: dict[str, Any] = {}
    for name, stored in found["attributes"].items():
        is_csr = isinstance(stored, dict) and "csr" in stored
        values[name] = restored_csr(stored, prefix + name, arrays) if is_csr else value_of(stored)
    own = [name for name in arrays if name.startswith(prefix)]
    values.update({name.removeprefix(prefix): arrays.pop(name) for name in own})
    order = {name.removeprefix(f"{ORDER}."): values.pop(name) for name in list(values) if name.startswith(f"{ORDER}.")}
    _check(cls, values)
    given = {name: value_of(value) for name, value in found["parameters"].items()}
    if cls is LinearSVC:  # files from before there was another loss name none
        given = {"loss": "hinge", **given}
    model: Machine = cls(**given)
    model._check_parameters()
    for name, value in values.items():
        setattr(model, name, value)
    if order:
        if cls is not LinearSVC:
            raise ValueError("a reading order is no part of it.")
        coef: Any = values["coef_"]
        coef = coef.toarray() if sp.issparse(coef) else coef
        setattr(model, ORDER, ReadingOrder.of_parts(coef, values["intercept_"], order))
    return model


def _check(cls: type[Machine], values: dict[str, Any]) -> None:
    """Raise if these are not the attributes of one fitted model."""
    unknown, absent = set(values) - set(ATTRIBUTES), set(NEEDED[cls]) - set(values)
    if unknown or absent:
        raise ValueError(f"{min(unknown or absent)} is {'not an attribute' if unknown else 'missing'}.")
    _check_types(values)
    for name, value in values.items():
        if name not in UNKNOWN and not _is_finite(value):
            raise ValueError(f"{name} is not finite.")
    if "kernel_" in values:
        check_kernel_numbers(values["kernel_"])
    check = check_linear if "coef_" in NEEDED[cls] else check_kernel_machine
    check(**{name: values[name] for name in NEEDED[cls]})
    runs, of_classes = len(values["intercept_"]), len(values.get("classes_", "1"))
    optional: tuple[tuple[tuple[str, ...], Any, int], ...] = (
        (SIGMOIDS, check_sigmoids, runs),
        (STEPS, check_steps, runs),
        (CONFORMITY, check_conformity, of_classes),
    )
    for names, check_parts, count in optional:
        if set(names) & set(values):
            check_parts(*map(values.get, names), count)
    if cls is OneClassSVM:
        values["offset_"] = -values["intercept_"]
    if "_weights" in values and values["_weights"].shape != (runs, values["n_features_in_"]):
        raise ValueError("_weights does not have one number for each feature.")


def _check_types(values: dict[str, Any]) -> None:
    """Raise unless what a model says of itself, and does not predict with, has the types that a fit gives it."""
    for name, kind in PLAIN.items():
        if type(values.get(name, kind())) is not kind:
            raise ValueError(f"{name} is not of type {kind.__name__}.")
    if not all(type(count) is int and 0 < count <= LARGEST for count in values.get("shape_fit_", ())):
        raise ValueError("shape_fit_ is not the shape of a matrix.")
    for name in set(NUMBER + NUMBERS) & set(values):
        value = values[name]
        if isinstance(value, np.ndarray) and name in NUMBERS and value.ndim == 1 and value.dtype.kind in "iuf":
            continue
        if type(value) not in (int, float) or (type(value) is int and abs(value) > LARGEST):
            raise ValueError(f"{name} is no number.")
    classes = values.get("classes_")
    if classes is not None and not np.array_equal(np.unique(classes), classes):
        raise ValueError("classes_ is not an array of different classes in order.")
    weights = values.get("class_weight_")
    if weights is not None and (classes is None or weights.shape != classes.shape or weights.dtype.kind not in "iuf"):
        raise ValueError("class_weight_ is not a number for each class.")
    if not all(type(value) in (int, float) for value in values.get("compression_", {}).values()):
        raise ValueError("compression_ has values that are no numbers.")
    kinds = {"rows": (int,), "features": (int,), "cv_scores": (tuple,), "data": (str,)}
    for name, value in values.get("training_", {}).items():
        several = value if type(value) is tuple else ()
        fits = type(value) in kinds.get(name, (int, float, str, bool))
        if not fits or any(type(one) is not float for one in several):
            raise ValueError(f"training_ has {value!r} for {name}.")


def _is_finite(value: Any) -> bool:
    if isinstance(value, Kernel):
        return all(map(_is_finite, asdict(value).values()))
    value = value.data if sp.issparse(value) else value
    numbers = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
    return not numbers or bool(np.isfinite(value).all())


# --- consistency of fitted attributes --------------------------------------------------------


def check_linear(
    coef_: np.ndarray, intercept_: np.ndarray, n_features_in_: int, classes_: np.ndarray | None = None
) -> None:
    """Raise if the shapes or types of a linear model's attributes contradict each other.

    Without classes it is a regression.
    """
    rows = 1 if classes_ is None or len(classes_) == 2 else len(classes_)
    shapes = ((rows, n_features_in_),) if classes_ is not None else ((n_features_in_,), (1, n_features_in_))
    labels = f"{len(classes_)} classes" if classes_ is not None else "one target"
    no_classes = classes_ is not None and (len(classes_) < 2 or classes_.ndim != 1)
    if no_classes or coef_.shape not in shapes or intercept_.shape != (rows,):
        raise ValueError(
            f"coef_ of shape {coef_.shape} and intercept_ of shape {intercept_.shape} are not those of"
            f" {labels} and {n_features_in_} features."
        )
    if coef_.dtype.kind != "f" or intercept_.dtype.kind != "f":
        raise ValueError("the coefficients are not floating-point numbers.")


def check_kernel_machine(
    intercept_: np.ndarray,
    n_features_in_: int,
    kernel_: Kernel,
    shape_fit_: tuple[int, ...],
    support_: np.ndarray,
    support_vectors_: Stored,
    n_support_: np.ndarray,
    dual_coef_: Stored,
    classes_: np.ndarray | None = None,
) -> None:
    """Raise if the shapes or types of a kernel estimator's attributes contradict each other.

    Without classes it is a regression or a one-class model.
    """
    n, k = len(support_), 1 if classes_ is None else len(classes_)
    # Number of intercepts for each possible number of rows of dual_coef_.
    runs = {1: 1} if k == 2 or classes_ is None else {k - 1: k * (k - 1) // 2, k: k}
    given = isinstance(kernel_, Precomputed)
    if (
        (classes_ is not None and (k < 2 or classes_.ndim != 1))
        or not isinstance(kernel_, Kernel)
        or tuple(shape_fit_)[1:] != (n_features_in_,)
        or (support_.shape, n_support_.shape) != ((n,), (k,))
        or runs.get(dual_coef_.shape[0]) != len(intercept_)
        or dual_coef_.shape[1:] != (n,)
        or intercept_.ndim != 1
        or support_vectors_.shape != ((0, 0) if given else (n, n_features_in_))
        or n_support_.sum() != n
        or (n_support_ < 0).any()
        or (n and not 0 <= support_.min() <= support_.max() < shape_fit_[0])
    ):
        raise ValueError("its support vectors, coefficients and classes do not belong to one model.")
    kinds = dual_coef_.dtype.kind + intercept_.dtype.kind + support_.dtype.kind + n_support_.dtype.kind
    if kinds != "ffii" or support_vectors_.dtype.kind not in "biuf":
        raise ValueError("its coefficients and support vectors are not numbers.")


def check_sigmoids(probA_: np.ndarray | None, probB_: np.ndarray | None, n_runs: int) -> None:
    """Raise unless a calibrated model has one sigmoid for each decision value, and none is decreasing."""
    for values in (probA_, probB_):
        if not isinstance(values, np.ndarray) or values.shape != (n_runs,) or values.dtype.kind != "f":
            raise ValueError(f"probA_ and probB_ are not {n_runs} numbers each, one for each decision value.")
    if np.any(np.greater(probA_, 0.0)):  # type: ignore[arg-type]
        raise ValueError("probA_ is positive: probabilities would decrease with decision values.")


def check_steps(cuts: np.ndarray | None, scores: np.ndarray | None, values: np.ndarray | None, n_runs: int) -> None:
    """Raise unless a calibrated model has one step function for each decision value, with ascending scores."""
    parts = [part for part in (cuts, scores, values) if isinstance(part, np.ndarray)]
    if len(parts) < 3 or "".join(part.dtype.kind for part in parts) != "iff":
        raise ValueError("the steps of its probabilities are not three arrays of numbers.")
    cuts, scores, values = parts
    if cuts.shape != (n_runs + 1,) or cuts[0] != 0 or (np.diff(cuts) < 1).any() or scores.shape != (cuts[-1],):
        raise ValueError(f"the steps of its probabilities are not {n_runs} functions.")
    if values.shape not in (scores.shape, (len(scores), 2)) or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError("the steps of its probabilities are not one probability for each score.")
    if any((np.diff(scores[lo:hi]) <= 0.0).any() for lo, hi in pairwise(cuts)):
        raise ValueError("the steps of its probabilities are not in order.")


def check_conformity(scores: Any, codes: Any, weight: Any, n_classes: int) -> None:
    """Raise unless a model for sets or intervals has a score, a class and a weight of each row."""
    parts = (scores, codes, weight)
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts) or len(set(map(len, parts))) > 1:
        raise ValueError("the scores of its prediction sets are not three arrays of equal length.")
    kinds = "".join(part.dtype.kind for part in parts)
    if kinds not in ("fif", "fuf") or not ((codes >= 0) & (codes < n_classes)).all():
        raise ValueError("the scores of its prediction sets do not belong to its classes.")
    if (weight < 0.0).any():
        raise ValueError("the weights of its prediction sets are negative.")
