"""Results of the functions that solve max-min problems."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hinge.monitoring import History, Status


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
