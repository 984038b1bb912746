"""A race: the same rows, objective and target for all, runs interleaved, one thread, medians."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from hinge.racing.contestants import Contestant
from hinge.racing.course import Course, Measurement

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
    course, started = done.course, []
    for entry in done.entries:
        entry.kept_out = entry.contestant.missing() or ""
    tell("bounding the minimum", 0, 0)
    biases = {entry.contestant.bias for entry in done.entries if not entry.kept_out}
    few, warm_seconds = course.part(256), 0.05
    for bias in sorted(biases | {"none"}, reverse=True):
        few.find_reference(tol, warm_seconds, bias)  # compiles, before the time limit of the reference begins
        # To a twentieth of the gap that is raced for.
        course.find_reference(max(0.05 * tol, 1e-9), REFERENCE_TIMES * done.max_time, bias)
    for entry in done.entries:
        entry.kept_out = entry.kept_out or entry.contestant.rejects(course) or ""
        started += [] if entry.kept_out else [entry]
    few.references = dict(course.references)
    for entry in started:
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
