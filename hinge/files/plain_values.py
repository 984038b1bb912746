"""Values as JSON and arrays, and back: numbers, text, containers of these, solvers and kernels by name. Never code."""

import io
import math
import warnings
from dataclasses import fields
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import decomposition, feature_selection, kernel_approximation, preprocessing
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler

from hinge.kernels import Kernel
from hinge.kernels import registry as kernels
from hinge.solvers import Solver
from hinge.solvers import registry as solvers
from hinge.version import __version__

CSR: dict[str, Any] = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix)}
CSR_PARTS = ("data", "indices", "indptr")
KINDS: dict[str, Any] = {"solver": Solver, "kernel": Kernel}
"""What has settings and is stored by the name of its class."""
SCORES = ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression")
FUNCTIONS: dict[str, Any] = {name: getattr(feature_selection, name) for name in SCORES}
"""The only functions that a file can name: scores of features."""
NUMBERS_AND_TEXT = "biufU"
"""Kinds of arrays that are stored as they are."""


def plain(value: object) -> Any:
    """A value in JSON's terms; what JSON has no word for becomes an object of one or two known keys.

    Raises
    ------
    TypeError
        If it is neither numbers nor text, nor made of these.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, dict):
        return {"dict": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, slice):
        return {"slice": [plain(part) for part in (value.start, value.stop, value.step)]}
    for kind, base in KINDS.items():
        if isinstance(value, base) and type(value) is registered(kind, type(value).__name__):
            settings = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
            return {kind: type(value).__name__, "settings": settings}
    if isinstance(value, np.ndarray) and value.ndim == 1 and all(type(item) is str for item in value):
        return {"strings": value.tolist()}
    raise TypeError(f"{value!r} is neither numbers nor text.")


def stored(value: object, name: str, arrays: dict[str, bytes]) -> Any:
    """The same of what transformers hold: lists, types of numbers, transformers too; arrays are put aside."""
    if sp.issparse(value):
        return stored_csr(value, name, arrays)
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS_AND_TEXT:
        arrays[f"{name}.npy"] = npy(value)
        return {"array": name}
    if isinstance(value, list):
        return {"list": [stored(item, f"{name}.{k}", arrays) for k, item in enumerate(value)]}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.number | bool | int | float)):
        return {"dtype": np.dtype(value).name, "of": "dtype" if isinstance(value, np.dtype) else "type"}
    if type(value) in LEARNED:
        return {"transformer": stored_transformer(value, f"{name}.", arrays)}
    if callable(value) and FUNCTIONS.get(name_of := getattr(value, "__name__", "")) is value:
        return {"function": name_of}
    if isinstance(value, np.ndarray) and value.ndim == 1 and not all(type(item) is str for item in value):
        return {"objects": [plain(item) for item in value]}
    return plain(value)


def stored_csr(value: sp.csr_array | sp.csr_matrix, name: str, arrays: dict[str, bytes]) -> dict[str, Any]:
    """The three arrays of a CSR matrix, put aside, and its shape; columns in order, none of them twice in a row."""
    if not value.has_canonical_format:
        value = value.copy()
        value.sum_duplicates()
    arrays.update({f"{name}.{part}.npy": npy(getattr(value, part)) for part in CSR_PARTS})
    return {"csr": type(value).__name__, "shape": list(value.shape)}


def npy(array: np.ndarray) -> bytes:
    """An array as the bytes of an .npy file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def value_of(found: Any) -> Any:
    """The inverse of `plain`."""
    if not isinstance(found, dict):
        return found
    if "float" in found:
        return float(found["float"])
    if "dict" in found:
        return {value_of(key): value_of(item) for key, item in found["dict"]}
    if "tuple" in found:
        return tuple(value_of(item) for item in found["tuple"])
    if "slice" in found:
        start, stop, step = found["slice"]
        return slice(start, stop, step)
    if "strings" in found:
        return np.array([str(item) for item in found["strings"]], dtype=object)
    kind = "kernel" if "kernel" in found else "solver"
    cls = registered(kind, found.get(kind))
    if cls is None:
        raise ValueError(f"{found} names no {kind} of hinge {__version__}.")
    return cls(**{name: value_of(item) for name, item in found["settings"].items()})


