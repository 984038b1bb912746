"""What the client does whichever method it runs: rounds until a limit is met, their records, Ctrl-C."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hinge.dask.cluster import Cluster, OutOfTime
from hinge.monitoring import History, Status, Stop
from hinge.problems import Certificate, Solution


class RoundRecord(NamedTuple):
    """One round, with the fields of `hinge.monitoring.Record`; reads are cells of the data.

    `passes` are those over the data so far, `bytes_moved` what the client has sent and received, `sigma` the largest σ'
    of the round, over all classes, where the rounds are CoCoA's.
    """

    iteration: int
    seconds: float
    feature_reads: int
    kernel_evals: int
    objective: float
    certificate: float
    score: float
    passes: int
    bytes_moved: int
    sigma: float


class LoopResult(NamedTuple):
    """What a fit on a cluster gives back: an answer and a certificate for each task."""

    answers: list[Solution]
    certificates: list[Certificate]
    status: Status
    passes: int
    reads: int
    moved: int
    history: History


Look = Callable[[RoundRecord, list[Solution]], bool]


class ClientLoop(ABC):
    """The rounds of one fit.

    Parameters
    ----------
    cluster : Cluster
    parts : sequence of jobs
        Each gives a `Part`.
    stop : Stop
        `max_iter` is in passes; `max_time` counts from `began`.
    began : float
        On ``time.perf_counter``.
    look : callable
        Called with each record and the answers; True ends the fit.
    """

    def __init__(self, cluster: Cluster, parts: Sequence[Any], stop: Stop, began: float, look: Look) -> None:
        self.cluster, self.parts, self.stop, self.began, self.look = cluster, parts, stop, began, look
        self.history = History()
        self.round = self.passes = self.reads = self.moved = 0

    @abstractmethod
    def _turn(self, ends: float) -> float:
        """A round, if it can end by then; returns the σ' that it began with."""

    @property
    @abstractmethod
    def _answers(self) -> list[tuple[Solution, Certificate]]:
        """The answer of each task, and what is known of it."""

    @property
    @abstractmethod
    def _ended(self) -> Status | None:
        """Why no more rounds are needed, or are of use; None if they are."""

    def _last_word(self) -> None:
        """What is done after the last round, unless Ctrl-C was pressed."""
        return None

    @property
    def ends(self) -> float:
        """When the time limit is, on ``time.perf_counter``."""
        return np.inf if self.stop.max_time is None else self.began + self.stop.max_time

    def run(self, keep: bool) -> LoopResult:
        """Rounds until a limit is met; after Ctrl-C the answer so far, if it is to be kept."""
        try:
            status = self._loop()
        except KeyboardInterrupt:
            if not keep:
                raise
            status = Status.INTERRUPTED
        if status is not Status.INTERRUPTED:
            self._last_word()
        answers, found = zip(*self._answers, strict=True)
        return LoopResult(list(answers), list(found), status, self.passes, self.reads, self.moved, self.history)

    def _loop(self) -> Status:
        while True:
            if self.stop.max_iter is not None and self.passes >= self.stop.max_iter:
                return Status.MAX_ITER
            if self.round and time.perf_counter() >= self.ends:
                return Status.MAX_TIME
            try:
                sigma = self._turn(self.ends if self.round else np.inf)
            except OutOfTime:
                return Status.MAX_TIME
            if self._told(sigma):
                return Status.CALLBACK
            if (ended := self._ended) is not None:
                return ended

    def _told(self, sigma: float) -> bool:
        """Write the record of a round, and ask who looks on."""
        answers, every = zip(*self._answers, strict=True)
        known = [certificate for certificate in every if not certificate.is_unknown]
        whole = len(known) == len(every)
        record = RoundRecord(
            self.round,
            time.perf_counter() - self.began,
            self.reads,
            0,
            float(sum(certificate.objective for certificate in known)) if whole else np.nan,
            max(certificate.gap for certificate in known) if whole else np.inf,
            np.nan,
            self.passes,
            self.moved,
            sigma,
        )
        self.history.append(record)  # type: ignore[arg-type]
        return self.look(record, list(answers))


def same(value: Any) -> Any:
    """A value as the result of a job, so that it is sent once to each worker."""
    return value


def bytes_of(value: object) -> int:
    """Of all arrays in a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(bytes_of, value)) if isinstance(value, tuple) else 0
