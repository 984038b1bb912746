"""How the tests call the command line, and what they expect of it."""

import re


def run(*args):
    """What a command says, in this process."""
    from typer.testing import CliRunner

    from hinge.cli import app as cli

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
    """Write rows and labels in svmlight's form."""
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        pairs = (f" {j + 1}:{value!r}" for j, value in enumerate(row) if value)
        lines.append(f"{label}{''.join(pairs)}\n")
    path.write_text("".join(lines))
    return path


def table(out):
    """The result table by name."""
    return dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.splitlines())
