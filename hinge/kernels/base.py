"""What a kernel is: settings, evaluated in array-API code, so NumPy here and torch on a GPU."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hinge.types import Array


def namespace(A: "Array | np.generic") -> Any:
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
    """A positive semidefinite function K(x, z), or one that hopes to be.

    A subclass says by `of_dots` how a block of inner products becomes kernel values, or, where inner products
    do not tell (`needs_points`), by `__call__` and `diag` what the values of points are; and by `errors` how
    far computed values may be off. That is all that the counted access in `hinge.access` needs.

    Examples
    --------
    >>> from hinge.kernels import Gaussian, Kernel
    >>> isinstance(Gaussian(gamma=0.5), Kernel), Gaussian(gamma=0.5) == Gaussian(gamma=0.5)
    (True, True)
    """

    shifts: ClassVar[bool] = False
    """Whether a common shift of all points leaves K unchanged, so that points may be centred."""

    needs_points: ClassVar[bool] = False
    """Whether values are made of the points themselves, in float64, rather than of inner products."""

    of_dots: ClassVar[Any]

    @property
    def indefinite(self) -> bool:
        """Whether there are points whose Gram matrix has a negative eigenvalue."""
        return False

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and B of shape (k, n): the values computed for i and j are off by at most Σₖ Aₖᵢ Bₖⱼ.

        Parameters
        ----------
        norms : ndarray
            ‖x‖ of each point.
        eta : float
            Inner products are off by η‖x‖‖z‖ at most.
        unit : float
            Relative error of a kernel value by its own rounding.
        off : ndarray
            How far each point itself may be from the one that was given.
        """
        raise NotImplementedError

    def sum_errors(
        self,
        exactness: "tuple[np.ndarray, float, float, np.ndarray]",
        i: np.ndarray,
        size: np.ndarray,
        columns: np.ndarray,
        sums: np.ndarray,
    ) -> np.ndarray | None:
        """What sums Σ size K(xᵢ, ·) of values that are never negative are off by; None if that is not known.

        Parameters
        ----------
        exactness : tuple
            What `errors` takes.
        i, columns : ndarray
            The points summed over, and those whose sums they are.
        size : ndarray
            Not negative.
        sums : ndarray
            As computed.
        """
        return None

    def __call__(self, X: Array, Z: Array) -> Array:
        """The block K(X, Z) of dense points, by rows of `X`."""
        return self.of_dots(X @ Z.T, (X * X).sum(1), (Z * Z).sum(1))

    def diag(self, sq: Array) -> Array:
        """K(x, x) from the squared norms of the points."""
        dots = namespace(sq).asarray(sq)[:, None] * 1.0
        return self.of_dots(dots, sq, None)[:, 0]
