"""``hinge evaluate``: how good a model from a file is on rows with labels."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hinge.cli.options import Data, Json, ModelFile, Positive, ReadOptions
from hinge.cli.show import percent, say, show_json, show_table

if TYPE_CHECKING:
    import numpy as np


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

    def pairs() -> Iterator[tuple[Any, np.ndarray | None]]:
        for rows in blocks_for(fitted, data, how):
            if rows.y is None and not is_one_class(machine_of(fitted)):
                raise ValueError(
                    f"{data} has no labels to compare with: name their column with --label, or use hinge predict."
                )
            yield rows.X, rows.y

    with warnings.catch_warnings(action="ignore"):  # rows have no column names here, and a model may
        result = measured(fitted, pairs(), positive or training_facts(fitted).get("positive"))
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


STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0 1.5rem}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid #8884}
th:first-child,td:first-child{text-align:left}
.wide{overflow-x:auto}
figure{display:inline-block;vertical-align:top;margin:0 1.5rem 1rem 0}
figcaption{max-width:18rem;font-size:.9em}
"""


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
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


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
    """A curve within the unit square, with its diagonal; size and edge are in pixels."""
    size, edge = 260, 34
    inner = size - 2 * edge
    places = [(edge + inner * a, size - edge - inner * b) for a, b in points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    marks = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="#3b7dd8"/>' for a, b in places if dots)
    low, high = edge, size - edge
    return (
        f'<figure><svg width="{size}" height="{size}" role="img" aria-label="{escape(words)}">'
        f'<rect x="{low}" y="{low}" width="{inner}" height="{inner}" fill="none" stroke="currentColor" '
        'stroke-opacity=".4"/>'
        f'<line x1="{low}" y1="{high}" x2="{high}" y2="{low}" stroke="currentColor" stroke-dasharray="4 3" '
        'stroke-opacity=".5"/>'
        f'<polyline points="{path}" fill="none" stroke="#3b7dd8" stroke-width="2"/>{marks}'
        f'<g fill="currentColor" font-size="11"><text x="{low}" y="{size - 20}">0</text>'
        f'<text x="{high}" y="{size - 20}" text-anchor="end">1</text>'
        f'<text x="{size / 2}" y="{size - 6}" text-anchor="middle">{escape(x)}</text>'
        f'<text x="12" y="{size / 2}" text-anchor="middle" transform="rotate(-90 12 {size / 2})">{escape(y)}</text></g>'
        f"</svg><figcaption>{escape(words)}.</figcaption></figure>"
    )
