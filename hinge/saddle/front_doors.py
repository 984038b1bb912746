"""The functions by which users solve max-min problems: margins, balls, games, semidefinite feasibility; results."""

import copy
import dataclasses
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data, Matrix
from hinge.constraints import choice, number
from hinge.monitoring import History, Record, Status, Stop
from hinge.monitoring.interrupts import within
from hinge.problems.max_min.base import Fraction, MaxMin, offers
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.problems.max_min.linear import MatrixGame
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.problems.max_min.symmetric import Semidefinite, few_threads
from hinge.solvers.base import Solver
from hinge.solvers.driver import solve
from hinge.solvers.papers.sublinear_perceptron import SublinearPerceptron
from hinge.solvers.saddle.by_turns import ByTurns
from hinge.solvers.saddle.core_set import CoreSet
from hinge.solvers.saddle.grigoriadis_khachiyan import GrigoriadisKhachiyan
from hinge.solvers.saddle.pdhg import PDHG
from hinge.solvers.saddle.primal_dual import PrimalDual
from hinge.solvers.saddle.working_set import WorkingSet
from hinge.types import MatrixLike


@dataclass(frozen=True)
class Guarantee:
    """The sense in which an interval [lower, upper] holds.

    Attributes
    ----------
    kind : {"exact", "fraction", "none"}
        "exact": σ lies in the interval. "fraction": the lower bound holds for all but a fraction `rho` of the
        functions, with probability 1 - `delta`. "none": there is no lower bound.
    rho, delta : float

    Examples
    --------
    >>> from hinge.saddle import Guarantee
    >>> print(Guarantee("exact"))
    the value lies in the interval
    """

    kind: str
    rho: float = 0.0
    delta: float = 0.0

    def __str__(self) -> str:
        if self.kind == "fraction":
            return (
                f"at most a fraction {self.rho:g} of the rows is below the lower bound, with probability "
                f"{1 - self.delta:.4g}"
            )
        return {"exact": "the value lies in the interval", "none": "nothing is certified"}[self.kind]


class Interval(NamedTuple):
    """An interval that contains the optimal value, in the sense of the certificate.

    Examples
    --------
    >>> import hinge
    >>> game = hinge.solve_game([[3.0, 1.0], [0.0, 2.0]])
    >>> game.value.lower <= 1.5 <= game.value.upper, round(game.value.middle, 2)
    (True, 1.5)
    """

    lower: float
    upper: float

    @property
    def middle(self) -> float:
        """The midpoint."""
        return 0.5 * (self.lower + self.upper)


@dataclass(frozen=True, repr=False)
class MaxMinResult:
    """The answer of `maxmin`.

    Attributes
    ----------
    x : Any
        The maximiser's strategy.
    p : ndarray of shape (n,)
        The minimiser's weights.
    lower, upper : float
        The interval that contains σ, in the sense of `certificate`.
    gap : float
        Its width, relative or absolute as requested.
    certificate : Guarantee
    entries_read : int
        Entries of the data that were read, certificates included.
    passes : float
        The same, in passes over the data.
    history : History
    status : Status
        Why the run ended.
    n_iter : int
    method : str
        The solver that ran.
    negligible : float
        Upper bounds up to this count as zero.

    Examples
    --------
    >>> import hinge
    >>> found = hinge.solve_game([[1.0, -1.0], [-1.0, 1.0]])
    >>> found.status.name, found.method, str(found.certificate)
    ('CONVERGED', 'PDHG', 'the value lies in the interval')
    """

    x: Any
    p: np.ndarray
    lower: float
    upper: float
    gap: float
    certificate: Guarantee
    entries_read: int
    passes: float
    history: History
    status: Status
    n_iter: int
    method: str
    negligible: float = 0.0

    def __repr__(self) -> str:
        """A summary in one line, without the arrays."""
        return (
            f"{type(self).__name__}({self._quantity} in [{self._interval.lower:.6g}, {self._interval.upper:.6g}], "
            f"gap={self.gap:.2g}, certificate={self.certificate.kind!r}, status={self.status.name.lower()!r}, "
            f"method={self.method!r}, n_iter={self.n_iter}, passes={self.passes:.3g})"
        )

    @property
    def _interval(self) -> Interval:
        return Interval(self.lower, self.upper)

    _quantity = "value"
    """Name of the quantity that the interval contains."""


