"""Fitted models in files of numbers and text: loading one runs no code.

A model file is an .npz archive, so ``numpy.load`` opens it too: one member for each array, ``hinge.json``
for everything else, and ``sha256.txt``, the checksum of both.
"""

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from hinge.datasets.plain_arrays import members_of, plain_array
from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, checks, linear_machine
from hinge.estimators.fitted_shapes import check_kernel_machine, check_linear, check_sigmoids, check_steps
from hinge.files.replacing import replacing
from hinge.kernels import Function, Kernel
from hinge.kernels import registry as kernels
from hinge.solvers import Solver
from hinge.solvers import registry as solvers
from hinge.version import __version__

VERSION = 1
HEADER = "hinge.json"
CHECKSUM = "sha256.txt"
Model: TypeAlias = LinearSVC | LinearSVR | SVC | SVR | NuSVC | NuSVR | OneClassSVM
"""What a file can hold."""
LINEAR = ("intercept_", "n_features_in_", "coef_")
MACHINE = (
    "intercept_",
    "n_features_in_",
    "kernel_",
    "shape_fit_",
    "support_",
    "support_vectors_",
    "n_support_",
    "dual_coef_",
)
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
MODELS: dict[str, Any] = {f"hinge.{cls.__name__}": cls for cls in NEEDED}
"""By the name of their format."""
PARAMETERS: dict[Any, Callable[[Any], None]] = {
    LinearSVC: lambda model: checks.check_linear_svc(model, solvers.names(*linear_machine.SOLVES)),
    LinearSVR: lambda model: checks.check_linear_svr(model, solvers.names(*linear_machine.SOLVES)),
    SVC: lambda model: checks.check_svc(model, solvers.names("kernel")),
    SVR: lambda model: checks.check_svr(model, solvers.names("kernel")),
    NuSVC: lambda model: checks.check_nu_svc(model, solvers.names("nu")),
    NuSVR: lambda model: checks.check_nu_svr(model, solvers.names("nu")),
    OneClassSVM: checks.check_one_class,
}
"""Who checks its parameters."""
ATTRIBUTES = tuple(
    dict.fromkeys(
        (
            *NEEDED[LinearSVC],
            *NEEDED[SVC],
            "offset_",
            "radius_",
            "feature_names_in_",
            "gap_",
            "objective_",
            "stop_reason_",
            "n_iter_",
            "n_feature_reads_",
            "_mass",
            "_weights",
            "class_weight_",
            "probA_",
            "probB_",
            "_step_cuts",
            "_step_scores",
            "_step_values",
            "fit_status_",
            "lam_",
            "slack_",
            "n_kernel_evals_",
            "n_kernel_asked_",
        )
    )
)
CSR: dict[str, Any] = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix)}
UNKNOWN = ("gap_", "objective_", "lam_", "slack_", "radius_")
"""Attributes that are infinite or nan where there is no certificate, or no ball."""
KINDS: dict[str, Any] = {"solver": Solver, "kernel": Kernel}
"""What has settings and is stored by the name of its class."""
CSR_PARTS = ("data", "indices", "indptr")


