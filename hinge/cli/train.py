"""``hinge train``: a machine of any kind, and how good it is."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console

from hinge.cli import machines
from hinge.cli.machines import ModelName
from hinge.cli.options import Data, Fill, Format, Json, OldFormat, Positive, ReadOptions, Test, of_data, of_model
from hinge.cli.show import INTERRUPTED, number, percent, say, show_json, show_table
from hinge.report.outcome import finite

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from hinge.access import Table
    from hinge.cli.rows import TrainingData
    from hinge.types import MatrixLike


FACTS = (
    *("data", "rows", "features", "label", "positive", "train_error", "test_error", "cv_scores"),
    *("expected_error", "expected_error_std"),
)
"""What of a result is kept with the model."""
CHOSEN = "chosen for its shape and progress"


def train(
    ctx: typer.Context,
    data: Data,
    *,
    test: Test = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", "--out", help="File for the model.")] = None,
    model: Annotated[ModelName, of_model(help="The estimator.")] = ModelName["linearsvc"],
    probability: Annotated[bool, of_model("--probability", help="Learn probabilities of the classes.")] = False,
    tune: Annotated[bool, of_model("--tune", help="Choose C (and gamma) by folds, and estimate the error.")] = False,
    cv: Annotated[int | None, of_model(min=2, help="Also show the scores of this many folds.")] = None,
    class_weight: Annotated[str | None, of_model(help="balanced, or JSON: '{\"spam\": 5}'.")] = None,
    impute: Fill = None,
    scale: Annotated[bool, of_data("--scale", help="Bring numbers to mean 0 and spread 1 first.")] = False,
    positive: Positive = None,
    how: Annotated[ReadOptions, "label", "labels", "weight", "drop", "categorical", "zero_based", "header", "fetch"],
    as_json: Json = False,
    format_: OldFormat = Format.table,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
    **settings: object,
) -> None:
    """Train a model and show how good it is. Ctrl-C ends the training and keeps the best model so far.

    Columns of words become one column of 0 and 1 for each word; that, and what missing values are filled
    with, is part of the model.
    """
    given = machines.given_settings(settings)
    trade_off = {"C", "lam", "slack"} & given.keys()
    if len(trade_off) > 1:
        raise typer.BadParameter("give one of --C, --lam and --slack.")
    if tune and trade_off:
        raise typer.BadParameter("--tune chooses C: leave out --C, --lam and --slack.")
    if {"fit_intercept", "intercept"} <= given.keys():
        raise typer.BadParameter("give one of --no-intercept and --free-intercept.")
    if probability and model.value in ("svc", "nusvc"):
        given["probability"] = True
    elif probability and model.value != "linearsvc":
        raise typer.BadParameter("--probability is for classifiers: linearsvc, svc and nusvc.")
    machines.machine(model.value, given)  # complains of settings before data is read
    if output is not None:
        _check_output(output)
    on_disk = bool({"max_memory", "checkpoint"} & given.keys())
    in_memory = (tune, cv, impute, scale, how.drop, how.categorical, how.weight, probability, test)
    if on_disk and (any(in_memory) or how.header is not None):
        raise typer.BadParameter(
            "rows that stay on disk (--max-memory, --checkpoint) are trained on as they are: without --test, --tune, "
            "--cv, --impute, --scale, --drop, --categorical, --sample-weight-column, --header and --probability."
        )
    job = _Job(model.value, given, class_weight, impute and impute.value, scale, probability, tune, cv, quiet)
    with warnings.catch_warnings(action="ignore"):  # the result says in words how the training ended
        fitted, result = _train_on_disk(job, data, how) if on_disk else _train(job, data, test, how, positive)
    result["model_file"] = None if output is None else str(output)
    if output is not None:
        from hinge.files import model_files

        model_files.save(fitted, output)
    if not quiet:
        if as_json or format_ is Format.json:
            show_json(result)
        else:
            _show_result(result, by_default=not trade_off)
    if result["stop_reason"] == "interrupted":
        raise typer.Exit(INTERRUPTED)


class _Job(NamedTuple):
    """What is to be trained, and how."""

    name: str
    given: dict[str, Any]
    class_weight: str | None
    impute: str | None
    scale: bool
    probability: bool
    tune: bool
    cv: int | None
    quiet: bool

    def machine(self, y: np.ndarray | None) -> Any:
        """The estimator, not fitted."""
        weights = machines.class_weight_of(self.class_weight, y)
        given = self.given if weights is None else {**self.given, "class_weight": weights}
        model = machines.machine(self.name, machines.implied_loss(given) if self.name == "linearsvc" else given)
        watched = not self.tune and not self.quiet and Console(stderr=True).is_terminal
        if watched and hasattr(model, "set_callbacks"):
            from hinge.monitoring.progress import ProgressBar

            model.set_callbacks(ProgressBar())
        return model


def _train(
    job: _Job, data: str, test: str | None, how: ReadOptions, positive: str | None
) -> tuple[Any, dict[str, Any]]:
    """Rows in memory, or a pair on disk: the fitted model, and what there is to say of it."""
    from hinge.cli import preparation as prepare
    from hinge.cli import rows as source
    from hinge.monitoring import Status
    from hinge.monitoring.interrupts import now

    found = source.training_data(data, test, how, positive, labelled=job.name != "oneclass")
    rows = found.train
    if rows.y is None and job.name != "oneclass":
        raise ValueError(f"{data} has no labels to learn: name their column with --label, or their file with --labels.")
    preparation, columns = prepare.preparation_for(found, job.impute, job.scale), prepare.described_columns(rows)
    for column in columns if not job.quiet else []:
        if column.doubt:
            say(f"Column {column.name} {column.doubt}: --drop {column.name} leaves it out.", style="yellow")
    machine = job.machine(rows.y)
    X, y = rows.X, None if job.name == "oneclass" else rows.y
    fitted = prepare.joined(preparation, machine)
    facts: dict[str, Any] = {}
    if job.cv is not None:
        facts["cv_scores"] = _folds(job, fitted, X, y, rows.weight)
    began = now()
    if job.tune:
        prepared = X if preparation is None else preparation.fit_transform(X)
        machine, chosen = _tuned(job, machine, prepared, y, rows.weight)
        fitted = prepare.joined(preparation, machine)
        facts |= chosen
    else:
        with _warn_of_one_class(job.quiet):
            fitted.fit(X, y, **prepare.weighted(fitted, rows.weight))
    machines.check_learned(machine)
    if job.probability and job.name == "linearsvc":
        machine.calibrate(X if preparation is None else preparation.transform(X), y, rows.weight)
    facts["seconds"] = now() - began
    prepare.keep_names(fitted, rows.names)
    result = {**_result(fitted, found, job, positive), **facts}
    if columns:
        result["columns"] = [column._asdict() for column in columns]
        result["encoded_features"], result["dropped"] = sum(column.levels for column in columns), list(how.drop or ())
    short = not Status[result["stop_reason"].upper()].is_success
    if short and not (job.scale or job.quiet) and (advice := prepare.advice_on_scale(rows)):
        say(advice, style="yellow")
    _write_down(machine, result)
    return fitted, result


def _write_down(machine: BaseEstimator, result: dict[str, Any]) -> None:
    """Keep the facts with the model; in a model file a list is a tuple."""
    known = {name: result[name] for name in FACTS if result.get(name) is not None}
    machine.training_ = {name: tuple(fact) if isinstance(fact, list) else fact for name, fact in known.items()}


def _folds(
    job: _Job, estimator: BaseEstimator, X: MatrixLike | Table, y: np.ndarray | None, weight: np.ndarray | None
) -> list[float]:
    """Accuracies, or R², of folds whose rows were not trained on."""
    from sklearn.model_selection import cross_val_score

    from hinge.cli.preparation import weighted

    if y is None or hasattr(X, "row_blocks"):
        raise ValueError("--cv needs labels, and rows in memory.")
    scores = cross_val_score(machines.broken_off(estimator), X, y, cv=job.cv, params=weighted(estimator, weight))
    return [float(score) for score in scores]


def _tuned(
    job: _Job, machine: BaseEstimator, X: MatrixLike | Table, y: Any, weight: np.ndarray | None
) -> tuple[Any, dict[str, Any]]:
    """The machine with the C, and γ, that folds prefer, and what they said."""
    import numpy as np

    from hinge.selection import tune as choose

    gamma, max_time = job.given.get("gamma"), job.given.get("max_time")
    options: dict[str, Any] = {"gammas": [gamma]} if isinstance(gamma, float) else {}
    found = choose(machine, X, y, sample_weight=weight, max_time=max_time, verbose=int(not job.quiet), **options)
    means = found.scores.mean(axis=2)
    chosen_by = "five folds" if np.isfinite(means).any() else "the folds that there was time for"
    if found.n_fits == 0:
        chosen_by = "nothing: there was no time for a single score"
    scores = [
        {"C": float(C), **({} if gamma is None else {"gamma": float(gamma)}), "mean_score": finite(float(mean))}
        for C, line in zip(found.Cs, means, strict=True)
        for gamma, mean in zip(found.gammas, line, strict=True)
    ]
    expected = {"expected_error": finite(found.error), "expected_error_std": finite(found.error_std)}
    return found.model, {**expected, "chosen_by": chosen_by, "scores": scores}


def _train_on_disk(job: _Job, data: str, how: ReadOptions) -> tuple[Any, dict[str, Any]]:
    """Rows that are read from a disk as they are needed."""
    from hinge.access.streams.opening import as_stream
    from hinge.cli.rows import STDIN, FileRows, TrainingData, labels_from, stream_label
    from hinge.monitoring.interrupts import now

    if data == STDIN:
        raise ValueError("Standard input cannot be read twice: write it to a file for --max-memory.")
    label = stream_label(data, how)
    stream = as_stream(data, label)
    if stream is None:
        raise ValueError(f"{data} is no file or folder of rows: --max-memory is for those.")
    shape, names = stream.shape, stream.names
    y: Any = label if how.labels is None else labels_from(how.labels, shape[0])
    machine = job.machine(None)
    began = now()
    machine.fit(data, y)
    machines.check_learned(machine)
    seconds = now() - began
    result = _result(machine, TrainingData(Path(data).name, FileRows(stream, None, names, label=label)), job, None)
    _write_down(machine, result)
    return machine, {**result, "seconds": seconds}


def _check_output(output: Path) -> None:
    """Complain before the training, not after it, of a model file that cannot or must not be written."""
    from hinge.files import model_files

    if str(output) == "-":
        raise ValueError("A model is no text for standard output: give the name of a file after -o.")
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


def _result(fitted: BaseEstimator, found: TrainingData, job: _Job, positive: str | None) -> dict[str, Any]:
    """What there is to say of a training, in JSON's terms."""
    import numpy as np

    from hinge.cli.measures import error_of
    from hinge.cli.preparation import machine_of, outcome_of, plain_settings
    from hinge.datasets.frames import MixedRows

    model, rows, test = machine_of(fitted), found.train, found.test
    parameters = {name: value for name, value in model.get_params().items() if value is not None}
    if {"lam", "slack"} & set(parameters):
        parameters.pop("C", None)
    in_memory = isinstance(rows.X, np.ndarray | MixedRows) or hasattr(rows.X, "indptr")
    n, d = map(int, rows.X.shape)
    return {
        "data": found.name,
        "model": job.name,
        "rows": n,
        "features": d,
        "cells": int(rows.X.size) if in_memory else n * d,
        "label": rows.label,
        "positive": positive,
        "train_error": error_of(fitted, rows) if in_memory else None,
        "test_error": None if test is None or test.y is None else error_of(fitted, test),
        **outcome_of(model),
        "seconds": 0.0,
        "solver": type(model.solver_).__name__.lower(),
        "solver_reason": "as asked" if getattr(model, "solver", "auto") != "auto" else CHOSEN,
        "model_file": None,
        "parameters": plain_settings(parameters),
    }


