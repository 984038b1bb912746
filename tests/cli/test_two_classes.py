"""``hinge compare``: the table, JSON, files, and what it says of bad input and Ctrl-C."""

import importlib.util
import json

import numpy as np
import pytest

from hinge.racing import Course, Ours, Race, Target

typer = pytest.importorskip("typer", reason="the command line needs typer")

from typer.testing import CliRunner  # noqa: E402

from hinge.cli import app as cli  # noqa: E402
from hinge.cli.two_classes import compare  # noqa: E402

SMALL = ("--rows", "400", "--max-time", "5", "--repeats", "1", "--lam", "0.01")


def run(*args):
    app = typer.Typer()
    app.callback()(cli._common)
    app.command()(cli._as_command(compare))
    return CliRunner().invoke(app, ["compare", *map(str, args)], env={"COLUMNS": "160"})


def said(result):
    return " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def race_of_three():
    return run("adult", *SMALL, "--solvers", "newton,Pegasos,liblinear", "--format", "json")


@pytest.mark.slow
def test_json(race_of_three):
    assert race_of_three.exit_code == 0, race_of_three.output
    found = json.loads(race_of_three.stdout)
    assert (found["rows"], found["features"], found["lam"]) == (400, 123, 0.01)
    assert found["C"] == pytest.approx(1 / (0.01 * 400))
    lines = {line["solver"]: line for line in found["solvers"]}
    assert set(lines) == {"newton", "pegasos", "liblinear"}
    for name in ("newton", "liblinear"):
        assert lines[name]["status"] == "reached"
        assert lines[name]["suboptimality"] <= 1e-3 and 0 < lines[name]["seconds"] <= 5
        assert 0.1 < lines[name]["test_error"] < 0.3
    assert lines["newton"]["reads"] > 0 and lines["liblinear"]["reads"] is None
    assert list(found["versions"]) == ["scikit-learn"]
    assert found["lower_bound"] <= min(line["objective"] for line in lines.values())


@pytest.mark.slow
def test_table(monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "liblinear" else there(name))
    result = run("adult", *SMALL, "--solvers", "newton,sbp")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split()[:3] == ["solver", "seconds", "objective"]
    assert lines[1].startswith("newton") and "reached" in lines[1]
    assert lines[2].startswith("sbp") and "It is for kernels" in lines[2]
    assert "liblinear-official" not in result.stdout  # nobody asked for it
    assert "kernel values" not in result.stdout  # nobody used any


@pytest.mark.slow
def test_a_peer_that_is_not_installed_is_named_among_the_usual_ones(monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "liblinear" else there(name))
    result = run("adult", *SMALL)
    assert result.exit_code == 0, result.output
    assert "liblinear-official is not installed: pip install liblinear-official." in result.stdout
    alone = run("adult", *SMALL, "--solvers", "liblinear-official")
    assert alone.exit_code == 1  # nobody could start
    assert "liblinear-official is not installed" in alone.stdout


