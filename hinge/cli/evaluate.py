"""``hinge evaluate``: how good a model from a file is on rows with labels."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated, Any

import typer

from hinge.cli.options import Data, Json, ModelFile, Positive, ReadOptions
from hinge.cli.show import percent, say, show_json, show_table


def evaluate(
    ctx: typer.Context,
    model: ModelFile,
    data: Data,
    *,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a page with pictures; - is standard output.")
    ] = None,
    positive: Positive = None,
    how: Annotated[ReadOptions, "label", "labels", "zero_based", "header"],
    as_json: Json = False,
) -> None:
    """Measure a model on rows that have labels.

    Of classes: accuracy, confusion matrix, ROC-AUC, and, where the model has probabilities, log-loss and
    calibration. Of numbers: absolute and squared errors, R². Of one class: the share outside. Rows are read a block at
    a time; what is kept of each is its label and what the model says of it.
    """
    from hinge.cli.measures import is_one_class, measured
    from hinge.cli.predict import blocks_for
    from hinge.cli.preparation import machine_of, training_facts
    from hinge.files import model_files
    from hinge.files.replacing import replacing

    fitted = model_files.load(model)
    blocks = blocks_for(fitted, data, how, labelled=not is_one_class(machine_of(fitted)))
    with warnings.catch_warnings(action="ignore"):  # rows have no column names here, and a model may
        result = measured(fitted, blocks, positive or training_facts(fitted).get("positive"))
    result = {"model": str(model), "data": data, **result}
    if html is not None:
        text = page(result)
        if str(html) == "-":
            sys.stdout.write(text)
            return
        with replacing(html) as stream:
            stream.write(text.encode())
    if as_json:
        show_json(result)
    else:
        _show(result)
    if html is not None:
        say(f"Written to {html}.")


def _show(result: dict[str, Any], widest: int = 12) -> None:
    """Show tables; of confusion, if there are at most `widest` classes, which a terminal has space for."""
    from hinge.cli.measures import lines_of

    show_table(lines_of(result))
    for lines in _by_class(result).values():
        if len(lines[0]) <= widest + 1:
            typer.echo("")
            show_table(lines)


def _by_class(result: dict[str, Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Tables with a line for each class, under their heads, by their titles."""
    tables: dict[str, list[tuple[Any, ...]]] = {}
    if result.get("confusion"):
        classes = result["classes"]
        counts = [(name, *row) for name, row in zip(classes, result["confusion"], strict=True)]
        tables["Confusion matrix"] = [("truth \\ predicted", *classes), *counts]
    if result.get("by_class"):
        shares = [
            (one["class"], f"{one['rows']:,}", percent(one["recall"]), percent(one["precision"]))
            for one in result["by_class"]
        ]
        tables["By class"] = [("class", "rows", "recall", "precision"), *shares]
    return tables


def page(result: dict[str, Any]) -> str:
    """One page of HTML: tables and two pictures, in one file that needs nothing else."""
    from hinge.cli.measures import lines_of

    title = f"{escape(result['model'])} on {escape(result['data'])}"
    parts = [f"<h1>{title}</h1>", _table([], lines_of(result))]
    for name, (head, *rows) in _by_class(result).items():
        parts += [f"<h2>{name}</h2>", _table(head, rows, shaded=name == "Confusion matrix")]
    pictures = []
    if result.get("roc"):
        words = f"ROC of {result['positive']}: area {result['roc_auc']:.4f}"
        pictures.append(_picture(result["roc"], "false positive rate", "true positive rate", words))
    if result.get("calibration"):
        points = [(line["said"], line["so"]) for line in result["calibration"]]
        of = f" of {result['positive']}" if result.get("positive") else ""
        words = f"Predicted probabilities{of} against observed shares, in bins of equal size; the diagonal is perfect"
        pictures.append(_picture(points, "predicted probability", "observed share", words, dots=True))
    if pictures:
        parts += ["<h2>Pictures</h2>", *pictures]
    return _filled("evaluation.html", title=title, body="".join(parts))


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], shaded: bool = False) -> str:
    """A table; shaded, a confusion matrix whose cells are the darker the more of their row they hold."""

    def cell(value: str | int, row: Sequence[Any]) -> str:
        if not shaded or isinstance(value, str):
            tag = "th" if shaded else "td"
            return f"<{tag}>{escape(str(value))}</{tag}>"
        share = value / max(1, sum(row[1:]))
        return f'<td style="background:rgb(70 130 200 / {0.75 * share:.2f})">{value:,}</td>'

    top = f"<tr>{''.join(f'<th>{escape(str(name))}</th>' for name in head)}</tr>" if head else ""
    body = "".join(f"<tr>{''.join(cell(value, row) for value in row)}</tr>" for row in rows)
    return f'<div class="wide"><table>{top}{body}</table></div>'


def _picture(points: Sequence[Sequence[float]], x: str, y: str, words: str, dots: bool = False) -> str:
    """A curve within the unit square, with its diagonal."""
    path = " ".join(f"{a:.4f},{b:.4f}" for a, b in points)
    marks = "".join(f'<circle cx="{a:.4f}" cy="{b:.4f}" r=".016"/>' for a, b in points if dots)
    return _filled("picture.html", path=path, marks=marks, x=escape(x), y=escape(y), words=escape(words))


def _filled(name: str, **parts: str) -> str:
    """A file of HTML with its parts in their places."""
    return Template(resources.files("hinge.cli").joinpath(name).read_text("utf-8")).substitute(parts)
