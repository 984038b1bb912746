"""The history of a run, its limits, and the reasons for its end."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np


class Record(NamedTuple):
    """One evaluation of a run.

    Attributes
    ----------
    iteration : int
    seconds : float
        Time in the solver and its certificates; scores and callbacks are excluded.
    feature_reads, kernel_evals : int
        Cells read, and kernel values computed so far, certificates included.
    objective : float
        Upper bound on the objective, rounding included; nan if no certificate was computed.
    gap : float
        The certified gap: an upper bound on the suboptimality; inf if none is known.
    score : float
        Error on held-out rows; nan if there are none.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, SDCA(), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.history[-1].gap == result.certificate.gap
    True
    """

    iteration: int
    seconds: float
    feature_reads: int
    kernel_evals: int
    objective: float
    gap: float
    score: float


class History(list[Record]):
    """Records in order, with columns by name.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, SDCA(), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> min(result.history.column("gap")) <= 1e-3
    True
    """

    def column(self, name: str) -> list[float]:
        """One field of all records."""
        return [getattr(record, name) for record in self]


class Status(Enum):
    """Why a run ended; the value is a description.

    Examples
    --------
    >>> from hinge.monitoring import Status
    >>> Status.MAX_TIME.is_success, Status.MAX_TIME.value
    (False, 'the time limit was reached')
    """

    CONVERGED = "the certified gap is within tol"
    STATIONARY = "the answer is stationary; the kernel is not positive, so there is no certificate"
    TARGET = "the error on held-out rows reached the target"
    FINISHED = "the method made all the steps it has"
    MAX_ITER = "the iteration limit was reached"
    MAX_TIME = "the time limit was reached"
    MAX_READS = "the read limit was reached"
    MAX_KERNEL_EVALS = "the limit on kernel evaluations was reached"
    MAX_COST = "the limit on the cost of reads was reached"
    STALLED = "no more progress is possible in floating point"
    INTERRUPTED = "it was interrupted"
    DATA_CHANGED = "the data changed while it was read"
    CALLBACK = "a callback asked to stop"

    @property
    def is_success(self) -> bool:
        """Whether the run reached its goal, rather than being cut off by a limit."""
        return self in (Status.CONVERGED, Status.STATIONARY, Status.TARGET, Status.FINISHED, Status.CALLBACK)


@dataclass(frozen=True)
class Stop:
    """Limits; the run ends when the first of them is reached.

    Parameters
    ----------
    tol : float
        Stop when the certificate's gap is at most this; 0 for never.
    max_iter : int, optional
        Number of iterations of the solver.
    max_time : float, optional
        Seconds from the start of the run, without compilation; with any positive limit at least a first piece is run.
    max_reads : int, optional
        Cells read, certificates included; never exceeded.
    max_kernel_evals : int, optional
        Kernel values computed; never exceeded.
    max_cost : float, optional
        Price of the cells read; never exceeded.
    target : float, optional
        Stop when the score, an error on held-out rows, is at most this.

    Examples
    --------
    >>> from hinge import Stop
    >>> Stop(tol=1e-2, max_time=5.0)
    Stop(tol=0.01, max_iter=None, max_time=5.0, max_reads=None, target=None, max_kernel_evals=None, max_cost=None)
    """

    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None
    max_reads: int | None = None
    target: float | None = None
    max_kernel_evals: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if (value is not None or name == "tol") and not (isinstance(value, (int, float, np.number)) and value >= 0):
                raise ValueError(f"{name} must be a number that is not negative, got {value!r}.")
