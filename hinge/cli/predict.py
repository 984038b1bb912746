"""``hinge predict``: labels of new rows, by a model from a file."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import numpy as np

from hinge.cli.show import percent, say

try:
    import typer
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]


def predict(
    ctx: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that 'hinge train -o' wrote.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="A name that 'hinge datasets' lists, or a file.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File for the labels.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the scores, after tabs.")] = False,
    positive: Annotated[str | None, typer.Option(help="The class told from all others.")] = None,
    label: Annotated[str | None, typer.Option(help="Label column of a csv file: name or position.")] = None,
    no_labels: Annotated[bool, typer.Option("--no-labels", help="A csv file of features only.")] = False,
) -> None:
    """Write one predicted label a line, and the error rate, if there are labels, to standard error.

    Of a set with a test part, that part is taken.
    """
    from hinge.cli.data import error_rate, rows, unlabelled_rows
    from hinge.files import model_files
    from hinge.files.replacing import replacing
    from hinge.kernels import Precomputed

    fitted = model_files.load(model)
    if not hasattr(fitted, "classes_"):
        raise ValueError(f"{model} holds a {type(fitted).__name__}, which has no classes: use its predict from Python.")
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
    error = None if y is None else error_rate(fitted.classes_, predicted, y)
    if error is not None:
        say(f"Error rate: {percent(error)}.")
    elif y is not None:
        say("Error rate: not measured, since no label of the data is a class of the model.")
