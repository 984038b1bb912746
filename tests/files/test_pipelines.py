"""Pipelines in files: the same predictions from frames, text and arrays; steps that do not fit are refused."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import hinge
from hinge import SVC, LinearSVC, LinearSVCCV, LinearSVR, OneClassSVM
from hinge.files import model_files
from hinge.files.model_files import ModelFileError


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "city": rng.choice(["Oslo", "Rom", "Wien"], 40),
            "size": rng.normal(size=40),
            "text": rng.choice(["good dog", "bad dog", "good cat"], 40),
            "age": rng.integers(1, 90, 40),
        }
    )
    table.loc[::7, "size"] = np.nan
    table.loc[::9, "city"] = np.nan
    return table, np.where(table["age"] > 40, "old", "young")


def columns(**options):
    categories = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return ColumnTransformer(
        [("c", categories, ["city"]), ("n", numbers, ["size", "age"]), ("t", TfidfVectorizer(), "text")], **options
    )


def there_and_back(model, path):
    hinge.save(model, path)
    return hinge.load(path)


@pytest.mark.slow
def test_a_frame_of_all_kinds(frame, tmp_path):
    X, y = frame
    model = make_pipeline(columns(), SelectKBest(k=5), LinearSVC()).fit(X, y)
    again = there_and_back(model, tmp_path / "m")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again[:-1].get_feature_names_out().tolist() == model[:-1].get_feature_names_out().tolist()
    shuffled = X[["text", "age", "city", "size"]]
    assert again.decision_function(shuffled).tobytes() == model.decision_function(X).tobytes()
    with pytest.raises(ValueError, match="columns are missing"):
        again.predict(X.drop(columns="age"))
    assert again.fit(X, y).predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "parts",
    [
        ColumnTransformer([("o", OrdinalEncoder(), [0])], remainder="passthrough"),
        ColumnTransformer([("o", OrdinalEncoder(), make_column_selector("city"))], remainder=MinMaxScaler()),
        ColumnTransformer(
            [("o", OrdinalEncoder(), slice(0, 1)), ("n", "passthrough", [False, True]), ("x", "drop", [0])]
        ),
        ColumnTransformer([("o", OneHotEncoder(), ["city"]), ("none", StandardScaler(), [])]).set_output(
            transform="default"
        ),
    ],
    ids=["the rest", "by a function", "by masks", "none at all"],
)
def test_ways_to_name_columns(parts, frame, tmp_path):
    X, y = frame[0][["city", "age"]].fillna("?"), frame[1]
    model = make_pipeline(parts, SVC()).fit(X, y)
    again = there_and_back(model, tmp_path / "m")
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.fit(X, y).decision_function(X).tobytes() == model.decision_function(X).tobytes()


def test_text_side_by_side(frame, tmp_path):
    X, y = frame[0]["text"], frame[1]
    both = FeatureUnion(
        [("words", TfidfVectorizer()), ("letters", TfidfVectorizer(analyzer="char"))], transformer_weights={"words": 2}
    )
    model = Pipeline([("both", both), ("nothing", "passthrough"), ("svc", LinearSVC())]).fit(X, y)
    again = there_and_back(model, tmp_path / "m")
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()


@pytest.mark.parametrize("machine", [LinearSVR(), OneClassSVM()], ids=str)
def test_other_machines(machine, tiny, tmp_path):
    X, _ = tiny
    model = make_pipeline(StandardScaler(), machine).fit(X, X[:, 0])
    assert there_and_back(model, tmp_path / "m").predict(X).tobytes() == model.predict(X).tobytes()


def test_probabilities_and_chosen_models(tiny, tmp_path):
    X, y = tiny
    found = make_pipeline(StandardScaler(), LinearSVCCV(Cs=[0.1, 1.0], cv=2)).fit(X, y)
    again = there_and_back(found, tmp_path / "m")
    assert type(again[-1]) is LinearSVC and again[-1].C == found[-1].C_
    assert again.decision_function(X).tobytes() == found.decision_function(X).tobytes()
    grid = GridSearchCV(make_pipeline(StandardScaler(), SVC(probability=True)), {"svc__C": [1.0, 2.0]}, cv=2).fit(X, y)
    assert there_and_back(grid, tmp_path / "m").predict_proba(X).tobytes() == grid.predict_proba(X).tobytes()
    with pytest.raises(ValueError, match="fit it with refit=True"):
        hinge.save(LinearSVCCV(Cs=[0.1, 1.0], cv=2, refit=False).fit(X, y), tmp_path / "n")
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize(
    "columns", [slice(0, 3), slice(1, 99), slice("b", "c"), slice("b", None), slice(None, -1)], ids=str
)
def test_columns_by_a_slice(columns, tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    scaler = ColumnTransformer([("s", StandardScaler(), columns)], remainder="passthrough")
    model = make_pipeline(scaler, LinearSVC()).fit(X, X["a"] > 0)
    assert there_and_back(model, tmp_path / "m").decision_function(X).tobytes() == model.decision_function(X).tobytes()


class Spread:
    """A model on a cluster, as `hinge.dask` has them."""

    def __init__(self, local):
        self.to_local = lambda: local


def test_models_of_a_cluster(tiny, tmp_path):
    X, y = tiny
    local = LinearSVC().fit(X, y)
    assert there_and_back(Spread(local), tmp_path / "m").predict(X).tolist() == local.predict(X).tolist()


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (make_pipeline(StandardScaler(), DummyClassifier()), "but not a DummyClassifier: use pickle"),
        (
            make_pipeline(FunctionTransformer(np.log1p), LinearSVC()),
            "func of this FunctionTransformer cannot be stored",
        ),
        (RandomForestClassifier(2), "not a RandomForestClassifier"),
        (make_pipeline(StandardScaler(), "passthrough"), "ends with str"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_what_no_file_holds(model, sentence, tiny, tmp_path):
    X, y = tiny
    with pytest.raises((TypeError, ValueError), match=sentence):
        hinge.save(model.fit(X - X.min(), y), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def forge(path, change):
    """Change the header of a file, and seal it again."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members[model_files.HEADER])
    change(header)
    members[model_files.HEADER] = json.dumps(header).encode()
    members.pop(model_files.CHECKSUM)
    members[model_files.CHECKSUM] = model_files._checksum(members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(stream.getvalue())


def column_steps(header):
    return header["steps"][0][1]["steps"]


CHANGES = {
    "a step more": lambda h: h["steps"].insert(1, ["again", h["steps"][0][1]]),
    "no machine": lambda h: h["steps"].pop(),
    "no steps": lambda h: h.update(steps=[]),
    "the same name": lambda h: h["steps"][1].__setitem__(0, h["steps"][0][0]),
    "a class of nobody's": lambda h: h["steps"][1].__setitem__(1, {"format": "os.system"}),
    "a class by path": lambda h: h["steps"][1].__setitem__(1, {"format": "sklearn.pipeline.Pipeline", "steps": []}),
    "a column that is not there": lambda h: column_steps(h)[1].update(numbers=[9]),
    "a column too few": lambda h: column_steps(h)[1].update(numbers=[1]),
    "a part lost": lambda h: column_steps(h).pop(),
    "parts in another order": lambda h: column_steps(h).reverse(),
    "an attribute": lambda h: h["steps"][0][1]["attributes"].update(transform=1),
    "weights": lambda h: h["steps"][0][1].update(weights={"dict": [["c", "x"]]}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("change", CHANGES)
def test_forged_pipelines(change, frame, tmp_path):
    X, y = frame
    hinge.save(make_pipeline(columns(), LinearSVC()).fit(X, y), tmp_path / "m")
    forge(tmp_path / "m", CHANGES[change])
    with pytest.raises(ModelFileError, match="does not hold a model that fits together"):
        hinge.load(tmp_path / "m")
