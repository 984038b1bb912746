"""What a run spends and may spend: time, reads, kernel values and cost, as the driver and `trace` count them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from hinge.monitoring import Stop
from hinge.monitoring.clock import now
from hinge.problems import Problem


class Spent(NamedTuple):
    """Seconds, cells of the data, kernel values, and price."""

    seconds: float = 0.0
    reads: int = 0
    evals: int = 0
    cost: float = 0.0


class Meter:
    """Counts what a run spends on a problem, inside ``with meter:`` only."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._before = Spent()
        self._since: Spent | None = None

    def __enter__(self) -> "Meter":
        self._since = self._now()
        return self

    def __exit__(self, *error: object) -> None:
        self._before, self._since = self.spent, None

    @contextmanager
    def off_clock(self) -> Iterator[None]:
        """Excludes time from the account; reads still count, so that a limit holds for all of them."""
        began = now()
        try:
            yield
        finally:
            if self._since is not None:
                self._since = self._since._replace(seconds=self._since.seconds + now() - began)

    @property
    def spent(self) -> Spent:
        """The total so far."""
        if self._since is None:
            return self._before
        before, now, since = self._before, self._now(), self._since
        return Spent(
            before.seconds + now.seconds - since.seconds,
            before.reads + now.reads - since.reads,
            before.evals + now.evals - since.evals,
            before.cost + now.cost - since.cost,
        )

    def _now(self) -> Spent:
        problem = self.problem
        return Spent(now(), problem.reads, problem.kernel_evals, problem.cost)


def within_budget(stop: Stop, problem: Problem) -> Stop:
    """The limits of the run combined with the limits of the data's owner."""
    reads, cost = problem.budget
    if reads is not None:
        left = max(0, reads - problem.reads)
        stop = replace(stop, max_reads=left if stop.max_reads is None else min(left, stop.max_reads))
    if cost is not None:
        unspent = max(0.0, cost - problem.cost)
        stop = replace(stop, max_cost=unspent if stop.max_cost is None else min(unspent, stop.max_cost))
    return stop
