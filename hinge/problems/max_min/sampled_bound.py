"""A lower bound on all but a fraction of the functions, from a random sample of them."""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

MOST_LOOKS = 20  # bounds that one sample is used for: each adds to the probability of an error


class Sampled(Protocol):
    """n functions, some of which can be evaluated on their own."""

    n: int

    def sample_of(self, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function of x: the values of some of the functions, whose data is read once."""


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
        self.rho, self.size, self.looks = rho, math.ceil(math.log(delta / MOST_LOOKS) / math.log1p(-rho)), 0
        self.most, self.seed = delta, seed
        self._sample: Any = None

    @property
    def delta(self) -> float:
        """The probability that one of the bounds given so far is wrong."""
        return self.looks * (1.0 - self.rho) ** self.size

    def rows(self, n: int) -> np.ndarray:
        """Indices of the sampled functions, ascending and without repetition."""
        return np.unique(np.random.default_rng([self.seed, 0x46]).integers(0, n, self.size))

    def lower(self, problem: Sampled, x: np.ndarray) -> float:
        """The smallest value of the sample at x; the rows of the sample are read once, and kept."""
        if self.looks == MOST_LOOKS:
            return -np.inf
        if self._sample is None:
            self._sample = problem.sample_of(self.rows(problem.n))
        self.looks += 1
        return float(self._sample(x).min())
