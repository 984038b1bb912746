"""The registry of solvers: all of them, loaded late; and one line is enough to stand everywhere."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from solvers.throwaway import ENTRY, Throwaway

import hinge
from hinge.files import model_files
from hinge.racing import all_contestants, find
from hinge.solvers import registry
from hinge.solvers.base import Solver

ROOT = Path(__file__).resolve().parents[2]
EVERY = pytest.mark.parametrize("name", registry.BY_NAME)


def loaded(path):
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- what is registered -----------------------------------------------------------------------------


def test_all_of_them_are_registered():
    for path in (ROOT / "hinge" / "solvers").rglob("*.py"):
        if path.stem == "fused_sums":  # needs Triton, and has no solver
            continue
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))

    def below(cls):
        return {cls}.union(*map(below, cls.__subclasses__()))

    bases = {
        "Solver",
        "OneRow",
        "SideBySide",
        "GramSplitting",
        "JointNewton",
        "KernelRowSolver",
        "DualRowSolver",
        "SampleLearner",
    }  # which are no algorithm by themselves
    ours = {cls.__name__ for cls in below(Solver) if cls.__module__.startswith("hinge.")} - bases
    assert ours == {entry.class_name for entry in registry.BY_NAME.values()}
    assert set(hinge.solvers.SOLVERS) == set(registry.classes())


@pytest.mark.slow
@EVERY
def test_a_line_is_true(name):
    entry = registry.BY_NAME[name]
    cls = entry.load()
    assert (cls.__name__, cls.__module__) == (entry.class_name, entry.module)
    assert name == entry.class_name.lower()
    assert cls().rejects(object()) is not None  # it has settings of its own, and a say in what it solves
    assert cls.paper.title
    assert registry.entry_of(cls()) == entry
    assert getattr(hinge.solvers, entry.class_name) is cls


def test_kinds():
    kinds = {entry.solves for entry in registry.BY_NAME.values()}
    assert sum(len(registry.entries(kind)) for kind in kinds) == len(registry.BY_NAME)
    assert registry.solves(hinge.solvers.SBP(batch_size=3)) == "kernel"
    assert registry.solves(object()) is None
    assert "interiorpoint" not in registry.names("linear")  # it needs clarabel
    assert registry.classes("kernel") == hinge.solvers.KERNEL_SOLVERS
    assert registry.classes("cells") == hinge.solvers.TABLE_SOLVERS
    assert registry.classes("max-min") == hinge.solvers.MAX_MIN_SOLVERS
    with pytest.raises(AttributeError, match="has no attribute 'Nobody'"):
        hinge.solvers.Nobody  # noqa: B018


def test_the_list_needs_no_compiler():
    code = "import sys, hinge.solvers; hinge.solvers.registry.names(); print('numba' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_the_documentation_has_the_list():
    lists = loaded(ROOT / "docs" / "lists.py")
    assert lists.TARGET.read_text(encoding="utf-8") == lists.text(), "run python docs/lists.py"


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.names("linear", "cells"))
def test_model_files_hold_every_solver_with_its_settings(name, tiny_csr, tmp_path):
    solver = registry.BY_NAME[name].load()()
    whole = [field.name for field in fields(solver) if type(getattr(solver, field.name)) is int]
    solver.set_params(**{setting: getattr(solver, setting) + 1 for setting in whole})
    model = hinge.LinearSVC(loss="hinge", lam=0.1, max_iter=3, tol=0.5, random_state=0).fit(*tiny_csr)
    model_files.save(model.set_params(solver=solver), tmp_path / "m.hinge")
    assert model_files.load(tmp_path / "m.hinge").solver == solver


# --- one file and one line --------------------------------------------------------------------------


@pytest.fixture
def throwaway(monkeypatch):
    """One solver more."""
    monkeypatch.setitem(registry.BY_NAME, "throwaway", ENTRY)


@pytest.mark.usefixtures("throwaway")
def test_a_new_solver_has_a_public_name():
    assert hinge.solvers.Throwaway is Throwaway
    assert Throwaway in hinge.solvers.SOLVERS
    assert registry.solves(Throwaway()) == "linear"


@pytest.mark.usefixtures("throwaway")
def test_a_new_solver_is_asked_for_by_name(tiny):
    model = hinge.LinearSVC(loss="hinge", lam=0.1, solver="throwaway", tol=0.5, random_state=0).fit(*tiny)
    assert model.solver_ == Throwaway()
    with pytest.raises(ValueError, match=r"solver must be one of .*'throwaway'"):
        hinge.LinearSVC(solver="throw").fit(*tiny)


def test_a_solver_that_is_not_registered_has_no_name(tiny):
    with pytest.raises(ValueError, match="solver must be one of"):
        hinge.LinearSVC(solver="throwaway").fit(*tiny)


@pytest.mark.usefixtures("throwaway")
def test_a_new_solver_is_in_model_files(tiny, tmp_path):
    solver = Throwaway(batch_size=3, patience=0.25)
    model = hinge.LinearSVC(loss="hinge", lam=0.1, solver=solver, tol=0.5, random_state=0).fit(*tiny)
    model_files.save(model, tmp_path / "m.hinge")
    assert model_files.load(tmp_path / "m.hinge").solver == solver
    del registry.BY_NAME["throwaway"]
    with pytest.raises(model_files.ModelFileError, match="names no solver"):
        model_files.load(tmp_path / "m.hinge")


@pytest.mark.slow
@pytest.mark.usefixtures("throwaway")
def test_a_new_solver_races():
    pytest.importorskip("typer", reason="the command line needs typer")
    from typer.testing import CliRunner

    from hinge.cli.app import application

    assert "throwaway" in all_contestants()
    assert find(["Throwaway"])[0].label == "hinge Throwaway"
    asked = "compare adult --solvers throwaway --rows 200 --repeats 1 --max-time 0.2 --format json"
    ran = CliRunner().invoke(application(), asked.split())
    assert ran.exit_code == 0, ran.output
    assert [one["solver"] for one in json.loads(ran.stdout)["solvers"]] == ["throwaway"]


@pytest.mark.usefixtures("throwaway")
def test_a_new_solver_is_in_the_documentations_list():
    line = '| `"throwaway"` | `Throwaway` | Pegasos under another name, with a setting more. |'
    assert line in loaded(ROOT / "docs" / "lists.py").text()


@pytest.mark.slow
def test_a_new_solver_stands_under_the_laws():
    laws = ["chunked_equals_unchunked", "same_seed", "layouts", "plain_value", "covers_the_optimum", "budget_is"]
    chosen = f"throwaway and ({' or '.join(laws)}) and not compressed_rows and not wherever"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "solvers.throwaway", "-k", chosen]
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [*command, str(ROOT / "tests" / "laws" / "test_laws.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    passed = int(ran.stdout.rpartition(" passed")[0].split()[-1])
    assert passed >= len(laws)


@pytest.mark.usefixtures("throwaway")
def test_a_new_solver_is_in_the_benchmark(monkeypatch):
    pytest.importorskip("benchopt", reason="benchopt is not installed: pip install benchopt")
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "svm")
    suite = loaded(ROOT / "benchmarks" / "svm" / "solvers" / "hinge_solvers.py")
    assert "throwaway" in suite.Solver.parameters["solver"]
    assert suite.Solver.get_instance(solver="throwaway").method == Throwaway()
