"""What the tests of this folder share."""

from types import SimpleNamespace

import numpy as np
import pytest
from command_line import run, said, svmlight


@pytest.fixture(autouse=True)
def no_data_folder(tmp_path_factory, monkeypatch):
    """An empty data folder and the width of a pipe, whatever the environment says."""
    monkeypatch.setenv("HINGE_DATA", str(tmp_path_factory.getbasetemp() / "none"))
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def files(tiny, tmp_path_factory):
    """The small set in files of all kinds, and a model of it."""
    X, y = tiny
    folder = tmp_path_factory.mktemp("files")
    names = np.array(["no", "yes"])[(y > 0).astype(int)]
    rows = [[name, *row] for name, row in zip(names, X.tolist(), strict=True)]
    head = ["verdict", *(f"f{j}" for j in range(X.shape[1]))]
    csv = folder / "words.csv"
    csv.write_text("".join(",".join(map(str, row)) + "\n" for row in [head, *rows]))
    features = folder / "features.csv"
    features.write_text("".join(",".join(map(str, row[1:])) + "\n" for row in [head, *rows]))
    model = folder / "m.hinge"
    train = svmlight(folder / "data.svm", X, y)
    said(run("train", train, "-o", model, "--quiet"))
    return SimpleNamespace(X=X, y=y, names=names, svm=train, csv=csv, features=features, model=model)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """20,000 rows in svmlight form, on which dual ascent that is never good enough takes many seconds."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((400, 40)), 3)
    y = np.where(X[:, 0] + rng.standard_normal(400) > 0, 1, -1)
    path = svmlight(tmp_path_factory.mktemp("large") / "large.svm", X, y)
    path.write_text(50 * path.read_text())
    return path
