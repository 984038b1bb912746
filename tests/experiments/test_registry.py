"""The registry of experiments: all of them, loaded late; and one entry is enough to stand everywhere."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from experiments.throwaway import Squares, experiment

import hinge.experiments
from hinge.experiments import find, registry
from hinge.experiments.base import Experiment

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def throwaway(monkeypatch):
    """One experiment more."""
    line = registry.Listed("Squares of small numbers", "Nobody 2026", "Table 0", "Do squares grow?", Squares.__module__)
    monkeypatch.setitem(registry.BY_NAME, "throwaway-squares", line)


def test_all_of_them_are_registered():
    folder = ROOT / "hinge" / "experiments"
    papers = [path for path in folder.iterdir() if path.is_dir() and (path / "__init__.py").exists()]
    files = {path for paper in papers for path in paper.glob("*.py") if "\nexperiment = " in path.read_text("utf-8")}
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files}
    assert modules == set(map(registry.module_of, registry.names()))
    assert registry.names() == hinge.experiments.NAMES


@pytest.mark.parametrize("name", registry.BY_NAME)
def test_a_line_is_true(name):
    experiment = hinge.experiments.load(name)
    assert isinstance(experiment, Experiment)
    assert experiment.name == name


@pytest.mark.parametrize("name", registry.BY_NAME)
def test_its_claims_are_tried_on_made_up_measurements(name):
    _, _, paper, file = registry.module_of(name).split(".")
    tried = (ROOT / "tests" / "experiments" / paper / f"test_{file}.py").read_text(encoding="utf-8")
    assert "= in_both_outcomes(" in tried or "{Verdict.OURS}" in tried


LOADED = """
import sys
from typer.testing import CliRunner
from hinge.cli.app import application
ran = CliRunner().invoke(application(), {command})
assert ran.exit_code == {status}, ran.output
print([name for name in sys.modules if name.startswith("hinge.experiments.") and name.count(".") == 3])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "status", "loaded"),
    [
        (["reproduce"], 0, []),
        (["reproduce", "--json"], 0, []),
        (["reproduce", "pegasos-figure3", "--jobs", "0"], 2, []),
        (["reproduce", "pegasos-figure3"], 0, ["hinge.experiments.pegasos.figure3"]),
    ],
    ids=str,
)
def test_no_experiment_is_imported_but_the_one_that_runs(command, status, loaded, tmp_path):
    for package in ("typer", "plotly", "matplotlib"):
        pytest.importorskip(package, reason="the report needs it")
    code = LOADED.format(command=command, status=status)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout.strip() == str(loaded)


# --- one file and one entry ------------------------------------------------------------------------


@pytest.mark.usefixtures("throwaway")
def test_a_new_experiment_is_found():
    assert find(["throwaway"]) == find(["Throwaway_Squares"]) == [experiment]
    assert find(["all"])[-1] is experiment
    assert hinge.experiments.NAMES[-1] == "throwaway-squares"
    with pytest.raises(ValueError, match="did you mean 'throwaway-squares'"):
        find(["throwaway-square"])


@pytest.mark.slow
@pytest.mark.usefixtures("throwaway")
def test_a_new_experiment_is_listed_run_and_reported(tmp_path):
    for package in ("typer", "plotly", "matplotlib"):
        pytest.importorskip(package, reason="the report needs it")
    from typer.testing import CliRunner

    from hinge.cli.app import application

    listed = CliRunner().invoke(application(), ["reproduce"])
    assert "throwaway-squares" in listed.stdout
    ran = CliRunner().invoke(application(), ["reproduce", "throwaway-squares", "--out", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    assert "Squares grow" in " ".join(ran.stdout.split())
    assert "throwaway-squares" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("throwaway")
def test_a_new_experiment_is_in_the_documentations_list():
    spec = importlib.util.spec_from_file_location("lists", ROOT / "docs" / "lists.py")
    lists = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lists)
    assert "| `throwaway-squares` | Squares of small numbers | Nobody 2026, Table 0 |" in lists.text()
