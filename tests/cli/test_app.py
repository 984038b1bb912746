"""The command line: results on standard output, sentences on standard error, and exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import hinge
from hinge import LinearSVC, datasets
from hinge.cli import app as cli
from hinge.cli import data as cli_data
from hinge.files import model_files
from hinge.monitoring.progress import ProgressBar, nearness

COMMAND = [sys.executable, "-m", "hinge"]


@pytest.fixture(autouse=True)
def no_data_folder(tmp_path_factory, monkeypatch):
    """An empty data folder and the width of a pipe, whatever the environment says."""
    monkeypatch.setenv("HINGE_DATA", str(tmp_path_factory.getbasetemp() / "none"))
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def run(*args):
    return CliRunner().invoke(cli.application(), [str(arg) for arg in args])


def said(result, code=0):
    """Both streams of a run that ended with the given code, without tracebacks, colours or warnings."""
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    for stream in (result.stdout, result.stderr):
        assert "\x1b" not in stream
        assert "Traceback" not in stream
        assert "Warning" not in stream
    return result.stdout, result.stderr


def sentence(result, code=1):
    """The one line of a run that failed."""
    out, err = said(result, code)
    assert out == ""
    assert re.fullmatch(r"error: [^\n]+\.\n", err), err
    return err


def svmlight(path, X, y):
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        pairs = (f" {j + 1}:{value!r}" for j, value in enumerate(row) if value)
        lines.append(f"{label}{''.join(pairs)}\n")
    path.write_text("".join(lines))
    return path


def table(out):
    """The result table by name."""
    return dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.splitlines())


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


# --- the whole -------------------------------------------------------------------------------------


def test_version_from_a_shell():
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"hinge {hinge.__version__}\n", "")


def test_help_names_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    for name in ("train", "predict", "datasets"):
        assert name in result.stdout
    assert "debug" not in result.stdout


def test_without_typer_one_sentence_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; import hinge.cli.app; hinge.cli.app.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == 'The command line needs typer and rich: pip install "hinge[cli]"\n'


def test_interrupted_before_a_command_begins(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "application", interrupted)
    monkeypatch.setattr(os, "_exit", sys.exit)  # which would end these tests too
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 130


def test_unknown_options_are_typers_business():
    assert run("train", "adult", "--nonsense").exit_code == 2


def test_datasets_lists_the_catalog_one_line_each():
    out, err = said(run("datasets"))
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["name", "rows", "features"]
    assert [line.split()[0] for line in lines[1:]] == [entry.name for entry in datasets.catalog()]
    assert "bundled" in lines[1]
    assert err == ""


def test_datasets_fits_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = said(run("datasets"))
    assert max(map(len, out.splitlines())) <= 80
    assert "income above 50,000 dollars a year" in out


# --- train -----------------------------------------------------------------------------------------


def test_train_adult_needs_nothing_else():
    out, err = said(run("train", "adult"))
    shown = table(out)
    assert err == ""
    assert shown["rows x features"] == "32,561 x 123, 451,592 cells stored"
    assert shown["trade-off"] == "lam = 0.0001 (the default)"
    assert 14.5 < float(shown["test error"].removesuffix(" %")) < 15.5
    assert float(shown["certified gap"].split()[0]) <= 1e-3
    assert shown["stop reason"] == "converged: the certified gap is within tol"
    assert shown["model file"].startswith("none")
    assert max(map(len, out.splitlines())) <= 80


def test_json_holds_what_the_model_holds(files, tmp_path):
    model_file = tmp_path / "m.hinge"
    out, err = said(run("train", files.svm, "--C", 2, "--seed", 3, "--format", "json", "-o", model_file))
    shown = json.loads(out, parse_constant=pytest.fail)
    model = model_files.load(model_file)
    X, y = datasets.read(files.svm)
    same = LinearSVC(C=2, random_state=3).fit(X, y)
    assert model.coef_.tobytes() == same.coef_.tobytes()
    assert (shown["rows"], shown["features"], shown["cells"]) == (*files.X.shape, X.nnz)
    assert shown["train_error"] == pytest.approx(1 - same.score(X, y))
    assert shown["test_error"] is None
    assert (shown["gap"], shown["objective"], shown["reads"]) == (
        same.gap_,
        same.objective_,
        same.n_feature_reads_,
    )
    assert shown["support_vectors"] == len(same.support_)
    assert shown["stop_reason"] == "converged"
    assert shown["solver"] == "newton"
    assert shown["model_file"] == str(model_file)
    assert shown["parameters"]["C"] == 2
    assert shown["seconds"] > 0
    assert err == ""


def test_options_reach_the_estimator(files, tmp_path):
    options = [
        "--slack", 0.3, "--solver", "NEWTON", "--tol", 0.01, "--max-time", 100, "--target-error", 0.01,
        "--no-intercept", "--class-weight", "balanced",
    ]  # fmt: skip
    out, _ = said(run("train", files.svm, "--format", "json", *options))
    parameters = json.loads(out)["parameters"]
    expected = {
        "slack": 0.3, "solver": "newton", "tol": 0.01, "max_time": 100.0, "target_error": 0.01,
        "fit_intercept": False, "class_weight": "balanced", "random_state": 0, "on_interrupt": "keep",
    }  # fmt: skip
    assert {name: parameters[name] for name in expected} == expected
    assert "C" not in parameters


def test_more_classes_than_two(files, tmp_path):
    y = files.y.astype(int).copy()
    y[::4] = 5
    out, _ = said(run("train", svmlight(tmp_path / "three.svm", files.X, y), "--format", "json"))
    assert len(json.loads(out)["objective"]) == 3
    out, _ = said(run("train", tmp_path / "three.svm"))
    assert table(out)["objective"].count(",") == 2
    out, _ = said(run("train", tmp_path / "three.svm", "--positive", 5, "--format", "json"))
    assert isinstance(json.loads(out)["objective"], float)


def test_csv_by_label_column(files, tmp_path):
    model_file = tmp_path / "m.hinge"
    for column in ("verdict", 0):
        said(run("train", files.csv, "--label", column, "-o", model_file))
        assert model_files.load(model_file).classes_.tolist() == ["no", "yes"]
    out, err = said(run("predict", model_file, files.csv, "--label", "verdict"))
    X, y = datasets.read(files.csv, label="verdict")
    expected = model_files.load(model_file).predict(X)
    assert out.split() == expected.tolist()
    assert f"Error rate: {100 * np.mean(expected != y):.2f} %." in err


def test_a_limit_that_is_met_is_told_in_words(files):
    out, err = said(run("train", files.svm, "--max-time", 0, "--tol", 1e-9))
    assert table(out)["stop reason"] == "NOT converged: the time limit was reached"
    assert err == ""


def test_quiet(files, tmp_path):
    assert said(run("train", files.svm, "--quiet", "-o", tmp_path / "m.hinge")) == ("", "")
    assert (tmp_path / "m.hinge").exists()


def test_parts_of_different_width(files, tmp_path):
    narrow = svmlight(tmp_path / "narrow.svm", files.X[:, :5], files.y)
    for train, test in ((narrow, files.svm), (files.svm, narrow)):
        out, _ = said(run("train", train, "--test", test, "--format", "json"))
        shown = json.loads(out)
        assert shown["features"] == 7
        assert 0 <= shown["test_error"] < 0.6
    dense = tmp_path / "narrow.csv"
    dense.write_text("1,2,1\n3,4,-1\n")
    assert "has 7 features, but" in sentence(run("train", files.svm, "--test", dense))


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


# --- predict ---------------------------------------------------------------------------------------


def test_predict_to_both_places(files, tmp_path):
    X, y = datasets.read(files.svm)
    model = model_files.load(files.model)
    expected = model.predict(X)
    out, err = said(run("predict", files.model, files.svm))
    assert [int(line) for line in out.splitlines()] == expected.tolist()
    assert err.startswith(f"60 rows: {np.sum(expected < 0)} of -1, {np.sum(expected > 0)} of 1.\n")
    assert f"Error rate: {100 * np.mean(expected != y):.2f} %." in err
    written = tmp_path / "labels.txt"
    assert said(run("predict", files.model, files.svm, "-o", written)) == ("", err)
    assert written.read_text() == out
    assert list(tmp_path.iterdir()) == [written]


def test_scores_survive_the_text(files, tmp_path):
    out, _ = said(run("predict", files.model, files.svm, "--scores"))
    X, _ = datasets.read(files.svm)
    scores = np.array([float(line.split("\t")[1]) for line in out.splitlines()])
    assert np.array_equal(scores, model_files.load(files.model).decision_function(X))
    y = np.arange(60) % 3
    three = svmlight(tmp_path / "three.svm", files.X, y)
    said(run("train", three, "-o", tmp_path / "three.hinge", "--quiet"))
    out, _ = said(run("predict", tmp_path / "three.hinge", three, "--scores"))
    lines = np.array([[float(cell) for cell in line.split("\t")] for line in out.splitlines()])
    assert np.array_equal(lines[:, 0], lines[:, 1:].argmax(axis=1))


def test_features_without_labels(files):
    labelled, _ = said(run("predict", files.model, files.svm))
    out, err = said(run("predict", files.model, files.features, "--no-labels"))
    assert out == labelled
    assert "Error" not in err
    assert "csv and tsv" in sentence(run("predict", files.model, files.svm, "--no-labels"))
    assert "found text" in sentence(run("predict", files.model, files.csv, "--no-labels"))


def test_features_without_labels_of_another_width(files, tmp_path):
    narrow = tmp_path / "narrow.csv"
    narrow.write_text("1,2\n3,4\n")
    assert "has 2 columns, but the model has 7 features" in sentence(
        run("predict", files.model, narrow, "--no-labels")
    )


def test_labels_of_another_kind_give_no_error_rate(files, tmp_path):
    unknown = svmlight(tmp_path / "unknown.svm", files.X, np.zeros(60, int))
    _, err = said(run("predict", files.model, unknown))
    assert "not measured" in err
    _, err = said(run("predict", files.model, files.csv, "--label", "verdict"))
    assert "not measured" in err


def test_predict_takes_the_test_part_of_a_set(tmp_path):
    said(run("train", "adult", "--max-time", 0, "-o", tmp_path / "m.hinge", "--quiet"))
    out, err = said(run("predict", tmp_path / "m.hinge", "a9a"))
    assert len(out.splitlines()) == 16281
    assert re.search(r"Error rate: \d+\.\d\d %", err)


def test_a_model_of_named_columns_predicts_without_a_warning(files, tmp_path):
    model = model_files.load(files.model)
    model.feature_names_in_ = np.array([f"f{j}" for j in range(7)], dtype=object)
    model_files.save(model, tmp_path / "named.hinge")
    assert said(run("predict", tmp_path / "named.hinge", files.svm)) == said(
        run("predict", files.model, files.svm)
    )


# --- errors ----------------------------------------------------------------------------------------


def test_an_unknown_name_suggests_the_nearest():
    assert "did you mean 'adult'?" in sentence(run("train", "adlt"))
    assert "did you mean 'adult'?" in sentence(run("train", "adlt", "--label", 0))


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "broken.svm").write_text("1 1:2\n-1 1:x\n")
    assert "line 2" in sentence(run("train", tmp_path / "broken.svm"))


def test_broken_models(files, tmp_path):
    cut = tmp_path / "cut.hinge"
    cut.write_bytes(files.model.read_bytes()[:500])
    assert f"{cut} is cut short or damaged" in sentence(run("predict", cut, files.svm))
    assert "is not a model file" in sentence(run("predict", files.svm, files.svm))
    assert "There is no model file" in sentence(run("predict", tmp_path / "none", files.svm))
    assert "Is a directory" in sentence(run("predict", tmp_path, files.svm))


def test_data_wider_than_the_model(files, tmp_path):
    (tmp_path / "wide.svm").write_text("1 8:1\n")
    assert "beyond the 7 features" in sentence(run("predict", files.model, tmp_path / "wide.svm"))
    assert "123 features" in sentence(run("predict", files.model, "adult"))


@pytest.mark.parametrize(
    ("name", "words"),
    [("none/m.hinge", "There is no folder"), (".", "is a folder"), ("notes.txt", "not overwritten")],
)
def test_a_bad_place_for_the_model_is_told_before_training(name, words, files, tmp_path, monkeypatch):
    monkeypatch.setattr(cli_data, "training_data", pytest.fail)
    (tmp_path / "notes.txt").write_text("precious")
    assert words in sentence(run("train", files.svm, "-o", tmp_path / name))
    assert (tmp_path / "notes.txt").read_text() == "precious"


def test_a_model_is_overwritten_and_an_input_is_not(files, tmp_path):
    model = tmp_path / "m.hinge"
    model.write_bytes(files.model.read_bytes())
    said(run("train", files.svm, "--lam", 1, "-o", model, "--quiet"))
    assert model_files.load(model).lam == 1
    for path in (model, files.svm):
        before = path.read_bytes()
        assert "is an input" in sentence(run("predict", model, files.svm, "-o", path))
        assert path.read_bytes() == before


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


def test_debug_shows_the_error_itself(files):
    result = run("--debug", "train", files.svm, "--tol", -1)
    assert isinstance(result.exception, ValueError)


def test_a_disk_error_is_a_sentence(files, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert (
        sentence(run("train", files.svm, "-o", tmp_path / "m.hinge")) == "error: No space left on device.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_brackets_are_not_markup(tmp_path):
    assert "[red]x[/red]" in sentence(run("train", "[red]x[/red]"))


# --- signals and pipes -----------------------------------------------------------------------------


def test_interrupted_before_there_is_a_model(monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_data, "training_data", interrupted)
    assert "interrupted" in sentence(run("train", "adult"), code=130)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """20,000 rows in svmlight form, on which dual ascent that is never good enough takes many seconds."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((400, 40)), 3)
    y = np.where(X[:, 0] + rng.standard_normal(400) > 0, 1, -1)
    path = svmlight(tmp_path_factory.mktemp("large") / "large.svm", X, y)
    path.write_text(50 * path.read_text())
    return path


