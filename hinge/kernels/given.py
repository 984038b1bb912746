"""Kernels that others evaluate: a matrix of values, or a Python function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hinge.kernels.base import Kernel


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The Gram matrix is given in place of points.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVC
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> SVC(kernel="precomputed").fit(X @ X.T, [0, 1]).predict([[0.0, 1.8]])
    array([1])
    """


@dataclass(frozen=True)
class Function(Kernel):
    """A Python callable, evaluated where a value is needed and nowhere else.

    Parameters
    ----------
    function : callable
        ``function(x, z)`` gives one value; with ``on="blocks"``, ``function(xs, zs)`` gives the block of
        values for two lists of items (or arrays of rows).
    on : {"pairs", "blocks", "indices"}
        What it is called with: two items, two lists of items, or the numbers of two items.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Function
    >>> def shared(a, b):
    ...     return len(set(a) & set(b))
    >>> words = ["spam", "maps", "ham", "eggs"]
    >>> SVC(kernel=Function(shared, on="pairs"), C=10.0).fit(words, [1, 1, 0, 0]).predict(["amps"])
    array([1])
    """

    function: Callable[[Any, Any], Any]
    on: str = "pairs"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"kernel must be a name or a callable, got {self.function!r}.")
        if not isinstance(self.on, str) or self.on not in ("pairs", "blocks", "indices"):
            raise ValueError(f"A callable kernel works on 'pairs', 'blocks' or 'indices', not {self.on!r}.")
