"""``hinge evaluate``: from a file to an evaluated model, and what is measured."""

import json

import numpy as np
import pytest
from command_line import run, said, sentence, table
from shop_table import shop

import hinge


@pytest.mark.slow
def test_from_a_table_to_an_evaluated_model_in_two_commands(tmp_path):
    """A header, string labels, a categorical column and missing values: what the issue asks for."""
    data, test, model = shop(tmp_path / "data.csv", 200), shop(tmp_path / "test.csv", 100, seed=1), tmp_path / "m.hinge"
    out, _ = said(run("train", data, "--impute", "median", "-o", model))
    assert table(out)["label"] == "column bought"
    out, err = said(run("evaluate", model, test))
    shown = table(out.split("\n\n")[0])
    assert float(shown["accuracy"].removesuffix(" %")) > 80
    assert float(shown["ROC-AUC"].split()[0]) > 0.9
    assert "truth \\ predicted" in out and "recall" in out and err == ""
    out, _ = said(run("evaluate", model, test, "--json"))
    found = json.loads(out, parse_constant=pytest.fail)
    matrix = np.array(found["confusion"])
    assert found["accuracy"] == np.trace(matrix) / 100 and matrix.sum() == 100
    assert found["classes"] == ["buyer", "visitor"]
    assert hinge.load(model).named_steps["model"].training_["label"] == "bought"


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """A table without gaps, and a machine with probabilities."""
    folder = tmp_path_factory.mktemp("calm")
    data = shop(folder / "data.csv", 120, gaps=0)
    said(run("train", data, "--probability", "--scale", "--quiet", "-o", folder / "m.hinge"))
    return folder


@pytest.mark.slow
def test_probabilities_are_judged_and_drawn(calm, tmp_path):
    out, err = said(run("evaluate", calm / "m.hinge", calm / "data.csv", "--json", "--html", tmp_path / "page.html"))
    found = json.loads(out)
    assert 0 < found["log_loss"] < 0.7 and 0 < found["brier"] < 0.25
    assert sum(line["rows"] for line in found["calibration"]) == 120
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 2 and "Confusion matrix" in page and "http" not in page
    assert "Written to" in err
    out, _ = said(run("evaluate", calm / "m.hinge", calm / "data.csv", "--html", "-"))
    assert out == page


@pytest.mark.slow
def test_labels_that_cannot_be_compared(calm, tmp_path):
    text = (calm / "data.csv").read_text().replace("buyer", "one").replace("visitor", "two")
    (tmp_path / "other.csv").write_text(text)
    assert "No label of the data is a class" in sentence(run("evaluate", calm / "m.hinge", tmp_path / "other.csv"))
    bare = "\n".join(line.rpartition(",")[0] for line in text.splitlines())
    (tmp_path / "bare.csv").write_text(bare)
    assert "no labels to compare with" in sentence(run("evaluate", calm / "m.hinge", tmp_path / "bare.csv"))


@pytest.mark.slow
def test_regression_and_one_class(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    lines = [f"{a},{b},{2 * a - b}\n" for a, b in X.tolist()]
    (tmp_path / "x.csv").write_text("a,b,y\n" + "".join(lines))
    said(run("train", tmp_path / "x.csv", "--model", "linearsvr", "--C", 100, "-o", tmp_path / "r.hinge", "--quiet"))
    found = json.loads(said(run("evaluate", tmp_path / "r.hinge", tmp_path / "x.csv", "--json"))[0])
    assert found["mean_absolute_error"] < 0.01 and found["r2"] > 0.999
    options = ["--model", "oneclass", "--nu", 0.2, "--kernel", "linear", "-o", tmp_path / "o.hinge", "--quiet"]
    said(run("train", tmp_path / "x.csv", *options))
    out, _ = said(run("evaluate", tmp_path / "o.hinge", tmp_path / "x.csv"))
    assert float(table(out)["outside"].removesuffix(" %")) == pytest.approx(20, abs=6)
