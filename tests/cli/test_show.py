import subprocess
import sys

import pytest
from command_line import run, said, sentence

COMMAND = [sys.executable, "-m", "hinge"]


# --- errors ----------------------------------------------------------------------------------------


def test_brackets_are_not_markup(tmp_path):
    assert "[red]x[/red]" in sentence(run("train", "[red]x[/red]"))


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
