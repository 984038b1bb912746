"""Feasibility of semidefinite programs: maximise the smallest of several linear functions of a matrix; projections."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal

from hinge.access import Data, as_matrix
from hinge.constraints import choice, number
from hinge.problems.base import rounding
from hinge.problems.max_min.base import NEGLIGIBLE, Fraction
from hinge.problems.max_min.linear import LinearMaxMin
from hinge.problems.max_min.symmetric import (
    onto_bounded_cone,
    order_of,
    pack,
    pack_factors,
    places,
    smat,
    svec,
    top_eigenvalue,
)
from hinge.types import MatrixLike


class Semidefinite(LinearMaxMin):
    """The X ⪰ 0 that maximises the smallest :math:`A_i \\circ X`,

    .. math:: \\sigma = \\max_{X \\succeq 0,\\ \\mathrm{tr} X \\le 1}\\ \\min_i\\ A_i \\circ X
              = \\min_{p \\in \\Delta}\\ \\max\\Big(0, \\lambda_{\\max}\\Big(\\sum_i p_i A_i\\Big)\\Big).

    σ > 0 means that a strictly feasible X exists. A p with :math:`\\lambda_{\\max}(\\sum_i p_i A_i) < 0` proves that
    only X = 0 is feasible; then σ = 0. Relative gaps are relative to the upper bound, or to a thousandth of a typical
    eigenvalue if σ is smaller than that.

    Each :math:`A_i` is stored as one row, svec(A): the upper triangle with off-diagonal entries multiplied by √2, so
    that rows have the inner products of their matrices, norms are Frobenius norms, and half of the memory suffices.
    The variable x is svec(X); see `matrix_of`.

    Parameters
    ----------
    A : array of shape (m, n, n), sequence of (n, n) arrays or sparse matrices, or packed rows
        float32 is kept; the factor √2 rounds its off-diagonal entries once more, and the certificate is for the
        rounded matrices. Sparse matrices become CSR rows.
    packed : bool
        Whether A has the rows svec(A) already: array, CSR matrix, Matrix or Table of shape (m, n(n+1)/2).
    symmetrize : bool
        Whether to replace A by (A + Aᵀ)/2, which has the same products with symmetric X; else matrices that are not
        symmetric raise an error.
    projection : {"exact", "sparse"}
        From all positive eigenvalues; or Hazan's approximate projection of low rank, as in the survey's Algorithm 3.
    accuracy : float
        :math:`\\epsilon_P` of the sparse projection, whose squared distance is within
        :math:`\\epsilon_P^2` of the smallest. The survey takes ε/2.
    relative, fraction
        As for `LinearMaxMin`.

    Attributes
    ----------
    order : int
        n, the order of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> from hinge.problems import Semidefinite
    >>> problem = Semidefinite(np.array([np.diag([1.0, -1.0]), np.diag([-0.5, 1.0])]))
    >>> bool(hinge.maxmin(problem, eps=1e-3).lower > 0.14)
    True
    """

    paper_constant = 60.0

    def __init__(
        self,
        A: MatrixLike | Sequence[MatrixLike] | Data,
        *,
        packed: bool = False,
        symmetrize: bool = True,
        projection: Literal["exact", "sparse"] = "exact",
        accuracy: float = 0.05,
        relative: bool = True,
        fraction: Fraction | None = None,
    ) -> None:
        choice("exact", "sparse").check("projection", projection)
        number(above=0).check("accuracy", accuracy)
        rows = _checked_rows(cast(MatrixLike | Data, A)) if packed else pack(cast(Sequence[MatrixLike], A), symmetrize)
        super().__init__(rows, relative=relative, fraction=fraction)
        self.order = order_of(self.d)
        self.projection, self.accuracy = projection, accuracy
        self._scale: float | None = None
        self._typical: float | None = None

    @classmethod
    def from_factors(cls, a: ArrayLike, b: ArrayLike, **options: Any) -> "Semidefinite":
        """The problem with :math:`A_i = a_i a_i^\\top - b_i b_i^\\top`, as in metric learning.

        Parameters
        ----------
        a, b : arrays of shape (m, n)
        """
        return cls(pack_factors(a, b), packed=True, **options)

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The largest Frobenius norm; the step sizes assume it, and its reads are not billed."""
        if self._scale is None:
            self._scale = self.matrix.largest_norm() if self.in_memory else 1.0
        return self._scale or 1.0

    def matrix_of(self, x: np.ndarray) -> np.ndarray:
        """The n × n matrix X of x = svec(X)."""
        return smat(np.asarray(x, np.float64), self.order)

    def vector_of(self, X: np.ndarray) -> np.ndarray:
        """svec(X) of a symmetric n × n matrix."""
        return svec(np.asarray(X, np.float64))

    def trace(self, x: np.ndarray) -> float:
        """The trace of X."""
        n = self.order
        return float(x[places(n).full[:: n + 1]].sum())

    # --- the set --------------------------------------------------------------------------

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of K, by projecting the eigenvalues onto {l ≥ 0, Σ l ≤ 1}; O(n³). Or the sparse one."""
        if self.projection == "sparse":
            return svec(project_sparsely(self.matrix_of(x), self.accuracy**2).X)
        return self.nearest(x)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """The exact projection onto K, in float64."""
        return svec(onto_bounded_cone(self.matrix_of(x)))

    def largest_eigenvalue(self, p: np.ndarray) -> float:
        """:math:`\\lambda_{\\max}(\\sum_i p_i A_i)`: negative, it proves that only X = 0 is feasible."""
        return top_eigenvalue(self.matrix_of(self.combine(p)))

    def support(self, g: np.ndarray) -> float:
        """:math:`\\max(0, \\lambda_{\\max})`, plus O(n)·ε·‖g‖ for the rounding of the eigenvalue."""
        return max(0.0, top_eigenvalue(self.matrix_of(g)) + rounding(4 * self.order, float(np.linalg.norm(g))))

    # --- bounds ---------------------------------------------------------------------------

    def settled(self, x: np.ndarray) -> np.ndarray:
        """The point that `lower` evaluates: the projection onto K, scaled to trace 1 if it is not zero."""
        x = self.nearest(x)
        trace = self.trace(x)
        return x / trace if trace > 0.0 else x

    def lower(self, x: np.ndarray) -> float:
        """The smallest value at `settled` x, less its rounding error; 0, the value of X = 0, if that is negative."""
        return max(0.0, super().lower(self.settled(x)))

    def value_error(self, x: np.ndarray, least: float) -> float:
        """Rounding of the products, and of an X that is semidefinite and of trace 1 only up to rounding."""
        return rounding(self.matrix.max_row_cells + 8 * self.order, self.longest)

    def dual_bound(self, p: np.ndarray, combined: np.ndarray | None = None) -> float:
        g = self.combine(p) if combined is None else combined
        error = rounding(4 * self.order, float(np.linalg.norm(g))) + self.slope_error(p)
        return max(0.0, top_eigenvalue(self.matrix_of(g)) + error)

    def present(self, x: np.ndarray) -> np.ndarray:
        """The matrix of `settled` x."""
        return self.matrix_of(self.settled(x))

    def unit(self, lower: float, upper: float) -> float:
        if self._typical is None:
            typical = self.matrix.typical_sq_norm() ** 0.5 if self.in_memory else self.scale
            self._typical = typical / self.order**0.5
        return max(upper, NEGLIGIBLE * self._typical)


def _checked_rows(A: MatrixLike | Data) -> Data:
    """Packed rows, or an error if they are not finite; rows of a table are checked when they are read."""
    if isinstance(A, Data):
        return A
    values = cast(sp.csr_array, A).data if sp.issparse(A) else np.asarray(A)
    if values.dtype.kind not in "iubf":
        raise ValueError(f"Packed rows must hold real numbers, not {values.dtype}.")
    for lo in range(0, len(values), 4096):
        if not np.isfinite(values[lo : lo + 4096]).all():
            raise ValueError("The packed rows have NaN or infinite entries: remove or replace them.")
    return as_matrix(A)


class SparseProjection(NamedTuple):
    """The result of Frank-Wolfe.

    Attributes
    ----------
    X : ndarray of shape (n, n)
    gap : float
        The Frank-Wolfe gap: :math:`\\|Y - X\\|^2` exceeds its minimum over K by at most this, except for the small
        probability that Lanczos missed the largest eigenvalue.
    steps : int
        Steps taken; the rank of X is not larger.
    products : int
        Products of Y with a vector, O(n²) each, which dominate the time.
    """

    X: np.ndarray
    gap: float
    steps: int
    products: int


class TopPair(NamedTuple):
    """A Ritz pair: with probability 0.99 the largest eigenvalue is at most `error` above `value`."""

    value: float
    vector: np.ndarray
    error: float
    products: int


def project_sparsely(Y: np.ndarray, eps: float) -> SparseProjection:
    """A point of K = {X ⪰ 0, tr X ≤ 1} whose squared distance to Y is within eps of the smallest.

    Hazan's algorithm: Frank-Wolfe on :math:`f(X) = \\|Y - X\\|_F^2` from X = 0. With v a top eigenvector of
    :math:`G = Y - X` and λ its eigenvalue, the best vertex is :math:`V = vv^\\top`, or V = 0 where λ < 0;

    .. math:: X \\leftarrow X + \\gamma(V - X),\\qquad
              \\gamma = \\min\\Big(1, \\frac{\\langle G, V - X\\rangle}{\\|V - X\\|^2}\\Big),

    until the gap :math:`2\\langle G, V - X\\rangle \\le` eps. Each step increases the rank by at most one, and there
    are at most ⌈1/eps⌉ steps, as in Lemma 4.1 of the survey.

    Any vertex with a positive slope :math:`\\langle G, V - X\\rangle` makes a valid step, and a good one takes few
    products: Lanczos, from a random start, stops when its residual is half of the slope. Only when the gap seems small
    enough does it continue until the largest eigenvalue is known to eps/4, which takes some
    :math:`\\log n/\\sqrt{\\epsilon}` products. X is kept as :math:`\\sum_j c_j v_j v_j^\\top`, so that a product with G
    is one with Y plus O(n) for each v, and inner products with X are sums of numbers already known.

    Notes
    -----
    With exact vertices the squared distance falls as 8/(steps + 2) at worst: the lemma hides the 8 in its Õ. If the
    steps run out before the gap is small enough, `gap` is the one reached.
    """
    if not 0 < eps < np.inf:
        raise ValueError(f"eps must be a positive number, got {eps!r}.")
    n, most = len(Y), math.ceil(1.0 / eps)
    V, c = np.zeros((1, n)), np.zeros(1)
    YX = XX = 0.0  # the inner products of Y and X, and of X with itself
    rng, products = np.random.default_rng(0), 0  # fixed: the same matrix has the same projection
    for steps in range(most + 1):
        V, c = _with_row(V, steps), _with_row(c, steps)
        kept, weights = V[:steps], c[:steps]
        top = top_pair(
            lambda v, kept=kept, weights=weights: Y @ v - kept.T @ (weights * (kept @ v)),  # type: ignore[misc]
            rng.standard_normal(n),
            eps / 4,
            YX - XX if steps < most else np.inf,
        )
        products += top.products
        positive = top.value > 0.0
        XV = float(weights @ (kept @ top.vector) ** 2) if positive else 0.0
        YV = top.value + XV if positive else 0.0
        slope = (YV - XV) - (YX - XX)  # ⟨Y - X, V - X⟩
        above = slope + (top.error if positive else max(0.0, top.value + top.error))
        if 2.0 * above <= eps or steps == most:
            break
        gamma = min(1.0, max(0.0, slope) / ((1.0 if positive else 0.0) - 2.0 * XV + XX or 1.0))
        V[steps], c[:steps], c[steps] = top.vector, (1.0 - gamma) * weights, gamma if positive else 0.0
        YX += gamma * (YV - YX)
        XX = (1.0 - gamma) ** 2 * XX + 2.0 * gamma * (1.0 - gamma) * XV + (gamma**2 if positive else 0.0)
    return SparseProjection((V[:steps].T * c[:steps]) @ V[:steps], max(0.0, 2.0 * above), steps, products)


def top_pair(
    product: Callable[[np.ndarray], np.ndarray], begin: np.ndarray, accuracy: float, beyond: float = np.inf
) -> TopPair:
    """The largest eigenvalue of a symmetric matrix given by its products with vectors, and its vector, by Lanczos.

    With the orthonormal basis Q of the Krylov space of `begin`, orthogonalised twice against rounding,
    :math:`Q^\\top M Q` is tridiagonal, and its top pair (θ, s) gives :math:`v = Qs`. From a start in a random
    direction, after k products,

    .. math:: P\\big(\\lambda_1 - \\theta > \\varepsilon(\\lambda_1 - \\lambda_n)\\big)
              \\le 1.648\\sqrt{n}\\, e^{-\\sqrt\\varepsilon(2k - 1)}

    (Kuczyński and Woźniakowski 1992). It stops when the error of probability 0.01 is at most `accuracy`, or when the
    Krylov space is exhausted and the error zero. It stops earlier if θ exceeds `beyond` by twice the accuracy, and the
    residual :math:`\\|Mv - \\theta v\\| = \\beta_k|s_k|` is at most half of that excess. O(k²n) in addition to the k
    products.
    """
    n = len(begin)
    unlikely = math.log(1.648 * math.sqrt(n) / 0.01)
    Q, alpha, beta = np.zeros((1, n)), np.zeros(n), np.zeros(n)
    q, check = begin / np.linalg.norm(begin), 4
    for k in range(n):
        Q = _with_row(Q, k)
        Q[k] = q
        r = product(q)
        alpha[k] = q @ r
        for _ in range(2):
            r = r - Q[: k + 1].T @ (Q[: k + 1] @ r)
        beta[k] = np.linalg.norm(r)
        exhausted = k == n - 1 or beta[k] <= 1e-14 * np.abs(alpha[: k + 1]).max()  # a residual that is rounding
        if exhausted or k + 1 >= check:
            diagonal, beside = alpha[: k + 1], beta[:k]
            top, vector = eigh_tridiagonal(diagonal, beside, select="i", select_range=(k, k))
            ahead, residual, error = top[0] - beyond, beta[k] * abs(vector[-1, 0]), np.inf
            if exhausted:
                error = 0.0
            elif (share := (unlikely / (2 * k + 1)) ** 2) < 0.5:
                low = eigh_tridiagonal(diagonal, beside, eigvals_only=True, select="i", select_range=(0, 0))
                error = share * (top[0] - low[0]) / (1 - 2 * share)
            if error <= accuracy or (top[0] > 0.0 and ahead >= 2 * accuracy and residual <= ahead / 2):
                break
            check = k + 3 + k // 2
        q = r / beta[k]
    return TopPair(float(top[0]), Q[: k + 1].T @ vector[:, 0], float(error), k + 1)


def _with_row(rows: np.ndarray, k: int) -> np.ndarray:
    """The array, doubled if it has no row k."""
    return rows if k < len(rows) else np.concatenate([rows, np.zeros_like(rows)])
