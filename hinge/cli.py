"""The command line: ``hinge train``, ``hinge predict``, ``hinge datasets`` and ``hinge pair``."""

from __future__ import annotations

import functools
import io
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

import hinge
from hinge.cli_show import INTERRUPTED, PIPED_WIDTH, console, say, show_table

try:
    import typer
    from rich.console import Console
except ImportError:  # `main` says how to get them; the annotations below are not evaluated before that
    typer = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from hinge.datasets import Dataset

DEFAULT_LAM = 1e-4

Format = Enum("Format", {"table": "table", "json": "json"})
ClassWeight = Enum("ClassWeight", {"balanced": "balanced"})


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
        raise SystemExit(INTERRUPTED) from None


def application() -> typer.Typer:
    """The commands, ready to be called."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(_common)
    from hinge.cli_compare import compare
    from hinge.cli_pair import pair
    from hinge.cli_path import path
    from hinge.cli_reproduce import reproduce

    for command in (train, predict, datasets, pair, compare, path, reproduce):
        app.command()(_in_sentences(command))
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hinge {hinge.__version__}")
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
    """The command, which meets errors that its user can mend with one line instead of a traceback."""

    @functools.wraps(command)
    def run(ctx: typer.Context, **options: Any) -> None:
        try:
            command(ctx, **options)
            sys.stdout.flush()  # a reader who has gone is to be noticed here
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


def train(
    ctx: typer.Context,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A name that 'hinge datasets' lists, or a file.")
    ],
    test: Annotated[str | None, typer.Option(help="Data to measure the test error on.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the model.")] = None,
    C: Annotated[float | None, typer.Option("--C", help="Weight of the losses.")] = None,
    lam: Annotated[float | None, typer.Option(help="Weight of the norm, 0.0001 by default.")] = None,
    slack: Annotated[float | None, typer.Option(help="Mean slack allowed at unit norm.")] = None,
    solver: Annotated[str, typer.Option(help="auto, newton, sdca, pegasos, ...")] = "auto",
    tol: Annotated[float, typer.Option(help="Stop at this certified relative gap.")] = 1e-3,
    max_time: Annotated[float | None, typer.Option(help="Limit in seconds.")] = None,
    max_reads: Annotated[int | None, typer.Option(help="Limit in cells of the data read.")] = None,
    target_error: Annotated[float | None, typer.Option(help="Stop at this error on held-out rows.")] = None,
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Learn no bias.")] = False,
    class_weight: Annotated[ClassWeight | None, typer.Option(help="Give classes equal weight.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 0,
    positive: Annotated[str | None, typer.Option(help="The class to tell from all others.")] = None,
    label: Annotated[str | None, typer.Option(help="Label column of a csv file: name or position.")] = None,
    zero_based: Annotated[
        bool, typer.Option("--zero-based", help="Features of svmlight files count from 0.")
    ] = False,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download a set that is not here.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="Form of the result.")] = Format.table,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Train a model and show how good it is. Ctrl-C ends the training and keeps the best model so far."""
    from hinge import model_files
    from hinge.cli_data import training_data

    given = {"C": C, "lam": lam, "slack": slack}
    trade_off: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if len(trade_off) > 1:
        raise typer.BadParameter("give one of --C, --lam and --slack.")
    if output is not None:
        _check_output(output)
    dataset = training_data(data, test, label, positive, fetch=fetch, zero_based=zero_based)
    model = hinge.LinearSVC(
        **(trade_off or {"lam": DEFAULT_LAM}), solver=solver.lower(), tol=tol, max_time=max_time,
        max_reads=max_reads, target_error=target_error, fit_intercept=not no_intercept,
        class_weight=class_weight and class_weight.value, random_state=seed, on_interrupt="keep",
    )  # fmt: skip
    if not quiet and Console(stderr=True).is_terminal:
        from hinge.monitoring.progress import ProgressBar

        model.set_callbacks(ProgressBar())
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the result says in words how the training ended
        model.fit(dataset.X_train, dataset.y_train)
    seconds = time.perf_counter() - began
    if output is not None:
        model_files.save(model, output)
    if not quiet:
        result = _result(model, dataset, seconds, output)
        if format_ is Format.json:
            typer.echo(json.dumps(result, indent=1, allow_nan=False))
        else:
            _show_result(result, by_default=not trade_off)
    if model.stop_reason_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def predict(
    ctx: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that 'hinge train -o' wrote.")],
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A name that 'hinge datasets' lists, or a file.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the labels.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the scores, after tabs.")] = False,
    positive: Annotated[str | None, typer.Option(help="The class told from all others.")] = None,
    label: Annotated[str | None, typer.Option(help="Label column of a csv file: name or position.")] = None,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="A csv file of features only.")] = False,
) -> None:
    """Write one predicted label a line, and the error rate, if there are labels, to standard error.

    Of a set with a test part, that part is taken.
    """
    from hinge import model_files
    from hinge.cli_data import rows, unlabelled_rows
    from hinge.kernels import Precomputed
    from hinge.replacing import replacing

    fitted = model_files.load(model)
    inputs = [Path(name) for name in (model, data) if Path(name).is_file()]
    if output is not None and output.exists() and any(output.samefile(name) for name in inputs):
        raise ValueError(f"{output} is an input, so it is not overwritten.")
    if no_labels:
        X, y = unlabelled_rows(data, fitted.n_features_in_), None
    else:
        X, y = rows(data, label, positive, fitted.n_features_in_)
    if isinstance(getattr(fitted, "kernel_", None), Precomputed) and hasattr(X, "toarray"):
        X = X.toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # files have no column names, and a model may
        predicted = fitted.predict(X)
        columns = [predicted.tolist()]
        if scores:
            columns += np.atleast_2d(fitted.decision_function(X).T).tolist()
    lines = ("\t".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
    if output is None:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    else:
        with replacing(output) as stream:
            stream.writelines(line.encode() for line in lines)
    counts = zip(*np.unique(predicted, return_counts=True), strict=True)
    say(f"{len(predicted):,} rows: {', '.join(f'{count:,} of {name}' for name, count in counts)}.")
    error = None if y is None else _error(fitted.classes_, predicted, y)
    if error is not None:
        say(f"Error rate: {_percent(error)}.")
    elif y is not None:
        say("Error rate: not measured, since no label of the data is a class of the model.")


def datasets(ctx: typer.Context) -> None:
    """List the data sets that have a name."""
    from hinge.datasets import catalog

    lines = [["name", "rows", "features", "task", "paper", "where, or how to get it"]]
    for e in catalog():
        features = f"{e.features:,}" if e.features else ""
        lines.append([e.name, e.rows, features, e.task, e.paper.partition(" (")[0], e.found or e.how])
    if console().width < PIPED_WIDTH:  # no terminal is wide enough for six columns
        lines = [[*line[:3], "\n".join(line[3:])] for line in lines]
    show_table(lines)


# --- parts of train --------------------------------------------------------------------------------


def _check_output(output: Path) -> None:
    """Complain before the training, not after it, of a model file that cannot or must not be written."""
    from hinge import model_files

    if output.is_dir():
        raise ValueError(f"{output} is a folder: give the name of a file for the model.")
    if not output.parent.is_dir():
        raise ValueError(f"There is no folder {output.parent} for the model: make it first.")
    written = output if output.exists() and not output.is_file() else output.parent
    if not os.access(written, os.W_OK):
        raise ValueError(f"{written} may not be written to: choose another place for the model.")
    if output.is_file():
        try:
            model_files.load(output)
        except model_files.ModelFileError as error:
            raise ValueError(f"{output} exists and is not a model, so it is not overwritten.") from error


def _result(model: hinge.LinearSVC, dataset: Dataset, seconds: float, output: Path | None) -> dict[str, Any]:
    """What there is to say of a training, in JSON's terms."""
    X, X_test, y_test = dataset.X_train, dataset.X_test, dataset.y_test
    objectives = [float(value) if np.isfinite(value) else None for value in np.atleast_1d(model.objective_)]
    parameters = {name: value for name, value in model.get_params().items() if value is not None}
    if {"lam", "slack"} & set(parameters):
        del parameters["C"]
    solver = type(model.solver_).__name__.lower()
    reason = "chosen for its shape" if model.solver == "auto" else "as asked"
    return {
        "data": dataset.name,
        "rows": X.shape[0],
        "features": X.shape[1],
        "cells": int(X.size),
        "train_error": _error(model.classes_, model.predict(X), dataset.y_train),
        "test_error": None if X_test is None else _error(model.classes_, model.predict(X_test), y_test),
        "gap": model.gap_ if math.isfinite(model.gap_) else None,
        "objective": objectives if len(objectives) > 1 else objectives[0],
        "reads": model.n_feature_reads_,
        "seconds": seconds,
        "stop_reason": model.stop_reason_,
        "solver": solver,
        "solver_reason": reason,
        "support_vectors": len(model.support_) if hasattr(model, "support_") else None,
        "model_file": None if output is None else str(output),
        "parameters": parameters,
    }


def _show_result(result: dict[str, Any], by_default: bool) -> None:
    from hinge.monitoring import Status

    parameters, support, cells = result["parameters"], result["support_vectors"], result["cells"]
    status = Status[result["stop_reason"].upper()]
    verdict = result["stop_reason"] if status.is_success else "NOT converged"
    gap = "none" if result["gap"] is None else f"{result['gap']:.2e}"
    kind = next(name for name in ("slack", "lam", "C") if name in parameters)
    objectives = result["objective"] if isinstance(result["objective"], list) else [result["objective"]]
    show_table([
        ("data", result["data"]),
        ("rows x features", f"{result['rows']:,} x {result['features']:,}, {cells:,} cells stored"),
        ("trade-off", f"{kind} = {parameters[kind]:g}{' (the default)' if by_default else ''}"),
        ("train error", _percent(result["train_error"])),
        ("test error", _percent(result["test_error"])),
        ("certified gap", f"{gap} (asked for: {parameters['tol']:g})"),
        ("margin" if kind == "slack" else "objective",
         ", ".join("none" if value is None else f"{value:.6g}" for value in objectives)),
        ("reads", f"{result['reads']:,} ({result['reads'] / max(1, cells):,.2f} for each stored cell)"),
        ("seconds", f"{result['seconds']:.2f}"),
        ("stop reason", f"{verdict}: {status.value}"),
        ("solver", f"{result['solver']} ({result['solver_reason']})"),
        ("support vectors", "not known to this solver" if support is None else f"{support:,}"),
        ("model file", result["model_file"] or "none, -o FILE writes one"),
    ])  # fmt: skip


# --- showing --------------------------------------------------------------------------------------


def _error(classes: np.ndarray, predicted: np.ndarray, y: Any) -> float | None:
    """The share of wrong labels; None where the labels are not of the model's classes at all."""
    if set(np.unique(y).tolist()).isdisjoint(classes.tolist()):
        return None
    return float(np.mean(predicted != y))


def _percent(share: float | None) -> str:
    return "not measured" if share is None else f"{100 * share:.2f} %"


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if not isinstance(error, ValueError | TypeError | OSError | ImportError):
        return f"{type(error).__name__}: {error}. This is a fault of hinge; hinge --debug shows where."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return " ".join(str(error).split())
