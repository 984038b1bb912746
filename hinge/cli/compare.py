"""``hinge compare``: a race of solvers, ours and other packages', on anybody's data."""

from __future__ import annotations

import math
import shlex
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from hinge.cli.options import Data, Fill, Format, Json, NoIntercept, OldFormat, Positive, ReadOptions, Test
from hinge.cli.show import INTERRUPTED, console, make_folder, say, show_json
from hinge.monitoring.progress import progress_bar

if TYPE_CHECKING:
    from hinge.cli.data import TwoClasses
    from hinge.racing import Contestant, Course, Race, Standing

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
    from hinge.cli.data import two_classes
    from hinge.racing import PEERS, Target, all_contestants, default_names, find, results, run_race

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
    asked = None if solvers is None else [name.strip() for name in solvers.split(",") if name.strip()]
    if asked == []:
        raise typer.BadParameter("--solvers names none: leave it out for the usual ones.")
    everybody = asked is None or "all" in asked
    make_folder(out)
    if asked is not None and "all" not in asked:
        find(asked)  # complains of a name before data is read
    found = two_classes(data, test, how, positive, seed, impute and impute.value)
    course = _course(found, rows, lam, C, not no_intercept, kernel is not None, gamma, seed)
    if kind == "error" and len(course.y_test) == 0:
        raise ValueError("There are no test rows to measure an error on: give some with --test.")
    if asked is None:
        asked = default_names(course)
    elif "all" in asked:
        asked = [name for name, one in all_contestants().items() if not _is_other_kind(one, course)]
    with progress_bar() as bar:
        task = bar.add_task("", total=None)
        done = run_race(
            course,
            find(asked),
            target=Target(kind, value),
            max_time=max_time,
            repeats=repeats,
            seed=seed,
            tell=lambda what, run, total: bar.update(task, description=what, completed=run, total=total or None),
        )
    if out is not None:
        command = shlex.join(["hinge", *sys.argv[1:]])
        written, sentences = results.write(done, out, command)
        for sentence in sentences:
            say(sentence)
    absent = [
        reason
        for peer in PEERS
        if everybody and peer.name not in asked and not _is_other_kind(peer, course) and (reason := peer.missing())
    ]
    if as_json or format_ is Format.json:
        whole = {**results.as_json(done), "not_installed": absent, "out": None if out is None else str(out)}
        show_json(whole)
    else:
        _show(done, absent)
    if out is not None:
        say(f"Written to {out}: {', '.join(written)}.")
    if not done.interrupted and not any(entry.runs for entry in done.entries):
        raise typer.Exit(1)  # nobody could start, and the table says why
    if done.interrupted:
        raise typer.Exit(INTERRUPTED)


def _course(
    found: TwoClasses,
    rows: int | None,
    lam: float | None,
    C: float | None,
    intercept: bool,
    kernel: bool,
    gamma: float | None,
    seed: int,
) -> Course:
    """Rows, test rows and the objective."""
    import numpy as np

    from hinge.estimators.data.kernel_input import gamma_value
    from hinge.kernels import Gaussian
    from hinge.racing import Course
    from hinge.racing.course import with_bias

    X, y, X_test, y_test, name = found
    if rows is not None and rows < len(y):
        some = np.sort(np.random.default_rng(seed).permutation(len(y))[:rows])
        X, y = X[some], y[some]
    if len(np.unique(y)) < 2:
        raise ValueError("The training rows are of one class: 2 classes are needed. Give more --rows.")
    if not all(np.isfinite(value) and value > 0 for value in (lam, C, gamma) if value is not None):
        raise ValueError("--lam, --C and --gamma take positive numbers.")
    lam = 1.0 / ((1.0 if C is None else C) * len(y)) if lam is None else lam
    if kernel and gamma is None:
        gamma = gamma_value("scale", X)
    if kernel:
        return Course(X, y, X_test, y_test, lam, Gaussian(gamma) if gamma else None, name)
    if intercept:
        X, X_test = with_bias(X), with_bias(X_test)
    return Course(X, y, X_test, y_test, lam, None, name, intercept)


def _is_other_kind(contestant: Contestant, course: Course) -> bool:
    from hinge.racing import Ours, Peer
    from hinge.solvers import registry

    if isinstance(contestant, Ours):
        return (registry.solves(contestant.solver) == "kernel") != (course.kernel is not None)
    return isinstance(contestant, Peer) and contestant.kernel != (course.kernel is not None)


def _show(done: Race, absent: list[str]) -> None:
    lines = done.standings()
    counted = [("reads", "reads"), ("kernel_evals", "kernel values")]
    counted = [(name, head) for name, head in counted if any(getattr(line, name) for line in lines)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("solver", no_wrap=True)
    for head in ("seconds", "objective", "above min.", "test error", *(head for _, head in counted)):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("status", overflow="fold")
    for line in lines:
        table.add_row(line.solver, *_cells(line, [name for name, _ in counted]), line.status)
    screen = console()
    screen.print(table)
    from hinge.racing import Peer, results

    peers = [
        f"{one.name} is {one.label}, {one.package} {one.version()}"
        for one in (entry.contestant for entry in done.entries)
        if isinstance(one, Peer) and not one.missing()
    ]
    biased = [entry.name for entry in done.entries if entry.contestant.bias != "none" and entry.runs]
    own = [f"{name} has a bias, and is measured from the minimum with a bias" for name in biased]
    notes = [results.conditions(done), *own, *peers, *absent]
    for note in notes:
        screen.print(note.rstrip(".") + ".", style="dim", soft_wrap=True)
    if done.interrupted:
        say("The race was interrupted: this is what there was until then.", style="yellow")


def _cells(line: Standing, counted: list[str]) -> list[str]:
    seconds = "-" if line.seconds is None else f"{line.seconds:.3g}"
    objective = "-" if line.objective is None else f"{line.objective:.6g}"
    above = "-" if line.suboptimality is None else f"{line.suboptimality:.1e}"
    error = "-" if line.test_error is None else f"{100 * line.test_error:.2f} %"
    amounts = [getattr(line, name) for name in counted]
    return [seconds, objective, above, error, *("-" if n is None else f"{n:,.0f}" for n in amounts)]
