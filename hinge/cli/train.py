"""``hinge train``: a machine of any kind, and how good it is."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hinge.cli.machines import ModelName, plain_name
from hinge.cli.options import (
    OF_DATA,
    OF_ENDS,
    OF_MODEL,
    Categorical,
    Data,
    Drop,
    Fetch,
    Fill,
    Format,
    Header,
    Json,
    Label,
    Labels,
    NoIntercept,
    OldFormat,
    Positive,
    ZeroBased,
)
from hinge.cli.show import INTERRUPTED, compiling_told, number, percent, say, show_table

try:
    import typer
    from rich.console import Console
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from hinge.access import Table
    from hinge.cli.data import Training
    from hinge.cli.rows import Reading
    from hinge.types import MatrixLike

Penalty = Enum("Penalty", {"l2": "l2", "l1": "l1"})
Loss = Enum(
    "Loss",
    {
        "hinge": "hinge",
        "squared_hinge": "squared_hinge",
        "epsilon_insensitive": "epsilon_insensitive",
        "squared_epsilon_insensitive": "squared_epsilon_insensitive",
    },
)
MultiClass = Enum("MultiClass", {"ovr": "ovr", "crammer_singer": "crammer_singer"})
KernelName = Enum(
    "KernelName",
    {
        "linear": "linear",
        "rbf": "rbf",
        "poly": "poly",
        "sigmoid": "sigmoid",
        "laplacian": "laplacian",
        "precomputed": "precomputed",
    },
)


def train(
    ctx: typer.Context,
    data: Data,
    test: Annotated[str | None, typer.Option(help="Data to measure the test error on.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", "--out", help="File for the model.")] = None,
    model: Annotated[ModelName, typer.Option(help="The estimator.", rich_help_panel=OF_MODEL)] = ModelName.linearsvc,
    C: Annotated[
        float | None, typer.Option("--C", help="Weight of the losses, 1 by default.", rich_help_panel=OF_MODEL)
    ] = None,
    lam: Annotated[
        float | None, typer.Option(help="Weight of the norm, in place of C: 1/(C rows).", rich_help_panel=OF_MODEL)
    ] = None,
    slack: Annotated[
        float | None, typer.Option(help="Mean slack allowed at unit norm, in place of C.", rich_help_panel=OF_MODEL)
    ] = None,
    nu: Annotated[float | None, typer.Option(help="Of nusvc, nusvr, oneclass.", rich_help_panel=OF_MODEL)] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Errors that cost nothing in a regression.", rich_help_panel=OF_MODEL)
    ] = None,
    kernel: Annotated[
        KernelName | None, typer.Option(help="Of kernel machines, rbf by default.", rich_help_panel=OF_MODEL)
    ] = None,
    gamma: Annotated[
        str | None, typer.Option(help="Of the kernel: a number, scale or auto.", rich_help_panel=OF_MODEL)
    ] = None,
    degree: Annotated[int | None, typer.Option(help="Of the polynomial kernel.", rich_help_panel=OF_MODEL)] = None,
    coef0: Annotated[
        float | None, typer.Option(help="Of the polynomial and sigmoid kernel.", rich_help_panel=OF_MODEL)
    ] = None,
    penalty: Annotated[
        Penalty | None, typer.Option(help="Pay for the squared norm (l2), or the 1-norm.", rich_help_panel=OF_MODEL)
    ] = None,
    loss: Annotated[
        Loss | None, typer.Option(help="Of linear machines; squared_hinge by default.", rich_help_panel=OF_MODEL)
    ] = None,
    multi_class: Annotated[
        MultiClass | None, typer.Option(help="Each class against the rest, or all at once.", rich_help_panel=OF_MODEL)
    ] = None,
    no_intercept: NoIntercept = False,
    free_intercept: Annotated[
        bool, typer.Option("--free-intercept", help="A bias that is not penalised.", rich_help_panel=OF_MODEL)
    ] = False,
    probability: Annotated[
        bool, typer.Option("--probability", help="Learn probabilities of the classes.", rich_help_panel=OF_MODEL)
    ] = False,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Choose C (and gamma) by folds, and foretell the error.", rich_help_panel=OF_MODEL),
    ] = False,
    cv: Annotated[
        int | None, typer.Option(min=2, help="Also show the scores of so many folds.", rich_help_panel=OF_MODEL)
    ] = None,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced, or JSON: '{\"spam\": 5}'.", rich_help_panel=OF_MODEL)
    ] = None,
    sample_weight_column: Annotated[
        str | None, typer.Option(help="Column of the rows' weights.", rich_help_panel=OF_DATA)
    ] = None,
    impute: Fill = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Bring numbers to mean 0 and spread 1 first.", rich_help_panel=OF_DATA)
    ] = False,
    solver: Annotated[
        str | None, typer.Option(help="auto, newton, sdca, pegasos, ...", rich_help_panel=OF_ENDS)
    ] = None,
    tol: Annotated[
        float | None, typer.Option(help="Stop at this certified relative gap.", rich_help_panel=OF_ENDS)
    ] = None,
    max_time: Annotated[float | None, typer.Option(help="Limit in seconds.", rich_help_panel=OF_ENDS)] = None,
    max_reads: Annotated[
        int | None, typer.Option(help="Limit in cells of the data read.", rich_help_panel=OF_ENDS)
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(help="Rows stay on disk beyond this: 800M, 2G.", rich_help_panel=OF_ENDS)
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to go on from; rows stay on disk.", rich_help_panel=OF_ENDS)
    ] = None,
    target_error: Annotated[
        float | None, typer.Option(help="Stop at this error on held-out rows.", rich_help_panel=OF_ENDS)
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads, -1 for all.", rich_help_panel=OF_ENDS)] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same model.", rich_help_panel=OF_ENDS)] = 0,
    positive: Positive = None,
    label: Label = None,
    labels: Labels = None,
    drop: Drop = None,
    categorical: Categorical = None,
    zero_based: ZeroBased = False,
    header: Header = None,
    fetch: Fetch = False,
    as_json: Json = False,
    format_: OldFormat = Format.table,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing but errors.")] = False,
) -> None:
    """Train a model and show how good it is. Ctrl-C ends the training and keeps the best model so far.

    Columns of words become one column of 0 and 1 for each word; that, and what missing values are filled
    with, is part of the model.
    """
    from hinge.cli.machines import gamma_of, machine
    from hinge.cli.rows import Reading, megabytes, split_names

    trade_off = {"C": C, "lam": lam, "slack": slack}
    if sum(value is not None for value in trade_off.values()) > 1:
        raise typer.BadParameter("give one of --C, --lam and --slack.")
    if tune and any(value is not None for value in trade_off.values()):
        raise typer.BadParameter("--tune chooses C: leave out --C, --lam and --slack.")
    if no_intercept and free_intercept:
        raise typer.BadParameter("give one of --no-intercept and --free-intercept.")
    chosen = {
        **trade_off,
        "nu": nu,
        "epsilon": epsilon,
        "kernel": kernel and kernel.value,
        "gamma": gamma_of(gamma),
        "degree": degree,
        "coef0": coef0,
        "penalty": penalty and penalty.value,
        "loss": loss and loss.value,
        "multi_class": multi_class and multi_class.value,
        "fit_intercept": False if no_intercept else None,
        "intercept": "free" if free_intercept else None,
        "solver": solver and plain_name(solver),
        "tol": tol,
        "max_time": max_time,
        "max_reads": max_reads,
        "max_memory": megabytes(max_memory),
        "checkpoint": checkpoint and str(checkpoint),
        "target_error": target_error,
        "n_jobs": jobs,
        "random_state": seed,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    if probability and model in (ModelName.svc, ModelName.nusvc):
        given["probability"] = True
    elif probability and model is not ModelName.linearsvc:
        raise typer.BadParameter("--probability is for classifiers: linearsvc, svc and nusvc.")
    how = Reading(label, labels, sample_weight_column, split_names(drop), split_names(categorical), zero_based, fetch)
    how = how._replace(header=header)
    machine(model.value, given)  # complains of settings before data is read
    if output is not None:
        _check_output(output)
    on_disk = max_memory is not None or checkpoint is not None
    if on_disk and (
        tune
        or cv
        or impute
        or scale
        or how.drop
        or how.categorical
        or how.weight
        or probability
        or test
        or (header is not None)
    ):
        raise typer.BadParameter(
            "rows that stay on disk (--max-memory, --checkpoint) are trained on as they are: without --test, --tune, "
            "--cv, --impute, --scale, --drop, --categorical, --sample-weight-column, --header and --probability."
        )
    job = _Job(model.value, given, class_weight, impute and impute.value, scale, probability, tune, cv, quiet)
    with warnings.catch_warnings(), compiling_told(quiet):
        warnings.simplefilter("ignore")  # the result says in words how the training ended
        fitted, result = _streamed(job, data, how) if on_disk else _trained(job, data, test, how, positive)
    result["model_file"] = None if output is None else str(output)
    if output is not None:
        from hinge.files import model_files

        model_files.save(fitted, output)
    if not quiet:
        if as_json or format_ is Format.json:
            typer.echo(json.dumps(result, indent=1, allow_nan=False))
        else:
            _show_result(result, by_default=not any(value is not None for value in trade_off.values()))
    if result["stop_reason"] == "interrupted":
        raise typer.Exit(INTERRUPTED)


class _Job:
    """What is to be trained, and how."""

    def __init__(
        self,
        name: str,
        given: dict[str, Any],
        class_weight: str | None,
        impute: str | None,
        scale: bool,
        probability: bool,
        tune: bool,
        cv: int | None,
        quiet: bool,
    ) -> None:
        self.name, self.given, self.class_weight = name, given, class_weight
        self.impute, self.scale, self.probability = impute, scale, probability
        self.tune, self.cv, self.quiet = tune, cv, quiet

    def machine(self, y: np.ndarray | None) -> Any:
        """The estimator, not fitted."""
        from hinge.cli.machines import class_weight_of, implied_loss, machine

        weights = class_weight_of(self.class_weight, y)
        given = self.given if weights is None else {**self.given, "class_weight": weights}
        model = machine(self.name, implied_loss(given) if self.name == "linearsvc" else given)
        if not self.tune and not self.quiet and Console(stderr=True).is_terminal:
            from hinge.monitoring.progress import ProgressBar

            if hasattr(model, "set_callbacks"):
                model.set_callbacks(ProgressBar())
        return model


def _trained(job: _Job, data: str, test: str | None, how: Reading, positive: str | None) -> tuple[Any, dict[str, Any]]:
    """Rows in memory, or a pair on disk: the fitted model, and what there is to say of it."""
    from hinge.cli import data as source
    from hinge.cli.machines import check_learned
    from hinge.cli.preparation import MODEL, check_missing, joined, keep_names, machine_of, preparation_of
    from hinge.monitoring.clock import now

    found = source.training_data(data, test, how, positive, labelled=job.name != "oneclass")
    rows = found.train
    if rows.y is None and job.name != "oneclass":
        raise ValueError(f"{data} has no labels to learn: name their column with --label, or their file with --labels.")
    for part in (rows, found.test):
        if part is not None and job.impute is None:
            check_missing(part)
    preparation = preparation_of(rows, job.impute, job.scale)
    machine = job.machine(rows.y)
    X, y = rows.X, None if job.name == "oneclass" else rows.y
    extra: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    if job.cv is not None:
        facts["cv_scores"] = _folds(job, joined(preparation, machine), X, y, rows.weight)
    began = now()
    if job.tune:
        prepared = X if preparation is None else preparation.fit_transform(X)
        machine, extra = _tuned(job, machine, prepared, y, rows.weight)
        fitted = joined(preparation, machine)
    else:
        fitted = joined(preparation, machine)
        name = "sample_weight" if preparation is None else f"{MODEL}__sample_weight"
        weights = {} if rows.weight is None else {name: rows.weight}
        with _one_class_told(job.quiet):
            fitted.fit(X, **weights) if y is None else fitted.fit(X, y, **weights)
    machine = machine_of(fitted)
    check_learned(machine)
    if job.probability and job.name == "linearsvc":
        machine.calibrate(X if preparation is None else preparation.transform(X), y, rows.weight)
    facts["seconds"] = now() - began
    keep_names(fitted, rows.names)
    result = {**_result(fitted, found, job, positive), **extra, **facts}
    machine.training_ = {
        name: result.get(name)
        for name in ("data", "rows", "features", "label", "positive", "train_error", "test_error", "cv_scores")
        if result.get(name) is not None
    }
    if "cv_scores" in machine.training_:
        machine.training_["cv_scores"] = tuple(machine.training_["cv_scores"])
    return fitted, result


def _folds(
    job: _Job, estimator: BaseEstimator, X: MatrixLike | Table, y: np.ndarray | None, weight: np.ndarray | None
) -> list[float]:
    """Accuracies, or R², of folds whose rows were not trained on."""
    from sklearn.model_selection import cross_val_score

    from hinge.cli.machines import broken_off
    from hinge.cli.preparation import MODEL

    if y is None or hasattr(X, "row_blocks"):
        raise ValueError("--cv needs labels, and rows in memory.")
    name = f"{MODEL}__sample_weight" if hasattr(estimator, "steps") else "sample_weight"
    weights = None if weight is None else {name: weight}
    return [float(score) for score in cross_val_score(broken_off(estimator), X, y, cv=job.cv, params=weights)]


def _tuned(
    job: _Job, machine: BaseEstimator, X: MatrixLike | Table, y: Any, weight: np.ndarray | None
) -> tuple[Any, dict[str, Any]]:
    """The machine with the C, and γ, that folds prefer, and what they said."""
    import numpy as np

    from hinge.selection import tune as choose

    options: dict[str, Any] = {}
    if isinstance(job.given.get("gamma"), float):
        options["gammas"] = [job.given["gamma"]]
    found = choose(
        machine, X, y, sample_weight=weight, max_time=job.given.get("max_time"), verbose=int(not job.quiet), **options
    )
    known = math.isfinite(found.error)
    means = found.scores.mean(axis=2)
    chosen_by = "five folds" if np.isfinite(means).any() else "the folds that there was time for"
    if found.n_fits == 0:
        chosen_by = "nothing: there was no time for a single score"
    scores = [
        {
            "C": float(C),
            **({} if gamma is None else {"gamma": float(gamma)}),
            "mean_score": float(mean) if math.isfinite(mean) else None,
        }
        for C, line in zip(found.Cs, means, strict=True)
        for gamma, mean in zip(found.gammas, line, strict=True)
    ]
    extra = {
        "expected_error": found.error if known else None,
        "expected_error_std": found.error_std if known else None,
        "chosen_by": chosen_by,
        "scores": scores,
    }
    return found.model, extra


def _streamed(job: _Job, data: str, how: Reading) -> tuple[Any, dict[str, Any]]:
    """Rows that are read from a disk as they are needed."""
    from hinge.access.streams.opening import as_stream
    from hinge.cli.data import Training
    from hinge.cli.machines import check_learned
    from hinge.cli.rows import STDIN, Rows, labels_from, stream_label
    from hinge.monitoring.clock import now

    if data == STDIN:
        raise ValueError("Standard input cannot be read twice: write it to a file for --max-memory.")
    label = stream_label(data, how)
    stream = as_stream(data, label)
    if stream is None:
        raise ValueError(f"{data} is no file or folder of rows: --max-memory is for those.")
    shape, names = stream.shape, stream.names
    y: Any = label
    if how.labels is not None:
        y = labels_from(how.labels, shape[0])
    machine = job.machine(None)
    began = now()
    machine.fit(data, y)
    check_learned(machine)
    seconds = now() - began
    result = _result(machine, Training(Path(data).name, Rows(stream, None, names, label=label)), job, None)
    machine.training_ = {
        name: result[name] for name in ("data", "rows", "features", "label") if result[name] is not None
    }
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


def _result(fitted: BaseEstimator, found: Training, job: _Job, positive: str | None) -> dict[str, Any]:
    """What there is to say of a training, in JSON's terms."""
    import numpy as np

    from hinge.cli.measures import error_of
    from hinge.cli.preparation import machine_of

    model, rows = machine_of(fitted), found.train
    objectives = [float(value) if np.isfinite(value) else None for value in np.atleast_1d(model.objective_)]
    parameters = {name: value for name, value in model.get_params().items() if value is not None}
    if {"lam", "slack"} & set(parameters):
        parameters.pop("C", None)
    parameters = {
        name: value if isinstance(value, int | float | str | dict) else str(value) for name, value in parameters.items()
    }
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = {str(name): value for name, value in parameters["class_weight"].items()}
    solver = type(model.solver_).__name__.lower()
    asked = getattr(model, "solver", "auto")
    in_memory = isinstance(rows.X, np.ndarray) or hasattr(rows.X, "indptr")
    train_error = error_of(fitted, rows.X, rows.y) if in_memory else None
    test = found.test
    cells = int(rows.X.size) if in_memory else int(rows.X.shape[0]) * int(rows.X.shape[1])
    return {
        "data": found.name,
        "model": job.name,
        "rows": int(rows.X.shape[0]),
        "features": int(rows.X.shape[1]),
        "cells": cells,
        "label": rows.label,
        "positive": positive,
        "train_error": train_error,
        "test_error": None if test is None or test.y is None else error_of(fitted, test.X, test.y),
        "gap": float(model.gap_) if math.isfinite(model.gap_) else None,
        "objective": objectives if len(objectives) > 1 else objectives[0],
        "reads": int(getattr(model, "n_feature_reads_", 0)) or None,
        "kernel_values": int(getattr(model, "n_kernel_evals_", 0)) or None,
        "seconds": 0.0,
        "stop_reason": model.stop_reason_,
        "solver": solver,
        "solver_reason": "chosen for its shape and progress" if asked == "auto" else "as asked",
        "support_vectors": len(model.support_) if hasattr(model, "support_") else None,
        "model_file": None,
        "parameters": parameters,
    }


