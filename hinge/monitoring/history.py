"""The history of a run."""

from typing import NamedTuple


class Record(NamedTuple):
    """One evaluation of a run (a look).

    Attributes
    ----------
    iteration : int
    seconds : float
        Time in the solver and its certificates; scores and callbacks are excluded.
    feature_reads, kernel_evals : int
        Cells read, and kernel values computed so far, including those of certificates.
    objective : float
        Exact objective; nan if no certificate was computed.
    certificate : float
        Upper bound on the suboptimality; inf if none is known.
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
    >>> result.history[-1].certificate == result.certificate.gap
    True
    """

    iteration: int
    seconds: float
    feature_reads: int
    kernel_evals: int
    objective: float
    certificate: float
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
    >>> min(result.history.column("certificate")) <= 1e-3
    True
    """

    def column(self, name: str) -> list[float]:
        """One field of all records."""
        return [getattr(record, name) for record in self]
