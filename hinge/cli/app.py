"""The command line: its commands, and how errors are told."""

from __future__ import annotations

import contextlib
import functools
import io
import multiprocessing
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

from hinge.cli.options import CODES
from hinge.cli.show import INTERRUPTED, say
from hinge.version import __version__

try:
    import typer
except ImportError:  # `main` says how to get it; the annotations below are not evaluated before that
    typer = None  # type: ignore[assignment]


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters is no reason to fail
    if typer is None:
        sys.stderr.write('The command line needs typer and rich: pip install "hinge[cli]"\n')
        raise SystemExit(1)
    try:
        application()(prog_name="hinge")
    except KeyboardInterrupt:  # before any command began
        _leave()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _leave()
        raise


def _leave() -> NoReturn:
    """Exit at once after Ctrl-C, without waiting for compiling threads or for memory to be freed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the reading end of a pipe may be closed
            stream.flush()
    if multiprocessing.active_children():  # Python's own exit ends these
        raise SystemExit(INTERRUPTED)
    os._exit(INTERRUPTED)


def application() -> typer.Typer:
    """The commands, ready to be called."""
    app = typer.Typer(add_completion=True, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback(epilog=CODES)(_common)
    from hinge.cli.compare import compare
    from hinge.cli.datasets import datasets
    from hinge.cli.evaluate import evaluate
    from hinge.cli.inspect import inspect
    from hinge.cli.liblinear import linear_predict, linear_train
    from hinge.cli.libsvm import svm_predict, svm_train
    from hinge.cli.pair import pair
    from hinge.cli.path import path
    from hinge.cli.predict import predict
    from hinge.cli.reproduce import reproduce
    from hinge.cli.train import train

    for command in (train, predict, evaluate, inspect, datasets, pair, compare, path, reproduce):
        app.command(epilog=CODES)(_in_sentences(command))
    raw = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": True}
    for old in (svm_train, svm_predict, linear_train, linear_predict):
        app.command(old.__name__.replace("_", "-"), context_settings=raw, epilog=CODES)(_in_sentences(old))
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hinge {__version__}")
        raise typer.Exit


def _common(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", hidden=True)] = False,
) -> None:
    """Support vector machines that say how good they are, and what they read."""
    ctx.obj = debug


def _in_sentences(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with errors printed as one line instead of a traceback."""

    @functools.wraps(command)
    def run(ctx: typer.Context, **options: Any) -> None:
        try:
            command(ctx, **options)
            sys.stdout.flush()  # raises here, not at exit, if the reading end of a pipe is closed
        except KeyboardInterrupt:
            say("error: It was interrupted before it was finished.", style="red")
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.BadParameter, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.obj:
                raise
            say(f"error: {_sentence(error)}", style="red")
            raise typer.Exit(1) from None

    return run


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if not isinstance(error, ValueError | TypeError | OSError | ImportError):
        return f"{type(error).__name__}: {error}. This is a fault of hinge; hinge --debug shows where."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split())
