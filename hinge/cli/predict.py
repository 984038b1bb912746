"""``hinge predict``: labels of new rows, by a model from a file."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hinge.cli.options import Data, Header, Json, Label, Labels, ModelFile, Positive, ZeroBased
from hinge.cli.show import number, percent, say, visible

try:
    import typer
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from hinge.access import Table
    from hinge.cli.rows import Reading, Rows
    from hinge.types import MatrixLike


def predict(
    ctx: typer.Context,
    model: ModelFile,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", "--out", help="File for the labels; - is standard output.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the classes' probabilities, after tabs.")
    ] = False,
    scores: Annotated[bool, typer.Option("--scores", help="Add the scores, after tabs.")] = False,
    positive: Positive = None,
    label: Label = None,
    labels: Labels = None,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="The file holds features only.")] = False,
    zero_based: ZeroBased = False,
    header: Header = None,
    as_json: Json = False,
) -> None:
    """Write one prediction a line, and the error, if there are labels, to standard error.

    Columns that have names are taken by name. Of a set with a test part, that part is taken. Parquet, .npy and svmlight
    files that are large for the memory are read in pieces by linear models.
    """
    import numpy as np

    from hinge.cli.preparation import machine_of
    from hinge.cli.rows import Reading
    from hinge.files import model_files
    from hinge.files.replacing import replacing

    fitted = model_files.load(model)
    output = None if output is not None and str(output) == "-" else output
    inputs = [Path(name) for name in (model, data) if Path(name).is_file()]
    if output is not None and output.exists() and any(output.samefile(name) for name in inputs):
        raise ValueError(f"{output} is an input, so it is not overwritten.")
    found = rows_for(fitted, data, Reading(label, labels, zero_based=zero_based, header=header), no_labels)
    machine = machine_of(fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows have no column names here, and a model may
        predicted = fitted.predict(found.X)
        columns: list[list[Any]] = [predicted.tolist()]
        if probabilities:
            said = _probabilities(fitted, found.X, model)
            columns += said.T.tolist()
        if scores:
            if not hasattr(fitted, "decision_function"):
                raise ValueError(f"{model} predicts numbers, and has no scores besides: leave --scores out.")
            columns += np.atleast_2d(fitted.decision_function(found.X).T).tolist()
    if as_json:
        result = _as_json(columns, machine, probabilities, scores)
        lines = iter([json.dumps(result, allow_nan=False) + "\n"])
    else:
        lines = ("\t".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
    if output is None:
        shown = (visible(line[:-1]) + "\n" for line in lines) if sys.stdout.isatty() else lines
        sys.stdout.writelines(shown)
        sys.stdout.flush()
    else:
        with replacing(output) as stream:
            stream.writelines(line.encode() for line in lines)
    _summary(machine, predicted, found, positive)


def rows_for(fitted: BaseEstimator, data: str, how: Reading, no_labels: bool = False) -> Rows:
    """Rows in the form that a model takes them, with labels where there are some."""
    from hinge.cli.data import rows
    from hinge.cli.preparation import check_missing, columns_of, fills_gaps, machine_of
    from hinge.cli.rows import STDIN, is_file, large_rows
    from hinge.datasets.compressed import inner_suffix
    from hinge.estimators.linear_machine import LinearMachine
    from hinge.kernels import Precomputed

    wanted = columns_of(fitted)
    if no_labels:
        if inner_suffix(Path(data)) not in (".csv", ".tsv", ".npy", ".parquet", ".pq"):
            raise ValueError(
                "--no-labels is for csv, tsv, npy and Parquet files; in svmlight files put 0 for unknown labels."
            )
        how = how._replace(unlabelled=True)
    if isinstance(fitted, LinearMachine) and data != STDIN and is_file(data):
        large = large_rows(data, how, wanted)
        if large is not None:
            return large
    found = rows(data, how, wanted)
    if not fills_gaps(fitted):
        check_missing(found)
    if isinstance(getattr(machine_of(fitted), "kernel_", None), Precomputed) and hasattr(found.X, "toarray"):
        found = found._replace(X=found.X.toarray())
    return found._replace(y=None) if no_labels else found


def _probabilities(fitted: BaseEstimator, X: MatrixLike | Table, model: Path) -> Any:
    if not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{model} has learned no probabilities: train it with --probability.")
    try:
        return fitted.predict_proba(X)
    except AttributeError as error:
        raise ValueError(f"{model} has learned no probabilities: train it with --probability.") from error


def _as_json(columns: list[list[Any]], machine: BaseEstimator, probabilities: bool, scores: bool) -> dict[str, Any]:
    """Predictions in JSON's terms; probabilities by class."""
    result: dict[str, Any] = {"predictions": columns[0]}
    names = [str(name) for name in getattr(machine, "classes_", [])]
    rest = columns[1:]
    if probabilities:
        result["classes"] = names
        result["probabilities"] = [list(row) for row in zip(*rest[: len(names)], strict=True)]
        rest = rest[len(names) :]
    if scores:
        result["scores"] = [list(row) for row in zip(*rest, strict=True)]
    return result


def _summary(machine: BaseEstimator, predicted: np.ndarray, found: Rows, positive: str | None) -> None:
    """How many rows went where, and how many wrongly."""
    import numpy as np

    from hinge.cli.data import error_rate, in_classes
    from hinge.cli.measures import is_one_class

    if not hasattr(machine, "classes_") and not is_one_class(machine):
        say(f"{len(predicted):,} rows, from {number(float(predicted.min()))} to {number(float(predicted.max()))}.")
        if found.y is not None and found.y.dtype.kind in "iuf":
            say(f"Mean absolute error: {number(float(np.abs(predicted - found.y).mean()))}.")
        return
    counts = zip(*np.unique(predicted, return_counts=True), strict=True)
    say(f"{len(predicted):,} rows: {', '.join(f'{count:,} of {name}' for name, count in counts)}.")
    if found.y is None or is_one_class(machine):
        return
    error = error_rate(machine.classes_, predicted, in_classes(found.y, machine.classes_, positive))
    if error is not None:
        say(f"Error rate: {percent(error)}.")
    else:
        say("Error rate: not measured, since no label of the data is a class of the model.")
