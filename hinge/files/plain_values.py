"""Values as JSON and arrays, and back: numbers, text, containers of these, solvers and kernels by name. Never code."""

import io
import math
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import chi2, f_classif, f_regression, mutual_info_classif, mutual_info_regression

from hinge.kernels import Kernel
from hinge.kernels import registry as kernels
from hinge.solvers import Solver
from hinge.solvers import registry as solvers
from hinge.version import __version__

CSR: dict[str, Any] = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix)}
CSR_PARTS = ("data", "indices", "indptr")
KINDS: dict[str, Any] = {"solver": Solver, "kernel": Kernel}
"""What has settings and is stored by the name of its class."""
FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (chi2, f_classif, f_regression, mutual_info_classif, mutual_info_regression)
}
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
    """The same of what transformers hold: lists, types of numbers and known functions too; arrays are put aside."""
    if sp.issparse(value):
        return stored_csr(value, name, arrays)
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS_AND_TEXT:
        arrays[f"{name}.npy"] = npy(value)
        return {"array": name}
    if isinstance(value, list):
        return {"list": [stored(item, f"{name}.{k}", arrays) for k, item in enumerate(value)]}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.number | bool | int | float)):
        return {"dtype": np.dtype(value).name, "of": "dtype" if isinstance(value, np.dtype) else "type"}
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
    entry = kernels.of_class(name) if kind == "kernel" else solvers.of_class(name)
    return None if entry is None else entry.load()
