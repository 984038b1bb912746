"""Max-min problems: maximise the smallest of n functions. The base class, with methods in tiers."""

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from hinge.problems.base import EPS, ROUNDING_32, Certificate, Problem

MOST_BOUNDS = 20
"""Number of bounds that one sample is used for: each adds to the probability of an error."""
NEGLIGIBLE = 1e-3
"""Relative gaps of an optimum below this fraction of a typical value are relative to that value instead."""


class Fraction:
    """With probability 1 - δ, at most a fraction ρ of all functions is below the bound.

    The bound is the smallest value among m functions drawn independently. If more than a fraction ρ of all functions
    are smaller than that, the sample has missed all of these, which has a probability of at most
    :math:`(1-\\rho)^m`. Each x that is evaluated adds as much, so after L bounds :math:`\\delta = L (1-\\rho)^m`. The
    sample must be independent of x.

    The bound says nothing of functions that are rarer than ρ.

    Parameters
    ----------
    rho : float
        The fraction.
    delta : float
        Upper bound on the probability of a wrong bound; after 20 bounds no more are given.
    seed : int

    Examples
    --------
    >>> import hinge
    >>> from hinge.datasets import make_separable
    >>> made = make_separable(2000, 10, 0.3)
    >>> found = hinge.max_margin(made.X_train, made.y_train, eps=0.1, certificate="fraction")
    >>> str(found.certificate)
    'at most a fraction 0.01 of the rows is below the lower bound, with probability 0.9995'
    """

    def __init__(self, rho: float = 0.01, delta: float = 0.01, seed: int = 0) -> None:
        if not (0 < rho < 1 and 0 < delta < 1):
            raise ValueError(f"rho and delta must lie in (0, 1), got {rho!r} and {delta!r}.")
        self.rho, self.size, self.looks = rho, math.ceil(math.log(delta / MOST_BOUNDS) / math.log1p(-rho)), 0
        self.most, self.seed = delta, seed
        self._sample: Any = None

    @property
    def delta(self) -> float:
        """The probability that one of the bounds given so far is wrong."""
        return self.looks * (1.0 - self.rho) ** self.size

    def rows(self, n: int) -> np.ndarray:
        """Indices of the sampled functions, ascending and without repetition."""
        return np.unique(np.random.default_rng([self.seed, 0x46]).integers(0, n, self.size))

    def lower(self, problem: "MaxMin", x: np.ndarray) -> float:
        """The smallest value of the sample at x; the rows of the sample are read once, and kept."""
        if self.looks == MOST_BOUNDS:
            return -np.inf
        if self._sample is None:
            self._sample = problem.sample_of(self.rows(problem.n))
        self.looks += 1
        return float(self._sample(x).min())


Primal = Literal["gradient", "mean", "multiplicative", "response"]


class Strategies(NamedTuple):
    """An answer: the maximiser's point x, and the weights p with which the minimiser mixes the functions.

    Attributes
    ----------
    x : ndarray
        A point of K.
    p : ndarray of shape (n,) or None
        A point of the simplex; None if the method has none.
    combined : ndarray or None
        :math:`\\sum_i p_i g_i`, if the method has it.
    terms : int
        Number of terms that were added up in `combined`; its rounding is bounded by that.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import MatrixGame, Strategies
    >>> half = np.array([0.5, 0.5])
    >>> bool(abs(MatrixGame([[1.0, -1.0], [-1.0, 1.0]]).objective(Strategies(half, half))) < 1e-9)
    True
    """

    x: np.ndarray
    p: np.ndarray | None = None
    combined: np.ndarray | None = None
    terms: int = 0


