"""``hinge path``: the table, JSON, files, and what it says of bad input and Ctrl-C."""

import csv
import json

import pytest

typer = pytest.importorskip("typer", reason="the command line needs typer")

from typer.testing import CliRunner  # noqa: E402

from hinge.cli import app as cli  # noqa: E402
from hinge.cli.two_classes import path  # noqa: E402


def run(*args):
    app = typer.Typer()
    app.callback()(cli._common)
    app.command()(cli._as_command(path))
    return CliRunner().invoke(app, ["path", *map(str, args)], env={"COLUMNS": "160"})


@pytest.mark.slow
def test_json():
    result = run("adult", "--points", 4, "--tol", 1e-2, "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    points = found["points"]
    assert len(points) == 4
    assert all(point["gap"] <= 1e-2 and point["bound"] > 0 for point in points)
    for name, sign in (("lam", -1), ("norm", 1), ("loss", -1), ("margin", -1)):
        values = [point[name] for point in points]
        assert values == sorted(values, reverse=sign < 0), name
    assert points[-1]["test_error"] < 0.16


@pytest.mark.slow
def test_table_and_files(tmp_path):
    pytest.importorskip("matplotlib", reason="figures need it")
    out = tmp_path / "out"
    result = run(
        "adult", "--points", 3, "--tol", 1e-2, "--lam-from", 0.1, "--lam-to", 0.001, "--intercept", "--out", out
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split()[:3] == ["λ", "‖w‖", "margin"]
    assert [float(line.split()[0]) for line in lines[1:4]] == [0.1, 0.01, 0.001]
    assert "a free bias" in result.stdout
    rows = list(csv.DictReader((out / "path.csv").read_text().splitlines()))
    assert [float(row["lam"]) for row in rows] == pytest.approx([0.1, 0.01, 0.001])
    assert (out / "path.png").stat().st_size > 1000 and (out / "path.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("nothing",), 1, "There is no data set or file 'nothing'"),
        (("adult", "--points", "1"), 2, "'--points'"),
        (("adult", "--tol", "0"), 2, "positive numbers"),
        (("adult", "--lam-from", "0.1", "--lam-to", "1"), 1, "--lam-from must be above --lam-to"),
        (("adult", "--lam-to", "0"), 1, "--lam-from must be above --lam-to"),
    ],
)
def test_what_it_refuses(arguments, code, sentence):
    result = run(*arguments)
    assert result.exit_code == code
    assert "Traceback" not in result.output
    assert sentence in " ".join(result.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("before", [0, 2])
def test_ctrl_c_shows_the_points_that_are_there(before, monkeypatch):
    from hinge.display import pareto

    plain = pareto.pareto_points

    def interrupted(*args, **options):
        for k, point in enumerate(plain(*args, **options)):
            if k == before:
                raise KeyboardInterrupt
            yield point

    monkeypatch.setattr(pareto, "pareto_points", interrupted)
    result = run("adult", "--points", 4, "--tol", 1e-2)
    assert result.exit_code == 130
    assert "nterrupted" in result.stderr
    shown = [line for line in result.stdout.splitlines() if line.count("%") == 2]
    assert len(shown) == before


@pytest.mark.slow
def test_few_rows_and_empty_ones_give_dashes_and_no_warnings(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 1:-1\n1 2:1\n")
    result = run(path, "--points", 2, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "nan" not in result.output
    assert "held out" not in result.output
    assert "nan" not in (tmp_path / "out" / "path.csv").read_text()


def test_a_time_limit_that_cuts_is_said():
    result = run("adult", "--points", 2, "--max-time", 0.001)
    assert result.exit_code == 0, result.output
    assert "the time limit cut short" in " ".join(result.stdout.split())


@pytest.mark.slow
def test_a_narrow_terminal_cuts_no_number(monkeypatch):
    app = typer.Typer()
    app.callback()(cli._common)
    app.command()(cli._as_command(path))
    arguments = ["path", "adult", "--points", "2", "--tol", "0.01"]
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}).stdout
    assert "…" not in shown
    assert shown.splitlines()[0].split()[-1] == "gap"


@pytest.mark.slow
def test_a_point_is_the_model_of_train(tmp_path):
    from hinge import LinearSVC
    from hinge.datasets import load

    found = json.loads(
        run("adult", "--points", 2, "--lam-from", 0.01, "--lam-to", 0.001, "--tol", 1e-4, "--json").stdout
    )
    adult = load("adult")
    same = LinearSVC(loss="hinge", lam=0.01).fit(adult.X_train, adult.y_train)
    first = found["points"][0]
    assert found["intercept"] == "penalized"
    assert 0.5 * 0.01 * first["norm"] ** 2 + first["loss"] == pytest.approx(same.objective_, rel=1e-3)
    assert first["test_error"] == pytest.approx(1 - same.score(adult.X_test, adult.y_test), abs=2e-3)
    assert found["best_lam"] == min(found["points"], key=lambda point: point["test_error"])["lam"]
