"""A kernel for the time of a test: what someone writes who adds one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.kernels.base import Kernel


@dataclass(frozen=True)
class Throwaway(Kernel):
    """Inner products, and a share of their squares."""

    gamma: float = 1.0
    share: float = 0.25

    def of_dots(self, G: Any, sq_x: Any, sq_z: Any) -> Any:
        """s + share s², of s = γ⟨x, z⟩, in place."""
        G *= self.gamma
        G *= 1.0 + self.share * G
        return G

    def errors(self, norms, eta, unit, off):
        """s is off by γη‖x‖‖z‖ and by what the points are, s + share s² by 1 + 2 share |s| times as much."""
        far = norms + off
        slope = self.gamma * (1.0 + 2.0 * self.share * self.gamma * float(far.max(initial=0.0)) ** 2)
        return slope * np.stack([far, off, far]), np.stack([(eta + 4.0 * unit) * far, far, off])