class Margin(MaxMinResult):
    """The answer of `max_margin`.

    Examples
    --------
    >>> import hinge
    >>> found = hinge.max_margin([[2.0, 0.0], [-1.0, 0.0]], [1, -1])
    >>> found.separable, found.direction.round(3).tolist()
    (True, [1.0, 0.0])
    """

    @property
    def direction(self) -> np.ndarray:
        """The unit normal of the hyperplane; zero if no separating one was found."""
        norm = float(np.linalg.norm(self.x))
        return self.x / norm if self.lower > 0 and norm > 0 else np.zeros_like(self.x)

    _quantity = "margin"

    @property
    def margin(self) -> Interval:
        """The interval that contains the largest margin; `direction` has the margin `lower`."""
        return self._interval

    @property
    def separable(self) -> bool | None:
        """Whether a hyperplane through zero separates the rows; None if it is not known.

        False if `p` proves that no margin exceeds a ten-thousandth of the norm of a typical row.
        """
        if self.lower > 0:
            return True if self.certificate.kind == "exact" else None
        return False if self.upper <= self.negligible else None


class Ball(MaxMinResult):
    """The answer of `enclosing_ball`; `lower` and `upper` bound minus the squared radius.

    Examples
    --------
    >>> import hinge
    >>> ball = hinge.enclosing_ball([[0.0, 0.0], [2.0, 0.0]])
    >>> ball.center.round(3).tolist(), round(ball.radius[1], 3)
    ([1.0, 0.0], 1.0)
    """

    @property
    def center(self) -> np.ndarray:
        """The centre."""
        return np.asarray(self.x)

    _quantity = "radius"

    @property
    def radius(self) -> Interval:
        """The interval that contains the smallest radius; the ball about `center` with the upper end holds all rows."""
        return self._interval

    @property
    def _interval(self) -> Interval:
        least = 0.0 if np.isnan(self.upper) else float(np.sqrt(max(0.0, -self.upper)))
        return Interval(least, np.inf if np.isnan(self.lower) else float(np.sqrt(max(0.0, -self.lower))))


class Game(MaxMinResult):
    """The answer of `solve_game`.

    Examples
    --------
    >>> import hinge
    >>> game = hinge.solve_game([[3.0, 1.0], [0.0, 2.0]])
    >>> round(game.value.middle, 1), game.p.round(2).tolist()
    (1.5, [0.5, 0.5])
    """

    @property
    def value(self) -> Interval:
        """The interval that contains the value; `x` earns at least the lower end, `p` pays at most the upper end."""
        return self._interval


class Feasibility(MaxMinResult):
    """The answer of `semidefinite`; `x` is the matrix X.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> hinge.semidefinite([np.diag([1.0, -1.0]), np.diag([-0.5, 1.0])]).feasible
    True
    """

    @property
    def feasible(self) -> bool | None:
        """Whether some X has all A_i∘X > 0; False if `p` proves that none has; None if it is not known."""
        if self.lower > 0:
            return True
        return False if self.upper <= 0 else None


Method = Literal["auto", "workingset", "coreset", "pdhg", "sublinear"]
Certify = Literal["auto", "exact", "fraction", "none"]


