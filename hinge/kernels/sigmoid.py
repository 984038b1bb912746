"""The hyperbolic tangent of inner products, which is not positive for all settings."""

from dataclasses import dataclass

import numpy as np

from hinge.kernels.base import Kernel, namespace
from hinge.types import Array


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """:math:`\\tanh(\\gamma\\langle x, z\\rangle + c_0)`, which is not positive for all settings.

    Examples
    --------
    >>> from hinge.kernels import Sigmoid
    >>> Sigmoid(gamma=0.01, coef0=-1.0)
    Sigmoid(gamma=0.01, coef0=-1.0)
    """

    gamma: float = 1.0
    coef0: float = 0.0

    def of_dots(self, G: Array, sq_x: Array, sq_z: Array | None) -> Array:
        """Kernel values from inner products, in place."""
        G *= self.gamma
        G += self.coef0
        return namespace(G).tanh(G, out=G)

    indefinite = True

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """tanh has no slope above 1."""
        far, g = norms + off, abs(self.gamma)
        one = np.ones(len(norms))
        return np.stack([norms, off, far, one]), np.stack(
            [g * eta * norms, g * far, g * off, (2.0 + abs(self.coef0)) * unit * one]
        )
