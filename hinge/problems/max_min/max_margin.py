"""The widest margin of a hyperplane through zero, problem (1) of the survey; with slack, problem (6); with a kernel."""

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram, Data, Gram, Matrix, as_points
from hinge.kernels import Kernel
from hinge.problems.base import rounding
from hinge.problems.max_min.base import NEGLIGIBLE, Fraction, MaxMin
from hinge.problems.max_min.linear import LinearMaxMin, onto_ball
from hinge.problems.svm.kernelized import Expansion
from hinge.types import Items, MatrixLike


def labels_of(y: ArrayLike | None, n: int) -> np.ndarray:
    """Labels -1 and +1 as numbers, all +1 where not given."""
    y = np.ones(n) if y is None else np.asarray(y)
    if y.shape != (n,) or y.dtype.kind not in "iuf" or not (np.abs(y) == 1).all():
        raise ValueError(f"y must be {n} labels, each -1 or +1.")
    return y.astype(np.float64)


class MaxMargin(LinearMaxMin):
    """The largest margin of a hyperplane through zero,

    .. math:: \\sigma = \\max_{\\|x\\| \\le 1}\\ \\min_i\\ y_i\\langle a_i, x\\rangle
              = \\min_{p \\in \\Delta}\\ \\Big\\|\\sum_i p_i y_i a_i\\Big\\|.

    If :math:`\\sum_i p_i y_i a_i = 0`, p proves that no hyperplane through zero separates the rows. Relative gaps are
    relative to the upper bound, or to a thousandth of the norm of a typical row if σ is smaller than that.

    Parameters
    ----------
    X : array, CSR matrix, Matrix or Table of shape (n, d)
    y : array of shape (n,), optional
        Labels -1 and +1; all +1 where not given.
    radius : float, optional
        A bound on the norms of the rows, for data that is not in memory; otherwise it is computed.
    relative, fraction
        As for `LinearMaxMin`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.problems import MaxMargin
    >>> found = hinge.maxmin(MaxMargin([[1.0, 1.0], [1.0, -1.0]]), eps=1e-3)
    >>> bool(found.lower <= 1.0 <= found.upper)
    True
    """

    paper_constant = 200.0

    def __init__(
        self,
        X: MatrixLike | Data,
        y: ArrayLike | None = None,
        *,
        radius: float | None = None,
        relative: bool = True,
        fraction: Fraction | None = None,
    ) -> None:
        super().__init__(X, relative=relative, fraction=fraction)
        self.y = self.signs = labels_of(y, self.n)
        self._held: tuple[np.ndarray, Matrix] | None = None
        if radius is not None and not 0 < radius < np.inf:
            raise ValueError(f"radius must be a positive number, got {radius!r}.")
        if radius is not None:
            self.scale = radius

    def held_rows(self, rows: np.ndarray) -> Matrix:
        """A copy of some rows, kept until other rows are requested."""
        if self._held is None or not np.array_equal(self._held[0], rows):
            self._held = rows.copy(), self.matrix.gather(rows)
        return self._held[1]

    def project(self, x: np.ndarray) -> np.ndarray:
        return onto_ball(x)

    def support(self, g: np.ndarray) -> float:
        norm = float(np.linalg.norm(g))
        return norm + rounding(self.d, norm)

    def lower(self, x: np.ndarray) -> float:
        """The smallest margin of x at unit norm; 0, the margin of x = 0, if it is negative."""
        norm = float(np.linalg.norm(x))
        least = self.least(x) / norm if norm != 0.0 else 0.0
        return max(0.0, least - rounding(self.d, abs(least)))

    @property
    def negligible(self) -> float:  # type: ignore[override]
        """A margin below a ten-thousandth of the norm of a typical row counts as zero."""
        return 0.1 * NEGLIGIBLE * self.typical

    def unit(self, lower: float, upper: float) -> float:
        return max(upper, NEGLIGIBLE * self.typical)

    def present(self, x: np.ndarray) -> np.ndarray:
        """x at unit norm, to which the lower bound applies."""
        norm = float(np.linalg.norm(x))
        return x / norm if norm > 0.0 else x


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


TERMS = 1e6
"""Upper bound on the additions that made one response: iterations of a run."""


