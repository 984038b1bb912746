"""The Gaussian kernel, "rbf"."""

import math
from dataclasses import dataclass

import numpy as np

from hinge.kernels.base import Kernel
from hinge.kernels.exponential import gaussian_of_dots
from hinge.types import Array


@dataclass(frozen=True)
class Gaussian(Kernel):
    """:math:`\\exp(-\\gamma\\|x - z\\|^2)`, with :math:`\\gamma = 1/(2\\sigma^2)` in the SBP paper.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.kernels import Gaussian
    >>> SVC(kernel=Gaussian(gamma=0.5)).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]).predict([[0.9, 0.9]])
    array([1])
    """

    gamma: float = 1.0
    shifts = True

    def of_dots(self, G: Array, sq_x: Array, sq_z: Array | None) -> Array:
        """Kernel values from inner products and squared norms, in place; no `sq_z`: x with itself."""
        if sq_z is None:
            G[...] = 1.0
            return G
        if isinstance(G, np.ndarray):
            gaussian_of_dots(G, sq_x, sq_z, self.gamma)
            return G
        G *= 2.0 * self.gamma
        G -= self.gamma * sq_x[:, None]
        G -= self.gamma * sq_z
        return G.clamp_(max=0.0).exp_()

    def errors(self, norms: np.ndarray, eta: float, unit: float, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The squared distance D is off by δ ≤ 2η(‖x‖² + ‖z‖²), so K by e^{γδ} - 1, and by 1 at most.

        Points that are off by ρ move K by the largest slope of exp(-γs²), √(2γ/e), times the ρ of both.
        """
        one, slope = np.ones(len(norms)), np.sqrt(2.0 * self.gamma / math.e)
        x = np.minimum(2.0 * self.gamma * eta * norms**2, 1.0)
        # e^s - 1 is at most (1 + s)s up to 1, where s is the sum of two x; there 2s is more than 1, the most.
        own = np.minimum((1.0 + min(1.0, 2.0 * float(x.max(initial=0.0)))) * x + slope * off, 1.0)
        return np.stack([own, one]), np.stack([one, own + unit])

    def sum_errors(
        self,
        exactness: tuple[np.ndarray, float, float, np.ndarray],
        i: np.ndarray,
        size: np.ndarray,
        columns: np.ndarray,
        sums: np.ndarray,
    ) -> np.ndarray | None:
        """What values are off by: (e^{γδ} - 1)K, their own rounding, and that of the exponent.

        The last is relative to -K ln K, which is concave: its sum is at most that of equal values K.
        """
        norms, eta, unit, off = exactness
        x = 2.0 * self.gamma * eta * norms**2
        far = 2.0 * float(x.max(initial=0.0))
        total = float(size.sum())
        if not far < 0.25 or total == 0.0:
            return None
        sums = np.clip(sums, 1e-30 * total, total)
        # Relative to the values as they are, which may be that much larger than those that were computed.
        own = ((x[columns] + float(x[i].max())) * (1.0 + far) + unit) / (1.0 - np.expm1(far))
        slope = np.sqrt(2.0 * self.gamma / math.e)
        error = sums * (own + 0.5 * unit * np.log(total / sums))
        return 1.02 * error + slope * (total * off[columns] + float(size @ off[i]))
