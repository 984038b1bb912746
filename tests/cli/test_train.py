import json
import re

import numpy as np
import pytest
from command_line import run, said, sentence, svmlight, table
from shop_table import shop

from hinge import LinearSVC, datasets
from hinge.cli import rows as cli_rows
from hinge.files import model_files

# --- train -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_train_adult_needs_nothing_else():
    out, err = said(run("train", "adult"))
    shown = table(out)
    assert err == ""
    assert shown["rows x features"] == "32,561 x 123, 451,592 cells stored"
    assert shown["trade-off"] == "C = 1 (the default)"
    assert 14.5 < float(shown["test error"].removesuffix(" %")) < 15.5
    assert float(shown["certified gap"].split()[0]) <= 1e-4
    assert shown["stop reason"] == "converged: the certified gap is within tol"
    assert shown["model file"].startswith("none")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.slow
def test_json_holds_what_the_model_holds(files, tmp_path):
    model_file = tmp_path / "m.hinge"
    out, err = said(run("train", files.svm, "--C", 2, "--seed", 3, "--format", "json", "-o", model_file))
    shown = json.loads(out, parse_constant=pytest.fail)
    model = model_files.load(model_file)
    X, y = datasets.read(files.svm)
    same = LinearSVC(C=2, random_state=3).fit(X, y)  # Python's model is the command line's
    assert model.coef_.tobytes() == same.coef_.tobytes()
    assert (shown["rows"], shown["features"], shown["cells"]) == (*files.X.shape, X.nnz)
    assert shown["train_error"] == pytest.approx(1 - same.score(X, y))
    assert shown["test_error"] is None
    assert (shown["gap"], shown["objective"], shown["reads"]) == (same.gap_, same.objective_, same.n_feature_reads_)
    assert shown["support_vectors"] == len(same.support_)
    assert shown["stop_reason"] == "converged"
    assert shown["solver"] == type(same.solver_).__name__.lower()
    assert shown["model_file"] == str(model_file)
    assert shown["parameters"]["C"] == 2
    assert shown["seconds"] > 0
    assert err == ""


def test_another_loss(files):
    out, _ = said(run("train", files.svm, "--format", "json", "--C", 1, "--loss", "squared_hinge"))
    assert json.loads(out)["parameters"]["loss"] == "squared_hinge"


@pytest.mark.slow
def test_the_1_norm(files, tmp_path):
    model_file = tmp_path / "m.hinge"
    out, _ = said(run("train", files.svm, "--format", "json", "--C", 0.05, "--penalty", "l1", "-o", model_file))
    shown = json.loads(out)
    assert (shown["parameters"]["penalty"], shown["parameters"]["loss"]) == ("l1", "squared_hinge")
    assert shown["solver"] == "cdn"
    assert shown["gap"] <= 1e-3
    model = model_files.load(model_file)
    X, y = datasets.read(files.svm)
    same = LinearSVC("l1", C=0.05).fit(X, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert "loss='squared_hinge'" in sentence(run("train", files.svm, "--penalty", "l1", "--loss", "hinge"))


def test_options_reach_the_estimator(files, tmp_path):
    options = [
        "--slack",
        0.3,
        "--solver",
        "NEWTON",
        "--tol",
        0.01,
        "--max-time",
        100,
        "--target-error",
        0.01,
        "--no-intercept",
        "--class-weight",
        "balanced",
    ]
    out, _ = said(run("train", files.svm, "--format", "json", *options))
    parameters = json.loads(out)["parameters"]
    expected = {
        "slack": 0.3,
        "solver": "newton",
        "tol": 0.01,
        "max_time": 100.0,
        "target_error": 0.01,
        "fit_intercept": False,
        "class_weight": "balanced",
        "random_state": 0,
        "on_interrupt": "keep",
    }
    assert {name: parameters[name] for name in expected} == expected
    assert "C" not in parameters


@pytest.mark.slow
def test_more_classes_than_two(files, tmp_path):
    y = files.y.astype(int).copy()
    y[::4] = 5
    out, _ = said(run("train", svmlight(tmp_path / "three.svm", files.X, y), "--format", "json"))
    assert len(json.loads(out)["objective"]) == 3
    out, _ = said(run("train", tmp_path / "three.svm"))
    assert table(out)["objective"].count(",") == 2
    out, _ = said(run("train", tmp_path / "three.svm", "--multi-class", "crammer_singer", "--format", "json"))
    result = json.loads(out)
    assert isinstance(result["objective"], float) and result["gap"] <= 1e-3
    assert result["parameters"]["multi_class"] == "crammer_singer" and result["solver"] == "switch"
    out, _ = said(run("train", tmp_path / "three.svm", "--positive", 5, "--format", "json"))
    assert isinstance(json.loads(out)["objective"], float)


@pytest.mark.slow
def test_csv_by_label_column(files, tmp_path):
    model_file = tmp_path / "m.hinge"
    for column in ("verdict", 0):
        said(run("train", files.csv, "--label", column, "-o", model_file))
        assert model_files.load(model_file).classes_.tolist() == ["no", "yes"]
    out, err = said(run("predict", model_file, files.csv, "--label", "verdict"))
    X, y = datasets.read(files.csv, label="verdict")
    model = model_files.load(model_file)
    assert model.feature_names_in_.tolist() == [f"f{j}" for j in range(7)]
    del model.feature_names_in_
    expected = model.predict(X)
    assert out.split() == expected.tolist()
    assert f"Error rate: {100 * np.mean(expected != y):.2f} %." in err


def test_a_limit_that_is_met_is_told_in_words(files):
    out, err = said(run("train", files.svm, "--max-time", 0, "--tol", 1e-9))
    assert table(out)["stop reason"] == "NOT converged: the time limit was reached"
    assert err == ""


def test_quiet(files, tmp_path):
    assert said(run("train", files.svm, "--quiet", "-o", tmp_path / "m.hinge")) == ("", "")
    assert (tmp_path / "m.hinge").exists()


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"), [("none/m.hinge", "There is no folder"), (".", "is a folder"), ("notes.txt", "not overwritten")]
)
def test_a_bad_place_for_the_model_is_told_before_training(name, words, files, tmp_path, monkeypatch):
    monkeypatch.setattr(cli_rows, "training_data", pytest.fail)
    (tmp_path / "notes.txt").write_text("precious")
    assert words in sentence(run("train", files.svm, "-o", tmp_path / name))
    assert (tmp_path / "notes.txt").read_text() == "precious"


