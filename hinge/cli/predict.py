"""``hinge predict``: labels of new rows, by a model from a file."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hinge.cli.options import Data, Json, ModelFile, Positive, ReadOptions
from hinge.cli.show import number, percent, say, visible

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

    from hinge.cli.measures import RunningError
    from hinge.cli.rows import FileRows
    from hinge.types import MatrixLike


def predict(
    ctx: typer.Context,
    model: ModelFile,
    data: Data,
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", "--out", help="File for the labels; - is standard output.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the classes' probabilities, after tabs.")
    ] = False,
    scores: Annotated[bool, typer.Option("--scores", help="Add the scores, after tabs.")] = False,
    positive: Positive = None,
    how: Annotated[ReadOptions, "label", "labels", "unlabelled", "zero_based", "header"],
    as_json: Json = False,
) -> None:
    """Write one prediction a line, and the error, if there are labels, to standard error.

    Columns that have names are taken by name. Of a set with a test part, that part is taken. Rows are read, and
    predictions written, a block at a time, so that the size of a file does not matter; a file named by --output appears
    once all of it is written.
    """
    from hinge.cli.measures import RunningError
    from hinge.cli.preparation import machine_of
    from hinge.files import model_files

    fitted = model_files.load(model)
    output = None if output is not None and str(output) == "-" else output
    inputs = [Path(name) for name in (model, data) if Path(name).is_file()]
    if output is not None and output.exists() and any(output.samefile(name) for name in inputs):
        raise ValueError(f"{output} is an input, so it is not overwritten.")
    machine = machine_of(fitted)
    summary = RunningError(machine, positive)
    if probabilities and not as_json and hasattr(fitted, "predict_proba"):
        say(f"After each label: the probability of {', of '.join(map(str, machine.classes_))}.")

    def predicted() -> Iterator[list[np.ndarray]]:
        for rows in blocks_for(fitted, data, how):
            columns = _columns(fitted, rows.X, model, probabilities, scores)
            summary.add(columns[0], rows.y)
            yield columns

    _write(_as_json(predicted(), machine, probabilities, scores) if as_json else _as_lines(predicted()), output)
    _say_summary(summary)


def _write(lines: Iterator[str], output: Path | None) -> None:
    """Write lines as they come: to standard output, or to a file that appears once it is whole."""
    from hinge.files.replacing import replacing

    if output is None:
        shown = (visible(line[:-1]) + "\n" for line in lines) if sys.stdout.isatty() else lines
        sys.stdout.writelines(shown)
        sys.stdout.flush()
    else:
        with replacing(output) as stream:
            stream.writelines(line.encode() for line in lines)


def blocks_for(fitted: BaseEstimator, data: str, how: ReadOptions, labelled: bool = False) -> Iterator[FileRows]:
    """Rows in the form that a model takes them, a block at a time, with labels where there are some, or must be."""
    from hinge.cli.preparation import check_missing, columns_of, fills_gaps, machine_of
    from hinge.cli.rows import blocks
    from hinge.datasets.base import inner_suffix
    from hinge.kernels import Precomputed

    if how.unlabelled and inner_suffix(Path(data)) not in (".csv", ".tsv", ".npy", ".parquet", ".pq"):
        raise ValueError(
            "--no-labels is for csv, tsv, npy and Parquet files; in svmlight files put 0 for unknown labels."
        )
    has_gaps, of_values = fills_gaps(fitted), isinstance(getattr(machine_of(fitted), "kernel_", None), Precomputed)
    for rows in blocks(data, how, columns_of(fitted)):
        if labelled and rows.y is None:
            raise ValueError(
                f"{data} has no labels to compare with: name their column with --label, or use hinge predict."
            )
        if not has_gaps:
            check_missing(rows)
        X = rows.X.toarray() if of_values and hasattr(rows.X, "toarray") else rows.X
        yield rows._replace(X=X, y=None if how.unlabelled else rows.y)


def _columns(fitted: BaseEstimator, X: MatrixLike, model: Path, probabilities: bool, scores: bool) -> list[np.ndarray]:
    """Predictions, then probabilities, then scores, where they are asked for."""
    import numpy as np

    if scores and not hasattr(fitted, "decision_function"):
        raise ValueError(f"{model} predicts numbers, and has no scores besides: leave --scores out.")
    with warnings.catch_warnings(action="ignore"):  # rows have no column names here, and a model may
        columns = [fitted.predict(X)]
        try:
            columns += list(fitted.predict_proba(X).T) if probabilities else []
        except AttributeError as error:
            raise ValueError(f"{model} has learned no probabilities: train it with --probability.") from error
        columns += list(np.atleast_2d(fitted.decision_function(X).T)) if scores else []
    return columns


def _as_lines(blocks: Iterator[list[np.ndarray]]) -> Iterator[str]:
    for columns in blocks:
        for row in zip(*(column.tolist() for column in columns), strict=True):
            yield "\t".join(map(str, row)) + "\n"


def _as_json(
    blocks: Iterator[list[np.ndarray]], machine: BaseEstimator, probabilities: bool, scores: bool
) -> Iterator[str]:
    """Predictions in JSON's terms, which are one value: probabilities by class."""
    import numpy as np

    first, *rest = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    result: dict[str, Any] = {"predictions": first.tolist()}
    if probabilities:
        result["classes"] = [str(name) for name in machine.classes_]
        shares, rest = rest[: len(machine.classes_)], rest[len(machine.classes_) :]
        result["probabilities"] = np.column_stack(shares).tolist()
    if scores:
        result["scores"] = np.column_stack(rest).tolist()
    yield json.dumps(result, allow_nan=False) + "\n"


def _rows(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)}"


def _say_summary(found: RunningError) -> None:
    """Say how many rows went where, and how wrongly."""
    if found.classes is None and not found.is_one_class:
        say(f"{_rows(found.n)}, from {number(found.least)} to {number(found.most)}.")
        if found.error is not None:
            say(f"Mean absolute error: {number(found.error)}.")
        return
    say(f"{_rows(found.n)}: {', '.join(f'{found.counts[name]:,} of {name}' for name in sorted(found.counts))}.")
    if found.labelled and not found.is_one_class:
        measured = "not measured, since no label of the data is a class of the model"
        say(f"Error rate: {measured if found.error is None else percent(found.error)}.")