class KernelMaxMargin(MaxMin):
    """`MaxMargin` with a kernel,

    .. math:: \\sigma = \\max_{\\|w\\| \\le 1}\\ \\min_i\\ y_i\\langle w, \\phi(a_i)\\rangle .

    A point w = Σ βᵢφ(aᵢ) is the flat vector of β and of the responses Kβ. One kernel row updates both, and the
    responses give all values exactly: the estimate of Algorithm 2 has no variance, and both bounds of the certificate
    cost no kernel value. An iteration costs n kernel values.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    y : array of shape (n,), optional
        Labels -1 and +1; all +1 where not given.
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    relative : bool

    Notes
    -----
    *Differs* from Clarkson, Hazan and Woodruff, who estimate the kernel values of polynomials and Gaussians
    from sampled coordinates; here they are computed, and counted.

    Examples
    --------
    >>> import hinge
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelMaxMargin
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, -1, -1]  # no line separates them
    >>> found = hinge.maxmin(KernelMaxMargin(X, y, Gaussian(gamma=1.0)), eps=0.1, relative=False)
    >>> bool(found.lower > 0)
    True
    """

    def __init__(
        self, X: Items | BaseGram, y: ArrayLike | None = None, kernel: Kernel | None = None, *, relative: bool = True
    ) -> None:
        if not isinstance(X, BaseGram):
            if kernel is None:
                raise ValueError("KernelMaxMargin takes a Gram, or points and a kernel.")
            X = Gram(as_points(X, kernel))
        self.gram = X
        self.n = X.n
        self.y = labels_of(y, self.n)
        self.relative = relative
        self.scale = float(np.sqrt(self.gram.diag.max())) or 1.0
        self.step_evals = self.n

    @property
    def kernel_evals(self) -> int:  # type: ignore[override]
        """Kernel values computed so far."""
        return self.gram.evals

    def start(self) -> np.ndarray:
        return np.zeros(2 * self.n)

    def values(self, x: np.ndarray) -> np.ndarray:
        return self.y * x[self.n :]

    def values_at(self, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self.values(x)[rows]

    def combine(self, p: np.ndarray) -> np.ndarray:
        support = np.flatnonzero(p)
        coef = (self.y * p)[support]
        return np.concatenate([self.y * p, np.asarray(self.gram.host(self.gram.combine(support, coef)), np.float64)])

    def grad_at(self, i: int, x: np.ndarray | None = None) -> np.ndarray:
        p = np.zeros(self.n)
        p[i] = 1.0
        return self.combine(p)

    def estimate_values(self, x: np.ndarray, unit: float) -> np.ndarray:
        """The values themselves."""
        return self.values(x)

    def project(self, x: np.ndarray) -> np.ndarray:
        return x / max(1.0, self.support(x))

    def support(self, g: np.ndarray) -> float:
        """The norm of g, from its coefficients and responses."""
        return float(np.sqrt(max(0.0, g[: self.n] @ g[self.n :])))

    def lower(self, x: np.ndarray) -> float:
        """The smallest margin of x at unit norm; 0, the margin of x = 0, if it is negative."""
        off = self._off(x)
        least, norm = float((self.values(x) - off).min()), self._norm(x, off)
        return 0.0 if norm == 0.0 else max(0.0, least / norm - rounding(0, abs(least / norm)))

    def dual_bound(self, p: np.ndarray, combined: np.ndarray | None = None) -> float:
        g = self.combine(p) if combined is None else combined
        norm = self._norm(g, self._off(g))
        return norm + rounding(TERMS, norm)  # the entries of p sum to 1, up to TERMS roundings

    def _off(self, x: np.ndarray) -> np.ndarray:
        """Bounds on the errors of the responses; |βᵢ| is what was added to βᵢ in all, since none moved back."""
        return self.gram.error(np.abs(x[: self.n]), TERMS)

    def _norm(self, x: np.ndarray, off: np.ndarray) -> float:
        """Upper bound on the norm, from responses with these errors."""
        beta, r = np.abs(x[: self.n]), np.abs(x[self.n :])
        sq = float(x[: self.n] @ x[self.n :])
        norm = float(np.sqrt(max(0.0, sq + float(beta @ off) + rounding(self.n, float(beta @ r)))))
        return norm + rounding(0, norm)

    def unit(self, lower: float, upper: float) -> float:
        return max(upper, NEGLIGIBLE * self.scale)

    def present(self, x: np.ndarray) -> Expansion:
        """x as an expansion over the points."""
        return Expansion(x[: self.n], 0.0, x[self.n :])