def maxmin(
    problem: MaxMin,
    eps: float = 1e-2,
    *,
    relative: bool = True,
    certificate: Certify = "auto",
    method: Method | Solver = "auto",
    constants: Literal["practical", "paper"] | float | None = None,
    max_time: float | None = None,
    max_iter: int | None = None,
    max_reads: int | None = None,
    callback: Callable[[Record, Any], bool | None] | None = None,
    random_state: int = 0,
    result: type[MaxMinResult] = MaxMinResult,
) -> Any:
    """Maximise the smallest of several functions, to a certified gap.

    Parameters
    ----------
    problem : MaxMin
        One of `hinge.problems`, or a subclass of `hinge.MaxMin` of your own; `hinge.check_problem` tests it.
    eps : float
        Stop when the certified gap is at most this.
    relative : bool
        Whether the gap is relative (the problem documents to what) or absolute.
    certificate : {"auto", "exact", "fraction", "none"}
        "exact" reads all data for the lower bound; "fraction" reads a random sample, and the bound holds for all but a
        fraction of the functions; "none" runs the number of iterations of the theorem. By default "exact" for data in
        memory, and "fraction" otherwise.
    method : {"auto", "workingset", "coreset", "pdhg", "sublinear"} or Solver
        By default the fastest to a certified answer: for margins the working set, alternating with restarted
        primal-dual hybrid gradient if it takes long (`ByTurns`); core-sets for balls; the hybrid gradient for games and
        semidefinite programs. For data that is not in memory, the sublinear methods, which read single rows and
        columns.
    constants : {"practical", "paper"} or float, optional
        Run the sublinear method with the fixed steps of the theorem, T = c² log n / ε² with an absolute ε.
    max_time, max_iter, max_reads
        Limits in seconds, iterations, and entries read; the best answer so far is returned.
    callback : callable, optional
        Called with each `Record` and the strategies; True ends the run.
    random_state : int
    result : type
        The class of the answer.

    Returns
    -------
    MaxMinResult

    Examples
    --------
    >>> import hinge
    >>> from hinge.problems import MatrixGame
    >>> found = hinge.maxmin(MatrixGame([[3.0, 1.0], [0.0, 2.0]]), eps=1e-3)
    >>> bool(found.lower <= 1.5 <= found.upper), found.x.round(2).tolist()
    (True, [0.25, 0.75])
    """
    if not isinstance(problem, MaxMin):
        raise TypeError(f"problem must be a hinge.MaxMin, got {type(problem).__name__}.")
    number(above=0).check("eps", eps)
    choice("auto", "exact", "fraction", "none").check("certificate", certificate)
    _check_size(problem)
    problem = copy.copy(problem)
    problem.relative = relative
    if isinstance(method, Solver):
        solver = method
    else:
        solver = _solver_for(problem, method, eps if relative else 0.0, limited=max_reads is not None)
    free = isinstance(solver, GrigoriadisKhachiyan)  # its exact certificate reads nothing
    if certificate == "auto":
        certificate = "exact" if free or getattr(problem, "in_memory", True) else "fraction"
    if certificate == "fraction" and not free:
        problem.fraction = Fraction(seed=random_state)
    if certificate == "none" and not isinstance(solver, PrimalDual):
        raise ValueError(
            f"certificate='none' runs the number of iterations of a theorem, which {type(solver).__name__} does not "
            "have: set method='sublinear'."
        )
    if constants is not None and not isinstance(solver, PrimalDual):
        raise ValueError("constants belong to the theorem of the sublinear method: set method='sublinear'.")
    if constants is not None or certificate == "none":
        if relative:
            raise ValueError("The theorem's iterations are for an absolute eps: set relative=False.")
        assert isinstance(solver, PrimalDual)
        constant = "practical" if constants is None else constants
        solver = dataclasses.replace(solver, steps="fixed", epsilon=float(eps), constants=constant)
    before = problem.reads
    stop = Stop(0.0 if certificate == "none" else eps, max_iter, max_time, max_reads)
    callbacks = () if callback is None else (callback,)
    with few_threads(problem.order) if isinstance(problem, Semidefinite) else nullcontext():
        ended = solve(problem, solver, seed=random_state, callbacks=callbacks, stop=stop)
    bounds, read, answer = ended.certificate[:3], problem.reads - before, ended.solution
    guarantee = Guarantee("exact" if np.isfinite(bounds[0]) else "none")
    if problem.fraction is not None and np.isfinite(bounds[0]):
        guarantee = Guarantee("fraction", problem.fraction.rho, problem.fraction.delta)
    found = problem.present(answer.x), answer.p, *bounds, guarantee, read, read / max(1, problem.pass_cells)
    return result(*found, ended.history, ended.status, ended.n_iter, type(solver).__name__, problem.negligible)


def _check_size(problem: MaxMin) -> None:
    """Raise an error if squares of entries would overflow or underflow, judged by a few rows."""
    matrix = getattr(problem, "matrix", None)
    if not isinstance(matrix, Matrix):
        return
    rows = np.unique(np.linspace(0, matrix.shape[0] - 1, 64).astype(np.int64))
    largest = matrix.gather(rows).largest_entry()
    limit = 1e15 if matrix.dtype == np.float32 else 1e70
    if np.isfinite(largest) and largest > 0 and not 1 / limit < largest < limit:
        raise ValueError(f"The entries are about {largest:.0e} in size: divide the matrix by that number first.")


def _solver_for(problem: MaxMin, method: str, tol: float, limited: bool) -> Solver:
    """The solver of that name; if reads are limited, one whose iterations read little."""
    sublinear: Solver = SublinearPerceptron() if type(problem) is MaxMargin else PrimalDual()
    if isinstance(problem, MatrixGame):
        sublinear = GrigoriadisKhachiyan()
    named: dict[str, Solver] = {"workingset": WorkingSet(tol=tol), "coreset": CoreSet(), "pdhg": PDHG()}
    named["sublinear"] = sublinear
    if method in named:
        return named[method]
    if method != "auto":
        raise ValueError(f"method is 'auto', {', '.join(map(repr, named))} or a Solver, not {method!r}.")
    if not getattr(problem, "in_memory", True):
        return sublinear
    if type(problem) is MaxMargin:
        return named["workingset"] if limited else ByTurns(tol=tol)
    if isinstance(problem, EnclosingBall):
        return CoreSet()
    full = problem.linear and offers(problem, "values", "combine", "project", "support")
    return PDHG() if full and not problem.averages else sublinear


