"""Threads that share the work of one problem: how many there may be, and what they do at once.

What is shared is cut into tasks before, by sizes alone, and results are put together in the order of the tasks:
the same bits come out however many threads there are, and whichever of them was the slower.
"""

import os
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import count, pairwise
from multiprocessing import current_process
from typing import Any, Generic, TypeVar, cast

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


class OfThread(threading.local, Generic[T]):
    """What each thread keeps for itself, by a key."""

    def __init__(self) -> None:
        self.kept: dict[Hashable, T] = {}


_allowed: ContextVar[int] = ContextVar("threads allowed", default=1)


@contextmanager
def allowing(threads: int) -> Iterator[None]:
    """Let whole passes over data, such as those of certificates, use so many threads."""
    token = _allowed.set(threads)
    try:
        yield
    finally:
        _allowed.reset(token)


def allowed() -> int:
    """How many threads a whole pass over data may use here."""
    return _allowed.get()


@cache
def cores() -> int:
    """Cores that this process may use: by its affinity, its container, and what joblib was told.

    Whoever starts processes beside each other tells them by the environment how many threads each may have.
    """
    from joblib import cpu_count

    count = int(cpu_count())
    if current_process().name != "MainProcess":
        given = os.environ.get("OMP_NUM_THREADS", "")
        count = max(1, min(count, int(given))) if given.isdecimal() else count
    return count


def threads_of(n_jobs: int | None) -> int:
    """What an estimator's `n_jobs` means, as in scikit-learn.

    None is one, unless ``joblib.parallel_config`` says more; -1 is all `cores`.
    """
    from joblib import effective_n_jobs

    threads = int(effective_n_jobs(n_jobs))
    return threads if n_jobs is not None and n_jobs > 0 else min(threads, cores())


def one_blas_thread() -> Any:
    """A context in which BLAS has one thread: on small products, and in threads, more cost more than they save."""
    return _pools().limit(limits=1, user_api="blas")


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()  # kept, since finding the libraries takes as long as a small fit


def each(work: Callable[[int], T], tasks: int, threads: int | None = None) -> list[T]:
    """``[work(k) for k in range(tasks)]`` in several threads, this one among them.

    There are never more than `cores`. The others are lent by a pool that all fits of the process share: where it is
    busy, this thread does their tasks too, so that nobody waits for threads that have not begun. After Ctrl-C, or
    an error, no task is begun any more, and those under way are waited for.

    Parameters
    ----------
    work : callable
        Should spend its time in code that releases the interpreter lock.
    tasks : int
    threads : int, optional
        The most threads; by default those `allowed`.
    """
    threads = min(tasks, allowed() if threads is None else threads, cores())
    if threads <= 1:
        return [work(k) for k in range(tasks)]
    results: dict[int, T] = {}
    turn, over = count(), threading.Event()  # one step of the interpreter takes a number: no task is done twice

    def take_turns() -> None:
        try:
            while not over.is_set() and (k := next(turn)) < tasks:
                results[k] = work(k)
        except BaseException:
            over.set()
            raise

    pool = _pool(os.getpid(), cores() - 1)
    others = [pool.submit(copy_context().run, take_turns) for _ in range(threads - 1)]
    try:
        take_turns()
    finally:
        begun = [other for other in others if not other.cancel()]
        errors = [error for other in begun if (error := other.exception()) is not None]
    for error in errors:
        raise error
    return [results[k] for k in range(tasks)]


class Begun(Generic[T]):
    """What `each` does, begun by a thread of its own; whoever asks for the results does with it what is left.

    So work that is wanted later goes on meanwhile, and nobody waits idly for it. The thread ends with the process.

    Parameters
    ----------
    work : callable
        Should spend its time in code that releases the interpreter lock.
    tasks : int
    name : str
        Of the thread.
    """

    def __init__(self, work: Callable[[int], T], tasks: int, name: str = "hinge") -> None:
        self._work, self._tasks, self._results = work, tasks, dict[int, T]()
        self._turn, self._error = count(), cast(BaseException | None, None)
        self._thread = threading.Thread(target=self._take_turns, name=name, daemon=True)
        self._thread.start()

    def _take_turns(self) -> None:
        try:
            while self._error is None and (k := next(self._turn)) < self._tasks:
                self._results[k] = self._work(k)
        except BaseException as error:
            self._error = error

    def results(self) -> list[T]:
        """All, in the order of the tasks; raises the error of one, after which none is begun."""
        self._take_turns()
        if not isinstance(self._error, KeyboardInterrupt):  # who leaves need not wait
            self._thread.join()
        if self._error is not None:
            raise self._error
        return [self._results[k] for k in range(self._tasks)]


def stretches(count: int, parts: int) -> list[tuple[int, int]]:
    """So many stretches of nearly one length that cover 0 to `count`."""
    ends = [count * k // parts for k in range(parts + 1)]
    return list(pairwise(ends))


@cache
def _pool(process: int, size: int) -> ThreadPoolExecutor:
    """The pool of a process: a fork has none of its parent's threads."""
    return ThreadPoolExecutor(size, thread_name_prefix="hinge")
