"""Calls of an oracle that may fail: with retries, a timeout, and validation of the answers."""

import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.structure import check_parts
from hinge.access.tables.table import EVERYWHERE, Line
from hinge.constraints import count, number
from hinge.types import Sparse

Answer: TypeAlias = ArrayLike | tuple[ArrayLike, ArrayLike] | Sparse
"""A row or a column as an oracle returns it: all its values, a pair (positions, values), or a sparse vector."""


class OracleError(RuntimeError):
    """A row or a column could not be obtained, after all retries."""


@contextmanager
def unbroken() -> Iterator[None]:
    """Delay Ctrl-C until the block is done, so that cells that were paid for are not lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[Any, ...]] = []
    previous = signal.signal(signal.SIGINT, lambda *signal_and_frame: came.append(signal_and_frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if previous is None else previous)
    if came and callable(previous):
        previous(*came[0])


class Calls:
    """Settings of retries and timeouts, and a count of the calls.

    Parameters
    ----------
    retries : int
        Number of further calls after one that failed.
    wait : float
        Seconds before the first retry; doubled for each further one.
    timeout : float, optional
        Seconds for a call, which is then made in a thread of its own. After that the thread is abandoned, and its
        answer is ignored.

    Attributes
    ----------
    made : int
        Calls so far.
    """

    def __init__(self, retries: int, wait: float, timeout: float | None) -> None:
        count(0).check("retries", retries)
        number(least=0).check("wait", wait)
        (number(above=0) | None).check("timeout", timeout)
        self.retries, self.wait = int(retries), float(wait)  # NumPy numbers too
        self.timeout = None if timeout is None else float(timeout)
        self.made = 0
        self._counting = threading.Lock()  # calls may be made from several threads

    def make(self, what: str, read: Callable[[Answer], Line], call: Callable[..., Any], *arguments: Any) -> Line:
        """Call, again if it fails, and return ``read(answer)``; `read` raises if the answer is invalid."""
        cause: Exception | None = None
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(self.wait * 2 ** (attempt - 1))
            with self._counting:
                self.made += 1
            try:
                return read(self._answer(call, arguments))
            except Exception as error:  # KeyboardInterrupt is not an Exception, and ends the loop
                cause = error
        tries = "one call" if self.retries == 0 else f"{self.retries + 1} calls"
        said = traceback.format_exception_only(cause)[0].strip().removesuffix(".")
        raise OracleError(
            f"{what} could not be had in {tries}; the last ended with {said}. "
            "What was paid for before is kept: ask again once the cause is gone."
        ) from cause

    def _answer(self, call: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        if self.timeout is None:
            return call(*arguments)
        answer: futures.Future[Any] = futures.Future()

        def work() -> None:
            try:
                answer.set_result(call(*arguments))
            except BaseException as error:  # raised again in the calling thread
                answer.set_exception(error)

        # A daemon: a call that never ends does not keep the program from ending.
        threading.Thread(target=work, name="hinge oracle", daemon=True).start()
        if not futures.wait([answer], self.timeout).done:
            raise TimeoutError(f"no answer within {self.timeout:g} seconds")
        return answer.result()


def line_of(answer: Answer, length: int) -> Line:
    """The answer of an oracle as a `Line`; ValueError if it is invalid."""
    if sp.issparse(answer):
        check_parts(answer)
        sparse = sp.coo_array(answer)
        if sparse.shape not in ((length,), (1, length), (length, 1)):
            raise ValueError(f"a sparse vector of shape {sparse.shape} came, not ({length},)")
        sparse.sum_duplicates()
        answer = sparse.coords[int(np.argmax(sparse.shape))], sparse.data
    elif isinstance(answer, Line) and answer.is_whole:
        answer = answer.values
    if not (isinstance(answer, tuple) and len(answer) == 2 and all(np.ndim(part) == 1 for part in answer)):
        return Line(EVERYWHERE, numbers(answer, length))
    at = np.asarray(answer[0])
    values = numbers(answer[1], len(at))
    if len(at) == 0:
        return Line(EVERYWHERE, values)
    if at.dtype.kind not in "iu":
        raise ValueError("its positions are not whole numbers")
    if at.min() < 0 or at.max() >= length:
        raise ValueError(f"position {at.min() if at.min() < 0 else at.max()} is not one of 0 to {length - 1}")
    if len(np.unique(at)) < len(at):
        raise ValueError("a position comes twice")
    return Line(at.astype(np.int64), values)


def numbers(answer: Answer, count: int) -> np.ndarray:
    """The answer as an array of `count` finite numbers; ValueError if it is not that."""
    a = np.asarray(answer)
    if a.ndim != 1 or isinstance(answer, bytearray | memoryview):  # text that was not decoded, and resembles numbers
        raise ValueError(f"a {type(answer).__name__} came, which is no sequence of numbers")
    if len(a) != count:
        raise ValueError(f"{len(a)} values came, not {count}")
    plain = a.dtype.kind in "biuf" or (a.dtype.kind == "O" and all(isinstance(v, Number) for v in a))
    if not plain or np.ma.is_masked(answer):
        raise ValueError("not all of its values are numbers")
    with np.errstate(over="ignore"):
        x = a.astype(np.float64)
    for k in np.flatnonzero(~np.isfinite(x))[:1].tolist():
        raise ValueError(f"value {k} of {count} is {x[k]}, not a finite number")
    return x