@pytest.mark.slow
def test_kernels(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need it")
    result = run(
        "adult",
        *SMALL,
        "--kernel",
        "rbf",
        "--gamma",
        "0.05",
        "--solvers",
        "block-dual,libsvm",
        "--out",
        tmp_path / "out",
    )
    assert result.exit_code == 0, result.output
    assert "kernel values" in result.stdout and "gamma = 0.05" in result.stdout
    assert "libsvm has a bias" in result.stdout
    assert (tmp_path / "out" / "figures" / "race-evals.png").stat().st_size > 1000
    page = (tmp_path / "out" / "report.html").read_text()
    assert "blockdual" in page
    assert "No claim" not in page  # a race makes none
    for name in said(result).partition("Written to ")[2].partition(": ")[2].strip(". ").split(", "):
        assert (tmp_path / "out" / name).exists()


@pytest.mark.slow
def test_a_file_without_test_rows_has_some_held_out(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    rows = np.column_stack([np.where(y, "cat", "dog"), np.round(rng.standard_normal((200, 3)) + 2 * y[:, None], 3)])
    path = tmp_path / "pets.csv"
    path.write_text("kind,a,b,c\n" + "\n".join(",".join(row) for row in rows))
    result = run(path, "--label", "kind", "--solvers", "sdca", "--repeats", 1, "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["rows"], found["test_rows"]) == (160, 40)
    assert found["solvers"][0]["test_error"] < 0.3


@pytest.mark.slow
def test_a_race_to_an_error():
    result = run("adult", *SMALL, "--solvers", "newton", "--target", "error", 0.25, "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["target"] == {"kind": "error", "value": 0.25}
    assert found["solvers"][0]["test_error"] <= 0.25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("adult", "--solvers", "sdac"), 1, "There is no solver 'sdac': did you mean 'sdca'?"),
        (("nothing",), 1, "There is no data set or file 'nothing'"),
        (("adult", "--lam", "1", "--C", "1"), 2, "give one of --C and --lam"),
        (("adult", "--target", "speed", "1"), 2, "'gap' or 'error'"),
        (("adult", "--target", "gap", "0"), 2, "positive"),
        (("adult", "--target", "gap", "inf"), 2, "positive"),
        (("adult", "--target", "error", "2"), 2, "below 1"),
        (("adult", "--solvers", ""), 2, "leave it out"),
        (("adult", "--solvers", " , "), 2, "leave it out"),
        (("adult", "--gamma", "1"), 2, "--kernel rbf"),
        (("adult", "--lam", "-1"), 1, "positive numbers"),
        (("adult", "--C", "0"), 1, "positive numbers"),
    ],
)
def test_what_it_refuses(arguments, code, sentence):
    result = run(*arguments)
    assert result.exit_code == code
    assert "Traceback" not in result.output
    assert sentence in said(result).replace("│ ", "").replace(" │", "")


@pytest.mark.slow
def test_ctrl_c_shows_what_is_there(monkeypatch):
    plain = Ours.looks

    def interrupted(self, course, *rest):
        for look in plain(self, course, *rest):
            yield look
            if self.name == "pegasos" and len(course.y) == 400:
                raise KeyboardInterrupt

    monkeypatch.setattr(Ours, "looks", interrupted)
    result = run("adult", *SMALL, "--solvers", "newton,pegasos,sdca")
    assert result.exit_code == 130
    lines = {line.split()[0]: line for line in result.stdout.splitlines()[1:4]}
    assert "reached" in lines["newton"]
    assert "interrupted before" in lines["pegasos"]
    assert "not run" in lines["sdca"]
    assert "interrupted" in said(result)


ODD_FILES = {
    "one class": ("1 1:1\n1 1:2\n1 2:1\n", "one class only"),
    "huge": ("1 1:1e200\n-1 1:2e200\n", "scale them first"),
}


@pytest.mark.parametrize(("text", "sentence"), ODD_FILES.values(), ids=ODD_FILES)
def test_rows_that_cannot_be_raced_on(tmp_path, text, sentence):
    path = tmp_path / "rows.svm"
    path.write_text(text)
    result = run(path, "--solvers", "sdca")
    assert result.exit_code == 1
    assert sentence in said(result)


@pytest.mark.slow
def test_three_rows_leave_none_to_test_on(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 1:-1\n1 2:1\n")
    result = run(path, "--solvers", "newton", "--repeats", 1)
    assert result.exit_code == 0, result.output
    assert "held out" not in result.stdout
    refused = run(path, "--solvers", "newton", "--target", "error", "0.1")
    assert refused.exit_code == 1
    assert "no test rows" in said(refused)


@pytest.mark.slow
def test_the_model_is_that_of_train(tmp_path):
    """Rows far from the origin, which need a bias: the same error and objective as `LinearSVC(loss="hinge")`."""
    from hinge import LinearSVC

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + 5.0
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 5, 1, -1)
    rows = [f"{','.join(map(str, row))},{label}\n" for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "x.csv").write_text("".join(rows))
    same = LinearSVC(loss="hinge", tol=1e-6).fit(X, y)
    options = ("--test", tmp_path / "x.csv", "--solvers", "sdca", "--repeats", 1, "--target", "gap", 1e-5, "--json")
    found = json.loads(run(tmp_path / "x.csv", *options).stdout)
    assert found["C"] == pytest.approx(1.0) and found["intercept"] and found["features"] == 3
    (line,) = found["solvers"]
    assert line["objective"] == pytest.approx(same.objective_, rel=1e-4)
    assert line["test_error"] == pytest.approx(1 - same.score(X, y), abs=0.006)
    worse = json.loads(run(tmp_path / "x.csv", *options, "--no-intercept").stdout)
    assert worse["solvers"][0]["test_error"] > line["test_error"] and not worse["intercept"]


def test_without_matplotlib_no_folder_stays_empty(tmp_path, monkeypatch):
    from hinge.display import static
    from hinge.racing.race import write

    def missing():
        raise ImportError("Figures need matplotlib.")

    monkeypatch.setattr(static, "check_installed", missing)
    course = Course(np.eye(4), np.array([1, -1, 1, -1]), np.eye(4), np.array([1, -1, 1, -1]), 0.1)
    written, sentences = write(Race(course, Target(), 1.0, []), tmp_path / "out", "hinge compare")
    assert sentences == ["No figures were drawn. Figures need matplotlib."] and "figures" not in written
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(written)