class ModelFileError(ValueError):
    """A file does not hold a whole model that this version of hinge can read."""


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a fitted model into one file, which appears whole or not at all.

    Parameters
    ----------
    model : estimator of hinge
        A fitted one; not one whose kernel is a function, which is code.
    path : str or path-like
        The file. One that is there already stays as it is until the new one is on the disk.

    Notes
    -----
    Parameters that are not numbers, text, dicts of these or solvers of hinge, such as a ``RandomState``,
    are left out: in the loaded model they have their defaults. `history_` and what `warm_start` keeps are
    left out too.

    Examples
    --------
    >>> from hinge import LinearSVC, model_files
    >>> model = LinearSVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> model_files.save(model, "yes_or_no.hinge")  # doctest: +SKIP
    >>> model_files.load("yes_or_no.hinge").predict([[2.0]])  # doctest: +SKIP
    array(['yes'], dtype='<U3')
    """
    if type(model) not in MODELS.values():
        names = ", ".join(cls.__name__ for cls in NEEDED)
        raise TypeError(f"Model files hold a fitted {names}, not a {type(model).__name__}: use pickle for that.")
    check_is_fitted(model)
    if isinstance(getattr(model, "kernel_", None), Function):
        raise ValueError(
            "The kernel of this model is a function, and model files hold no code: use pickle for that, or "
            "fit the matrix of kernel values with kernel='precomputed'."
        )
    members = _members(model)
    members[CHECKSUM] = _checksum(members)
    with replacing(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # of a fixed date: same model, same bytes


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        It predicts what the saved one did, bit for bit.

    Raises
    ------
    ModelFileError
        If the file is cut short, damaged, edited, of a newer version, or no model at all.
    FileNotFoundError
        If there is no such file.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {path}: check the name and the current folder.")
    header, members = _unpacked(path.read_bytes(), path)
    if members.pop(CHECKSUM, b"") != _checksum(members):
        raise ModelFileError(f"{path} was edited or damaged: its checksum is wrong. Save the model again.")
    try:
        return _model(header, members)
    except Exception as error:  # whatever a well-formed file of wrong content leads to
        raise ModelFileError(f"{path} does not hold a model that fits together: {error}") from error


# --- from a model to the members of an archive -------------------------------------------------


def _members(model: Model) -> dict[str, bytes]:
    """The header and the arrays of a model, as bytes by name."""
    attributes, arrays = {}, {}
    for name in ATTRIBUTES:
        value: Any = vars(model).get(name)
        if sp.issparse(value):
            arrays.update({f"{name}.{part}.npy": _npy(getattr(value, part)) for part in CSR_PARTS})
            attributes[name] = {"csr": type(value).__name__, "shape": list(value.shape)}
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
            arrays[f"{name}.npy"] = _npy(value)
        elif value is not None:
            try:
                attributes[name] = _plain(value)
            except TypeError as error:
                raise ValueError(f"{name} cannot be stored in a model file: {error}") from error
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        try:
            parameters[name] = _plain(value)
        except TypeError:
            continue  # the loaded model has the default
    header = {
        "format": f"hinge.{type(model).__name__}",
        "version": VERSION,
        "hinge": __version__,
        "parameters": parameters,
        "attributes": attributes,
    }
    return {HEADER: json.dumps(header, indent=1, allow_nan=False).encode(), **arrays}


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    """A value in JSON's terms; what JSON has no word for becomes an object of one or two known keys."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, dict):
        return {"dict": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    for kind, base in KINDS.items():
        if isinstance(value, base) and type(value) is _registered(kind, type(value).__name__):
            settings = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
            return {kind: type(value).__name__, "settings": settings}
    if isinstance(value, np.ndarray) and value.ndim == 1 and all(type(item) is str for item in value):
        return {"strings": value.tolist()}
    raise TypeError(f"{value!r} is neither numbers nor text.")


def _checksum(members: dict[str, bytes]) -> bytes:
    """SHA-256 over names, lengths and contents."""
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest().encode()


# --- and back ------------------------------------------------------------------------------------


def _unpacked(content: bytes, path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header, once it is known to be one, and all members."""
    if not content:
        raise ModelFileError(f"{path} is empty: save the model again.")
    if not content.startswith(b"PK"):
        raise ModelFileError(f"{path} is not a model file of hinge.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if HEADER not in archive.namelist():
                raise ModelFileError(f"{path} is an archive, but not a model file of hinge.")
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
                raise ValueError("it is compressed, which no model file is.")
            members = members_of(archive, len(content))
            header = json.loads(members[HEADER])
            _check_version(header, path)
            return header, members
    except ModelFileError:
        raise
    except Exception as error:  # the zip and JSON parsers raise more kinds than can be listed
        raise ModelFileError(f"{path} is cut short or damaged: save the model again.") from error


def _check_version(header: Any, path: Path) -> None:
    if not isinstance(header, dict) or header.get("format") not in MODELS:
        raise ModelFileError(f"{path} is an archive, but does not hold a {' or '.join(MODELS)}.")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{path} states no version of its format: save the model again.")
    if version > VERSION:
        raise ModelFileError(
            f"{path} has version {version} of the format, but hinge {__version__} reads versions up to"
            f" {VERSION}: upgrade hinge."
        )


def _model(header: dict[str, Any], members: dict[str, bytes]) -> Model:
    cls = MODELS[header["format"]]
    arrays = {name.removesuffix(".npy"): plain_array(content) for name, content in members.items() if name != HEADER}
    values: dict[str, Any] = {}
    for name, stored in header["attributes"].items():
        if isinstance(stored, dict) and "csr" in stored:
            parts = tuple(arrays.pop(f"{name}.{part}") for part in CSR_PARTS)
            values[name] = CSR[stored["csr"]](parts, shape=tuple(stored["shape"]))
            values[name].check_format(full_check=True)
        else:
            values[name] = _value(stored)
    values.update(arrays)
    unknown, absent = set(values) - set(ATTRIBUTES), set(NEEDED[cls]) - set(values)
    if unknown or absent:
        raise ValueError(f"{min(unknown or absent)} is {'not an attribute' if unknown else 'missing'}.")
    if not isinstance(values.get("stop_reason_", ""), str):
        raise ValueError("stop_reason_ is not text.")
    for name, value in values.items():
        if name not in UNKNOWN and not _is_finite(value):
            raise ValueError(f"{name} is not finite.")
    check = check_linear if "coef_" in NEEDED[cls] else check_kernel_machine
    check(**{name: values[name] for name in NEEDED[cls]})
    if {"probA_", "probB_"} & set(values):
        check_sigmoids(values.get("probA_"), values.get("probB_"), len(values["intercept_"]))
    if {"_step_cuts", "_step_scores", "_step_values"} & set(values):
        cuts, scores, steps = (values.get(f"_step_{part}") for part in ("cuts", "scores", "values"))
        check_steps(cuts, scores, steps, len(values["intercept_"]))
    if cls is OneClassSVM:
        values["offset_"] = -values["intercept_"]
        if "_weights" in values and values["_weights"].shape != (1, values["n_features_in_"]):
            raise ValueError("_weights does not have one number for each feature.")
    given = {name: _value(value) for name, value in header["parameters"].items()}
    if cls is LinearSVC:  # files from before there was another loss name none
        given = {"loss": "hinge", **given}
    model: Model = cls(**given)
    PARAMETERS[cls](model)
    for name, value in values.items():
        setattr(model, name, value)
    return model


def _is_finite(value: Any) -> bool:
    if isinstance(value, Kernel):
        return all(map(_is_finite, asdict(value).values()))
    value = value.data if sp.issparse(value) else value
    numbers = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
    return not numbers or bool(np.isfinite(value).all())


def _value(stored: Any) -> Any:
    """The inverse of `_plain`."""
    if not isinstance(stored, dict):
        return stored
    if "float" in stored:
        return float(stored["float"])
    if "dict" in stored:
        return {_value(key): _value(item) for key, item in stored["dict"]}
    if "tuple" in stored:
        return tuple(_value(item) for item in stored["tuple"])
    if "strings" in stored:
        return np.array([str(item) for item in stored["strings"]], dtype=object)
    kind = "kernel" if "kernel" in stored else "solver"
    cls = _registered(kind, stored.get(kind))
    if cls is None:
        raise ValueError(f"{stored} names no {kind} of hinge {__version__}.")
    return cls(**{name: _value(item) for name, item in stored["settings"].items()})


def _registered(kind: str, name: str | None) -> Any:
    """The solver or kernel whose class has this name: only what is registered is ever made from a file."""
    if name is None:
        return None
    entry = kernels.of_class(name) if kind == "kernel" else solvers.of_class(name)
    return None if entry is None else entry.load()
