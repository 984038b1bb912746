"""The largest margin with a kernel: the problem of the kernelised perceptron."""

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram, Gram, as_points
from hinge.kernels import Kernel
from hinge.problems.base import rounding
from hinge.problems.max_min.base import NEGLIGIBLE, MaxMin
from hinge.problems.max_min.max_margin import labels_of
from hinge.problems.svm.kernelized import Expansion
from hinge.types import Items

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