@contextmanager
def _warn_of_one_class(quiet: bool) -> Iterator[None]:
    """Say so if a classifier predicts one class for all of its rows."""
    from hinge.estimators.fitting.reports import ConstantPredictionWarning

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConstantPredictionWarning)
        yield
    for warning in heard[-1:] if not quiet else []:
        found = str(warning.message).partition(" Give ")[0]
        say(f"{found} Try --class-weight balanced, a larger --C, or --tune.", style="yellow")


def _columns_in_words(result: dict[str, Any], most: int = 12) -> str:
    """How many columns are numbers, which hold words and how many, and which were dropped."""
    words = [f"{one['name']} {one['levels']:,} words" for one in result["columns"] if one["kind"] == "words"]
    parts = [f"{numbers:,} of numbers"] if (numbers := len(result["columns"]) - len(words)) else []
    if words:
        parts.append(", ".join(words[:most]) + (f" and {len(words) - most:,} more of words" if words[most:] else ""))
    if result["dropped"]:
        parts.append("without " + ", ".join(result["dropped"]))
    return "; ".join(parts)


def _show_result(result: dict[str, Any], by_default: bool) -> None:
    from hinge.calibration.left_out import error_in_words
    from hinge.monitoring import Status

    parameters, support, cells = result["parameters"], result["support_vectors"], result["cells"]
    status = Status[result["stop_reason"].upper()]
    verdict = result["stop_reason"] if status.is_success else "NOT converged"
    gap = "none" if result["gap"] is None else f"{result['gap']:.2e}"
    trade_off = next(name for name in ("slack", "lam", "nu", "C") if name in parameters)
    setting = f"{trade_off} = {parameters[trade_off]:g}"
    if by_default and trade_off != "nu":
        setting += f" (chosen by {result['chosen_by']})" if "scores" in result else " (the default)"
    objectives = result["objective"] if isinstance(result["objective"], list) else [result["objective"]]
    of_numbers = "svr" in result["model"]
    kind = "mean abs. error" if of_numbers else "outside" if result["model"] == "oneclass" else "error"
    spelled = number if of_numbers else percent
    features = result.get("encoded_features", result["features"])
    lines = [
        ("data", result["data"]),
        ("rows x features", f"{result['rows']:,} x {features:,}, {cells:,} cells stored"),
    ]
    if "columns" in result:
        lines.append(("columns", _columns_in_words(result)))
    if result["label"]:
        lines.append(("label", f"column {result['label']}"))
    lines.append(("trade-off", setting))
    if "expected_error" in result:
        error, std = result["expected_error"], result["expected_error_std"]
        words = "not known" if error is None else f"{error_in_words(error, std, not of_numbers)}, by leave-one-out"
        lines.append(("expected error", words))
    if scores := result.get("cv_scores"):
        each = ", ".join(f"{score:.4f}" for score in scores)
        lines.append((f"scores of {len(scores)} folds", f"{fmean(scores):.4f} ± {pstdev(scores):.4f} ({each})"))
    lines += [(f"{part} {kind}", spelled(result[f"{part}_error"]) or "not measured") for part in ("train", "test")]
    lines.append(("certified gap", f"{gap} (asked for: {parameters['tol']:g})"))
    values = ", ".join("none" if value is None else f"{value:.6g}" for value in objectives)
    lines.append(("margin" if trade_off == "slack" else "objective", values))
    if reads := result["reads"]:
        lines.append(("reads", f"{reads:,} ({reads / max(1, cells):,.2f} for each stored cell)"))
    if evals := result["kernel_values"]:
        share = evals / max(1, result["rows"]) ** 2
        lines.append(("kernel values", f"{evals:,} ({share:,.2f} for each pair of rows)"))
    lines += [
        ("seconds", f"{result['seconds']:.2f}"),
        ("stop reason", f"{verdict}: {status.value}"),
        ("solver", f"{result['solver']} ({result['solver_reason']})"),
        ("support vectors", "not known to this solver" if support is None else f"{support:,}"),
        ("model file", result["model_file"] or "none, -o FILE writes one"),
    ]
    show_table(lines)