@contextmanager
def _one_class_told(quiet: bool) -> Iterator[None]:
    """Say so if a classifier predicts one class for all of its rows."""
    from hinge.estimators.fitting.reports import ConstantPredictionWarning

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConstantPredictionWarning)
        yield
    for warning in heard[-1:] if not quiet else []:
        found = str(warning.message).partition(" Give ")[0]
        say(f"{found} Try --class-weight balanced, a larger --C, or --tune.", style="yellow")


def _show_result(result: dict[str, Any], by_default: bool) -> None:
    from hinge.monitoring import Status

    parameters, support, cells = result["parameters"], result["support_vectors"], result["cells"]
    status = Status[result["stop_reason"].upper()]
    verdict = result["stop_reason"] if status.is_success else "NOT converged"
    gap = "none" if result["gap"] is None else f"{result['gap']:.2e}"
    choice = f" (chosen by {result['chosen_by']})" if "scores" in result else " (the default)"
    kinds = [name for name in ("slack", "lam", "nu", "C") if name in parameters]
    objectives = result["objective"] if isinstance(result["objective"], list) else [result["objective"]]
    expected = []
    if "expected_error" in result:
        foretold = result["expected_error"]
        expected = [("expected error", "not known" if foretold is None else _foretold(result))]
    if "cv_scores" in result:
        scores = result["cv_scores"]
        mean = sum(scores) / len(scores)
        spread = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
        shown = ", ".join(f"{score:.4f}" for score in scores)
        expected.append((f"scores of {len(scores)} folds", f"{mean:.4f} ± {spread:.4f} ({shown})"))
    work = []
    if result["reads"]:
        work.append(("reads", f"{result['reads']:,} ({result['reads'] / max(1, cells):,.2f} for each stored cell)"))
    if result["kernel_values"]:
        share = result["kernel_values"] / max(1, result["rows"]) ** 2
        work.append(("kernel values", f"{result['kernel_values']:,} ({share:,.2f} for each pair of rows)"))
    name = {"linearsvr": "mean abs. error", "svr": "mean abs. error", "nusvr": "mean abs. error", "oneclass": "outside"}
    kind = name.get(result["model"], "error")
    as_share = number if kind == "mean abs. error" else percent
    show_table(
        [
            ("data", result["data"]),
            ("rows x features", f"{result['rows']:,} x {result['features']:,}, {cells:,} cells stored"),
            *([("label", f"column {result['label']}")] if result["label"] else []),
            (
                "trade-off",
                ", ".join(f"{one} = {parameters[one]:g}" for one in kinds[:1])
                + (choice if by_default and kinds[:1] != ["nu"] else ""),
            ),
            *expected,
            (f"train {kind}", as_share(result["train_error"]) or "not measured"),
            (f"test {kind}", as_share(result["test_error"]) or "not measured"),
            ("certified gap", f"{gap} (asked for: {parameters['tol']:g})"),
            (
                "margin" if kinds[:1] == ["slack"] else "objective",
                ", ".join("none" if value is None else f"{value:.6g}" for value in objectives),
            ),
            *work,
            ("seconds", f"{result['seconds']:.2f}"),
            ("stop reason", f"{verdict}: {status.value}"),
            ("solver", f"{result['solver']} ({result['solver_reason']})"),
            ("support vectors", "not known to this solver" if support is None else f"{support:,}"),
            ("model file", result["model_file"] or "none, -o FILE writes one"),
        ]
    )


def _foretold(result: dict[str, Any]) -> str:
    return f"{percent(result['expected_error'])} ± {percent(result['expected_error_std'])}, by leave-one-out"
