"""What a race found: a table, curves, and files of both."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hinge.display.figure import Figure, Panel, ReportTable, Series, level_line, loglog
from hinge.experiments.base import CellResult, Outcome
from hinge.experiments.runner import machine
from hinge.racing.contestants import Peer
from hinge.racing.course import Measurement
from hinge.racing.race import Race, Run
from hinge.report.outcome import csv_text, finite, write_text

COLUMNS = {
    "solver": "solver",
    "what it is": "label",
    "seconds to target": "seconds",
    "best objective": "objective",
    "suboptimality": "suboptimality",
    "test error": "test_error",
    "reads": "reads",
    "kernel evaluations": "kernel_evals",
    "status": "status",
}
"""Columns of the standings, and the fields of a `Standing` that they show."""
ALWAYS = ("solver", "what it is", "seconds to target", "status")
"""Columns of the standings that are shown even if they are empty."""
CURVES = ("solver", "run", "seconds", "reads", "kernel evaluations", "objective", "suboptimality", "test error")


def figures(race: Race) -> list[Figure]:
    """Suboptimality and test error against seconds, and against reads or kernel evaluations."""
    counted = ("reads", "cells of the data read") if race.course.kernel is None else ("evals", "kernel evaluations")
    return [_figure(race, *amount) for amount in (("seconds", "seconds of the solver's own work"), counted)]


def _figure(race: Race, amount: str, label: str) -> Figure:
    above, errors = [], []
    for line in race.standings():
        entry = next(entry for entry in race.entries if entry.name == line.solver)
        run = [look for look in race.typical(entry) if (getattr(look, amount) or 0) > 0]
        if not run:  # nobody counts what a peer reads
            continue
        x = [float(getattr(look, amount)) for look in run]
        gaps = [max(race.suboptimality(entry, look), 1e-12) for look in run]  # for a logarithmic axis
        above.append(Series(line.solver, x, gaps))
        errors.append(Series(line.solver, x, [look.error for look in run]))
    target = [above, errors][race.target.kind == "error"]
    if target:
        target.append(level_line("target", race.target.value, target))
    counted = "" if amount == "seconds" else " Nobody counts for the peers, so they are not here."
    panels = (
        loglog(f"{race.course.name}: objective", label, "above the minimum, relative", above),
        Panel(f"{race.course.name}: test error", label, "share of rows", errors, log_x=True),
    )
    return Figure(f"race-{amount}", f"{conditions(race)} Lines are runs of median time.{counted}", panels)


def conditions(race: Race) -> str:
    """What was raced, on what, and how it was measured, in words."""
    course = race.course
    space = "linear" if course.kernel is None else f"Gaussian kernel, gamma = {course.gamma:g}"
    unbiased = [entry for entry in race.entries if entry.contestant.bias == "none"]
    gaps = [race.suboptimality(entry, look) for entry in unbiased for run in entry.runs for look in run]
    gaps += [course.references["none"].gap] if "none" in course.references else []
    least = min(gaps, default=math.inf)
    known = f" The minimum is known to within {max(least, 1e-16):.1g} of itself." if least < math.inf else ""
    bias = "a penalised bias" if course.biased else "no bias"
    return (
        f"{course.name}: {course.X.shape[0]:,} training rows of {course.X.shape[1] - course.biased:,} features, "
        f"{len(course.y_test):,} test rows; {space}, C = {course.C:g} (lambda = {course.lam:g}), {bias}. "
        f"Target: {race.target}. One thread, at most {race.max_time:g} s a run, medians of the runs.{known}"
    )


def table(race: Race) -> ReportTable:
    """The standings."""
    lines = race.standings()
    used = [name for name in COLUMNS if name in ALWAYS or any(getattr(line, COLUMNS[name]) for line in lines)]
    shown = [[getattr(line, COLUMNS[name]) for name in used] for line in lines]
    return ReportTable("standings", conditions(race), used, shown, digits=4)


def answer(race: Race) -> str:
    """Who comes first, in a sentence."""
    there = [line for line in race.standings() if line.seconds is not None]
    if not there:
        return f"Nobody reached it in {race.max_time:g} s."
    rest = [f"{line.solver} ({line.seconds:.3g} s)" for line in there[1:4]]
    then = f"; then {', '.join(rest)}" if rest else ""
    return f"{there[0].solver}, after {there[0].seconds:.3g} s{then}."


def as_json(race: Race) -> dict[str, Any]:
    """Everything but the curves, in JSON's terms."""
    course, reference = race.course, race.course.references.get("none")
    return {
        "data": course.name,
        "rows": int(course.X.shape[0]),
        "features": int(course.X.shape[1]) - course.biased,
        "intercept": course.biased,
        "test_rows": len(course.y_test),
        "lam": course.lam,
        "C": course.C,
        "gamma": None if course.kernel is None else course.gamma,
        "target": {"kind": race.target.kind, "value": race.target.value},
        "max_time": race.max_time,
        "lower_bound": finite(race.bound()),
        "lower_bound_gap": None if reference is None else finite(reference.gap),
        "interrupted": race.interrupted,
        "versions": {
            entry.contestant.package: entry.contestant.version()
            for entry in race.entries
            if isinstance(entry.contestant, Peer)
        },
        "solvers": [finite(line._asdict()) for line in race.standings()],
    }


def write(race: Race, folder: Path, command: str) -> tuple[list[str], list[str]]:
    """Write table, curves and the report into a folder; what could not be drawn is said.

    Returns
    -------
    written : list of str
        The files and folders that were written.
    missing : list of str
        A sentence for each thing that is missing, and why.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = {**as_json(race), "curves": {entry.name: _curves(entry.runs) for entry in race.entries}}
    write_text(folder / "race.json", json.dumps(content, indent=1, allow_nan=False))
    written = ["race.json", "standings.csv", "curves.csv"]
    shown = table(race)
    write_text(folder / "standings.csv", csv_text(shown.columns, shown.rows))
    write_text(folder / "curves.csv", csv_text(CURVES, _curve_rows(race)))
    if race.interrupted:  # after Ctrl-C nobody waits for drawings
        return written, ["No figures were drawn, since the race was interrupted."]
    try:
        from hinge.report import report

        drawn = figures(race)
        results = [
            CellResult({"solver": entry.name, "run": at}, {"looks": _curves([run])[0]}, max(run).seconds, machine())
            for entry in race.entries
            for at, run in enumerate(entry.runs)
            if run
        ]
        section = report.Section(
            "race",
            f"Solvers on {race.course.name}",
            "Your data",
            "a race",
            f"Which solver comes first to {race.target}? {answer(race)}",
            Outcome((), drawn, (shown,)),
            results,
        )
        report.write_report(
            folder,
            [section],
            title=f"hinge compare: {race.course.name}",
            scale="as asked",
            machine=machine(),
            command=command,
        )
    except ImportError as error:
        return written, [f"No figures were drawn. {error}"]
    return ["report.html", "figures", "data", *written], []


# --- parts ----------------------------------------------------------------------------------------


def _curves(runs: Sequence[Run]) -> list[dict[str, list[Any]]]:
    return [
        {name: [finite(getattr(look, name)) for look in run] for name in Measurement._fields if name != "bound"}
        for run in runs
    ]


def _curve_rows(race: Race) -> list[list[Any]]:
    return [
        [entry.name, at, *look[: look._fields.index("error")], race.suboptimality(entry, look), look.error]
        for entry in race.entries
        for at, run in enumerate(entry.runs)
        for look in run
    ]
