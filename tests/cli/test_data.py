import json

import numpy as np
import pytest
from command_line import run, said, sentence, svmlight

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
