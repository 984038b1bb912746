"""Fitted models, and pipelines that end with one, in files of numbers and text: loading one runs no code.

A model file is an .npz archive, so ``numpy.load`` opens it too: one member for each array, ``hinge.json``
for everything else, and ``sha256.txt``, the checksum of both.
"""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterable
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from hinge.datasets.base import members_of, plain_array
from hinge.files.machines import MACHINES, Machine, machine_of, stored_machine
from hinge.files.plain_values import (
    LEARNED,
    NUMBERS_AND_TEXT,
    TRANSFORMERS,
    check_names,
    plain,
    restored,
    stored,
    stored_transformer,
    transformer_of,
    value_of,
    width_of,
)
from hinge.files.replacing import replacing
from hinge.version import __version__

PIPELINE, UNION, COLUMNS = "sklearn.Pipeline", "sklearn.FeatureUnion", "sklearn.ColumnTransformer"
NOT_THERE = ("passthrough", "drop", None)
"""What may stand in the place of a transformer."""
OF_COLUMNS = ("n_features_in_", "feature_names_in_", "sparse_output_", "output_indices_", "_sklearn_output_config")
"""Attributes of a ColumnTransformer beside its parts."""
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


def chosen(model: BaseEstimator) -> Any:
    """The model that a search has chosen, or that a cluster has fitted; any other one itself."""
    if hasattr(model, "to_local"):
        return model.to_local()
    searches = isinstance(model, BaseSearchCV) or hasattr(model, "_plain_class")
    if not searches:
        return model
    check_is_fitted(model)
    if not hasattr(model, "best_estimator_"):
        raise ValueError("This search was made with refit=False, so there is no model to keep: fit it with refit=True.")
    return model.best_estimator_


def stored_part(part: BaseEstimator, prefix: str, arrays: dict[str, bytes]) -> Any:
    """A machine, a transformer or a pipeline of these in JSON's terms; arrays are put aside.

    Raises
    ------
    TypeError
        If a file cannot hold it.
    """
    if isinstance(part, str) or part is None:
        return part
    part = chosen(part)
    if type(part) in MACHINES.values():
        return stored_machine(part, prefix, arrays)
    if type(part) in LEARNED:
        return stored_transformer(part, prefix, arrays)
    if type(part) is Pipeline:
        return {"format": PIPELINE, "steps": _stored_all(part.steps, prefix, arrays)}
    if type(part) is FeatureUnion:
        steps = _stored_all(part.transformer_list, prefix, arrays)
        return {"format": UNION, "steps": steps, "weights": plain(part.transformer_weights)}
    if type(part) is ColumnTransformer:
        return _stored_columns(part, prefix, arrays)
    machines = ", ".join(cls.__name__ for cls in MACHINES.values())
    transformers = ", ".join(cls.__name__ for cls in LEARNED)
    raise TypeError(
        f"Model files hold a fitted {machines}, and pipelines of one of these after {transformers}, FeatureUnion and "
        f"ColumnTransformer, but not a {type(part).__name__}: use pickle for that."
    )


