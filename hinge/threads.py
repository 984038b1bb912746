"""Threads that share the work of one problem.

Work is divided into tasks by sizes alone, and results are combined in the order of the tasks: they are bitwise the same
for any number of threads.
"""

import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import count, pairwise
from multiprocessing import current_process
from typing import Any, Generic, TypeVar, cast

from threadpoolctl import ThreadpoolController

from hinge.compiled import PULSE, assigned

T = TypeVar("T")


class OfThread(threading.local, Generic[T]):
    """Values by key, separate for each thread."""

    def __init__(self) -> None:
        self.kept: dict[Hashable, T] = {}


_allowed: ContextVar[int] = ContextVar("threads allowed", default=1)


def allowing(threads: int) -> assigned[int]:
    """Allow whole passes over data, such as certificates make, this many threads."""
    return assigned(_allowed, threads)


def allowed() -> int:
    """Number of threads that a whole pass over data may use here."""
    return _allowed.get()


@cache
def cores() -> int:
    """Number of cores that this process may use, by its affinity, its container, and joblib's settings.

    A worker process gets its number of threads from its parent through the environment (OMP_NUM_THREADS).
    """
    from joblib import cpu_count

    count = int(cpu_count())
    if current_process().name != "MainProcess":
        given = os.environ.get("OMP_NUM_THREADS", "")
        count = max(1, min(count, int(given))) if given.isdecimal() else count
    return count


def threads_of(n_jobs: int | None) -> int:
    """The number of threads for an estimator's `n_jobs`, as in scikit-learn.

    None is one, unless ``joblib.parallel_config`` sets more; -1 is all `cores`.
    """
    from joblib import effective_n_jobs

    threads = int(effective_n_jobs(n_jobs))
    return threads if n_jobs is not None and n_jobs > 0 else min(threads, cores())


class one_blas_thread:  # a context, named like a function
    """A context in which BLAS uses one thread: for small products, or inside threads, more are slower.

    Threads of BLAS wait for each other within a product, and each wait takes a time slice if other processes keep the
    cores busy. The limit is one of the process: the last context that ends, of all threads, lifts it.
    """

    limiting = threading.Lock()
    wanted = 0
    """Contexts that have not ended."""
    before: list[tuple[Any, int]] = []  # noqa: RUF012  # of the process
    """The libraries that use more threads outside, and how many."""

    def __enter__(self) -> None:
        own = one_blas_thread
        with own.limiting:
            if not own.wanted:
                own.before = [(library, threads) for library in _blas() if (threads := library.num_threads) != 1]
                for library, _ in own.before:
                    library.set_num_threads(1)
            own.wanted += 1

    def __exit__(self, *error: object) -> None:
        own = one_blas_thread
        with own.limiting:
            own.wanted -= 1
            if not own.wanted:
                for library, threads in own.before:
                    library.set_num_threads(threads)


@cache
def _blas() -> list[Any]:
    """The BLAS libraries of the process; cached, since finding them takes as long as a small fit."""
    return [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]


def each(
    work: Callable[[int], T], tasks: int, threads: int | None = None, call_off: Callable[[], None] | None = None
) -> list[T]:
    """``[work(k) for k in range(tasks)]`` in several threads, including the calling one.

    There are never more than `cores`. The other threads come from a pool that all fits of the process share; if it is
    busy, the calling thread does their tasks, so that it never waits for threads that have not begun. After Ctrl-C, or
    an error, no further task is started, and those that have begun are waited for.

    Parameters
    ----------
    work : callable
        Should spend most of its time in code that releases the interpreter lock.
    tasks : int
    threads : int, optional
        Limit of the threads; by default the number of `allowed`.
    call_off : callable, optional
        Called after Ctrl-C or an error, to make tasks that have begun end soon; after Ctrl-C they are then not waited
        for, so they must share nothing that is used later.
    """
    threads = min(tasks, allowed() if threads is None else threads, cores())
    if threads <= 1:
        return [work(k) for k in range(tasks)]
    results: dict[int, T] = {}
    errors: list[BaseException] = []
    helpers: list[threading.Event] = []
    turn, over = count(), threading.Event()  # `next` on a count is atomic: no task is done twice

    def take_turns() -> None:
        while not over.is_set() and (k := next(turn)) < tasks:
            results[k] = work(k)

    def stop() -> None:
        over.set()
        if errors and call_off is not None:
            call_off()

    def help() -> None:
        ended = threading.Event()
        helpers.append(ended)  # before `over` is looked at: who is not listed when it is set begins nothing
        try:
            take_turns()
        except BaseException as error:
            errors.append(error)
            stop()
        finally:
            ended.set()

    begun = False
    while True:  # until the others have ended, however often Ctrl-C is pressed
        try:
            if not begun:
                begun = True
                pool = _pool(os.getpid(), cores() - 1)
                for _ in range(threads - 1):
                    pool.submit(copy_context().run, help)
                take_turns()
            stop()
            if call_off is not None and any(isinstance(error, KeyboardInterrupt) for error in errors):
                break
            for ended in helpers:
                while not ended.wait(PULSE):
                    pass
            break
        except BaseException as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return [results[k] for k in range(tasks)]


class Begun(Generic[T]):
    """Like `each`, started in a background thread; the thread that asks for the results helps with the rest.

    So work that is needed later proceeds in the background, and nobody waits idly. The thread ends with the process.

    Parameters
    ----------
    work : callable
        Should spend most of its time in code that releases the interpreter lock.
    tasks : int
    name : str
        Name of the thread.
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
        """All results in the order of the tasks; raises the error of a task, after which no further one is started."""
        self._take_turns()
        if not isinstance(self._error, KeyboardInterrupt):  # after Ctrl-C do not wait
            self._thread.join()
        if self._error is not None:
            raise self._error
        return [self._results[k] for k in range(self._tasks)]


def stretches(count: int, parts: int) -> list[tuple[int, int]]:
    """Ranges of nearly equal length that cover 0 to `count`."""
    ends = [count * k // parts for k in range(parts + 1)]
    return list(pairwise(ends))


@cache
def _pool(process: int, size: int) -> ThreadPoolExecutor:
    """The pool of a process: a forked process has none of its parent's threads."""
    return ThreadPoolExecutor(size, thread_name_prefix="hinge")
