"""The client's side of a fit on a cluster: where jobs run, what becomes of them, and the loop over rounds."""

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.delayed import delayed
from distributed import Client, Future, default_client, futures_of

from hinge.dask.parts import ClusterTask
from hinge.monitoring import History, Status, Stop
from hinge.monitoring.interrupts import Interrupts
from hinge.problems import Certificate, Solution

PATIENCE = 30.0
"""Seconds that a fit waits where the cluster has no worker at all."""
TICK = 0.25
"""Seconds after which a fit that waits looks at the clock and at the cluster."""
GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
"""What a message carries, w of all classes and sometimes α, is large on purpose."""


class OutOfTime(Exception):
    """The time limit came before a result."""


class Cluster:
    """Where the jobs of a fit run: in this thread, each immediately; on a cluster by `OnClient`.

    A job is a function of values and of other jobs' results.
    """

    def threads(self) -> dict[str, int]:
        """The workers, by address, with their threads; there is one at least."""
        return {"here": 1}

    def holders(self, chunks: Sequence[Any]) -> list[tuple[str, ...]]:
        """The workers that have each of these chunks already."""
        return [() for _ in chunks]

    def load(self, function: Callable[..., Any], loads: Sequence[tuple[Any, ...]], where: Sequence[str]) -> list[Any]:
        """Begin to make something of chunks that are still to be computed, each on the worker named, if it can."""
        return [delayed(function)(*args).compute(scheduler="synchronous") for args in loads]

    def submit(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Begin a job, named for the dashboard."""
        return function(*args)

    def map(self, name: str, function: Callable[..., Any], *columns: Sequence[Any], shared: Sequence[Any] = ()) -> Any:
        """A job for each line of these columns, which has what is shared as its last arguments."""
        return [self.submit(name, function, *line, *shared) for line in zip(*columns, strict=True)]

    def gather(self, jobs: Sequence[Any], ends: float = float("inf")) -> list[Any]:
        """The results, in order; `OutOfTime` if they are not there at that time of ``time.perf_counter``."""
        return list(jobs)

    def drop(self, jobs: Sequence[Any]) -> None:
        """Cancel jobs whose results are not needed any more."""


def cluster_of(client: Client | None) -> Cluster:
    """That of the client, or of the client of this process; this process itself where there is none."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            return Cluster()
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client or None, got {client!r}.")
    if client.asynchronous:
        raise ValueError("client is asynchronous: give one made without asynchronous=True.")
    return OnClient(client)


class OnClient(Cluster):
    """Jobs are Dask's tasks: pure, named, and computed again where a worker was lost."""

    def __init__(self, client: Client) -> None:
        self.client, self.run, self.count = client, uuid.uuid4().hex, 0

    def threads(self) -> dict[str, int]:
        """Waits for the first worker, for some time."""
        began = time.perf_counter()
        while not (found := self._workers()):
            self._check(found, began)
            time.sleep(min(TICK, PATIENCE))
        return dict(sorted(found.items()))

    def holders(self, chunks: Sequence[Any]) -> list[tuple[str, ...]]:
        """By what the scheduler knows of chunks that are persisted, or are futures."""
        known = {future.key: future for chunk in chunks for future in futures_of(chunk)}
        if not known:
            return [() for _ in chunks]
        who = self.client.who_has(list(known.values()))
        return [tuple(who.get(getattr(chunk, "key", None), ())) for chunk in chunks]

    def load(self, function: Callable[..., Any], loads: Sequence[tuple[Any, ...]], where: Sequence[str]) -> list[Any]:
        """All in one graph, so that what they share is computed once."""
        jobs = []
        for k, (args, address) in enumerate(zip(loads, where, strict=True)):
            with dask.annotate(workers=[address], allow_other_workers=True):
                jobs.append(delayed(function)(*args, dask_key_name=f"hinge-load-{self.run}-{k}"))
        with dask.config.set(GRAPHS):
            return self.client.compute(jobs)

    def submit(self, name: str, function: Callable[..., Any], *args: Any) -> Future:
        """A task that Dask runs where its largest argument is, if it can."""
        self.count += 1
        with dask.config.set(GRAPHS), self._explained(Exception):
            return self.client.submit(function, *args, key=f"hinge-{name}-{self.run}-{self.count}", pure=False)

    def gather(self, jobs: Sequence[Future], ends: float = float("inf")) -> list[Any]:
        """Looks at them often, and at the clock and the workers now and then; Ctrl-C is heard.

        Dask's own wait ends by an exception after a timeout, whose frames keep jobs alive that nobody needs.
        """
        began = looked = time.perf_counter()
        alone = began
        with self._explained(CancelledError, OSError):
            while any(job.status == "pending" for job in jobs):
                now = time.perf_counter()
                if now >= ends:
                    raise OutOfTime
                if now - looked > TICK:
                    looked, found = now, self._workers()
                    alone = now if found else alone
                    self._check(found, alone)
                time.sleep(min(0.02, 0.001 + 0.05 * (now - began)))
            return self.client.gather(list(jobs))

    def drop(self, jobs: Sequence[Future]) -> None:
        """Cancelled, if the cluster is still there."""
        if self.client.status == "running":
            self.client.cancel(list(jobs))

    def _workers(self) -> Mapping[str, int]:
        """The workers, from the scheduler."""
        with self._explained(Exception):
            return self.client.nthreads()

    def _check(self, workers: Mapping[str, int], since: float) -> None:
        if not workers and time.perf_counter() - since > PATIENCE:
            raise RuntimeError(
                f"The cluster has no workers, and none came within {PATIENCE:g} seconds: start some "
                "(cluster.scale(2)), and wait for them (client.wait_for_workers(1)) before the fit."
            )

    @contextmanager
    def _explained(self, *errors: type[Exception]) -> Iterator[None]:
        """What the client raises, of these kinds, explained where it is not connected any more."""
        try:
            yield
        except errors as error:
            if self.client.status == "running":
                raise
            raise RuntimeError(
                "The client was closed, or lost its scheduler, during the fit: make a new client and fit again."
            ) from error


def summed(cluster: Cluster, jobs: Sequence[Any], add: Callable[..., Any], fan: int = 16) -> list[Any]:
    """Jobs that add these up, `fan` together, level by level until that many are left: always in the same order."""
    while len(jobs) > fan:
        jobs = [cluster.submit("add", add, *jobs[k : k + fan]) for k in range(0, len(jobs), fan)]
    return list(jobs)


def placed(holders: Sequence[Sequence[Sequence[str]]], threads: Mapping[str, int]) -> list[str]:
    """A worker for each part, by its threads; if it has room, the one where most chunks of the part lie.

    Parameters
    ----------
    holders : sequence
        For each part, for each of its chunks, the workers that have it.
    threads : mapping
        The threads of each worker.
    """
    room = {address: -(-len(holders) * count // sum(threads.values())) for address, count in threads.items()}
    places = []
    for part in holders:
        found = [address for chunk in part for address in chunk]
        free = [address for address in threads if room[address] > 0]
        places.append(max(free, key=lambda address: (found.count(address), room[address] / threads[address])))
        room[places[-1]] -= 1
    return places


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
    gap: float
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


class ClusterFit(NamedTuple):
    """What a fit on a cluster is given.

    Attributes
    ----------
    cluster : Cluster
    parts : sequence of jobs
        Each gives a `Part`.
    tasks : tuple of ClusterTask
    d : int
        Features.
    spread : float
        The loss of rows before anything is learned.
    stop : Stop
        `max_iter` is in passes; `max_time` counts from `began`.
    began : float
        On ``time.perf_counter``.
    report : callable
        Called with each record and the answers; True ends the fit.
    """

    cluster: Cluster
    parts: Sequence[Any]
    tasks: tuple[ClusterTask, ...]
    d: int
    spread: float
    stop: Stop
    began: float
    report: Callable[[RoundRecord, list[Solution]], bool]


class ClientLoop(ABC):
    """The rounds of one fit.

    Parameters
    ----------
    fit : ClusterFit
    """

    def __init__(self, fit: ClusterFit) -> None:
        self.cluster, self.parts, self.tasks, self.d, self.spread, self.stop, self.began, self.report = fit
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
        interrupts = Interrupts()
        try:
            with interrupts.heeded():
                status = self._loop(interrupts)
        except KeyboardInterrupt:
            if not keep:
                raise
            status = Status.INTERRUPTED
        if status is not Status.INTERRUPTED:
            self._last_word()
        answers, found = zip(*self._answers, strict=True)
        return LoopResult(list(answers), list(found), status, self.passes, self.reads, self.moved, self.history)

    def _sum_over_parts(
        self, message: Any, jobs: Sequence[Any], add: Callable[..., Any], ends: float, work: Sequence[Any]
    ) -> Any:
        """What the jobs of all parts give, added up in their order; if it cannot be had by then, `work` is dropped."""
        try:
            found = self.cluster.gather(summed(self.cluster, jobs, add), ends)
        except BaseException:
            self.cluster.drop(work)
            raise
        self.moved += bytes_of(message) + sum(map(bytes_of, found))
        return add(*found)

    def _loop(self, interrupts: Interrupts) -> Status:
        while True:
            if interrupts.pressed:  # while Dask released a job: an exception in a destructor is lost
                raise KeyboardInterrupt
            if self.stop.max_iter is not None and self.passes >= self.stop.max_iter:
                return Status.MAX_ITER
            if self.round and time.perf_counter() >= self.ends:
                return Status.MAX_TIME
            try:
                sigma = self._turn(self.ends if self.round else np.inf)
            except OutOfTime:
                return Status.MAX_TIME
            if self._report_round(sigma):
                return Status.CALLBACK
            if (ended := self._ended) is not None:
                return ended

    def _report_round(self, sigma: float) -> bool:
        """Write the record of a round, and call the reports."""
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
        return self.report(record, list(answers))


def same(value: Any) -> Any:
    """A value as the result of a job, so that it is sent once to each worker."""
    return value


def bytes_of(value: object) -> int:
    """Of all arrays in a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(bytes_of, value)) if isinstance(value, tuple) else 0