@pytest.mark.slow
def test_a_model_is_overwritten_and_an_input_is_not(files, tmp_path):
    model = tmp_path / "m.hinge"
    model.write_bytes(files.model.read_bytes())
    said(run("train", files.svm, "--lam", 1, "-o", model, "--quiet"))
    assert model_files.load(model).lam == 1
    for path in (model, files.svm):
        before = path.read_bytes()
        assert "is an input" in sentence(run("predict", model, files.svm, "-o", path))
        assert path.read_bytes() == before


@pytest.mark.slow
def test_settings_that_the_library_refuses(files):
    assert "tol must be a number" in sentence(run("train", files.svm, "--tol", -1))
    assert "'newton'" in sentence(run("train", files.svm, "--solver", "magic"))
    assert "no class '7'" in sentence(run("train", files.svm, "--positive", 7))
    assert "set with a name" in sentence(run("train", "adult", "--label", 0))
    assert "its own test rows" in sentence(run("train", "adult", "--test", files.svm))


def test_one_trade_off_only(files):
    result = run("train", files.svm, "--C", 1, "--lam", 1)
    assert result.exit_code == 2
    assert "give one of --C, --lam and --slack" in result.stderr


@pytest.mark.slow
def test_tune_without_time_for_a_score_says_so(files):
    out, _ = said(run("train", files.svm, "--tune", "--max-time", 1e-6))
    assert "chosen by nothing: there was no time" in " ".join(out.split())


@pytest.mark.slow
def test_tune_chooses_C(files, tmp_path):
    out, err = said(run("train", files.svm, "--tune", "--format", "json", "-o", tmp_path / "m.hinge"))
    shown = json.loads(out, parse_constant=pytest.fail)
    model = model_files.load(tmp_path / "m.hinge")
    assert shown["parameters"]["C"] == model.C and model.C in [one["C"] for one in shown["scores"]]
    assert len(shown["scores"]) == 10 and 0 <= shown["expected_error"] < 0.5
    assert "fold 5 of 5" in err
    out, _ = said(run("train", files.svm, "--tune"))
    assert "chosen by five folds" in table(out)["trade-off"] and "by leave-one-out" in table(out)["expected error"]
    assert "95% interval" in table(out)["expected error"]
    out, _ = said(run("inspect", tmp_path / "m.hinge"))
    assert re.search(r"error to expect .*95% interval", " ".join(out.split()))
    result = run("train", files.svm, "--tune", "--C", 1)
    assert result.exit_code == 2 and "--tune chooses C" in result.stderr