class MaxMin(Problem[Strategies]):
    """The saddle point of n concave functions over a convex set,

    .. math:: \\sigma = \\max_{x \\in K}\\ \\min_{i \\le n}\\ c_i(x)
              = \\min_{p \\in \\Delta_n}\\ \\max_{x \\in K}\\ \\sum_i p_i c_i(x).

    Any x and any p bound σ: :math:`\\min_i c_i(x) \\le \\sigma \\le \\max_{x' \\in K}\\sum_i p_i c_i(x')`.
    These two bounds are the certificate, whatever the method.

    A subclass implements some of the methods; each tier makes more solvers applicable.

    1. `values`, `combine`, `project`, `support`: primal-dual hybrid gradient (`PDHG`), for linear functions.
    2. `values_at`, `grad_at`: single functions, by which a lower bound for all but a fraction of them is certified.
    3. `sample_gradient`, `estimate_values`: Algorithm 2 of the survey (`PrimalDual`), which uses the gradient of one
       function and an estimate of all values in each iteration.

    `start` gives the shape of x. If the functions are not linear, implement `dual_bound` instead of `support`. A
    subclass that wants its reads reported counts them in `reads`.

    Attributes
    ----------
    n : int
        Number of functions.
    linear : bool
        Whether :math:`c_i(x) = \\langle g_i, x\\rangle`, so that gradients do not depend on x.
    relative : bool
        Whether the gap is measured against `unit`, or absolute.
    scale : float
        The largest norm of a gradient, or a bound on it; the step sizes of Algorithm 2 are divided by it.
    second_moment : float
        A bound on the mean square of an estimated value, divided by `scale` squared; estimates are clipped by it.
    diameter : float
        The largest norm of a point of K.
    averages : bool
        Whether Algorithm 2 takes the mean of all p for its certificate, instead of the frequencies of its draws,
        which have a larger variance.
    primal : {"gradient", "mean", "multiplicative", "response"}
        The primal player of Algorithm 2: gradient steps and `project`; the mean of the points whose
        functions were drawn, for strongly concave functions; multiplicative weights on a simplex; or the best
        response to p (Plotkin, Shmoys and Tardos), by `respond`.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> class Box(hinge.MaxMin):
    ...     def __init__(self, G):
    ...         self.G, self.n = G, len(G)
    ...     def start(self):
    ...         return np.zeros(self.G.shape[1])
    ...     def values(self, x):
    ...         return self.G @ x
    ...     def combine(self, p):
    ...         return self.G.T @ p
    ...     def project(self, x):
    ...         return np.clip(x, -1, 1)
    ...     def support(self, g):
    ...         return float(np.abs(g).sum())
    >>> problem = Box(np.array([[1.0, 0.0], [0.5, 0.5]]))
    >>> found = hinge.maxmin(problem, eps=1e-3)
    >>> bool(found.lower <= 1.0 <= found.upper)
    True
    """

    n: int
    linear: ClassVar[bool] = True
    relative: bool = True
    negligible: float = 0.0
    """Upper bounds up to this count as zero."""
    fraction: Fraction | None = None
    """Certify lower bounds for all but a fraction of the functions, from a sample."""
    scale: float = 1.0
    second_moment: float = 1.0
    diameter: float = 1.0
    averages: ClassVar[bool] = False
    primal: ClassVar[Primal] = "gradient"
    paper_constant: ClassVar[float] = 100.0
    """c of the proof's :math:`T = c^2\\varepsilon^{-2}\\log n`."""

    readers = "PrimalDual"
    pass_cells: int = 1
    """Entries that one pass over the data reads."""
    step_reads: int = 1
    """Upper bound on the entries that an iteration of Algorithm 2 reads."""
    lower_reads: int = 1
    """Upper bound on the entries that a lower bound reads."""
    setup_reads: int = 0
    """Entries that the first iteration reads in addition."""
    step_evals: int = 0
    """Upper bound on the kernel values that an iteration of Algorithm 2 computes."""

    # --- every tier -----------------------------------------------------------------------

    def start(self) -> np.ndarray:
        """A point of K to begin from; zeros where they lie in K."""
        raise self._lacks("start")

    def _lacks(self, name: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} does not supply {name}(), which is needed here: hinge.MaxMin says what "
            "each method unlocks, and hinge.check_problem(problem) tests those that are there."
        )

    # --- first tier -----------------------------------------------------------------------

    def values(self, x: np.ndarray) -> np.ndarray:
        """All :math:`c_i(x)`."""
        raise self._lacks("values")

    def combine(self, p: np.ndarray) -> np.ndarray:
        """:math:`\\sum_i p_i g_i`, the gradient of the mixture, for linear functions."""
        raise self._lacks("combine")

    def project(self, x: np.ndarray) -> np.ndarray:
        """The point of K nearest to x."""
        raise self._lacks("project")

    def support(self, g: np.ndarray) -> float:
        """:math:`\\max_{x \\in K}\\langle g, x\\rangle`."""
        raise self._lacks("support")

    def quick_values(self, x: np.ndarray) -> np.ndarray:
        """`values` as fast as possible, in the precision of the storage; for steps, not for certificates."""
        return self.values(x)

    def quick_combine(self, p: np.ndarray) -> np.ndarray:
        """`combine` as fast as possible, in the precision of the storage."""
        return self.combine(p)

    # --- second tier ----------------------------------------------------------------------

    def values_at(self, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        """:math:`c_i(x)` for some i."""
        raise self._lacks("values_at")

    def grad_at(self, i: int, x: np.ndarray) -> np.ndarray:
        """The gradient of :math:`c_i` at x."""
        raise self._lacks("grad_at")

    # --- third tier -----------------------------------------------------------------------

    def sample_gradient(self, i: int, x: np.ndarray) -> np.ndarray:
        """The gradient of :math:`c_i` at x, for the primal step."""
        return self.grad_at(i, x)

    def estimate_values(self, x: np.ndarray, unit: float) -> np.ndarray | None:
        """An unbiased estimate of all :math:`c_i(x)` from one uniform number; None where it is undefined.

        Its mean square must not exceed `second_moment` times `scale` squared.
        """
        raise self._lacks("estimate_values")

    def respond(self, p: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x, with those coordinates that are played by best response set to the best response to p."""
        return x

    # --- bounds ---------------------------------------------------------------------------

    def value_error(self, x: np.ndarray, least: float) -> float:
        """Bound on the rounding error of the smallest value at x; 0 if the problem does not know one."""
        return 0.0

    def slope_error(self, p: np.ndarray, terms: int = 0) -> float:
        """Bound on the rounding error of the upper bound from p; `terms` is the number of terms of `combine(p)`."""
        return 0.0

    def dual_bound(self, p: np.ndarray, combined: np.ndarray | None = None) -> float:
        """:math:`\\max_{x \\in K}\\sum_i p_i c_i(x)`; `combined` is `combine(p)`, where known."""
        return self.support(self.combine(p) if combined is None else combined) + self.slope_error(p)

    def least(self, x: np.ndarray) -> float:
        """The smallest value at x: of all functions, or of the sample of `fraction`; less its rounding error."""
        least = float(self.values(x).min()) if self.fraction is None else self.fraction.lower(self, x)
        return least - self.value_error(x, least) if np.isfinite(least) else least

    def lower(self, x: np.ndarray) -> float:
        """A lower bound on σ: the smallest value at x, or at a multiple of x that is better."""
        return self.least(x)

    def announce(self) -> None:
        """Called before a run that will ask for lower bounds: data that they read may be fetched ahead."""

    def sample_of(self, rows: np.ndarray) -> Callable[[Any], np.ndarray]:
        """A function of x: the values of some of the functions, whose data is read once."""
        return lambda x: self.values_at(rows, x)

    def present(self, x: np.ndarray) -> Any:
        """x in the form that is returned to users."""
        return x

    def bounds(self, answer: Strategies) -> tuple[float, float]:
        """A lower and an upper bound on σ, from x and from p."""
        if answer.p is None:
            return self.lower(answer.x), np.inf
        upper = self.dual_bound(answer.p, answer.combined)
        upper += 0.0 if answer.combined is None else self.slope_error(answer.p, answer.terms)
        return self.lower(answer.x), upper

    def unit(self, lower: float, upper: float) -> float:
        """The number that the width is divided by for a relative gap."""
        return max(abs(lower), abs(upper))

    def gap(self, lower: float, upper: float) -> float:
        """The width of an interval [lower, upper], absolute or relative to `unit`."""
        if np.isnan(lower) or np.isnan(upper):
            return np.inf
        width = max(0.0, upper - lower)
        if not self.relative or width == 0.0 or not np.isfinite(width):
            return width
        return (1.0 + 4.0 * EPS) * width / max(self.unit(lower, upper), np.finfo(float).tiny)

    def certified(self, lower: float, upper: float) -> Certificate:
        """The certificate of these two bounds."""
        rounding = ROUNDING_32 * (abs(lower) + abs(upper)) if np.isfinite(lower) and np.isfinite(upper) else 0.0
        if np.isnan(lower) or np.isnan(upper):
            raise ValueError("A bound is not a number: the problem's values or its upper bounds are not finite.")
        if self.fraction is None and lower > upper + rounding + ROUNDING_32 * self.scale:
            raise ValueError(
                f"The bounds contradict each other, {lower:.6g} from below and {upper:.6g} from above: run "
                "hinge.check_problem(problem). Linear functions have no constant term."
            )
        return Certificate(lower, upper, self.gap(lower, upper))

    def objective(self, answer: Strategies) -> float:
        """The smallest of all values at x."""
        return self.lower(answer.x)

    def certificate(self, answer: Strategies) -> Certificate:
        """The interval that x and p certify."""
        return self.certified(*self.bounds(answer))


def offers(problem: MaxMin, *names: str) -> bool:
    """Whether a problem implements all these methods."""
    return all(getattr(type(problem), name) is not getattr(MaxMin, name) for name in names)
