import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("plotly", reason="the report needs plotly")
pytest.importorskip("matplotlib", reason="the report needs matplotlib")

from rich.progress import Progress
from typer.testing import CliRunner

from hinge.cli.app import application
from hinge.cli.reproduce import TimeLeft
from hinge.experiments import NAMES


def hinge(*arguments):
    return CliRunner().invoke(application(), list(arguments))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """How a first run of an experiment went, and the folder of its report: it is measured once."""
    out = tmp_path_factory.mktemp("reproduced") / "deep" / "report"
    return hinge("reproduce", "pegasos-figure3", "--out", str(out)), out


@pytest.fixture
def measured(first, tmp_path):
    """A folder in which all cells of that experiment are kept."""
    shutil.copytree(first[1], tmp_path / "report")
    return tmp_path / "report"


@pytest.mark.slow
def test_without_a_name_it_lists_the_experiments():
    ran = hinge("reproduce")
    assert ran.exit_code == 0
    assert all(name in ran.stdout for name in NAMES)


def test_the_time_left_is_that_of_cells_like_those_that_were_measured():
    """Cells that an earlier run has kept take no time, and do not count as fast ones."""
    now = [0.0]
    bars = Progress(TimeLeft(), get_time=lambda: now[0])
    task = bars.add_task("cells", total=100, measured=0)
    bars.update(task, advance=60)
    assert str(TimeLeft().render(bars.tasks[task])) == "-:--:-- left"
    now[0] = 90.0
    bars.update(task, advance=2, measured=2)
    assert str(TimeLeft().render(bars.tasks[task])) == "0:28:30 left"
    bars.update(task, advance=38, measured=40)
    assert str(TimeLeft().render(bars.tasks[task])) == ""


def test_an_unknown_name_gets_the_nearest():
    ran = hinge("reproduce", "simba-figure")
    assert ran.exit_code == 1
    assert "did you mean 'simba-figure1'?" in ran.stderr
    assert all(name in ran.stderr for name in NAMES)


@pytest.mark.slow
def test_it_writes_a_report_and_keeps_what_it_measured(first):
    ran, out = first
    assert ran.exit_code == 0, ran.output
    assert "at a fixed number of rows read" in " ".join(ran.stdout.split())
    assert str(out / "report.html") in ran.stderr
    page = (out / "report.html").read_text()
    assert "pegasos-figure3" in page
    kept = sorted((out / "cells" / "pegasos-figure3").glob("*.json"))
    before = [path.stat().st_mtime_ns for path in kept]
    assert len(before) == 24
    again = hinge("reproduce", "pegasos-figure3", "--out", str(out), "--jobs", "2")
    assert again.exit_code == 0
    assert [path.stat().st_mtime_ns for path in kept] == before


@pytest.mark.slow
def test_the_report_keeps_what_earlier_runs_measured(measured):
    ran = hinge("reproduce", "talk-runtimes", "--out", str(measured))
    assert ran.exit_code == 0, ran.output
    assert "also has pegasos-figure3" in ran.stderr
    assert "pegasos-figure3" not in ran.stdout
    assert "no verdicts" in ran.stderr
    page = (measured / "report.html").read_text()
    assert page.index('id="x-pegasos-figure3"') < page.index('id="x-talk-runtimes"')


@pytest.mark.slow
def test_a_narrow_terminal_cuts_no_name_and_no_verdict(measured, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    listed = hinge("reproduce").stdout
    assert all(any(line.startswith(name) for line in listed.splitlines()) for name in NAMES)
    shown = hinge("reproduce", "pegasos-figure3", "--out", str(measured)).stdout
    assert "…" not in shown
    assert "reproduced" in shown
    assert "improves with k" in " ".join(shown.split())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["reproduce pegasos-figure3", "compare adult", "path adult"])
def test_a_file_in_the_place_of_the_folder_is_seen_before_the_work(tmp_path, command):
    (tmp_path / "afile").touch()
    began = time.monotonic()
    ran = hinge(*command.split(), "--out", str(tmp_path / "afile"))
    assert ran.exit_code == 1
    assert "is a file" in ran.stderr
    assert time.monotonic() - began < 5


@pytest.mark.slow
def test_a_failed_cell_is_said_and_the_report_is_written_all_the_same(measured, monkeypatch):
    from hinge.experiments.pegasos.figure3 import PegasosFigure3

    one, other = sorted((measured / "cells" / "pegasos-figure3").glob("*.json"))[:2]
    cells = [json.loads(path.read_text())["cell"] for path in (one, other)]
    one.unlink()
    other.unlink()
    run = PegasosFigure3.run

    def sometimes(self, cell):
        if cell == cells[0]:
            raise ArithmeticError("a cell is broken")
        return run(self, cell)

    monkeypatch.setattr(PegasosFigure3, "run", sometimes)
    ran = hinge("reproduce", "pegasos-figure3", "--out", str(measured))
    assert ran.exit_code == 1
    assert "a cell is broken" in ran.stderr
    assert "a cell is broken" in (measured / "report.html").read_text()
    assert other.exists() and not one.exists()


def test_what_the_report_needs_is_asked_for_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    ran = hinge("reproduce", "pegasos-figure3", "--out", str(tmp_path / "never"))
    assert ran.exit_code == 1
    assert 'plotly: pip install "hinge[report]"' in ran.stderr
    assert not (tmp_path / "never").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_ctrl_c_keeps_finished_cells(tmp_path):
    command = [sys.executable, "-m", "hinge", "reproduce", "pegasos-figure3", "--out", str(tmp_path)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    folder = tmp_path / "cells" / "pegasos-figure3"
    give_up = time.monotonic() + 120
    while not list(folder.glob("*.json")):
        assert running.poll() is None, running.stderr.read()
        assert time.monotonic() < give_up
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    kept = list(folder.glob("*.json"))
    if running.returncode == 0:
        pytest.skip("it was finished before the signal came")
    assert running.returncode == 130
    assert "the same command goes on" in " ".join(said.split())
    assert 0 < len(kept) < 24
    assert all(json.loads(path.read_text())["values"] for path in kept)
