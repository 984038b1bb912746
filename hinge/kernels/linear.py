"""Inner products as they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.kernels.base import Kernel


@dataclass(frozen=True)
class Linear(Kernel):
    """:math:`\\langle x, z\\rangle`."""

    def of_dots(self, G: Any, sq_x: Any, sq_z: Any) -> Any:
        """The inner products themselves."""
        return G

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|δ⟨x, z⟩| ≤ η‖x‖‖z‖ + what the points are off by."""
        far = norms + off
        return np.stack([norms, off, far]), np.stack([(eta + unit) * norms, far, off])
