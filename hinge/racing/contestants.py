"""Who can be in a race: every solver of this library by its name, and the peers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hinge.experiments import nearest
from hinge.monitoring import clock
from hinge.racing.course import Course, Measurement
from hinge.solvers import SBP, Adaptive, Solver, choose, registry, trace

SPACING = 0.15
"""The next look comes when the time has grown by this share: times are known to about 15%."""

WALL = 2.0
"""Wall-clock limit of a run with its looks, in multiples of its own limit: on few rows looks cost more than steps."""

LOOKS_SHARE = 0.5
"""Between two looks the solver works for at least this share of the time that the last look took."""

FORMER = {"hingesgd": "sgd"}
"""What solvers of ours were once called in races."""


class Contestant(Protocol):
    """Anything that learns while it is looked at.

    Attributes
    ----------
    name : str
    label : str
        What it is, and of which package.
    bias : str
        "none", or "free" for one that cannot do without a bias, and is judged by the problem with one.
    restarts : bool
        Whether every measurement is a run of its own, from zero.
    """

    @property
    def name(self) -> str:
        """What to type."""
        ...

    @property
    def label(self) -> str:
        """What it is."""
        ...

    @property
    def bias(self) -> str:
        """Whether it learns a bias."""
        ...

    @property
    def restarts(self) -> bool:
        """Whether every measurement begins from zero."""
        ...

    def missing(self) -> str | None:
        """Why it cannot run here at all; None if it can."""
        ...

    def rejects(self, course: Course) -> str | None:
        """Why it cannot run on this course; None if it can."""
        ...

    def looks(
        self, course: Course, seed: int, max_time: float, reached: Callable[[Measurement], bool], tol: float
    ) -> Iterator[Measurement]:
        """One run, a measurement at a time, until it has reached the target, has finished, or its time is over."""
        ...


@dataclass(frozen=True)
class Ours:
    """A solver of this library.

    Times and reads are of the solver's own work. A certificate is included only where the solver needs it
    to go on, since it works on a part of the rows until a certificate fails. Slack-constrained solvers are given
    the slack of the optimum, which is found beforehand.
    """

    solver: Solver
    name: str
    bias: str = "none"
    restarts: bool = False

    @property
    def label(self) -> str:
        """The class."""
        return f"hinge {type(self.solver).__name__}"

    def missing(self) -> str | None:
        """It is always there."""
        return None

    def rejects(self, course: Course) -> str | None:
        """Why it cannot: it is for kernels and the course is linear, or the reverse, or what the solver says."""
        kernel = registry.solves(self.solver) == "kernel"
        if kernel and course.kernel is None:
            return "It is for kernels: give --kernel rbf."
        if not kernel and course.kernel is not None:
            return "It is for linear problems: leave --kernel out."
        reason = self.solver.rejects(course.regularized())
        if reason is not None and self.solver.rejects(course.slack_constrained()) is None:
            return None
        return reason

    def problem(self, course: Course) -> Any:
        """The form of the problem that it solves."""
        problem = course.regularized()
        return problem if self.solver.rejects(problem) is None else course.slack_constrained()

    def looks(
        self, course: Course, seed: int, max_time: float, reached: Callable[[Measurement], bool], tol: float
    ) -> Iterator[Measurement]:
        """One run; measurements are about 15% of the time apart."""
        problem = self.problem(course)
        # The batch of SBP that suits n, as where the slack is given to an estimator.
        solver = choose(problem).solver if self.solver == SBP() else self.solver
        ends, took = clock.now() + WALL * max_time, 0.0

        def due(seconds: float) -> float:
            later = seconds + max(SPACING * seconds, LOOKS_SHARE * took)
            # Even if setting up used all the time, there is one measurement.
            return later if seconds >= max_time else min(later, max_time)

        for now in trace(problem, solver, due, unit="seconds", seed=seed, tol=tol):
            began = time.perf_counter()
            judged = course.judge(problem, now.solution)
            look = Measurement(now.seconds, now.feature_reads, now.kernel_evals, *judged)
            yield look
            if now.seconds >= max_time or clock.now() >= ends or reached(look):
                return
            took = time.perf_counter() - began


def ours() -> dict[str, Ours]:
    """Every solver of this library that solves an SVM, by its name."""
    return {name: Ours(entry.load()(), name) for name, entry in registry.entries("linear", "cells", "kernel").items()}


def all_contestants() -> dict[str, Contestant]:
    """All names that a race understands."""
    from hinge.racing.peers import PEERS

    return {**ours(), **{peer.name: peer for peer in PEERS}}


def find(names: Sequence[str]) -> list[Contestant]:
    """Contestants by name, each once, however it is spelled: "block-dual", "BlockDual", "block_dual"."""
    everyone = all_contestants()
    plain = {re.sub("[-_ ]", "", name): name for name in everyone}
    found: dict[str, Contestant] = {}
    for asked in names:
        bare = re.sub("[-_ ]", "", asked.lower())
        name = plain.get(FORMER.get(bare, bare)) or nearest(asked.lower(), tuple(everyone), "solver")
        found[name] = everyone[name]
    return list(found.values())


def default_names(course: Course) -> list[str]:
    """A sensible field for a course: ours of each kind, and what most people use."""
    if course.kernel is not None:
        return ["blockdual", "sbp", "kernelpegasos", "libsvm"]
    newton = ["newton"] if isinstance(choose(course.regularized()).solver, Adaptive) else []
    return ["sdca", *newton, "pegasos", "liblinear", "sklearn-sgd"]
