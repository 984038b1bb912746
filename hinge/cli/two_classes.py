"""``hinge compare``, a race of solvers, and ``hinge path``, the Pareto front of margin and slack: on two classes."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from hinge.cli.options import Data, Fill, Format, Json, NoIntercept, OldFormat, Positive, ReadOptions, Test
from hinge.cli.show import INTERRUPTED, console, make_folder, say, show_json, show_note, show_table
from hinge.report.outcome import csv_text, finite, write_text

if TYPE_CHECKING:
    import numpy as np

    from hinge.display.pareto import FrontPoint
    from hinge.racing import Course, Race
    from hinge.types import Stored


class TwoClasses(NamedTuple):
    """Rows and labels -1 and +1, to train on and to test on."""

    X: Stored
    y: np.ndarray
    X_test: Stored
    y_test: np.ndarray
    name: str

    def first(self, rows: int | None, seed: int) -> TwoClasses:
        """At most this number of training rows, drawn at random."""
        import numpy as np

        some = np.sort(np.random.default_rng(seed).permutation(len(self.y))[:rows])
        return self if rows is None else self._replace(X=self.X[some], y=self.y[some])


def two_classes(
    data: str, test: str | None, how: ReadOptions, positive: str | None, seed: int, impute: str | None = None
) -> TwoClasses:
    """Training rows and labels of two classes, -1 and +1, test rows and labels, and the name of the data."""
    import numpy as np

    from hinge.cli.preparation import preparation_for
    from hinge.cli.rows import training_data
    from hinge.constraints import FAR
    from hinge.datasets.base import Parts
    from hinge.datasets.catalog import binary
    from hinge.experiments.sets import hold_out

    found = training_data(data, test, how, positive)
    train, tested = found.train, found.test
    if hasattr(train.X, "row_blocks"):
        raise ValueError(f"{data} is a pair, which is for hinge train: give the file that it was made from.")
    assert train.y is not None
    classes = np.unique(train.y).tolist()
    if len(classes) == 1:
        raise ValueError(f"{data} has rows of one class only, and two are needed.")
    if len(classes) != 2:
        raise ValueError(
            f"{data} has {len(classes)} classes, and two are needed: name one with --positive, to be told "
            "from all others."
        )
    preparation = preparation_for(found, impute)
    X = train.X if preparation is None else preparation.fit_transform(train.X)
    largest = max(abs(float(X.max())), abs(float(X.min())))
    if largest > FAR:
        raise ValueError(f"{data} has values up to {largest:.1g}, whose squares overflow: scale them first.")
    X_test, y_test = (None, None) if tested is None else (tested.X, tested.y)
    if y_test is not None:
        if set(np.unique(y_test).tolist()).isdisjoint(classes):
            raise ValueError(f"No label of the test rows is one of {data}'s: {classes[0]} and {classes[1]}.")
        X_test = X_test if preparation is None else preparation.transform(X_test)
    one = positive if positive in [str(name) for name in classes] else classes[1]
    X, y, X_test, y_test = binary(Parts(X, train.y, X_test, y_test), one, None, data)
    if y_test is not None:
        return TwoClasses(X, y, X_test, y_test, found.name)
    X, y, X_test, y_test = hold_out(X, y, seed=seed)
    return TwoClasses(X, y, X_test, y_test, f"{found.name} (a fifth held out)" if len(y_test) else found.name)


KernelName = Enum("KernelName", {"rbf": "rbf"})


def compare(
    ctx: typer.Context,
    data: Data,
    *,
    solvers: Annotated[str | None, typer.Option(help="Names with commas between; 'all' for all.")] = None,
    lam: Annotated[float | None, typer.Option(help="Weight of the norm, in place of C: 1/(C rows).")] = None,
    C: Annotated[float | None, typer.Option("--C", help="Weight of the losses, 1 by default.")] = None,
    no_intercept: NoIntercept = False,
    test: Test = None,
    kernel: Annotated[KernelName | None, typer.Option(help="Race kernel solvers.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Of exp(-gamma |x - z|^2).")] = None,
    target: Annotated[tuple[str, float], typer.Option(metavar="gap|error VALUE", help="What is raced to.")] = (
        "gap",
        1e-3,
    ),
    max_time: Annotated[float, typer.Option(help="Limit in seconds for one run.")] = 5.0,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each solver.")] = 3,
    rows: Annotated[int | None, typer.Option(min=2, help="At most so many training rows.")] = None,
    seed: Annotated[int, typer.Option(help="Of the first run; the next ones count on.")] = 0,
    positive: Positive = None,
    impute: Fill = None,
    how: Annotated[ReadOptions, "label", "drop", "categorical", "zero_based", "header", "fetch"],
    out: Annotated[Path | None, typer.Option(help="Folder for curves, tables and a report.")] = None,
    as_json: Json = False,
    format_: OldFormat = Format.table,
) -> None:
    """Race solvers to a common target on the same rows. Ctrl-C ends the race and shows what there is.

    All solve the problem of 'hinge train --loss hinge', with a penalised bias and C = 1; kernel
    solvers have no bias (LIBSVM always has one). One thread, in turns; clocks hold no evaluation.
    Without test rows a fifth of the rows is held out.
    """
    from hinge.monitoring.progress import progress_bar
    from hinge.racing import PEERS, Target, all_contestants, default_names, find, race, run_race

    if lam is not None and C is not None:
        raise typer.BadParameter("give one of --C and --lam.")
    kind, value = target
    if kind not in ("gap", "error"):
        raise typer.BadParameter(f"--target is 'gap' or 'error' and a number, not {kind!r}.")
    if not (0 < value < math.inf and max_time > 0):
        raise typer.BadParameter("--target and --max-time take positive numbers.")
    if kind == "error" and value >= 1:
        raise typer.BadParameter("an error is a share of the rows, below 1.")
    if gamma is not None and kernel is None:
        raise typer.BadParameter("--gamma is for --kernel rbf.")
    asked = [] if solvers is None else [name.strip() for name in solvers.split(",") if name.strip()]
    if solvers is not None and not asked:
        raise typer.BadParameter("--solvers names none: leave it out for the usual ones.")
    make_folder(out)
    chosen = find([name for name in asked if name != "all"])  # complains of a name before data is read
    found = two_classes(data, test, how, positive, seed, impute and impute.value).first(rows, seed)
    course = _course(found, lam, C, not no_intercept, kernel is not None, gamma)
    if kind == "error" and len(course.y_test) == 0:
        raise ValueError("There are no test rows to measure an error on: give some with --test.")
    absent = []
    if not asked or "all" in asked:
        able = {name: one for name, one in all_contestants().items() if one.kernel == (course.kernel is not None)}
        chosen = list(able.values()) if asked else find(default_names(course))
        absent = [reason for peer in PEERS if peer not in chosen and peer.name in able and (reason := peer.missing())]
    with progress_bar() as bar:
        task = bar.add_task("", total=None)
        done = run_race(
            course,
            chosen,
            target=Target(kind, value),
            max_time=max_time,
            repeats=repeats,
            seed=seed,
            tell=lambda what, run, total: bar.update(task, description=what, completed=run, total=total or None),
        )
    if out is not None:
        command = shlex.join(["hinge", *sys.argv[1:]])
        written, sentences = race.write(done, out, command)
        for sentence in sentences:
            say(sentence)
    if as_json or format_ is Format.json:
        show_json({**race.as_json(done), "not_installed": absent, "out": out and str(out)})
    else:
        _show_race(done, absent)
    if out is not None:
        say(f"Written to {out}: {', '.join(written)}.")
    if done.interrupted:
        raise typer.Exit(INTERRUPTED)
    if not any(entry.runs for entry in done.entries):
        raise typer.Exit(1)  # nobody could start, and the table says why


def _course(
    found: TwoClasses, lam: float | None, C: float | None, intercept: bool, kernel: bool, gamma: float | None
) -> Course:
    """Rows, test rows and the objective."""
    import numpy as np

    from hinge.estimators.data.kernel_input import gamma_value
    from hinge.kernels import Gaussian
    from hinge.racing import Course
    from hinge.racing.contestants import with_bias

    X, y, X_test, y_test, name = found
    if len(np.unique(y)) < 2:
        raise ValueError("The training rows are of one class: 2 classes are needed. Give more --rows.")
    if not all(np.isfinite(value) and value > 0 for value in (lam, C, gamma) if value is not None):
        raise ValueError("--lam, --C and --gamma take positive numbers.")
    lam = 1.0 / ((1.0 if C is None else C) * len(y)) if lam is None else lam
    if kernel:
        gamma = gamma_value("scale", X) if gamma is None else gamma
        return Course(X, y, X_test, y_test, lam, Gaussian(gamma) if gamma else None, name)
    if intercept:
        X, X_test = with_bias(X), with_bias(X_test)
    return Course(X, y, X_test, y_test, lam, None, name, intercept)


RACE = {
    "solver": ("solver", ""),
    "seconds": ("seconds", ".3g"),
    "objective": ("objective", ".6g"),
    "suboptimality": ("above min.", ".1e"),
    "test_error": ("test error", ".2%"),
    "reads": ("reads", ",.0f"),
    "kernel_evals": ("kernel values", ",.0f"),
    "status": ("status", ""),
}
FRONT = {
    "lam": ("λ", ".3g"),
    "norm": ("‖w‖", ".4g"),
    "margin": ("margin", ".4g"),
    "loss": ("mean hinge", ".4g"),
    "nu": ("ν", ".3g"),
    "train_error": ("train error", ".2%"),
    "test_error": ("test error", ".2%"),
    "reads": ("reads", ",d"),
    "gap": ("gap", ".1e"),
}
"""The fields of a standing, and of a point of the front, that are shown, with head and form."""


def _show(lines: Sequence[Any], fields: dict[str, tuple[str, str]]) -> None:
    """Show some fields of each line; a dash stands for what is not known."""

    def word(value: str | float | None, form: str) -> str:
        known = value is not None and (isinstance(value, str) or math.isfinite(value))
        return format(value, form).replace("%", " %") if known else "-"

    table = [[word(getattr(line, name), form) for name, (_, form) in fields.items()] for line in lines]
    numbers = [k for k, (_, form) in enumerate(fields.values()) if form]
    show_table([[head for head, _ in fields.values()], *table], numbers)


def _show_race(done: Race, absent: list[str]) -> None:
    from hinge.racing import Peer, race

    lines = done.standings()
    unused = {name for name in ("reads", "kernel_evals") if not any(getattr(line, name) for line in lines)}
    _show(lines, {name: form for name, form in RACE.items() if name not in unused})
    peers = [
        f"{one.name} is {one.label}, {one.package} {one.version()}"
        for one in (entry.contestant for entry in done.entries)
        if isinstance(one, Peer) and not one.missing()
    ]
    biased = [entry.name for entry in done.entries if entry.contestant.bias != "none" and entry.runs]
    own = [f"{name} has a bias, and is measured from the minimum with a bias" for name in biased]
    for note in (race.conditions(done), *own, *peers, *absent):
        show_note(note.rstrip(".") + ".")
    if done.interrupted:
        say("The race was interrupted: this is what there was until then.", style="yellow")


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
    from hinge.display.pareto import best_of, front_figure, pareto_points, spread_lams
    from hinge.monitoring.progress import progress_bar

    if not (tol > 0 and max_time > 0):
        raise typer.BadParameter("--tol and --max-time take positive numbers.")
    make_folder(out)
    X, y, X_test, y_test, name = two_classes(data, test, how, positive, seed, impute and impute.value)
    bias: Literal["none", "free", "penalized"] = "none" if no_intercept else "free" if free_intercept else "penalized"
    usual = spread_lams(X, y, points)
    lams = _between(usual[0] if lam_from is None else lam_from, usual[-1] if lam_to is None else lam_to, points)
    tests: dict[str, Any] = {"X_test": X_test, "y_test": y_test} if len(y_test) else {}
    found: list[FrontPoint] = []
    interrupted = False
    try:
        with progress_bar() as bar:
            task = bar.add_task(f"λ = {lams[0]:.3g}", total=len(lams))
            for point in pareto_points(X, y, lams, **tests, tol=tol, max_time=max_time, bias=bias, seed=seed):
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
        facts = {"data": name, "rows": int(X.shape[0]), "features": int(X.shape[1]), "intercept": bias}
        facts |= {"interrupted": interrupted, "best_lam": best_of(found).lam if best else None}
        show_json({**facts, "points": [finite(point._asdict()) for point in found], "out": out and str(out)})
    else:
        _show_points(found, caption + best, tol)
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


def _show_points(found: list[FrontPoint], caption: str, tol: float, wide: int = 100) -> None:
    """Show the points; a terminal of fewer columns than `wide` has no space for all numbers."""
    hidden = () if console().width >= wide else ("norm", "nu", "reads")
    fields = {name: form for name, form in FRONT.items() if name not in hidden}
    if any(point.gap > tol for point in found):  # with the reason
        fields["status"] = ("ended", "")
    _show(found, fields)
    show_note(caption.replace("shaded region", "region below these"))
