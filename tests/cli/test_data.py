"""What commands learn from and test on."""

import json

import numpy as np
import pytest
from command_line import run, said, sentence, svmlight

from hinge.cli.preparation import columns_of
from hinge.files import model_files

# --- train -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_parts_of_different_width(files, tmp_path):
    narrow = svmlight(tmp_path / "narrow.svm", files.X[:, :5], files.y)
    for train, test in ((narrow, files.svm), (files.svm, narrow)):
        out, _ = said(run("train", train, "--test", test, "--format", "json"))
        shown = json.loads(out)
        assert shown["features"] == 7
        assert 0 <= shown["test_error"] < 0.6
    dense = tmp_path / "narrow.csv"
    dense.write_text("1,2,1\n3,4,-1\n")
    assert "has 2 columns beside its label, but 7 features" in sentence(run("train", files.svm, "--test", dense))


@pytest.mark.slow
def test_positive_holds_for_both_parts(files, tmp_path):
    digits = np.where(files.y > 0, 8, np.arange(len(files.y)) % 8)
    train = svmlight(tmp_path / "digits.svm", files.X, digits)
    test = svmlight(tmp_path / "more.svm", files.X, digits)
    model = tmp_path / "m.hinge"
    out, _ = said(run("train", train, "--test", test, "--positive", 8, "--format", "json", "-o", model))
    shown = json.loads(out)
    assert shown["train_error"] == shown["test_error"] < 0.4
    _, err = said(run("predict", model, test, "--positive", 8))
    assert f"Error rate: {100 * shown['test_error']:.2f} %." in err


# --- errors ----------------------------------------------------------------------------------------


def test_an_unknown_name_suggests_the_nearest():
    assert "did you mean 'adult'?" in sentence(run("train", "adlt"))
    assert "did you mean 'adult'?" in sentence(run("train", "adlt", "--label", 0))


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "broken.svm").write_text("1 1:2\n-1 1:x\n")
    assert "line 2" in sentence(run("train", tmp_path / "broken.svm"))


def test_years_above_numbers_are_a_header_and_doubt_is_an_error(tmp_path):
    rows = [[f"{i % 7}.5", i % 5, i % 3, i % 2] for i in range(30)]
    for first, label in ((("2019", "2020", "2021", "churn"), "churn"), (("0", "1", "2", "3"), None)):
        path = tmp_path / "x.csv"
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in [first, *rows]))
        words = ["train", path, "--json", "--quiet", "-o", tmp_path / "m"]
        if label is None:
            assert "say so with --header or --no-header" in sentence(run(*words))
            words.append("--header")
        said(run(*words))
        assert columns_of(model_files.load(tmp_path / "m")).names == list(first[:-1])
        assert said(run("predict", tmp_path / "m", path))[0].count("\n") == 30
    assert "csv and tsv" in sentence(
        run("predict", tmp_path / "m", svmlight(tmp_path / "x.svm", np.ones((1, 3)), np.ones(1)), "--header")
    )
