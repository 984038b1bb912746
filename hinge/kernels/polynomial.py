"""Powers of inner products."""

from dataclasses import dataclass

import numpy as np

from hinge.kernels.base import Kernel
from hinge.types import Array


@dataclass(frozen=True)
class Polynomial(Kernel):
    """:math:`(\\gamma\\langle x, z\\rangle + c_0)^p`.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Polynomial
    >>> SVC(kernel=Polynomial(degree=2, coef0=1.0)).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).predict([[0.9, 0.9]])
    array([1])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def of_dots(self, G: Array, sq_x: Array, sq_z: Array | None) -> Array:
        """Kernel values from inner products, in place."""
        G *= self.gamma
        G += self.coef0
        G **= self.degree
        return G

    @property
    def indefinite(self) -> bool:
        """Not where γ and c₀ are not negative: sums and products of kernels are kernels."""
        return self.gamma < 0 or self.coef0 < 0

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The base s = γ⟨x, z⟩ + c₀ has |s| ≤ a(x)a(z) with a² = γ‖x‖² + c₀; sᵖ is off by p times as much."""
        p, off = float(self.degree), np.where(norms > 0, off / np.maximum(norms, 1e-300), 0.0)
        a = (abs(self.gamma) * norms**2 + abs(self.coef0)) ** (p / 2)
        share = p * (eta + 2.0 * unit + 2.0 * float(off.max(initial=0.0)))
        return a[None], (np.expm1(min(share, 700.0)) + unit) * a[None]
