"""Where the jobs of a fit run: on the workers of a Dask client, or in this process where there is none."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any, Protocol

import dask
from dask.delayed import delayed
from distributed import Client, Future, default_client, futures_of

PATIENCE = 30.0
"""Seconds that a fit waits where the cluster has no worker at all."""
TICK = 0.25
"""Seconds after which a fit that waits looks at the clock and at the cluster."""
FAN = 16
"""Results that are added up at once: of more parts, workers add the first levels."""
GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
"""What a message carries, w of all classes and sometimes α, is large on purpose."""


class OutOfTime(Exception):
    """The time limit came before a result."""


class Cluster(Protocol):
    """What a fit asks of the place where its jobs run. A job is a function of values and of other jobs' results."""

    def threads(self) -> dict[str, int]:
        """The workers, by address, with their threads; there is one at least."""

    def holders(self, chunks: Sequence[Any]) -> list[tuple[str, ...]]:
        """Which workers have each of these chunks already."""

    def load(self, function: Callable[..., Any], loads: Sequence[tuple[Any, ...]], where: Sequence[str]) -> list[Any]:
        """Begin to make something of chunks that are still to be computed, each on the worker named, if it can."""

    def submit(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Begin a job, named for the dashboard."""

    def gather(self, jobs: Sequence[Any], ends: float = float("inf")) -> list[Any]:
        """The results, in order; `OutOfTime` if they are not there at that time of ``time.perf_counter``."""

    def drop(self, jobs: Sequence[Any]) -> None:
        """Nobody waits for these any more."""


def cluster_of(client: Client | None) -> Cluster:
    """That of the client, or of the client of this process; this process itself where there is none."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            return Here()
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client or None, got {client!r}.")
    if client.asynchronous:
        raise ValueError("client is asynchronous: give one made without asynchronous=True.")
    return OnClient(client)


class Here:
    """Every job runs at once, in this thread."""

    def threads(self) -> dict[str, int]:
        """One."""
        return {"here": 1}

    def holders(self, chunks: Sequence[Any]) -> list[tuple[str, ...]]:
        """Nobody."""
        return [() for _ in chunks]

    def load(self, function: Callable[..., Any], loads: Sequence[tuple[Any, ...]], where: Sequence[str]) -> list[Any]:
        """Computed one after the other."""
        return [delayed(function)(*args).compute(scheduler="synchronous") for args in loads]

    def submit(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Done."""
        return function(*args)

    def gather(self, jobs: Sequence[Any], ends: float = float("inf")) -> list[Any]:
        """They are the results."""
        return list(jobs)

    def drop(self, jobs: Sequence[Any]) -> None:
        """Nothing to do."""


class OnClient:
    """Jobs are Dask's tasks: pure, named, and computed again where a worker was lost."""

    def __init__(self, client: Client) -> None:
        self.client, self.run, self.count = client, uuid.uuid4().hex, 0

    def threads(self) -> dict[str, int]:
        """Waits for the first worker, for some time."""
        began = time.perf_counter()
        while not (found := self._asked()):
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

    def load(
        self, function: Callable[..., Any], loads: Sequence[tuple[Any, ...]], where: Sequence[str]
    ) -> list[Future]:
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
        with dask.config.set(GRAPHS):
            try:
                return self.client.submit(function, *args, key=f"hinge-{name}-{self.run}-{self.count}", pure=False)
            except Exception as error:
                self._explain(error)
                raise

    def gather(self, jobs: Sequence[Future], ends: float = float("inf")) -> list[Any]:
        """Looks at them often, and at the clock and the workers now and then; Ctrl-C is heard.

        Dask's own wait ends by an exception after a timeout, whose frames keep jobs alive that nobody needs.
        """
        began = looked = time.perf_counter()
        alone = began
        try:
            while any(job.status == "pending" for job in jobs):
                now = time.perf_counter()
                if now >= ends:
                    raise OutOfTime
                if now - looked > TICK:
                    looked, found = now, self._asked()
                    alone = now if found else alone
                    self._check(found, alone)
                time.sleep(min(0.02, 0.001 + 0.05 * (now - began)))
            return self.client.gather(list(jobs))
        except (CancelledError, OSError) as error:
            self._explain(error)
            raise

    def drop(self, jobs: Sequence[Future]) -> None:
        """Cancelled, if the cluster is still there."""
        if self.client.status == "running":
            self.client.cancel(list(jobs))

    def _asked(self) -> Mapping[str, int]:
        """The workers, from the scheduler."""
        try:
            return self.client.nthreads()
        except Exception as error:
            self._explain(error)
            raise

    def _check(self, workers: Mapping[str, int], since: float) -> None:
        if not workers and time.perf_counter() - since > PATIENCE:
            raise RuntimeError(
                f"The cluster has no workers, and none came within {PATIENCE:g} seconds: start some "
                "(cluster.scale(2)), and wait for them (client.wait_for_workers(1)) before the fit."
            )

    def _explain(self, error: BaseException) -> None:
        if self.client.status != "running":
            raise RuntimeError(
                "The client was closed, or lost its scheduler, during the fit: make a new client and fit again."
            ) from error


def summed(cluster: Cluster, jobs: Sequence[Any], add: Callable[..., Any]) -> list[Any]:
    """Jobs that add these up, level by level, until a few are left: always in the same order."""
    while len(jobs) > FAN:
        jobs = [cluster.submit("add", add, *jobs[k : k + FAN]) for k in range(0, len(jobs), FAN)]
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
