"""A race: the same rows, objective and target for all, runs interleaved, one thread, medians; and its files."""

import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from hinge.display.figure import Figure, Panel, ReportTable, Series, level_line, loglog
from hinge.experiments.base import CellResult, Outcome
from hinge.experiments.runner import machine
from hinge.racing.contestants import Contestant, Course, Measurement, Peer
from hinge.report.outcome import csv_text, finite, write_text

REFERENCE_TIMES = 3.0
"""Time limit of the reference, in multiples of the limit of one run: it is solved more accurately than any of them."""

Run = list[Measurement]
Tell = Callable[[str, int, int], None]
"""Called with the name of what runs now, the runs done, and the runs in all."""


class Target(NamedTuple):
    """What is raced to: a relative suboptimality ("gap"), or an error on the test rows ("error")."""

    kind: str = "gap"
    value: float = 1e-3

    def __str__(self) -> str:
        if self.kind == "error":
            return f"a test error of {100 * self.value:g} %"
        return f"{self.value:g} above the minimum, relative to it"


@dataclass
class Entrant:
    """One contestant's part in a race.

    Attributes
    ----------
    contestant : Contestant
    runs : list of lists of Measurement
        One for each repeat.
    kept_out : str
        Why it did not start; empty if it did.
    failure : str
        What went wrong in a run; empty if nothing did.
    over : bool
        Whether a run missed the target, so that it is not run again.
    cut : bool
        Whether Ctrl-C came while it ran.
    """

    contestant: Contestant
    runs: list[Run] = field(default_factory=list)
    kept_out: str = ""
    failure: str = ""
    over: bool = False
    cut: bool = False

    @property
    def name(self) -> str:
        """Of the contestant."""
        return self.contestant.name


class Standing(NamedTuple):
    """A line of the table: medians over the runs, taken where the target was first met, else at the end."""

    solver: str
    label: str
    seconds: float | None
    objective: float | None
    suboptimality: float | None
    test_error: float | None
    reads: float | None
    kernel_evals: float | None
    runs: int
    reached: int
    status: str


