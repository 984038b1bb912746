"""Losses as values: one solver serves classification and regression.

Every loss here is a function of what a row is short of, :math:`g_i = t_i - y_i(\\langle w, x_i\\rangle + b)`:
t = 1 and y = ±1 for labels; t the target and y = 1 for regression. With the dual weight α of the row,

.. math:: \\ell(g) = \\max_{l \\le \\alpha \\le h}\\; \\alpha g - \\ell^*(\\alpha), \\qquad
          \\ell^*(\\alpha) = \\varepsilon|\\alpha| + \\tfrac q2\\alpha^2,

so four numbers make a loss. Its share in the duality gap, :math:`\\ell(g) + \\ell^*(\\alpha) - \\alpha g`, is never
negative, and zero where α is the slope of the loss at g.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload


class Loss(NamedTuple):
    """A loss by its conjugate.

    Attributes
    ----------
    low, high : float
        Bounds l and h of the dual weights: the least and the largest slope.
    epsilon : float
        ε: residuals up to this cost nothing.
    curvature : float
        q of the conjugate: 0 for losses that grow linearly, ½ for squares.
    """

    low: float
    high: float
    epsilon: float
    curvature: float

    @property
    def name(self) -> str:
        """As scikit-learn calls it."""
        kind = "epsilon_insensitive" if self.two_sided else "hinge"
        return f"squared_{kind}" if self.curvature else kind

    @property
    def two_sided(self) -> bool:
        """Whether both signs of g cost: a loss of regression."""
        return self.low < 0.0

    def of(self, g: np.ndarray, error: float = 0.0) -> np.ndarray:
        """ℓ(g), or the most that it can be where each g is off by `error` at most; overwrites g."""
        if self.two_sided:
            np.abs(g, out=g)
        if error != self.epsilon:
            g += error - self.epsilon
        np.maximum(g, 0.0, out=g)
        if self.curvature:
            g *= g / (2.0 * self.curvature)
        return g

    def slope(self, g: np.ndarray) -> np.ndarray:
        """ℓ'(g), 0 or a bound where there are several."""
        beyond = g - np.clip(g, -self.epsilon, self.epsilon)
        if self.curvature:
            beyond /= self.curvature
        else:
            np.sign(beyond, out=beyond)
        return np.clip(beyond, self.low, self.high, out=beyond)


class Hinge(Loss):
    """The hinge, by a type of its own: compiled code that knows it spares what other losses need."""

    __slots__ = ()


class SquaredHinge(Loss):
    """The squared hinge, for the same reason."""

    __slots__ = ()


HINGE = Hinge(0.0, 1.0, 0.0, 0.0)
""":math:`\\max(0, g)`"""
SQUARED_HINGE = SquaredHinge(0.0, np.inf, 0.0, 0.5)
""":math:`\\max(0, g)^2`"""


def epsilon_insensitive(epsilon: float) -> Loss:
    """:math:`\\max(0, |g| - \\varepsilon)`"""
    return Loss(-1.0, 1.0, _checked(epsilon), 0.0)


def squared_epsilon_insensitive(epsilon: float) -> Loss:
    """:math:`\\max(0, |g| - \\varepsilon)^2`"""
    return Loss(-np.inf, np.inf, _checked(epsilon), 0.5)


def _checked(epsilon: float) -> float:
    if not 0.0 <= epsilon < np.inf:
        raise ValueError(f"epsilon must be a number of at least 0, got {epsilon!r}.")
    return float(epsilon)


# What follows chooses by ``a if a > b else b``: Numba compiles a function for each min and max, a tenth of a second.


def _hinge_share(loss, g, a):
    return (1.0 - a) * g if g > 0.0 else -a * g


def _squared_share(loss, g, a):
    off = (g if g > 0.0 else 0.0) - 0.5 * a  # zero at the optimal dual weight a = 2 max(0, g)
    return off * off - a * (g if g < 0.0 else 0.0)


def _share(loss, g, a):
    beyond = max(0.0, abs(g) - loss.epsilon)
    cost = beyond * beyond / (2.0 * loss.curvature) if loss.curvature > 0.0 else beyond
    return cost + loss.epsilon * abs(a) + 0.5 * loss.curvature * a * a - a * g


def _hinge_ascents(loss, a, g):
    return -np.inf if a >= 1.0 else g, np.inf if a <= 0.0 else g


def _squared_ascents(loss, a, g):
    return g - 0.5 * a, np.inf if a <= 0.0 else g - 0.5 * a


def _ascents(loss, a, g):
    slope = g - loss.curvature * a
    up = slope - loss.epsilon if a >= 0.0 else slope + loss.epsilon
    down = slope - loss.epsilon if a > 0.0 else slope + loss.epsilon
    return -np.inf if a >= loss.high else up, np.inf if a <= loss.low else down


def _hinge_best(loss, a, g, h):
    new = a + g / h
    new = new if new > 0.0 else 0.0
    return new if new < 1.0 else 1.0


def _squared_best(loss, a, g, h):
    new = (h * a + g) / (h + 0.5)
    return new if new > 0.0 else 0.0


def _best(loss, a, g, h):
    z = h * a + g
    z = z - loss.epsilon if z > loss.epsilon else z + loss.epsilon if z < -loss.epsilon else 0.0
    return min(loss.high, max(loss.low, z / (h + loss.curvature)))


# For LLVM to inline: what Numba inlines itself it compiles besides, as a function of its own.
_INSIDE: Any = {"error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True}


def _of_loss(hinge: Callable, squared: Callable, other: Callable, doc: str) -> Callable[..., Any]:
    """A function that takes one of three bodies by the type of the loss."""
    bodies = {Hinge: hinge, SquaredHinge: squared}

    def chosen(loss, *args):
        return bodies.get(type(loss), other)(loss, *args)

    chosen.__doc__ = doc

    @overload(chosen, strict=False, jit_options=_INSIDE)
    def choose(loss, *args):
        if isinstance(loss, types.BaseNamedTuple):
            return bodies.get(loss.instance_class, other)  # type: ignore[attr-defined]
        return None

    return chosen


gap_share = _of_loss(_hinge_share, _squared_share, _share, "ℓ(g) + ℓ*(a) - a g, for one row of weight one.")
ascents = _of_loss(
    _hinge_ascents,
    _squared_ascents,
    _ascents,
    """By how much the dual rises where α grows from a, and where it falls: both derivatives, per weight.

    The first is -inf at the upper bound, the second inf at the lower one. Nothing can be gained at a where
    the first is not positive and the second not negative.
    """,
)
best_weight = _of_loss(
    _hinge_best,
    _squared_best,
    _best,
    "The α that maximises the dual along one row, from a; h is the curvature of ‖w‖²/2 there, per weight.",
)
