"""Exponentials of sums of absolute differences, which no inner product tells."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.kernels.base import Kernel, namespace
from hinge.types import Array, Stored


@dataclass(frozen=True)
class Laplacian(Kernel):
    """:math:`\\exp(-\\gamma\\|x - z\\|_1)`.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Laplacian
    >>> SVC(kernel=Laplacian(gamma=0.5)).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).predict([[0.9, 0.9]])
    array([1])
    """

    gamma: float = 1.0
    shifts = True
    needs_points = True

    def __call__(self, X: Array, Z: Array) -> Any:
        """The block K(X, Z), by rows of `X`; sparse NumPy points too."""
        xp = namespace(X)
        if xp is np or hasattr(X, "indptr"):
            from sklearn.metrics.pairwise import manhattan_distances

            return np.exp(-self.gamma * manhattan_distances(_short(X), _short(Z)))
        return xp.exp(-self.gamma * xp.cdist(X, Z, p=1.0))

    def diag(self, sq: Array) -> Array:
        """One for every point."""
        return namespace(sq).ones_like(sq)

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of absolute differences s are off by ηs, and s exp(-s) is at most 1/e."""
        one = np.ones(len(norms))
        return one[None], (eta + unit) * one[None]


def _short(S: Stored) -> Stored:
    """Compressed rows with indices of 32 bits, which is what scikit-learn's distances take."""
    if isinstance(S, np.ndarray) or S.indices.dtype == np.int32:
        return S
    return type(S)((S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32)), shape=S.shape)