@dataclass
class Race:
    """What a race gives back.

    Attributes
    ----------
    course : Course
    target : Target
    max_time : float
    entries : list of Entrant
    interrupted : bool
    """

    course: Course
    target: Target
    max_time: float
    entries: list[Entrant]
    interrupted: bool = False

    def bound(self, bias: str = "none") -> float:
        """The best lower bound on the minimum that anybody has proved."""
        known = [self.course.references[bias].bound] if bias in self.course.references else []
        entries = [entry for entry in self.entries if entry.contestant.bias == bias]
        known += [look.bound for entry in entries for run in entry.runs for look in run]
        return max(known, default=-np.inf)

    def suboptimality(self, entry: Entrant, look: Measurement) -> float:
        """An upper bound on how far above the minimum a measured objective is, relative to it."""
        bound = self.bound(entry.contestant.bias)
        return (look.objective - bound) / bound if bound > 0 else np.inf

    def meets_target(self, entry: Entrant, look: Measurement) -> bool:
        """Whether a measurement is at the target."""
        value = look.error if self.target.kind == "error" else self.suboptimality(entry, look)
        return value <= self.target.value

    def first_met(self, entry: Entrant, run: Run) -> Measurement | None:
        """The first measurement of a run that is at the target."""
        met = (look for look in run if self.meets_target(entry, look))
        return min(met, key=lambda look: look.seconds, default=None)

    def seconds(self, entry: Entrant, run: Run) -> float:
        """The time to the target, infinite if a run missed it."""
        first = self.first_met(entry, run)
        return np.inf if first is None else first.seconds

    def typical(self, entry: Entrant) -> Run:
        """The run with the median time to the target; runs that missed it count as the slowest."""
        runs = sorted((sorted(run) for run in entry.runs if run), key=partial(self.seconds, entry))
        return runs[(len(runs) - 1) // 2] if runs else []

    def standings(self) -> list[Standing]:
        """The quickest first; those that missed the target after them, the nearest to it first."""

        def place(line: Standing) -> tuple[float, float]:
            near = line.test_error if self.target.kind == "error" else line.suboptimality
            late = np.inf if line.seconds is None else line.seconds
            return late, np.inf if near is None else near

        return sorted((self._standing(entry) for entry in self.entries), key=place)

    def _standing(self, entry: Entrant) -> Standing:
        runs = [run for run in entry.runs if run]
        ends = [self.first_met(entry, run) or max(run) for run in runs]
        times = [self.seconds(entry, run) for run in runs]
        seconds = statistics.median(times) if times else np.inf
        reached = sum(at < np.inf for at in times)

        def middle(values: Sequence[float | int | None]) -> float | None:
            there = [float(value) for value in values if value is not None and np.isfinite(value)]
            return statistics.median(there) if there else None

        best = [min(run, key=lambda look: look.objective) for run in runs]
        return Standing(
            entry.name,
            entry.contestant.label,
            seconds if np.isfinite(seconds) else None,
            middle([look.objective for look in best]),
            middle([self.suboptimality(entry, look) for look in best]),
            middle([look.error for look in ends]),
            middle([look.reads for look in ends]),
            middle([look.evals for look in ends]),
            len(runs),
            reached,
            self._status(entry, runs, reached),
        )

    def _status(self, entry: Entrant, runs: Sequence[Run], reached: int) -> str:
        if entry.kept_out:
            return entry.kept_out
        if entry.failure:
            return f"failed: {entry.failure}"
        if not runs:
            return "not run: the race was interrupted"
        if entry.cut and not reached:
            return "interrupted before it reached it"
        if reached == len(runs):
            return "reached" if len(runs) == 1 else f"reached in all {len(runs)} runs"
        if reached:
            return f"reached in {reached} of {len(runs)} runs"
        longest = max(look.seconds for run in runs for look in run)
        following = 2.0 * longest if entry.contestant.restarts else longest
        late = following >= self.max_time
        return f"not reached in {self.max_time:g} s" if late else "finished without reaching it"


def run_race(
    course: Course,
    contestants: Sequence[Contestant],
    *,
    target: Target | None = None,
    max_time: float = 5.0,
    repeats: int = 3,
    seed: int = 0,
    tell: Tell | None = None,
) -> Race:
    """Run every contestant to the target, the repeats interleaved, and keep all measurements.

    A lower bound on the minimum is computed beforehand, and improved by what the contestants prove on the way.
    Everyone is compiled on a few rows first, and has one thread. Times do not include evaluation. A contestant
    that misses the target in its first run is not run again. Peers that give no answers on the way are run
    again from zero with growing effort; each run counts with its own time alone (see `Peer`).

    Parameters
    ----------
    course : Course
    contestants : sequence of Contestant
    target : Target, optional
        By default 1e-3 above the minimum, relative to it.
    max_time : float
        Seconds for one run.
    repeats : int
        Runs of each, with different seeds.
    seed : int
    tell : callable, optional
        Called before each run.

    Returns
    -------
    Race
        After Ctrl-C with what there was until then.
    """
    entries = [Entrant(contestant) for contestant in contestants]
    done = Race(course, target or Target(), max_time, entries)
    tell = tell or (lambda what, run, total: None)
    tol = done.target.value if done.target.kind == "gap" else 1e-3
    try:
        with threadpool_limits(1):
            _prepare(done, tol, tell)
            for repeat in range(repeats):
                for at, entry in enumerate(entries):
                    before, total = repeat * len(entries) + at, repeats * len(entries)
                    tell(f"{entry.name}, run {repeat + 1} of {repeats}", before, total)
                    if not (entry.kept_out or entry.failure or entry.over):
                        _run(done, entry, seed + repeat, tol)
    except KeyboardInterrupt:
        done.interrupted = True
    return done


def _prepare(done: Race, tol: float, tell: Tell) -> None:
    """Bound the minimum, say who cannot start, and compile."""
    course = done.course
    for entry in done.entries:
        entry.kept_out = entry.contestant.missing() or ""
    tell("bounding the minimum", 0, 0)
    biases = {entry.contestant.bias for entry in done.entries if not entry.kept_out}
    few, warm_seconds = course.part(256), 0.05
    for bias in sorted(biases | {"none"}, reverse=True):
        few.find_reference(tol, warm_seconds, bias)  # compiles, before the time limit of the reference begins
        # To a twentieth of the gap that is raced for.
        course.find_reference(max(0.05 * tol, 1e-9), REFERENCE_TIMES * done.max_time, bias)
    few.references = dict(course.references)
    for entry in done.entries:
        entry.kept_out = entry.kept_out or entry.contestant.rejects(course) or ""
        if entry.kept_out:
            continue
        tell(f"compiling {entry.name}", 0, 0)
        try:
            for _ in entry.contestant.looks(few, 0, warm_seconds, lambda look: False, tol):
                pass
        except Exception as error:
            entry.failure = _sentence(error)


def _run(done: Race, entry: Entrant, seed: int, tol: float) -> None:
    """One run; whether a measurement meets the target is judged by the bound that is known then."""
    looks: Run = []
    entry.runs.append(looks)
    reached = partial(done.meets_target, entry)
    try:
        for look in entry.contestant.looks(done.course, seed, done.max_time, reached, tol):
            looks.append(look)
    except KeyboardInterrupt:
        entry.cut = True
        raise
    except Exception as error:  # a peer may raise anything, and the race continues
        entry.failure = _sentence(error)
    entry.over = done.first_met(entry, looks) is None


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


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
    content = {**as_json(race), "curves": {entry.name: [*map(_curve, entry.runs)] for entry in race.entries}}
    write_text(folder / "race.json", json.dumps(content, indent=1, allow_nan=False))
    written = ["race.json", "standings.csv", "curves.csv"]
    shown = table(race)
    write_text(folder / "standings.csv", csv_text(shown.columns, shown.rows))
    write_text(folder / "curves.csv", csv_text(CURVES, _curve_rows(race)))
    if race.interrupted:  # after Ctrl-C nobody waits for drawings
        return written, ["No figures were drawn, since the race was interrupted."]
    try:
        from hinge.report import page

        drawn = figures(race)
        results = [
            CellResult({"solver": entry.name, "run": at}, {"looks": _curve(run)}, max(run).seconds, machine())
            for entry in race.entries
            for at, run in enumerate(entry.runs)
            if run
        ]
        section = page.Section(
            "race",
            f"Solvers on {race.course.name}",
            "Your data",
            "a race",
            f"Which solver comes first to {race.target}? {answer(race)}",
            Outcome((), drawn, (shown,)),
            results,
        )
        heading = page.Heading(f"hinge compare: {race.course.name}", "as asked", machine(), command)
        page.write_report(folder, [section], heading)
    except ImportError as error:
        return written, [f"No figures were drawn. {error}"]
    return ["report.html", "figures", "data", *written], []


# --- parts ----------------------------------------------------------------------------------------


def _curve(run: Run) -> dict[str, list[Any]]:
    return {name: [finite(getattr(look, name)) for look in run] for name in Measurement._fields if name != "bound"}


def _curve_rows(race: Race) -> list[list[Any]]:
    return [
        [entry.name, at, *look[: look._fields.index("error")], race.suboptimality(entry, look), look.error]
        for entry in race.entries
        for at, run in enumerate(entry.runs)
        for look in run
    ]