def max_margin(X: MatrixLike | Data, y: ArrayLike | None = None, eps: float = 1e-2, **options: Any) -> Margin:
    """The hyperplane through zero with the widest margin, to a certified gap.

    .. math:: \\max_{\\|x\\| \\le 1}\\ \\min_i\\ y_i\\langle a_i, x\\rangle

    Parameters
    ----------
    X : array, CSR matrix or Table of shape (n, d)
        For a bias, append a constant column.
    y : array of shape (n,), optional
        Two labels; without y all rows have the label +1.
    eps : float
        Certified gap, relative to the margin unless ``relative=False``.
    **options
        As for `maxmin`; and `radius`, a bound on the norms of rows that are not in memory.

    Returns
    -------
    Margin
        With `direction`, `margin` (an interval), `separable`; and p, which proves it if the rows are not separable.

    Examples
    --------
    >>> import hinge
    >>> found = hinge.max_margin([[1.0, 1.0], [1.0, -1.0], [-2.0, 0.0]], [1, 1, -1], eps=1e-6)
    >>> found.separable, found.direction.round(3).tolist()
    (True, [1.0, 0.0])
    """
    with within(options.get("max_time")):
        problem = MaxMargin(X, _signs(y), radius=options.pop("radius", None))
        return maxmin(problem, eps, result=Margin, **options)


def _signs(y: ArrayLike | None) -> np.ndarray | None:
    """Labels as -1 and +1; if all are equal, -1 for the label -1 and else +1."""
    if y is None:
        return None
    y = np.asarray(y)
    if y.size == 0 or (y.dtype.kind == "f" and np.isnan(y).any()):
        raise ValueError("y must hold a label for each row: there are none, or some are NaN.")
    try:
        labels = np.unique(y)
    except TypeError as error:
        raise ValueError("y mixes labels that cannot be compared: use numbers or strings only.") from error
    if len(labels) > 2:
        raise ValueError(f"y has {len(labels)} different labels; a margin has two sides.")
    if len(labels) == 1:
        return np.full(y.shape, -1 if labels[0] == -1 else 1)
    return np.where(y == labels[-1], 1, -1)


def enclosing_ball(X: MatrixLike | Data, eps: float = 1e-3, **options: Any) -> Ball:
    """The smallest ball that holds all rows, to a certified gap.

    Parameters
    ----------
    X : array, CSR matrix or Table of shape (n, d)
    eps : float
        Certified gap of the squared radius, relative unless ``relative=False``.
    **options
        As for `maxmin`.

    Returns
    -------
    Ball
        With `center` and `radius` (an interval).

    Examples
    --------
    >>> import hinge
    >>> ball = hinge.enclosing_ball([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> ball.center.round(3).tolist(), round(ball.radius[1], 3)
    ([1.0, 0.0], 1.0)
    """
    with within(options.get("max_time")):
        return maxmin(EnclosingBall(X), eps, result=Ball, **options)


def solve_game(A: MatrixLike | Data, eps: float = 1e-3, **options: Any) -> Game:
    """Optimal mixed strategies of a zero-sum game: x chooses columns and is paid A, p chooses rows and pays.

    Parameters
    ----------
    A : array, CSR matrix or Table of shape (n, d)
    eps : float
        Certified gap, relative to the largest payoff unless ``relative=False``.
    **options
        As for `maxmin`; and `largest`, a bound on payoffs that are not in memory.

    Returns
    -------
    Game
        With `x`, `p` and `value` (an interval).

    Examples
    --------
    >>> import hinge
    >>> game = hinge.solve_game([[1.0, -1.0], [-1.0, 1.0]])
    >>> bool(abs(game.value.middle) < 1e-3), game.x.round(2).tolist()
    (True, [0.5, 0.5])
    """
    with within(options.get("max_time")):
        problem = MatrixGame(A, largest=options.pop("largest", None))
        return maxmin(problem, eps, result=Game, **options)


def semidefinite(
    A: MatrixLike | Sequence[MatrixLike] | Data | Semidefinite,
    eps: float = 1e-3,
    *,
    symmetrize: bool = True,
    **options: Any,
) -> Feasibility:
    """The X ⪰ 0 of trace at most 1 that maximises the smallest A_i∘X, or a proof that none has all positive.

    Parameters
    ----------
    A : array of shape (m, n, n), or a sequence of arrays or sparse matrices, or a Semidefinite
    eps : float
        Certified gap, relative unless ``relative=False``.
    symmetrize : bool
        Whether an A_i that is not symmetric is replaced by its symmetric part; else it raises an error.
    **options
        As for `maxmin`.

    Returns
    -------
    Feasibility
        With `x`, the matrix; `feasible`; the interval; and p, for which Σ p_i A_i has no positive eigenvalue if it is
        infeasible.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> found = hinge.semidefinite([np.diag([1.0, -1.0]), np.diag([-0.5, 1.0])], eps=1e-3)
    >>> found.feasible, bool(found.lower <= 1 / 7 <= found.upper)
    (True, True)
    """
    with within(options.get("max_time")):
        problem = A if isinstance(A, Semidefinite) else Semidefinite(A, symmetrize=symmetrize)
        return maxmin(problem, eps, result=Feasibility, **options)
