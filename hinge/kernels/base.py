"""The base class of kernels: settings, evaluated in array-API code, for NumPy and for torch on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from hinge.types import Array


def namespace(A: Array | np.generic) -> Any:
    """The module whose functions work on `A`: NumPy, or torch where `A` is one of its tensors.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import namespace
    >>> namespace(np.zeros(3)) is np
    True
    """
    return np if isinstance(A, np.ndarray | np.generic) else __import__(type(A).__module__.split(".")[0])


@dataclass(frozen=True)
class Kernel:
    """A function K(x, z), which should be positive semidefinite.

    A subclass implements `of_dots`, which turns a block of inner products into kernel values, or, if inner products do
    not suffice (`needs_points`), `__call__` and `diag`; and `errors`, bounds on the rounding errors of computed values.

    Examples
    --------
    >>> from hinge.kernels import Gaussian, Kernel
    >>> isinstance(Gaussian(gamma=0.5), Kernel), Gaussian(gamma=0.5) == Gaussian(gamma=0.5)
    (True, True)
    """

    shifts: ClassVar[bool] = False
    """Whether a common shift of all points leaves K unchanged, so that points may be centred."""

    needs_points: ClassVar[bool] = False
    """Whether values are computed from the points themselves, in float64, rather than from inner products."""

    of_dots: ClassVar[Any]

    def __post_init__(self) -> None:
        # Compiled code takes no whole numbers beyond 64 bits, such as gamma=10**21.
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is float and isinstance(value, int):
                object.__setattr__(self, field.name, float(value))

    @property
    def indefinite(self) -> bool:
        """Whether there are points whose Gram matrix has a negative eigenvalue."""
        return False

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B of shape (k, n): the error of the value computed for i and j is at most Σₖ Aₖᵢ Bₖⱼ.

        Parameters
        ----------
        norms : ndarray
            ‖x‖ of each point.
        eta : float
            The error of an inner product is at most η‖x‖‖z‖.
        unit : float
            Relative rounding error of a kernel value itself.
        off : ndarray
            Bound on the distance of each stored point from the one that was given.
        """
        raise NotImplementedError

    def shares(self, norms: np.ndarray, eta: float, unit: float) -> tuple[np.ndarray, float] | None:
        """Bounds on the errors of sums of nonnegative values, whichever: see `Points.shares`; None if not known."""
        return None

    def sum_errors(
        self,
        exactness: tuple[np.ndarray, float, float, np.ndarray],
        i: np.ndarray,
        size: np.ndarray,
        columns: np.ndarray,
        sums: np.ndarray,
    ) -> np.ndarray | None:
        """Bounds on the errors of sums Σ size K(xᵢ, ·) of nonnegative values; None if not known.

        Parameters
        ----------
        exactness : tuple
            The arguments of `errors`.
        i, columns : ndarray
            The points xᵢ summed over, and the points at which the sums are evaluated.
        size : ndarray
            Nonnegative coefficients.
        sums : ndarray
            The computed sums.
        """
        return None

    def __call__(self, X: Array, Z: Array) -> Array:
        """The block K(X, Z) of dense points, by rows of `X`."""
        return self.of_dots(X @ Z.T, (X * X).sum(1), (Z * Z).sum(1))

    def diag(self, sq: Array) -> Array:
        """K(x, x) from the squared norms of the points."""
        dots = namespace(sq).asarray(sq)[:, None] * 1.0
        return self.of_dots(dots, sq, None)[:, 0]
