"""Inner products as they are."""

from dataclasses import dataclass

import numpy as np

from hinge.kernels.base import Kernel
from hinge.types import Array


@dataclass(frozen=True)
class Linear(Kernel):
    """:math:`\\langle x, z\\rangle`.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Linear
    >>> SVC(kernel=Linear()).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).predict([[0.9, 0.9]])
    array([1])
    """

    def of_dots(self, G: Array, sq_x: Array, sq_z: Array | None) -> Array:
        """The inner products themselves."""
        return G

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|δ⟨x, z⟩| ≤ η‖x‖‖z‖ + what the points are off by."""
        far = norms + off
        return np.stack([norms, off, far]), np.stack([(eta + unit) * norms, far, off])
