"""``hinge train``: a linear model, and how good it is."""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from hinge.cli.options import DEFAULT_LAM, Format
from hinge.cli.show import INTERRUPTED, percent, show_table

try:
    import typer
    from rich.console import Console
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from hinge.datasets import Dataset
    from hinge.estimators import LinearSVC

Penalty = Enum("Penalty", {"l2": "l2", "l1": "l1"})
Loss = Enum("Loss", {"hinge": "hinge", "squared_hinge": "squared_hinge"})
MultiClass = Enum("MultiClass", {"ovr": "ovr", "crammer_singer": "crammer_singer"})
ClassWeight = Enum("ClassWeight", {"balanced": "balanced"})


def train(
    ctx: typer.Context,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A name that 'hinge datasets' lists, or a file.")],
    test: Annotated[str | None, typer.Option(help="Data to measure the test error on.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the model.")] = None,
    C: Annotated[float | None, typer.Option("--C", help="Weight of the losses.")] = None,
    lam: Annotated[float | None, typer.Option(help="Weight of the norm, 0.0001 by default.")] = None,
    slack: Annotated[float | None, typer.Option(help="Mean slack allowed at unit norm.")] = None,
    tune: Annotated[bool, typer.Option("--tune", help="Choose C by five folds, and foretell the error.")] = False,
    penalty: Annotated[Penalty, typer.Option(help="Pay for the squared norm, or for the 1-norm.")] = Penalty.l2,
    loss: Annotated[
        Loss | None, typer.Option(help="The papers' hinge, or scikit-learn's square of it, which l1 has.")
    ] = None,
    multi_class: Annotated[
        MultiClass, typer.Option(help="Each class against the rest, or all at once.")
    ] = MultiClass.ovr,
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
    zero_based: Annotated[bool, typer.Option("--zero-based", help="Features of svmlight files count from 0.")] = False,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download a set that is not here.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="Form of the result.")] = Format.table,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Train a model and show how good it is. Ctrl-C ends the training and keeps the best model so far."""
    from hinge.cli.data import training_data
    from hinge.estimators import LinearSVC
    from hinge.files import model_files

    given = {"C": C, "lam": lam, "slack": slack}
    trade_off: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if len(trade_off) > 1:
        raise typer.BadParameter("give one of --C, --lam and --slack.")
    if tune and trade_off:
        raise typer.BadParameter("--tune chooses C: leave out --C, --lam and --slack.")
    if output is not None:
        _check_output(output)
    dataset = training_data(data, test, label, positive, fetch=fetch, zero_based=zero_based)
    model = LinearSVC(
        penalty=penalty.value,
        loss=loss.value if loss is not None else "squared_hinge" if penalty is Penalty.l1 else "hinge",
        multi_class=multi_class.value,
        intercept="free" if multi_class is MultiClass.ovr else "penalized",
        **(trade_off or ({} if tune else {"lam": DEFAULT_LAM})),
        solver=solver.lower(),
        tol=tol,
        max_time=max_time,
        max_reads=max_reads,
        target_error=target_error,
        fit_intercept=not no_intercept,
        class_weight=class_weight and class_weight.value,
        random_state=seed,
        on_interrupt="keep",
    )
    if not tune and not quiet and Console(stderr=True).is_terminal:
        from hinge.monitoring.progress import ProgressBar

        model.set_callbacks(ProgressBar())
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the result says in words how the training ended
        if tune:
            from hinge.selection import tune as choose

            found = choose(model, dataset.X_train, dataset.y_train, max_time=max_time, verbose=int(not quiet))
            model = found.model
        else:
            model.fit(dataset.X_train, dataset.y_train)
    seconds = time.perf_counter() - began
    if output is not None:
        model_files.save(model, output)
    if not quiet:
        result = _result(model, dataset, seconds, output)
        if tune:
            known = math.isfinite(found.error)
            result["expected_error"] = found.error if known else None
            result["expected_error_std"] = found.error_std if known else None
            result["scores"] = [
                {"C": float(C), "mean_score": float(mean) if math.isfinite(mean) else None}
                for C, mean in zip(found.Cs, found.scores.mean(axis=(1, 2)), strict=True)
            ]
        if format_ is Format.json:
            typer.echo(json.dumps(result, indent=1, allow_nan=False))
        else:
            _show_result(result, by_default=not trade_off)
    if model.stop_reason_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _check_output(output: Path) -> None:
    """Complain before the training, not after it, of a model file that cannot or must not be written."""
    from hinge.files import model_files

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


def _result(model: LinearSVC, dataset: Dataset, seconds: float, output: Path | None) -> dict[str, Any]:
    """What there is to say of a training, in JSON's terms."""
    from hinge.cli.data import error_rate

    X, X_test, y_test = dataset.X_train, dataset.X_test, dataset.y_test
    objectives = [float(value) if np.isfinite(value) else None for value in np.atleast_1d(model.objective_)]
    parameters = {name: value for name, value in model.get_params().items() if value is not None}
    if {"lam", "slack"} & set(parameters):
        del parameters["C"]
    solver = type(model.solver_).__name__.lower()
    reason = "chosen for its shape and progress" if model.solver == "auto" else "as asked"
    test_error = None
    if X_test is not None and y_test is not None:
        test_error = error_rate(model.classes_, model.predict(X_test), y_test)
    return {
        "data": dataset.name,
        "rows": X.shape[0],
        "features": X.shape[1],
        "cells": int(X.size),
        "train_error": error_rate(model.classes_, model.predict(X), dataset.y_train),
        "test_error": test_error,
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
    choice = " (chosen by five folds)" if "scores" in result else " (the default)"
    kind = next(name for name in ("slack", "lam", "C") if name in parameters)
    objectives = result["objective"] if isinstance(result["objective"], list) else [result["objective"]]
    expected = []
    if "expected_error" in result:
        foretold = result["expected_error"]
        expected = [("expected error", "not known" if foretold is None else _foretold(result))]
    show_table(
        [
            ("data", result["data"]),
            ("rows x features", f"{result['rows']:,} x {result['features']:,}, {cells:,} cells stored"),
            ("trade-off", f"{kind} = {parameters[kind]:g}{choice if by_default else ''}"),
            *expected,
            ("train error", percent(result["train_error"])),
            ("test error", percent(result["test_error"])),
            ("certified gap", f"{gap} (asked for: {parameters['tol']:g})"),
            (
                "margin" if kind == "slack" else "objective",
                ", ".join("none" if value is None else f"{value:.6g}" for value in objectives),
            ),
            ("reads", f"{result['reads']:,} ({result['reads'] / max(1, cells):,.2f} for each stored cell)"),
            ("seconds", f"{result['seconds']:.2f}"),
            ("stop reason", f"{verdict}: {status.value}"),
            ("solver", f"{result['solver']} ({result['solver_reason']})"),
            ("support vectors", "not known to this solver" if support is None else f"{support:,}"),
            ("model file", result["model_file"] or "none, -o FILE writes one"),
        ]
    )


def _foretold(result: dict[str, Any]) -> str:
    return f"{percent(result['expected_error'])} ± {percent(result['expected_error_std'])}, by leave-one-out"
