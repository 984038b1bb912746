"""Model files with damage, sealed again or not, loaded and asked to predict, by a call and by the command."""

import contextlib
import io
import json
import warnings
import zipfile
from functools import lru_cache

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import hinge
from hinge.files import model_files
from hinge.files.plain_values import npy
from hinge.solvers import SDCA

from ..damage import damaged, folder_of
from ..judging import check_finite, check_fitted, command

WILD = (
    None,
    True,
    0,
    -1,
    1 << 70,
    1.5,
    "",
    "x",
    [],
    [1],
    {},
    {"float": "nan"},
    {"float": "x"},
    {"dict": [[1, 2]]},
    {"tuple": [3, 4]},
    {"tuple": 5},
    {"strings": ["a"]},
    {"csr": "csr_array"},
    {"solver": "SDCA", "settings": {}},
    {"kernel": "Gaussian", "settings": {"gamma": {"float": "inf"}}},
    {"kernel": "Linear", "settings": {"x": 1}},
    {"kernel": "Function", "settings": {}},
    {"csr": "csr_array", "shape": [1 << 40, 3]},
    {"list": [1, {"strings": ["a"]}]},
    {"slice": [0, 2, None]},
    {"dtype": "float64", "of": "type"},
    {"dtype": "object", "of": "dtype"},
    {"function": "chi2"},
    {"array": "1.coef_"},
    {"format": "sklearn.StandardScaler", "parameters": {}, "attributes": {}},
    {"format": "sklearn.Pipeline", "steps": []},
    "drop",
    "passthrough",
)


def case(rng):
    """A damaged model file, through `load` or ``hinge predict``."""
    content, X = stored()[int(rng.integers(len(stored())))]
    content = _resealed(content, rng) if rng.random() < 0.6 else damaged(content, rng)
    if isinstance(X, pd.DataFrame):
        _pipeline_case(content, X)
        return
    rows = b"".join(b"1 " + b" ".join(b"%d:%.3f" % (j + 1, v) for j, v in enumerate(x)) + b"\n" for x in X[:4])
    with folder_of({"model": content, "rows.svm": rows}) as folder:
        if rng.random() < 0.2:
            command("predict", folder / "model", folder / "rows.svm", "--scores")
            return
        model = model_files.load(folder / "model")
        check_fitted(model)
        check_finite("predict", model.predict(X))
        if hasattr(model, "decision_function"):
            check_finite("decision_function", model.decision_function(X))
        if hasattr(model, "classes_"):
            assert set(model.predict(X).tolist()) <= set(model.classes_.tolist())


def _pipeline_case(content, X):
    """What loads may answer or refuse, in scikit-learn's words too; it may not end the process."""
    with folder_of({"model": content}) as folder:
        model = model_files.load(folder / "model")
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.predict(X)


def _pipelines(X, y):
    """Pipelines of every kind of transformer, and a frame for each."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["city"] = np.array(["Oslo", "Rom", np.nan], dtype=object)[y]
    frame["text"] = np.array(["good dog", "bad dog", "good cat"])[y]
    frame.loc[::5, "a"] = np.nan
    words = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder())
    rare = OneHotEncoder(min_frequency=5, drop="first", sparse_output=False, handle_unknown="infrequent_if_exist")
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), PCA(2))
    parts = [("w", words, ["city"]), ("n", numbers, ["a", "b"]), ("t", TfidfVectorizer(), "text")]
    all_kinds = ColumnTransformer([*parts, ("r", rare, ["text"])], remainder=MinMaxScaler())
    union = FeatureUnion([("s", StandardScaler()), ("k", Nystroem(n_components=3))])
    codes = ColumnTransformer([("o", OrdinalEncoder(encoded_missing_value=-1), ["city", "text"])], remainder="drop")
    return [
        (make_pipeline(all_kinds, SelectKBest(k=3), hinge.LinearSVC()).fit(frame, y), frame),
        (make_pipeline(union, hinge.SVR()).fit(frame[["b", "c"]], y), frame[["b", "c"]]),
        (make_pipeline(codes, hinge.OneClassSVM(nu=0.3)).fit(frame), frame),
    ]


@lru_cache
def stored():
    """Model files of every kind, and rows for them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.resize([0, 1, 2], 12)
    models = [
        hinge.LinearSVC().fit(X, y > 0),
        hinge.LinearSVC(solver=SDCA()).fit(X, np.array(list("abc"))[y]),
        hinge.SVC(kernel="rbf").fit(X, y > 1),
        hinge.SVC(kernel="poly").fit(sp.csr_matrix(X), y),
        hinge.SVC(kernel="laplacian", multiclass="ovr").fit(X, y),
        hinge.NuSVC(nu=0.3).fit(X, y),
        hinge.OneClassSVM(nu=0.3).fit(X),
        hinge.LinearSVR().fit(X, y),
        hinge.SVR().fit(sp.csr_matrix(X), y),
        hinge.NuSVR(kernel="linear").fit(X, y),
    ]
    K = X @ X.T
    found = [(_bytes_of(model), rows) for model, rows in [*((model, X) for model in models), *_pipelines(X, y)]]
    return [*found, (_bytes_of(hinge.SVC(kernel="precomputed").fit(K, y > 0)), K)]


def _bytes_of(model):
    with folder_of({}) as folder:
        model_files.save(model, folder / "model")
        return (folder / "model").read_bytes()


def _resealed(content, rng):
    """A member changed, and the checksum made to fit."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members.pop(model_files.CHECKSUM)
    names = sorted(members)
    name = names[int(rng.integers(len(names)))] if rng.random() < 0.6 else model_files.HEADER
    if name == model_files.HEADER:
        header = json.loads(members[name])
        places = list(_dicts_in(header))
        place = header if rng.random() < 0.1 else places[int(rng.integers(len(places)))]
        key = str(rng.choice(sorted(place)))
        if rng.random() < 0.1:
            del place[key]
        else:
            place[key] = WILD[int(rng.integers(len(WILD)))]
        members[name] = json.dumps(header).encode()
    elif rng.random() < 0.3:
        members[name] = _other_array(rng)
    elif rng.random() < 0.1:
        members[f"{rng.choice(['../../x', '/x', 'coef_', 'history_', '__class__'])}.npy"] = members.pop(name)
    else:
        members[name] = damaged(members[name], rng)
    members[model_files.CHECKSUM] = model_files._checksum(members)
    stream = io.BytesIO()
    packing = zipfile.ZIP_DEFLATED if rng.random() < 0.05 else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", packing) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return stream.getvalue()


def _dicts_in(value):
    """All objects of a header that have keys, from the outermost on."""
    if isinstance(value, dict) and value:
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _dicts_in(item)


def _other_array(rng):
    """A sound .npy file of another type, shape or content."""
    shape = [(), (0,), (1,), (3,), (2, 3), (1, 3), (12,), (3, 3), (1, 12)][int(rng.integers(9))]
    kind = ["f8", "f4", "i8", "u1", "U3", "c16", "?", "M8[s]", "S2", ">f8", ">i4", "i4"][int(rng.integers(12))]
    array = np.full(shape, int(rng.choice([0, 1, 2, 100])), dtype="i8").astype(kind)
    if array.dtype.kind == "f" and rng.random() < 0.3:
        array[...] = float(rng.choice([np.nan, np.inf, 1e300]))
    return npy(np.asfortranarray(array) if rng.random() < 0.3 else array)
