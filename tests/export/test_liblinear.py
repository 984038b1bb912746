"""LIBLINEAR's files: its predict says what our models say, and we what its models say."""

import numpy as np
import pytest
from export.made_up import LINEAR, fitted
from export.tools import program, run, write_rows

import hinge
from hinge.export import read_liblinear, write_liblinear

PREDICT, TRAIN = ("liblinear-predict", "predict"), ("liblinear-train",)


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("name", LINEAR)
def test_there_and_back(name, tmp_path):
    model, X = fitted(name)
    write_liblinear(model, tmp_path / "m")
    again = read_liblinear(tmp_path / "m")
    assert type(again) is type(model)
    assert values(again, X).tobytes() == values(model, X).tobytes()
    hinge.save(again, tmp_path / "m.hinge")
    assert values(hinge.load(tmp_path / "m.hinge"), X).tobytes() == values(model, X).tobytes()


@pytest.mark.parametrize("name", LINEAR)
def test_predict_says_the_same(name, tmp_path):
    predict = program(*PREDICT)
    model, X = fitted(name)
    write_liblinear(model, tmp_path / "m")
    run(predict, write_rows(X, tmp_path / "rows"), tmp_path / "m", tmp_path / "out")
    found, expected = np.loadtxt(tmp_path / "out"), model.predict(X)
    assert np.allclose(found, expected, atol=1e-4) if name == "linear svr" else (found == expected).all()


@pytest.mark.parametrize("bias", [-1, 2])
@pytest.mark.parametrize(("solver", "classes"), [(1, 2), (2, 4), (3, 2), (4, 3), (4, 2), (5, 3), (11, 0), (13, 0)])
def test_models_of_liblinear_train(solver, classes, bias, tmp_path):
    train, predict = program(*TRAIN), program(*PREDICT)
    rng = np.random.default_rng(solver)
    X = np.round(rng.normal(size=(60, 4)), 2)
    t = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=60)
    y = t if classes == 0 else np.array([7, -1, 3, 2])[np.argsort(np.argsort(t)) * classes // 60]
    rows = write_rows(X, tmp_path / "rows", y)
    run(train, "-q", "-s", solver, "-B", bias, rows, tmp_path / "m")
    run(predict, rows, tmp_path / "m", tmp_path / "out")
    model, found = read_liblinear(tmp_path / "m"), np.loadtxt(tmp_path / "out")
    assert np.allclose(model.predict(X), found, atol=1e-4) if classes == 0 else (model.predict(X) == found).all()


def test_labels_and_others(tmp_path):
    _, X = fitted("two linear")
    model = hinge.LinearSVC().fit(X, np.where(X[:, 0] > X[:, 1], "yes", "no"))
    with pytest.raises(ValueError, match="with number_classes=True"):
        write_liblinear(model, tmp_path / "m")
    with pytest.raises(TypeError, match="use write_libsvm"):
        write_liblinear(hinge.SVC().fit(X, X[:, 0] > 0), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    write_liblinear(model, tmp_path / "m", number_classes=True)
    assert (model.classes_[read_liblinear(tmp_path / "m").predict(X)] == model.predict(X)).all()


def test_damaged_files_are_refused_in_a_sentence(tmp_path):
    model, _ = fitted("three linear")
    write_liblinear(model, tmp_path / "m")
    text = (tmp_path / "m").read_text()
    edits = [
        text.replace(*pair, 1)
        for pair in (
            ("L2R_L1LOSS_SVC_DUAL", "L2R_LR"),
            ("nr_feature 5", "nr_feature 4"),
            ("nr_class 3", "nr_class 2"),
            ("label 3", "label 5"),
            ("\nw\n", "\n"),
            ("bias 1", "bias nan"),
            ("bias 1", "bias -1"),
            ("\nw\n", "\nw\nnan "),
        )
    ]
    for changed in [*edits, "", "w", text[: len(text) // 2]]:
        (tmp_path / "d").write_text(changed)
        with pytest.raises(ValueError, match="is not a support vector machine of LIBLINEAR that fits together"):
            read_liblinear(tmp_path / "d")
