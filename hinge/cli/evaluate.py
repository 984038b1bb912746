"""``hinge evaluate``: how good a model from a file is on rows with labels."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hinge.cli.options import Data, Header, Json, Label, Labels, ModelFile, Positive, ZeroBased
from hinge.cli.show import percent, say, show_table

try:
    import typer
except ImportError:  # `hinge.cli.app.main` says how to get it
    typer = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy as np

MOST_CLASSES = 12
"""Classes of which a confusion matrix is shown as a table on a terminal."""


def evaluate(
    ctx: typer.Context,
    model: ModelFile,
    data: Data,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a page with pictures; - is standard output.")
    ] = None,
    positive: Positive = None,
    label: Label = None,
    labels: Labels = None,
    zero_based: ZeroBased = False,
    header: Header = None,
    as_json: Json = False,
) -> None:
    """Measure a model on rows that have labels.

    Of classes: accuracy, confusion matrix, ROC-AUC, and, where the model has probabilities, log-loss and
    calibration. Of numbers: absolute and squared errors, R². Of one class: the share outside. Rows are read a block at
    a time; what is kept of each is its label and what the model says of it.
    """
    from hinge.cli.measures import is_one_class, measured
    from hinge.cli.predict import blocks_for
    from hinge.cli.preparation import machine_of, told
    from hinge.cli.rows import Reading
    from hinge.files import model_files
    from hinge.files.replacing import replacing

    fitted = model_files.load(model)

    def pairs() -> Iterator[tuple[Any, np.ndarray | None]]:
        for rows in blocks_for(fitted, data, Reading(label, labels, zero_based=zero_based, header=header)):
            if rows.y is None and not is_one_class(machine_of(fitted)):
                raise ValueError(
                    f"{data} has no labels to compare with: name their column with --label, or use hinge predict."
                )
            yield rows.X, rows.y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows have no column names here, and a model may
        result = measured(fitted, pairs(), positive or told(fitted).get("positive"))
    result = {"model": str(model), "data": data, **result}
    if html is not None:
        from hinge.cli.evaluation_page import page

        text = page(result)
        if str(html) == "-":
            sys.stdout.write(text)
            return
        with replacing(html) as stream:
            stream.write(text.encode())
    if as_json:
        typer.echo(json.dumps(result, indent=1, allow_nan=False))
    else:
        _show(result)
    if html is not None:
        say(f"Written to {html}.")


def _show(result: dict[str, Any]) -> None:
    from hinge.cli.measures import lines_of

    show_table(lines_of(result))
    classes = result.get("classes", [])
    if "confusion" in result and len(classes) <= MOST_CLASSES:
        typer.echo("")
        head = ("truth \\ predicted", *classes)
        show_table([head, *((name, *map(str, row)) for name, row in zip(classes, result["confusion"], strict=True))])
    if result.get("by_class"):
        typer.echo("")
        lines = [("class", "rows", "recall", "precision")]
        lines += [
            (one["class"], f"{one['rows']:,}", percent(one["recall"]), percent(one["precision"]))
            for one in result["by_class"]
        ]
        show_table(lines)
