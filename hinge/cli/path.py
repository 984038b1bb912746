"""``hinge path``: the Pareto front of margin and slack, certified point by point."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from hinge.cli.options import Data, Fill, Format, Json, NoIntercept, OldFormat, Positive, ReadOptions, Test
from hinge.cli.show import INTERRUPTED, console, make_folder, say, show_json
from hinge.monitoring.progress import progress_bar
from hinge.report.outcome import csv_text, finite, write_text

if TYPE_CHECKING:
    from hinge.display.pareto import FrontPoint

HEADS = {
    "lam": "λ",
    "norm": "‖w‖",
    "margin": "margin",
    "loss": "mean hinge",
    "nu": "ν",
    "train_error": "train error",
    "test_error": "test error",
    "reads": "reads",
    "gap": "gap",
}


def path(
    ctx: typer.Context,
    data: Data,
    *,
    points: Annotated[int, typer.Option(min=2, help="Values of λ.")] = 20,
    lam_from: Annotated[float | None, typer.Option(help="Largest λ; by default all rows err there.")] = None,
    lam_to: Annotated[float | None, typer.Option(help="Smallest λ.")] = None,
    test: Test = None,
    tol: Annotated[float, typer.Option(help="Certified relative gap of each answer.")] = 1e-3,
    max_time: Annotated[float, typer.Option(help="Limit in seconds for one λ.")] = 10.0,
    no_intercept: NoIntercept = False,
    free_intercept: Annotated[
        bool, typer.Option("--free-intercept", "--intercept", help="A bias that is not penalised.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same answers.")] = 0,
    positive: Positive = None,
    impute: Fill = None,
    how: Annotated[ReadOptions, "label", "drop", "categorical", "zero_based", "header", "fetch"],
    out: Annotated[Path | None, typer.Option(help="Folder for the figure and the table.")] = None,
    as_json: Json = False,
    format_: OldFormat = Format.table,
) -> None:
    """Follow the trade-off of margin and slack over a grid of λ, each answer with a proof of how good it is.

    The problem is the one of 'hinge train --loss hinge', whose C is 1/(λ rows). Without test rows a fifth of the
    rows is held out. Ctrl-C shows the points that are there. To choose a C take 'hinge train --tune', which judges by
    five folds and solves only as far as scores need: here every point has to be proved.
    """
    from hinge.cli.data import two_classes
    from hinge.display.pareto import best_of, front_figure, pareto_points, spread_lams

    if not (tol > 0 and max_time > 0):
        raise typer.BadParameter("--tol and --max-time take positive numbers.")
    make_folder(out)
    X, y, X_test, y_test, name = two_classes(data, test, how, positive, seed, impute and impute.value)
    bias: Literal["none", "free", "penalized"] = "none" if no_intercept else "free" if free_intercept else "penalized"
    lams = spread_lams(X, y, points)
    if lam_from is not None or lam_to is not None:
        lams = _between(
            float(lams[0]) if lam_from is None else lam_from, float(lams[-1]) if lam_to is None else lam_to, points
        )
    tested = len(y_test) > 0
    found: list[FrontPoint] = []
    interrupted = False
    try:
        with progress_bar() as bar:
            task = bar.add_task(f"λ = {lams[0]:.3g}", total=len(lams))
            for point in pareto_points(
                X,
                y,
                lams,
                X_test=X_test if tested else None,
                y_test=y_test,
                tol=tol,
                max_time=max_time,
                bias=bias,
                seed=seed,
            ):
                found.append(point)
                following = lams[min(len(found), len(lams) - 1)]
                bar.update(task, completed=len(found), description=f"λ = {following:.3g}")
    except KeyboardInterrupt:
        interrupted = True
        if not found:
            raise
    words = {"none": "no bias", "free": "a free bias", "penalized": "a penalised bias"}[bias]
    late = sum(point.gap > tol for point in found)
    cut = f", but {late} that the time limit cut short" if late else ""
    caption = (
        f"{name}: {X.shape[0]:,} rows of {X.shape[1]:,} features, {words}; {len(found)} values of λ, each "
        f"answer certified to a relative gap of {tol:g} or less{cut}. "
        "No answer at all lies in the shaded region: the dual values prove it."
    )
    best = ""
    if any(math.isfinite(point.test_error) for point in found):
        least = best_of(found)
        n = X.shape[0]
        best = f" The lowest held-out error, {100 * least.test_error:.2f} %, is at λ = {least.lam:.3g}"
        best += f" (--C {1 / (least.lam * n):.3g} of hinge train)."
    if out is not None:
        rows = [finite(point._asdict()).values() for point in found]
        write_text(out / "path.csv", csv_text(found[0]._fields, rows))
        written = ["path.csv"]
        try:
            from hinge.display.static import save

            save(front_figure(found, name, caption), out)
            written += ["path.png", "path.svg"]
        except ImportError as error:
            say(f"No figure was drawn. {error}")
    if as_json or format_ is Format.json:
        whole = {
            "data": name,
            "rows": int(X.shape[0]),
            "features": int(X.shape[1]),
            "intercept": bias,
            "interrupted": interrupted,
            "best_lam": best_of(found).lam if best else None,
            "points": [finite(point._asdict()) for point in found],
            "out": None if out is None else str(out),
        }
        show_json(whole)
    else:
        _show(found, caption + best, tol)
    if out is not None:
        say(f"Written to {out}: {', '.join(written)}.")
    if interrupted:
        say("It was interrupted: these are the points until then.", style="yellow")
        raise typer.Exit(INTERRUPTED)


def _between(first: float, last: float, points: int) -> Any:
    import numpy as np

    if not (math.isfinite(first) and math.isfinite(last) and first > last > 0):
        raise ValueError(f"--lam-from must be above --lam-to, and both positive; they are {first:g} and {last:g}.")
    return np.geomspace(first, last, points)


def _show(found: list[FrontPoint], caption: str, tol: float, wide: int = 100) -> None:
    """Show the points; a terminal of fewer columns than `wide` has no space for all numbers."""
    screen = console()
    shown = [name for name in HEADS if screen.width >= wide or name not in ("norm", "nu", "reads")]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in shown:
        table.add_column(HEADS[name], justify="right", no_wrap=True)
    for p in found:
        words = {name: _word(name, getattr(p, name)) for name in shown}
        words["gap"] += "" if p.gap <= tol else f" ({p.status})"
        table.add_row(*words.values())
    screen.print(table)
    screen.print(caption.replace("shaded region", "region below these"), style="dim", soft_wrap=True)


def _word(name: str, value: float) -> str:
    if not math.isfinite(value):
        return "-"
    form = {"reads": ",d", "gap": ".1e", "lam": ".3g", "nu": ".3g"}.get(name, ".4g")
    return f"{100 * value:.2f} %" if name.endswith("error") else format(value, form)
