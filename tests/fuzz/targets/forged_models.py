"""Model files forged by hand: well-formed and sealed, and not what a fit leaves. Each is refused, or works.

Damage (`model_file`) rarely survives the checks of a format. Here the parts stay sound on their own and contradict each
other: shapes, types, order, missing parts, numbers that are not finite or huge, parameters of another fit.
"""

import contextlib
import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hinge.cli.inspect import described
from hinge.files import model_files
from hinge.files.plain_values import npy

from ..damage import folder_of
from .model_file import WILD, _dicts_in, stored

SIZES = (0, -1, 1, 2, 4, 13, 1 << 24, 1 << 40, 1 << 62, 1 << 70)
VALUES = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 1.0, -1.0)
TYPES = ("f2", "f4", "f8", ">f8", "i1", "i8", ">i4", "u8", "?", "U4", "S3", "c16", "m8[s]", "M8[D]", "f16")
SETTINGS = {
    "kernel": ("linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"),
    "loss": ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"),
    "multiclass": ("ovr", "ovo"),
    "multi_class": ("ovr", "crammer_singer"),
    "penalty": ("l1", "l2"),
    "decision_function_shape": ("ovr", "ovo"),
    "break_ties": (True, False),
    "probability": (True, False, "sigmoid", "isotonic", "venn-abers"),
    "fit_intercept": (True, False),
    "intercept": ("free", "penalized"),
    "gamma": ("scale", "auto", 0.5, 1e300),
    "with_mean": (True, False),
    "sparse_output": (True, False),
    "handle_unknown": ("error", "ignore", "infrequent_if_exist", "use_encoded_value"),
    "strategy": ("mean", "median", "constant", "most_frequent"),
    "add_indicator": (True, False),
    "whiten": (True, False),
    "k": (0, 1, 5, "all"),
    "drop": ("first", "if_binary", None),
}
"""Parameters that are right on their own, and may not be those of this fit."""


REFUSED = ("infinity", "overflow", "Found unknown categories")
"""What may be said of rows by a model that is whole: its numbers are huge and finite, its encoder knows other words."""


def case(rng):
    """A forged file: an error of its own from `load`, or a model that does all that a model does."""
    content, X = stored()[int(rng.integers(len(stored())))]
    with folder_of({"model": forged(content, rng)}) as folder:
        try:
            model = model_files.load(folder / "model")
        except model_files.ModelFileError:
            return
        try:
            check_used(model, X, folder, rng)
        except Exception as error:
            if any(words in str(error) for words in REFUSED):
                return
            raise AssertionError(f"It was loaded, and failed later: {type(error).__name__}: {error}") from error