# --- every estimator -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "parameters"),
    [
        ("svc", ["--kernel", "poly", "--degree", 2, "--coef0", 1, "--gamma", 0.5, "--C", 3], dict(C=3.0, degree=2)),
        ("nusvc", ["--nu", 0.3, "--class-weight", '{"1": 2}'], dict(nu=0.3, class_weight={1: 2.0})),
        ("linearsvr", ["--epsilon", 0.1, "--loss", "squared_epsilon_insensitive"], dict(epsilon=0.1)),
        ("svr", ["--epsilon", 0.2], dict(epsilon=0.2)),
        ("nusvr", ["--nu", 0.4, "--C", 2], dict(nu=0.4, C=2.0)),
        ("oneclass", ["--nu", 0.1], dict(nu=0.1)),
    ],
)
def test_every_estimator(name, options, parameters, files, tmp_path):
    out, _ = said(run("train", files.svm, "--model", name, *options, "--json", "-o", tmp_path / "m"))
    shown, model = json.loads(out, parse_constant=pytest.fail), model_files.load(tmp_path / "m")
    assert shown["stop_reason"] == "converged" and shown["model"] == name
    assert {key: getattr(model, key) for key in parameters} == parameters
    X, y = datasets.read(files.svm)
    same = type(model)(**{**model.get_params(), "on_interrupt": "raise"}).fit(X, y)
    assert np.array_equal(same.predict(X), model.predict(X))
    assert said(run("train", files.svm, "--model", name, *options))[1] == ""


def test_settings_of_another_estimator_are_told_before_data_is_read():
    assert "--kernel is no setting of linearsvc; it is one of svc" in sentence(run("train", "none", "--kernel", "rbf"))


@pytest.mark.slow
def test_folds_weights_and_words(tmp_path):
    data = shop(tmp_path / "data.csv", 90)
    text = data.read_text().splitlines()
    weighted = [f"{line},{'w' if i == 0 else 1 + i % 2}" for i, line in enumerate(text)]
    data.write_text("\n".join(weighted) + "\n")
    options = ["--label", "bought", "--sample-weight-column", "w", "--impute", "mean", "--cv", 3]
    out, _ = said(run("train", data, *options, "--json", "-o", tmp_path / "m"))
    shown = json.loads(out)
    assert shown["features"] == 4 and len(shown["cv_scores"]) == 3 and min(shown["cv_scores"]) > 0.6
    assert model_files.load(tmp_path / "m").named_steps["model"].training_["cv_scores"] == tuple(shown["cv_scores"])
    assert "± " in table(said(run("train", data, *options))[0])["scores of 3 folds"]
    assert "did you mean 'city'?" in run("train", data, *options, "--categorical", "ctiy").stderr


@pytest.mark.slow
def test_one_class_against_the_others_keeps_its_name(files, tmp_path):
    kinds = np.array(["fox", "dog", "cat"])[np.where(files.y > 0, 0, 1 + np.arange(60) % 2)]
    lines = [f"{','.join(map(str, row))},{kind}\n" for row, kind in zip(files.X.tolist(), kinds, strict=True)]
    (tmp_path / "x.csv").write_text("".join(lines))
    out, _ = said(run("train", tmp_path / "x.csv", "--positive", "fox", "--json", "-o", tmp_path / "m"))
    predicted, err = said(run("predict", tmp_path / "m", tmp_path / "x.csv"))
    assert set(predicted.splitlines()) == {"fox", "not fox"}
    assert f"Error rate: {100 * json.loads(out)['train_error']:.2f} %." in err
    assert "no class 'wolf'" in sentence(run("train", tmp_path / "x.csv", "--positive", "wolf"))


@pytest.mark.slow
def test_solvers_are_spelled_freely_and_bring_their_loss(files):
    out, _ = said(run("train", files.svm, "--solver", "Cutting-Plane", "--json"))
    shown = json.loads(out)
    assert (shown["solver"], shown["parameters"]["loss"]) == ("cuttingplane", "hinge")


@pytest.mark.slow
def test_a_model_that_tells_nothing_apart_says_so(tmp_path):
    y = np.ones(120, int)
    y[:2] = -1
    X = np.random.default_rng(0).normal(size=(120, 2))
    _, err = said(run("train", svmlight(tmp_path / "rare.svm", X, y)))
    assert "predicts class 1 for all of its 120 training rows" in err and "--class-weight balanced" in err


def test_a_model_is_no_text(files):
    assert "give the name of a file" in sentence(run("train", files.svm, "-o", "-"))
