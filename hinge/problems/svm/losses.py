"""Losses as values, so that one solver serves classification and regression.

Every loss here is a function of :math:`g_i = t_i - y_i(\\langle w, x_i\\rangle + b)`, with t = 1 and y = ±1 in
classification, and with the target t and y = 1 in regression. With the dual weight α of the row,

.. math:: \\ell(g) = \\max_{l \\le \\alpha \\le h}\\; \\alpha g - \\ell^*(\\alpha), \\qquad
          \\ell^*(\\alpha) = \\varepsilon|\\alpha| + \\tfrac q2\\alpha^2,

so four numbers l, h, ε and q define a loss. A row's contribution to the duality gap,
:math:`\\ell(g) + \\ell^*(\\alpha) - \\alpha g`, is never negative, and zero if α is a subgradient of the loss at g.

A loss with another conjugate is a class that derives from `Loss` and overrides its methods:
``tests/test_contributing.py`` adds the logistic loss.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hinge.compiled import extends_compiler


class Loss(NamedTuple):
    """A loss, defined by its convex conjugate.

    The static methods are what the dual ascent computes for one row; they are compiled for each class of losses. All
    losses that the four numbers define are one class: code for the hinge alone would be a little faster in the ascent
    on short rows, but every solver would be compiled anew for each loss.

    Attributes
    ----------
    low, high : float
        Bounds l and h of the dual weights: the least and the largest slope.
    epsilon : float
        ε: residuals up to this cost nothing; 0 for losses of one side.
    curvature : float
        q of the conjugate: 0 for losses that grow linearly, ½ for squares. For another conjugate, the least second
        derivative: ℓ'' is at most 1/q.
    """

    low: float
    high: float
    epsilon: float
    curvature: float

    @property
    def name(self) -> str:
        """The name that scikit-learn gives it."""
        kind = "epsilon_insensitive" if self.two_sided else "hinge"
        return f"squared_{kind}" if self.curvature else kind

    @property
    def two_sided(self) -> bool:
        """Whether g of either sign has a loss: true for losses of regression."""
        return self.low < 0.0

    @property
    def piecewise(self) -> bool:
        """Whether the four numbers define it, so that it is linear or quadratic between kinks."""
        return True

    def values(self, g: np.ndarray, error: float = 0.0) -> np.ndarray:
        """ℓ(g), or an upper bound on it if each g has an error of at most `error`; overwrites g."""
        if self.two_sided:
            np.abs(g, out=g)
        if error != self.epsilon:
            g += error - self.epsilon
        np.maximum(g, 0.0, out=g)
        if self.curvature:
            g *= g / (2.0 * self.curvature)
        return g

    def slope(self, g: np.ndarray) -> np.ndarray:
        """ℓ'(g); at a kink the subgradient 0."""
        beyond = g - np.clip(g, -self.epsilon, self.epsilon) if self.two_sided else np.maximum(g, 0.0)
        if self.curvature:
            beyond /= self.curvature
        else:
            np.sign(beyond, out=beyond)
        return beyond if self.curvature else np.clip(beyond, self.low, self.high, out=beyond)

    def second(self, alpha: np.ndarray) -> np.ndarray:
        """ℓ''(g) of a smooth loss where its slope is α."""
        return (alpha != 0.0) * (1.0 / self.curvature)

    def conjugates(self, alpha: np.ndarray) -> np.ndarray:
        """ℓ*(α), correct within some roundings of the largest of α, ℓ*(α) and 1."""
        return self.epsilon * np.abs(alpha) + 0.5 * self.curvature * alpha**2

    # These use ``a if a > b else b``: Numba takes a tenth of a second to compile each min and max.

    @staticmethod
    def conjugate(loss, a):
        """ℓ*(a)."""
        return loss.epsilon * abs(a) + 0.5 * loss.curvature * a * a

    @staticmethod
    def gap_share(loss, g, a):
        """ℓ(g) + ℓ*(a) - a g, for one row of weight one."""
        q = loss.curvature
        if loss.low < 0.0:
            beyond = abs(g) - loss.epsilon
            beyond = beyond if beyond > 0.0 else 0.0
            cost = beyond * beyond / (2.0 * q) if q > 0.0 else beyond
            return cost + loss.epsilon * abs(a) + 0.5 * q * a * a - a * g
        if q == 0.0:
            return (1.0 - a) * g if g > 0.0 else -a * g
        off = (g if g > 0.0 else 0.0) - q * a  # zero where a is the slope at g, whatever the rounding
        return off * off / (2.0 * q) - a * (g if g < 0.0 else 0.0)

    @staticmethod
    def ascents(loss, a, g):
        """The right and the left derivative of the dual in α at a, divided by the weight of the row.

        The first is -inf at the upper bound of α, the second inf at the lower one. a is optimal if the first is not
        positive and the second is not negative.
        """
        if loss.low < 0.0:
            slope = g - loss.curvature * a
            up = slope - loss.epsilon if a >= 0.0 else slope + loss.epsilon
            down = slope - loss.epsilon if a > 0.0 else slope + loss.epsilon
            return -np.inf if a >= loss.high else up, np.inf if a <= loss.low else down
        slope = g if loss.curvature == 0.0 else g - loss.curvature * a
        return -np.inf if a >= loss.high else slope, np.inf if a <= 0.0 else slope

    @staticmethod
    def best_weight(loss, a, g, h):
        """The α that maximises the dual in one coordinate, from a.

        h is the curvature of λ/2 ‖w‖² in it, over the weight of the row.
        """
        if loss.low < 0.0:
            z = h * a + g
            z = z - loss.epsilon if z > loss.epsilon else z + loss.epsilon if z < -loss.epsilon else 0.0
            new = z / (h + loss.curvature)
        else:
            new = a + g / h if loss.curvature == 0.0 else (h * a + g) / (h + loss.curvature)
        new = new if new > loss.low else loss.low
        return new if new < loss.high else loss.high


HINGE = Loss(0.0, 1.0, 0.0, 0.0)
""":math:`\\max(0, g)`"""
SQUARED_HINGE = Loss(0.0, np.inf, 0.0, 0.5)
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


# Inlining is left to LLVM: functions that Numba inlines are also compiled on their own, which takes time.
_INSIDE: Any = {"error_model": "numpy", "forceinline": True, "no_cfunc_wrapper": True}


def _of_loss(name: str) -> Callable[..., Any]:
    """A static method of the loss, as a function that compiled code can call."""

    def called(loss, *args):
        return getattr(loss, name)(loss, *args)

    called.__doc__ = getattr(Loss, name).__doc__

    @extends_compiler
    def find_method() -> None:
        from numba import types
        from numba.extending import overload

        @overload(called, strict=False, jit_options=_INSIDE)
        def method(loss, *args):
            named = isinstance(loss, types.NamedTuple | types.NamedUniTuple)
            return getattr(loss.instance_class, name) if named else None

    return called


conjugate, gap_share = _of_loss("conjugate"), _of_loss("gap_share")
ascents, best_weight = _of_loss("ascents"), _of_loss("best_weight")