def part_of(found: Any, prefix: str, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `stored_part`."""
    if found in NOT_THERE:
        return found
    form = found["format"]
    if form in MACHINES:
        return machine_of(found, prefix, arrays)
    if form in TRANSFORMERS:
        return transformer_of(found, prefix, arrays)
    if form == PIPELINE:
        pipeline = Pipeline(_all_of(found["steps"], prefix, arrays))
        pipeline._validate_steps()
        return pipeline
    if form == UNION:
        union = FeatureUnion(_all_of(found["steps"], prefix, arrays), transformer_weights=_weights_of(found))
        union._validate_transformers()
        union._validate_transformer_weights()
        return union
    if form == COLUMNS:
        return _columns_of(found, prefix, arrays)
    raise ValueError(f"{form!r} is neither a machine nor a transformer that files hold.")


def check_widths(part: BaseEstimator) -> int | None:
    """Raise unless each step takes the number of columns that the one before makes.

    Returns
    -------
    int, optional
        The columns that the last step makes; None where they are those that it is given, or it is a machine.
    """
    if part in NOT_THERE:
        return None
    if isinstance(part, Pipeline):
        width: int | None = None
        for _, step in part.steps:
            takes = _taken_by(step)
            if width is not None and takes is not None and width != takes:
                raise ValueError(f"{type(step).__name__} takes {takes} columns where {width} are made.")
            made = check_widths(step)
            width = width if made is None else made
        return width
    if isinstance(part, ColumnTransformer):
        return sum(_width_beside(name, step, part) for name, step, _ in part.transformers_ if step != "drop")
    if isinstance(part, FeatureUnion):
        named = [names for _, step in part.transformer_list if (names := _names_taken_by(step)) is not None]
        if any(names != named[0] for names in named):
            raise ValueError("the transformers of a FeatureUnion take columns of different names.")
        every = [(check_widths(step), _taken_by(step)) for _, step in part.transformer_list if step != "drop"]
        return sum(takes or 0 if made is None else made for made, takes in every)
    return None if type(part) in MACHINES.values() else width_of(part)


def _first_known(part: BaseEstimator, name: str) -> Any:
    """An attribute of a part, or of the first of its steps that has it; None where none has."""
    steps = getattr(part, "steps", None) or getattr(part, "transformer_list", ())
    if not steps:
        return getattr(part, name, None)
    return next((told for _, step in steps if (told := _first_known(step, name)) is not None), None)


def _taken_by(part: BaseEstimator) -> int | None:
    """How many columns a part takes; None where it does not say, or takes text."""
    width = _first_known(part, "n_features_in_")
    return None if width is None else int(width)


def _names_taken_by(part: BaseEstimator) -> list[str] | None:
    """The names of the columns that a part takes; None where it does not say."""
    names = _first_known(part, "feature_names_in_")
    return None if names is None else [str(name) for name in names]


def _width_beside(name: str, step: BaseEstimator, part: ColumnTransformer) -> int:
    """The columns that one of several transformers makes of those that it is given."""
    places = part._transformer_to_input_indices[name]
    if not places:
        return 0
    made, takes = check_widths(step), _taken_by(step)
    if takes not in (None, len(places)):
        raise ValueError(f"{type(step).__name__} takes {takes} columns where {len(places)} are given.")
    names, learned = getattr(part, "feature_names_in_", None), _names_taken_by(step)
    if learned is not None and names is not None and learned != [names[j] for j in places]:
        raise ValueError(f"{type(step).__name__} takes columns of other names than it is given.")
    return len(places) if made is None else made


def _stored_all(steps: Iterable[tuple[str, Any]], prefix: str, arrays: dict[str, bytes]) -> list[Any]:
    return [[name, stored_part(step, f"{prefix}{k}.", arrays)] for k, (name, step) in enumerate(steps)]


def _all_of(steps: list[Any], prefix: str, arrays: dict[str, np.ndarray]) -> list[tuple[str, Any]]:
    return [(str(name), part_of(step, f"{prefix}{k}.", arrays)) for k, (name, step) in enumerate(steps)]


def _weights_of(found: dict[str, Any]) -> dict[str, float] | None:
    """Factors of what transformers make, by their names."""
    weights: dict[str, float] | None = value_of(found["weights"])
    if weights is not None and not all(isinstance(weight, Real) for weight in weights.values()):
        raise ValueError("the weights of transformers are not numbers.")
    return weights


def _stored_columns(part: ColumnTransformer, prefix: str, arrays: dict[str, bytes]) -> dict[str, Any]:
    """Its fitted parts, with the columns that each was found to have: what chose them may be a function."""
    check_is_fitted(part)
    given = {"remainder": part.remainder, **{name: step for name, step, _ in part.transformers}}
    steps = []
    for k, (name, step, columns) in enumerate(part.transformers_):
        before = f"{prefix}{k}."
        steps.append(
            {
                "name": name,
                "part": stored_part(step, before, arrays),
                "given": given[name] if isinstance(given[name], str) else None,
                "columns": stored(_listed(columns), f"{before}columns", arrays),
                "numbers": list(map(int, part._transformer_to_input_indices[name])),
            }
        )
    attributes = {name: stored(vars(part).get(name), prefix + name, arrays) for name in OF_COLUMNS}
    return {
        "format": COLUMNS,
        "steps": steps,
        "weights": plain(part.transformer_weights),
        "verbose_feature_names_out": bool(part.verbose_feature_names_out),
        "sparse_threshold": float(part.sparse_threshold),
        "attributes": {name: value for name, value in attributes.items() if value is not None},
    }


def _listed(columns: Any) -> Any:
    """Columns as a plain value: an index of pandas becomes a list."""
    if isinstance(columns, str | int | slice | np.integer):
        return columns
    return [item.item() if isinstance(item, np.generic) else item for item in columns]


def _numbers_of(columns: Any, names: Any, n: int) -> list[int]:
    """The positions of columns that are given by names, positions, a slice or a mask."""
    places: dict[Any, int] = {} if names is None else {name: j for j, name in enumerate(names)}
    if isinstance(columns, slice):
        start: Any = places.get(columns.start, columns.start)
        stop: Any = places.get(columns.stop, columns.stop)
        if isinstance(columns.stop, str):  # the name of the last column, and not of the next one
            stop += 1
        return list(range(n)[start : stop : columns.step])
    columns = columns if isinstance(columns, list) else [columns]
    if columns and all(type(item) is bool for item in columns):
        return [j for j, taken in zip(range(n), columns, strict=True) if taken]
    return [places[item] if isinstance(item, str) else range(n)[item] for item in columns]


def _columns_of(found: dict[str, Any], prefix: str, arrays: dict[str, np.ndarray]) -> ColumnTransformer:
    attributes = {name: restored(value, prefix + name, arrays) for name, value in found["attributes"].items()}
    if set(attributes) - set(OF_COLUMNS):
        raise ValueError(f"{min(set(attributes) - set(OF_COLUMNS))} is not an attribute.")
    n, fitted, given, numbers = attributes["n_features_in_"], [], [], {}
    if type(attributes["sparse_output_"]) is not bool:
        raise ValueError("sparse_output_ is neither true nor false.")
    remainder: Any = "drop"
    for k, step in enumerate(found["steps"]):
        name, before = str(step["name"]), f"{prefix}{k}."
        part, columns = part_of(step["part"], before, arrays), restored(step["columns"], f"{before}columns", arrays)
        numbers[name] = _numbers_of(columns, attributes.get("feature_names_in_"), n)
        if numbers[name] != step["numbers"]:
            raise ValueError(f"the columns of {name} are not those that it has learned.")
        if isinstance(columns, str | int) and not isinstance(part, CountVectorizer | HashingVectorizer | str):
            raise ValueError(f"{name} does not take one column as text.")
        fitted.append((name, part, columns))
        unfitted = part if step["given"] is None else str(step["given"])
        if name == "remainder":
            remainder = unfitted
        else:
            given.append((name, unfitted, columns))
    made = ColumnTransformer(
        given,
        remainder=remainder,
        sparse_threshold=found["sparse_threshold"],
        transformer_weights=_weights_of(found),
        verbose_feature_names_out=found["verbose_feature_names_out"],
    )
    made._validate_params()
    vars(made).update(attributes)
    check_names(made)
    numbers.setdefault("remainder", [])
    rest: Any = next((columns for name, _, columns in fitted if name == "remainder"), [])
    made._validate_transformers()
    made.transformers_, made._columns = fitted, [columns for _, _, columns in given]
    made._transformer_to_input_indices, made._remainder = numbers, ("remainder", remainder, rest)
    return made