def test_ctrl_c_keeps_the_model(large, tmp_path):
    model = tmp_path / "m.hinge"
    pty = pytest.importorskip("pty", reason="terminals of one's own need POSIX")
    ours, theirs = pty.openpty()  # a terminal for the progress bar, which tells when training is under way
    command = [*COMMAND, "train", large, "--solver", "sdca", "--tol", "0", "-o", model]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True
    ) as process:
        os.close(theirs)
        seen = b""
        while b"reads" not in seen:
            seen += os.read(ours, 1 << 16)
        process.send_signal(signal.SIGINT)
        pressed = time.perf_counter()
        process.wait(timeout=20)
        seconds = time.perf_counter() - pressed
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == 130
    assert seconds < 2
    assert b"gap" in seen
    shown = table(out)
    assert shown["stop reason"] == "NOT converged: it was interrupted"
    assert float(shown["train error"].removesuffix(" %")) < 45
    kept = model_files.load(model)
    assert kept.stop_reason_ == "interrupted"
    assert kept.n_features_in_ == 40
    assert list(tmp_path.iterdir()) == [model]


def test_a_reader_who_leaves_is_no_error(large, tmp_path, monkeypatch):
    model = tmp_path / "m.hinge"
    said(run("train", large, "-o", model, "--quiet"))
    command = [*COMMAND, "predict", model, large, "--scores"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert len(first.split()) == 2
    assert err == b""
    assert process.returncode in (0, 1)


# --- the bar ---------------------------------------------------------------------------------------


def test_nearness_takes_the_nearest_limit():
    limits = SimpleNamespace(tol=1e-4, max_time=None, max_reads=None)
    assert nearness(1.0, 10, np.inf, limits) is None
    assert nearness(1.0, 10, 1e-2, limits) == pytest.approx(0.5)
    assert nearness(1.0, 10, 30.0, limits) == 0
    assert nearness(1.0, 10, 1e-9, limits) == 1
    limits = SimpleNamespace(tol=0, max_time=4.0, max_reads=20)
    assert nearness(1.0, 10, 1e-9, limits) == 0.5
    assert nearness(3.0, 10, 1e-9, limits) == 0.75
    assert nearness(9.0, 10, 1e-9, limits) == 1


def test_the_bar_changes_no_model(tiny_csr, capsys):
    X, y = tiny_csr
    plain = LinearSVC(lam=0.01, random_state=0).fit(X, y)
    watched = LinearSVC(lam=0.01, random_state=0).set_callbacks(ProgressBar()).fit(X, y)
    assert plain.coef_.tobytes() == watched.coef_.tobytes()
    assert capsys.readouterr().out == ""


def test_rows_of_a_sparse_file_as_kernel_values(tmp_path):
    """What svmlight leaves out is zero, for a model of given kernel values too."""
    K = np.eye(6) + 0.5
    model_files.save(hinge.SVC(kernel="precomputed").fit(K, [0, 1, 0, 1, 1, 0]), tmp_path / "model")
    data = svmlight(tmp_path / "rows.svm", np.eye(6), np.array([0, 1, 0, 1, 1, 0]))
    out, err = said(run("predict", tmp_path / "model", data))
    assert out.split() == ["0", "1", "0", "1", "1", "0"]
    assert "Error rate: 0.00 %" in err


def test_a_fault_of_ours_is_one_line_too(tmp_path, monkeypatch):
    def broken(path):
        raise IndexError("list index out of range")

    monkeypatch.setattr(model_files, "load", broken)
    err = sentence(run("predict", tmp_path, tmp_path))
    assert "IndexError: list index out of range" in err
    assert "--debug" in err
    assert isinstance(run("--debug", "predict", tmp_path, tmp_path).exception, IndexError)