def restored(found: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `stored`; arrays are taken out of `arrays`."""
    if not isinstance(found, dict):
        return found
    if "csr" in found:
        return restored_csr(found, name, arrays)
    if "array" in found:
        return arrays.pop(name)
    if "list" in found:
        return [restored(item, f"{name}.{k}", arrays) for k, item in enumerate(found["list"])]
    if "objects" in found:
        made = np.empty(len(found["objects"]), dtype=object)
        made[:] = [value_of(item) for item in found["objects"]]
        return made
    if "dtype" in found:
        dtype = np.dtype(str(found["dtype"]))
        if dtype.kind not in "biufO":
            raise ValueError(f"{dtype} is no type of numbers.")
        return dtype if found.get("of") == "dtype" else dtype.type
    if "transformer" in found:
        return transformer_of(found["transformer"], f"{name}.", arrays)
    if "function" in found:
        return FUNCTIONS[found["function"]]
    return value_of(found)


def restored_csr(found: dict[str, Any], name: str, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `stored_csr`; indices are looked at before compiled code follows them."""
    parts = tuple(arrays.pop(f"{name}.{part}") for part in CSR_PARTS)
    matrix = CSR[found["csr"]](parts, shape=tuple(found["shape"]))
    matrix.check_format(full_check=True)
    if not matrix.has_canonical_format:
        raise ValueError(f"the columns of {name} are not in order.")
    return matrix


def registered(kind: str, name: str | None) -> Any:
    """The solver or kernel whose class has this name: only what is registered is ever made from a file."""
    if name is None:
        return None
    if kind == "kernel":
        return kernels.of_class(name)
    entry = solvers.of_class(name)
    return None if entry is None else entry.load()


DECOMPOSED = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_")
LEARNED: dict[Any, tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_", "n_samples_seen_"),
    preprocessing.MinMaxScaler: ("min_", "scale_", "data_min_", "data_max_", "data_range_", "n_samples_seen_"),
    preprocessing.MaxAbsScaler: ("scale_", "max_abs_", "n_samples_seen_"),
    RobustScaler: ("center_", "scale_"),
    preprocessing.Normalizer: (),
    preprocessing.Binarizer: (),
    preprocessing.FunctionTransformer: (),
    OneHotEncoder: ("categories_", "_infrequent_indices"),
    OrdinalEncoder: ("categories_", "_infrequent_indices"),
    SimpleImputer: ("statistics_", "indicator_", "_fit_dtype", "_fill_dtype"),
    MissingIndicator: ("features_", "_n_features", "_precomputed"),
    CountVectorizer: ("vocabulary_", "fixed_vocabulary_"),
    TfidfVectorizer: ("vocabulary_", "fixed_vocabulary_", "_tfidf"),
    HashingVectorizer: (),
    TfidfTransformer: ("idf_",),
    feature_selection.SelectKBest: ("scores_", "pvalues_"),
    feature_selection.SelectPercentile: ("scores_", "pvalues_"),
    feature_selection.VarianceThreshold: ("variances_",),
    decomposition.PCA: (*DECOMPOSED, "mean_", "n_components_", "n_samples_", "noise_variance_"),
    decomposition.TruncatedSVD: DECOMPOSED,
    kernel_approximation.Nystroem: ("components_", "component_indices_", "normalization_", "_n_features_out"),
    kernel_approximation.RBFSampler: ("random_weights_", "random_offset_", "_n_features_out"),
}
"""What a file can hold, and the attributes that each has learned; the others follow from these."""
OF_ALL = ("n_features_in_", "feature_names_in_", "_sklearn_output_config")
TRANSFORMERS: dict[str, Any] = {f"sklearn.{cls.__name__}": cls for cls in LEARNED}
"""By the name of their format."""
MOST_FEATURES = 1 << 24
"""Rows of zeros and ones of so many features are put through a transformer that was read, and of no more."""


def stored_transformer(part: BaseEstimator, prefix: str, arrays: dict[str, bytes]) -> dict[str, Any]:
    """A fitted transformer in JSON's terms; its arrays are put aside, under names that begin with `prefix`."""
    name = type(part).__name__
    attributes, parameters = {}, {}
    for key, value in part.get_params(deep=False).items():
        try:
            parameters[key] = stored(value, prefix + key, arrays)
        except TypeError as error:
            if key == "random_state":  # what it has drawn is among the attributes
                continue
            raise ValueError(
                f"{key} of this {name} cannot be stored, as model files hold no code: {error} Use pickle for that, or "
                "a transformer without it."
            ) from error
    for key in (*LEARNED[type(part)], *OF_ALL):
        value = vars(part).get(key)
        if value is None:
            continue
        if key == "vocabulary_":  # the words in the order of their columns
            value = np.array(sorted(value, key=value.__getitem__), dtype=object)
        try:
            attributes[key] = stored(value, prefix + key, arrays)
        except TypeError as error:
            raise ValueError(f"{key} of this {name} cannot be stored in a model file: {error}") from error
    return {"format": f"sklearn.{name}", "parameters": parameters, "attributes": attributes}


def transformer_of(found: dict[str, Any], prefix: str, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `stored_transformer`, with what follows from the attributes computed anew."""
    cls = TRANSFORMERS[found["format"]]
    part = cls(**{key: restored(value, prefix + key, arrays) for key, value in found["parameters"].items()})
    part._validate_params()
    for key, value in found["attributes"].items():
        if key not in (*LEARNED[cls], *OF_ALL):
            raise ValueError(f"{key} is not an attribute.")
        setattr(part, key, restored(value, prefix + key, arrays))
    check_names(part)
    if cls in (OneHotEncoder, OrdinalEncoder) and hasattr(part, "categories_"):
        _complete_encoder(part)
    elif cls is SimpleImputer and hasattr(part, "statistics_"):
        vars(part).setdefault("indicator_", None)
        vars(part).setdefault("_fill_dtype", part._fit_dtype)  # older versions have one for both
    elif issubclass(cls, CountVectorizer) and hasattr(part, "vocabulary_"):
        part.vocabulary_ = {str(word): j for j, word in enumerate(part.vocabulary_)}
    elif cls in (RobustScaler, StandardScaler):  # which have None for what a parameter said that they need not learn
        for key in set(LEARNED[cls]) - {"n_samples_seen_"}:
            vars(part).setdefault(key, None)
    return part


def width_of(part: BaseEstimator) -> int:
    """How many columns a transformer makes, found by transforming two rows, and three; raises if attributes do not fit.

    An attribute of a wrong shape, such as (2, 1) for two features, may fit one of these numbers of rows, but not both.
    """
    if isinstance(part, HashingVectorizer):
        return int(part.transform(["", ""]).shape[1])
    if isinstance(part, CountVectorizer):
        width = len(part.vocabulary_)
        if part.transform(["", ""]).shape[1] != width:
            raise ValueError("the words and their weights are not of one vocabulary.")
        return width
    n = part.n_features_in_
    if type(n) is not int or not 0 < n <= MOST_FEATURES:
        raise ValueError(f"n_features_in_ is {n!r}, which is no number of features.")
    words = isinstance(part, OneHotEncoder | OrdinalEncoder)
    rows: Any = np.outer([0.0, 1.0, 0.0], np.ones(n))
    if words:
        rows = np.empty((3, n), dtype=object)
        rows[:] = [values[0] for values in part.categories_]
    elif isinstance(part, SimpleImputer) and part._fit_dtype.kind == "O":
        words, rows = True, np.full((3, n), part.missing_values, dtype=object)
    with warnings.catch_warnings(action="ignore"):  # of names that the rows do not have, and of empty features
        made, fewer = part.transform(rows.copy()), part.transform(rows[:2])
    if len(made.shape) != 2 or (made.shape[0], fewer.shape[0]) != (3, 2):
        raise ValueError(f"this {type(part).__name__} does not make a row of a row.")
    values = made.data if sp.issparse(made) else np.asarray(made)
    if not words and (values.dtype.kind not in "biuf" or not np.isfinite(values).all()):
        raise ValueError(f"this {type(part).__name__} does not make finite numbers of zeros and ones.")
    return int(made.shape[1])


def check_names(part: BaseEstimator) -> None:
    """Raise if the names do not match its features."""
    names = getattr(part, "feature_names_in_", None)
    if names is not None and (
        not isinstance(names, np.ndarray)
        or names.shape != (getattr(part, "n_features_in_", -1),)
        or not all(isinstance(name, str) for name in names)
    ):
        raise ValueError("feature_names_in_ does not have a name for each feature.")
    config = getattr(part, "_sklearn_output_config", {})
    if not isinstance(config, dict) or not set(config.items()) <= {
        ("transform", form) for form in ("default", "pandas", "polars")
    }:
        raise ValueError("what its output is to be is not known.")


def _complete_encoder(part: BaseEstimator) -> None:
    """Set the attributes of an encoder that follow from its categories, and from the infrequent ones.

    They point into rows that compiled code fills, so they are computed here and never read from a file.
    """
    categories = part.categories_
    if not isinstance(categories, list) or len(categories) != part.n_features_in_:
        raise ValueError("there are no categories for each feature.")
    if any(not isinstance(values, np.ndarray) or values.ndim != 1 or not len(values) for values in categories):
        raise ValueError("the categories of a feature are not a list of some.")
    last = enumerate(values[-1] for values in categories if isinstance(part, OrdinalEncoder))
    missing = {i: len(categories[i]) - 1 for i, value in last if isinstance(value, Real) and value != value}
    part._check_infrequent_enabled()
    if part._infrequent_enabled:
        rare, counts = part._infrequent_indices, [len(values) - (i in missing) for i, values in enumerate(categories)]
        if not isinstance(rare, list) or len(rare) != len(categories):
            raise ValueError("there are no rare categories for each feature.")
        part._default_to_infrequent_mappings = [
            None if few is None else _grouped(few, count) for few, count in zip(rare, counts, strict=True)
        ]
    else:
        vars(part).pop("_infrequent_indices", None)
    if isinstance(part, OneHotEncoder):
        part._set_drop_idx()
        part._n_features_outs = part._compute_n_features_outs()
    else:
        part._missing_indices = missing


def _grouped(rare: object, count: int) -> np.ndarray:
    """The number of each of `count` categories, where the rare ones share the last."""
    is_rare = np.zeros(count, bool)
    if not isinstance(rare, np.ndarray) or rare.ndim != 1 or rare.dtype.kind not in "iu" or not len(rare):
        raise ValueError("rare categories are not given by their numbers.")
    if rare.min() < 0 or rare.max() >= count or len(np.unique(rare)) != len(rare):
        raise ValueError("rare categories are not among the categories.")
    is_rare[rare] = True
    mapping = np.cumsum(~is_rare) - 1
    mapping[is_rare] = count - len(rare)
    return mapping