def check_used(model, X, folder, rng):
    """Predict, describe, copy and save it again; what was saved predicts the same."""
    rows = _renamed(X, model) if isinstance(X, pd.DataFrame) else rows_for(model, rng)
    predicted = model.predict(rows)
    assert predicted.shape == (rows.shape[0],)
    for name in ("decision_function", "predict_proba", "predict_log_proba"):
        with contextlib.suppress(NotFittedError):  # probability=True that was set after a fit without
            if hasattr(model, name):
                assert len(getattr(model, name)(rows)) == rows.shape[0]
    machine = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(machine, "classes_"):
        assert set(predicted.tolist()) <= set(machine.classes_.tolist())
    for attribute in ("coef_", "classes_", "n_support_", "objective_", "gap_"):
        getattr(machine, attribute, None)
    repr(model), clone(model).get_params()
    json.dumps(described(model, 3), allow_nan=False)
    if hasattr(machine, "to_sklearn") and getattr(machine, "multiclass", "ovo") == "ovo":
        machine.to_sklearn()
    model_files.save(model, folder / "again")
    for again in (model_files.load(folder / "again"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict(rows), predicted)


def _renamed(X, model):
    """The rows with the names that the model asks for."""
    names = getattr(model, "feature_names_in_", None)
    return X if names is None or len(names) != X.shape[1] else X.set_axis(names, axis=1)


def rows_for(model, rng):
    """A few rows as wide as the model says."""
    width = model.n_features_in_
    return rng.normal(size=(3, width)) if width < 1e4 else sp.random_array((3, width), density=5 / width, format="csr")


def forged(content, rng):
    """The file with one to three parts replaced, and its checksum made to fit."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != model_files.CHECKSUM}
    for _ in range(int(rng.integers(1, 4))):
        arrays = sorted(name for name in members if name.endswith(".npy"))
        if arrays and rng.random() < 0.5:
            _forge_array(members, arrays, rng)
        else:
            header = json.loads(members[model_files.HEADER])
            _forge_header(header, rng)
            members[model_files.HEADER] = json.dumps(header).encode()
    members[model_files.CHECKSUM] = model_files._checksum(members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return stream.getvalue()


def _forge_array(members, arrays, rng):
    """Another shape, type, order or content of one array, or another one in its place; at times it is gone."""
    name = str(rng.choice(arrays))
    array, way = np.load(io.BytesIO(members[name]), allow_pickle=False), int(rng.integers(9))
    if way == 0:
        array = array.reshape(array.shape[::-1]) if array.ndim > 1 else array[:, None]
    elif way == 1:
        array = array.ravel() if array.ndim > 1 else array[None]
    elif way == 2:  # fewer or more of them along an axis
        count = int(rng.integers(0, 3)) if rng.random() < 0.5 else len(np.atleast_1d(array)) + 1
        array = np.resize(array, (count, *array.shape[1:]))
    elif way == 3:
        with np.errstate(all="ignore"):
            array = _cast(array, str(rng.choice(TYPES)))
    elif way == 4 and array.size:
        array = array.astype(np.float64) if array.dtype.kind == "f" else array
        with np.errstate(all="ignore"):
            value = VALUES[int(rng.integers(len(VALUES)))] if array.dtype.kind == "f" else array.flat[0]
        array.flat[int(rng.integers(array.size))] = value
    elif way == 5:
        array = np.flip(array)
    elif way == 6 and array.dtype.kind in "iu" and array.size:
        array = array.astype(np.int64)
        array.flat[int(rng.integers(array.size))] = int(rng.choice(SIZES[:-1]))
    elif way == 7:
        members[name] = members[str(rng.choice(arrays))]
        return
    elif way == 8:
        del members[name]
        return
    members[name] = npy(np.ascontiguousarray(array))


def _cast(array, kind):
    try:
        return array.astype(kind)
    except (ValueError, TypeError):
        return np.zeros(array.shape, kind)


def _forge_header(header, rng):
    """A part taken out, replaced, or given to another name; a parameter of another fit; another estimator's name."""
    places = list(_dicts_in(header))
    place, way = places[int(rng.integers(len(places)))], int(rng.integers(6))
    key = str(rng.choice(sorted(place)))
    if way == 0:
        del place[key]
    elif way == 1:
        place[key] = WILD[int(rng.integers(len(WILD)))]
    elif way == 2:
        other = places[int(rng.integers(len(places)))]
        place[key] = json.loads(json.dumps(other[str(rng.choice(sorted(other)))]))
    elif way == 3:
        known = [(one, name) for one in places for name in one if name in SETTINGS]
        if known:
            one, name = known[int(rng.integers(len(known)))]
            one[name] = SETTINGS[name][int(rng.integers(len(SETTINGS[name])))]
    elif way == 4:
        formats = [one for one in places if "format" in one]
        formats[int(rng.integers(len(formats)))]["format"] = str(rng.choice(model_files.MODELS))
    else:
        numbers = [(one, name) for one in places for name in one if type(one[name]) in (int, float)]
        if numbers:
            one, name = numbers[int(rng.integers(len(numbers)))]
            one[name] = SIZES[int(rng.integers(len(SIZES)))]
