"""How far a fit has come: the time left, and a progress bar."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # hinge.monitoring itself needs no scikit-learn
    from rich.progress import Progress
    from sklearn.callback._callback_context import CallbackContext


FASTER = 1.5
"""Newton steps double the digits in the end, and do less before that."""


class Limits(Protocol):
    """Limits of a fit; an estimator may also have `max_reads` or `max_kernel_evals`."""

    tol: float
    max_time: float | None


def progress_bar() -> "Progress":
    """A bar on standard error, which vanishes at its end; needs rich."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TimeElapsedColumn(), BarColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=Console(stderr=True), transient=True)


class ProgressBar:
    """A scikit-learn callback that draws a progress bar of a fit on standard error.

    The bar shows the progress to the nearest of: a certified gap of `tol`, on a logarithmic scale; `max_time`;
    `max_reads`. It moves to and fro while none of these is known. Needs rich.

    Examples
    --------
    >>> from hinge import LinearSVC
    >>> from hinge.monitoring.progress import ProgressBar
    >>> model = LinearSVC().set_callbacks(ProgressBar())
    """

    def setup(self, estimator: Limits, context: "CallbackContext") -> None:
        """Start drawing."""
        self._progress = progress_bar()
        self._task = self._progress.add_task("not evaluated yet", total=None)
        self._gap = math.inf
        self._progress.start()

    def teardown(self, estimator: Limits, context: "CallbackContext") -> None:
        """Remove the bar."""
        self._progress.stop()

    def on_fit_task_begin(self, estimator: Limits, context: "CallbackContext") -> None:
        """Nothing is known yet."""

    def on_fit_task_end(self, estimator: Limits, context: "CallbackContext") -> bool:
        """Draw an evaluation of the answer, whose record is in the context; the end of the fit itself has none."""
        record = getattr(context, "record", None)
        if record is None:
            return False
        record = context.measured_record()
        if math.isfinite(record.gap):
            self._gap = record.gap
        gap = f"gap {self._gap:.1e} of {estimator.tol:g}" if math.isfinite(self._gap) else "gap not known yet"
        share = nearness(record.seconds, record.feature_reads, self._gap, estimator, record.kernel_evals)
        self._progress.update(
            self._task,
            total=None if share is None else 1.0,
            completed=share or 0.0,
            description=f"{gap}, {record.feature_reads or record.kernel_evals:,} "
            + ("kernel values" if record.kernel_evals else "reads"),
        )
        return False


def time_left(looks: Sequence[tuple[float, float]], tol: float) -> float | None:
    """Seconds to a gap of `tol`, from the (seconds, gap) of the evaluations so far; None if unknown.

    The last three count, and how many more are needed. The logarithm of the gap falls by as much at each as on
    average; or, if it fell faster at the last one, as Newton steps do, by `FASTER` times as much at each as before.
    """
    known = [(seconds, math.log(gap)) for seconds, gap in looks[-3:] if 0 < gap < math.inf]
    if len(known) < 2 or not tol > 0:
        return None
    falls = [before - after for (_, before), (_, after) in pairwise(known)]
    fall, pace = sum(falls) / len(falls), (known[-1][0] - known[0][0]) / len(falls)
    if fall <= 0 or pace <= 0:
        return None
    faster = len(falls) == 2 and falls[1] > falls[0] > 0
    fall, left, more = falls[-1] * FASTER if faster else fall, known[-1][1] - math.log(tol), 0
    if not faster:
        return max(0, math.ceil(left / fall - 1e-9)) * pace
    while left > 0:
        left, fall, more = left - fall, fall * FASTER, more + 1
    return more * pace


def looks_without_progress(looks: Sequence[tuple[float, float]]) -> int:
    """Looks since the gap was last smaller, by a hundredth at least, than at any before."""
    best, still = math.inf, 0
    for _, gap in looks:
        best, still = (gap, 0) if gap < 0.99 * best else (best, still + 1)
    return still


def nearness(seconds: float, reads: int, gap: float, limits: Limits, evals: int = 0) -> float | None:
    """The fraction of the way to the nearest limit of gap, time, reads or kernel values; None if unknown."""
    shares = []
    if 0 < limits.tol < 1 and math.isfinite(gap):
        shares.append(math.log(min(1.0, max(gap, limits.tol))) / math.log(limits.tol))
    if limits.max_time:
        shares.append(seconds / limits.max_time)
    for name, count in (("max_reads", reads), ("max_kernel_evals", evals)):
        if most := getattr(limits, name, None):
            shares.append(count / most)
    return min(1.0, max(shares)) if shares else None
