"""Fitted models in files of numbers and text: loading one runs no code.

A model file is an .npz archive, so ``numpy.load`` opens it too: one member for each array, ``hinge.json``
for everything else, and ``sha256.txt``, the checksum of both.
"""

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from hinge.datasets.base import members_of, plain_array
from hinge.files.machines import MACHINES, Machine
from hinge.files.pipelines import PIPELINE, check_widths, chosen, part_of, stored_part
from hinge.files.plain_values import NUMBERS_AND_TEXT
from hinge.files.replacing import replacing
from hinge.version import __version__

VERSION = 1
HEADER = "hinge.json"
CHECKSUM = "sha256.txt"
MODELS = (*MACHINES, PIPELINE)
"""Formats of what a file can hold."""
Model: TypeAlias = Machine | Pipeline


class ModelFileError(ValueError):
    """A file does not hold a whole model that this version of hinge can read."""


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted model into one file, which appears whole or not at all.

    Parameters
    ----------
    model : estimator of hinge, or a Pipeline that ends with one
        A fitted one; not one whose kernel is a function, which is code. Of those that choose their own C, and of
        scikit-learn's searches, the model that was chosen is kept; of those on a cluster, the local one.

        The other steps of a pipeline may be scikit-learn's scalers, encoders, imputers, text vectorisers, selectors
        of features and the like (`hinge.files.plain_values.LEARNED` lists them), ``FeatureUnion`` and
        ``ColumnTransformer``. Anything else is refused.
    path : str or path-like
        The file. One that is there already stays as it is until the new one is on the disk.

    Raises
    ------
    ValueError
        If the model could not be loaded again, because a later fit was interrupted or a parameter is wrong.

    Notes
    -----
    Of the estimators of hinge, parameters that are not numbers, text, dicts of these or solvers of hinge, such as a
    ``RandomState``, are left out: in the loaded model they have their defaults. `history_` and what `warm_start` keeps
    are left out too, and of pipelines `memory`.

    Examples
    --------
    >>> import hinge
    >>> model = hinge.LinearSVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> hinge.save(model, "yes_or_no.hinge")  # doctest: +SKIP
    >>> hinge.load("yes_or_no.hinge").predict([[2.0]])  # doctest: +SKIP
    array(['yes'], dtype='<U3')
    """
    model = chosen(model)
    arrays: dict[str, bytes] = {}
    found = stored_part(model, "", arrays)
    machine = model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model
    if type(chosen(machine)) not in MACHINES.values():
        what = f"a {type(model).__name__}" + ("" if machine is model else f" that ends with {type(machine).__name__}")
        raise TypeError(
            f"Model files hold an estimator of hinge, or a Pipeline that ends with one, and not {what}: use pickle for "
            "that."
        )
    versions = {"version": VERSION, "hinge": __version__, "sklearn": sklearn.__version__}
    header = {"format": found["format"], **versions, **found}
    members = {HEADER: json.dumps(header, indent=1, allow_nan=False).encode(), **arrays}
    try:
        _model(header, members)
    except Exception as error:  # say of a fit that was interrupted, or of parameters that were changed since
        raise ValueError(
            f"This {type(model).__name__} does not fit together, and could not be loaded again: {error} Fit it again."
        ) from error
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
    estimator, or Pipeline
        It predicts what the saved one did, bit for bit; a pipeline, where scikit-learn has the same version.

    Raises
    ------
    ModelFileError
        If the file is cut short, damaged, edited, of a newer version, a folder, or no model at all.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import hinge
    >>> file = Path(tempfile.mkdtemp(), "yes_or_no.hinge")
    >>> hinge.save(hinge.LinearSVC().fit([[0.0], [1.0]], ["no", "yes"]), file)
    >>> hinge.load(file).predict([[2.0]]).tolist()
    ['yes']
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no model file {path}: check the name and the current folder.")
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, and a model is one file: name the file that hinge.save wrote.")
    header, members = _unpacked(path.read_bytes(), path)
    if members.pop(CHECKSUM, b"") != _checksum(members):
        raise ModelFileError(f"{path} was edited or damaged: its checksum is wrong. Save the model again.")
    try:
        return _model(header, members)
    except Exception as error:  # whatever a well-formed file of wrong content leads to
        raise ModelFileError(f"{path} does not hold a model that fits together: {error}") from error


def _checksum(members: dict[str, bytes]) -> bytes:
    """SHA-256 over names, lengths and contents."""
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest().encode()


OLD_FORMS = {
    b"svm_type": ", but of LIBSVM: hinge.export.read_libsvm reads it, and hinge svm-predict uses it",
    b"solver_type": ", but of LIBLINEAR: hinge.export.read_liblinear reads it, and hinge linear-predict uses it",
}
"""How the model files of others begin, and what to do with them."""

# --- and back ------------------------------------------------------------------------------------


def _unpacked(content: bytes, path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header, once it is known to be one, and all members."""
    if not content:
        raise ModelFileError(f"{path} is empty: save the model again.")
    if not content.startswith(b"PK"):
        old = next((whose for start, whose in OLD_FORMS.items() if content.startswith(start)), "")
        raise ModelFileError(f"{path} is not a model file of hinge{old}.")
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


def _check_version(header: object, path: Path) -> None:
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
    arrays: dict[str, np.ndarray] = {
        name.removesuffix(".npy"): plain_array(content) for name, content in members.items() if name != HEADER
    }
    for name, array in arrays.items():
        if array.dtype.kind not in NUMBERS_AND_TEXT:
            raise ValueError(f"{name} holds {array.dtype}, neither numbers nor text.")
    model: Model = part_of(header, "", arrays)
    if arrays:
        raise ValueError(f"{min(arrays)} is no part of it.")
    if isinstance(model, Pipeline):
        if not model.steps or type(model.steps[-1][1]) not in MACHINES.values():
            raise ValueError("the pipeline does not end with an estimator of hinge.")
        check_widths(model)
    return model
