"""The command line: results on standard output, sentences on standard error, and exit codes."""

import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from command_line import run, said, sentence, table

import hinge
from hinge import LinearSVC
from hinge.cli import app as cli
from hinge.cli import rows as cli_rows
from hinge.files import model_files
from hinge.monitoring.progress import ProgressBar, nearness

COMMAND = [sys.executable, "-m", "hinge"]


# --- the whole -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_version_from_a_shell():
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"hinge {hinge.__version__}\n", "")


@pytest.mark.slow
def test_help_names_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    for name in ("train", "predict", "datasets"):
        assert name in result.stdout
    assert "debug" not in result.stdout


@pytest.mark.slow
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


@pytest.mark.slow
def test_unknown_options_are_typers_business():
    assert run("train", "adult", "--nonsense").exit_code == 2


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_broken_models(files, tmp_path):
    cut = tmp_path / "cut.hinge"
    cut.write_bytes(files.model.read_bytes()[:500])
    assert f"{cut} is cut short or damaged" in sentence(run("predict", cut, files.svm))
    assert "is not a model file" in sentence(run("predict", files.svm, files.svm))
    assert "There is no model file" in sentence(run("predict", tmp_path / "none", files.svm))
    assert "is a folder" in sentence(run("predict", tmp_path, files.svm))


@pytest.mark.slow
def test_debug_shows_the_error_itself(files):
    result = run("--debug", "train", files.svm, "--tol", -1)
    assert isinstance(result.exception, ValueError)


def test_a_disk_error_is_a_sentence(files, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert sentence(run("train", files.svm, "-o", tmp_path / "m.hinge")) == "error: No space left on device.\n"
    assert list(tmp_path.iterdir()) == []


# --- signals and pipes -----------------------------------------------------------------------------


def test_interrupted_before_there_is_a_model(monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_rows, "training_data", interrupted)
    assert "interrupted" in sentence(run("train", "adult"), code=130)


@pytest.mark.slow
def test_ctrl_c_keeps_the_model(large, tmp_path):
    model = tmp_path / "m.hinge"
    pty = pytest.importorskip("pty", reason="terminals of one's own need POSIX")
    ours, theirs = pty.openpty()  # a terminal for the progress bar, which tells when training is under way
    command = [*COMMAND, "train", large, "--solver", "sdca", "--tol", "0", "-o", model]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True) as process:
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


def test_a_fault_of_ours_is_one_line_too(tmp_path, monkeypatch):
    def broken(path):
        raise IndexError("list index out of range")

    monkeypatch.setattr(model_files, "load", broken)
    err = sentence(run("predict", tmp_path, tmp_path))
    assert "IndexError: list index out of range" in err
    assert "--debug" in err
    assert isinstance(run("--debug", "predict", tmp_path, tmp_path).exception, IndexError)


# --- the start, completion, codes ------------------------------------------------------------------


@pytest.mark.slow
def test_help_needs_no_numbers():
    code = "import sys; from hinge.cli.app import application; application(); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.slow
def test_completion_and_exit_codes_are_in_the_help():
    said = " ".join(run("--help").stdout.split())
    assert "--install-completion" in said and "130 interrupted" in said
    assert "130 interrupted" in " ".join(run("train", "--help").stdout.split())


def test_everything_has_json():
    commands = {command.name or command.callback.__name__: command for command in cli.application().registered_commands}
    plain = [name for name in commands if not name.startswith(("svm-", "linear-"))]
    plain.remove("warm")  # it has no result
    assert len(plain) == 9
    for name in plain:
        assert "as_json" in commands[name].callback.__annotations__, name


@pytest.mark.parametrize("command", [[], ["train"], ["compare"], ["predict"]], ids=str)
def test_help_fits_a_narrow_terminal_and_cuts_no_word(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = said(run(*command, "--help"))
    assert max(map(len, out.splitlines())) <= 80
    assert "\u2026" not in out and not re.search(r"\w\.\.\.", out) and "<bool>" not in out
    if command == ["train"]:
        assert "--decision-function-shape <ovo|ovr>" in out and "\nModel:\n" in out and "--drop <names>" in out
