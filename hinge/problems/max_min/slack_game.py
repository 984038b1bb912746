"""The slack-constrained SVM as a max-min problem: gradient steps for w, best response for slack and bias."""

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.problems.rounding import rounding
from hinge.types import MatrixLike


class SlackGame(MaxMargin):
    """The slack-constrained SVM, problem (6) of the survey; Algorithm 2 on it is SIMBA,

    .. math:: \\max_{\\|w\\| \\le 1,\\ |b| \\le 1,\\ \\xi \\in \\Xi_\\nu}\\ \\min_i\\
              y_i(\\langle w, x_i\\rangle + b) + \\xi_i, \\qquad
              \\Xi_\\nu = \\{0 \\le \\xi_i \\le 2,\\ \\textstyle\\sum_i\\xi_i \\le \\nu n\\}.

    A point is the flat vector (w, b, ξ). `project` acts on w, the part played by gradient steps; `respond` sets ξ and b
    to the best response to p, as in Plotkin, Shmoys and Tardos. To solve it, use `hinge.solvers.Simba`.

    Parameters
    ----------
    X, y, relative
        As for `MaxMargin`; rows must lie in the unit ball.
    nu : float
        The mean slack.
    bias : bool
        Whether there is a bias.

    Examples
    --------
    >>> import hinge
    >>> from hinge.problems import SlackGame
    >>> X, y = [[0.9, 0.2], [0.8, -0.3], [-0.9, 0.1], [-0.8, -0.2]], [1, 1, -1, -1]
    >>> found = hinge.maxmin(SlackGame(X, y, nu=0.1), eps=0.2, relative=False, max_iter=20_000)
    >>> bool(found.upper > 0)
    True
    """

    averages = True
    paper_constant = 100.0

    def __init__(
        self, X: MatrixLike | Data, y: ArrayLike, nu: float, *, bias: bool = True, relative: bool = True
    ) -> None:
        super().__init__(X, y, radius=1.0, relative=relative)
        if not 0 <= nu <= 1:
            raise ValueError(f"nu must lie in [0, 1], got {nu!r}: it is the mean slack.")
        longest = self.matrix.largest_norm() if self.in_memory else 1.0
        if longest > 1.0 + 1e-6:
            raise ValueError(f"Rows must lie in the unit ball; the longest has norm {longest:.6g}.")
        self.nu, self.bias = nu, bias

    def start(self) -> np.ndarray:
        return np.zeros(self.d + 1 + self.n)

    def values(self, x: np.ndarray) -> np.ndarray:
        w, b, xi = self._parts(x)
        return super().values(w) + self.y * b + xi

    def values_at(self, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        w, b, xi = self._parts(x)
        return super().values_at(rows, w) + self.y[rows] * b + xi[rows]

    def grad_at(self, i: int, x: np.ndarray | None = None) -> np.ndarray:
        """The gradient in w; zero for b and ξ, which are played by best response."""
        g = self.start()
        g[: self.d] = super().grad_at(i)
        return g

    def estimate_values(self, x: np.ndarray, unit: float) -> np.ndarray:
        w, b, xi = self._parts(x)
        v = super().estimate_values(w, unit)
        return self.y * b + xi + (0.0 if v is None else v)

    def project(self, x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x[: self.d] = super().project(x[: self.d])
        return x

    def respond(self, p: np.ndarray, x: np.ndarray) -> np.ndarray:
        x[self.d] = np.sign(p @ self.y) if self.bias else 0.0
        x[self.d + 1 :] = self._greedy(p)
        return x

    def dual_bound(self, p: np.ndarray, combined: np.ndarray | None = None) -> float:
        """‖Σ pᵢyᵢxᵢ‖ + |pᵀy| + max pᵀξ."""
        upper = float(np.linalg.norm(self.combine(p))) + float(p @ self._greedy(p))
        return upper + (abs(float(p @ self.y)) if self.bias else 0.0) + self.slope_error(p)

    def value_error(self, x: np.ndarray, least: float) -> float:
        return rounding(2 * self.d + 2 * self.n, 4.0)  # rows, w, b and slack are all at most 1 or 2 in size

    def slope_error(self, p: np.ndarray, terms: int = 0) -> float:
        return rounding(3 * self.n + self.d + terms, 4.0)

    def lower(self, x: np.ndarray) -> float:
        return self.least(x)

    def present(self, x: np.ndarray) -> np.ndarray:
        return x

    def _greedy(self, p: np.ndarray) -> np.ndarray:
        """The ξ that maximises pᵀξ: 2 at the ⌊νn/2⌋ largest p, and the rest of νn at the next."""
        xi, left = np.zeros(self.n), self.nu * self.n
        order = np.argsort(-p, kind="stable")
        whole = min(self.n, int(left / 2.0))
        xi[order[:whole]] = 2.0
        if whole < self.n:
            xi[order[whole]] = left - 2.0 * whole
        return xi

    def _parts(self, x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        return x[: self.d], float(x[self.d]), x[self.d + 1 :]
