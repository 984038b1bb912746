import logging
import subprocess
import sys

import pytest
from command_line import run, said, sentence

from hinge.cli import show

COMMAND = [sys.executable, "-m", "hinge"]


# --- errors ----------------------------------------------------------------------------------------


def test_brackets_are_not_markup(tmp_path):
    assert "[red]x[/red]" in sentence(run("train", "[red]x[/red]"))


def test_a_terminal_does_not_obey_names_in_files(tmp_path):
    """Neither in tables nor in errors; `said` finds escape sequences."""
    path = tmp_path / "x.csv"
    path.write_text("\x1b[31mred,b\x07,\x9b2Jy\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(30)))
    out, _ = said(run("train", path, "-o", tmp_path / "m"))
    assert r"column \x9b2Jy" in out
    assert r"\x1b[31mred" in said(run("inspect", tmp_path / "m"))[0]
    for control in ("\x07", "\x9b"):
        assert control not in out + said(run("inspect", tmp_path / "m"))[0]
    assert r"\x1b[31mred" in sentence(run("train", path, "--label", "none"))


# --- signals and pipes -----------------------------------------------------------------------------


@pytest.mark.slow
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


def test_a_quiet_command_hides_what_the_library_logs(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    logger = logging.getLogger("hinge")
    with show.silence():
        assert logger.isEnabledFor(logging.WARNING)
    with show.silence(quiet=True):
        assert not logger.isEnabledFor(logging.WARNING)
    assert logger.isEnabledFor(logging.WARNING)
    monkeypatch.delenv("FORCE_COLOR")
    with show.silence():  # no terminal
        assert not logger.isEnabledFor(logging.WARNING)
