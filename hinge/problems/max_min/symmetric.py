"""Symmetric matrices: as vectors with the same inner products, their largest eigenvalues, and projections of these."""

import math
from collections.abc import Callable, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal, lapack
from threadpoolctl import threadpool_limits

from hinge.access import Data, as_matrix
from hinge.access.matrix import as_numbers
from hinge.access.structure import as_csr
from hinge.problems.base import rounding
from hinge.problems.max_min.base import NEGLIGIBLE, Fraction
from hinge.problems.max_min.linear import LinearMaxMin, onto_cap, onto_simplex
from hinge.types import MatrixLike, Stored

ROOT_2 = math.sqrt(2.0)
BLOCK_CELLS = 1 << 22  # entries that are packed at a time, so that the temporary copy is small


class Places(NamedTuple):
    """Indices of the entries of an n × n matrix in its packed form and back, and the factors of either direction."""

    upper: np.ndarray
    weights: np.ndarray
    full: np.ndarray
    unweights: np.ndarray


@lru_cache(maxsize=8)
def places(n: int) -> Places:
    """The upper triangle by rows; off-diagonal entries have the factor :math:`\\sqrt2`, as they occur twice."""
    i, j = np.triu_indices(n)
    weights = np.where(i == j, 1.0, ROOT_2)
    full = np.empty((n, n), np.intp)
    full[i, j] = full[j, i] = np.arange(len(i))
    return Places(i * n + j, weights, full.ravel(), 1.0 / weights)


def order_of(length: int) -> int:
    """The n with n(n+1)/2 = length."""
    n = (math.isqrt(8 * length + 1) - 1) // 2
    if n * (n + 1) // 2 != length:
        raise ValueError(
            f"Packed rows have n(n+1)/2 entries, the upper triangle of an n × n matrix; {length} is not such a number."
        )
    return n


def svec(M: np.ndarray) -> np.ndarray:
    """The vector of a symmetric matrix, with :math:`\\langle A, B\\rangle = svec(A)^\\top svec(B)`; O(n²)."""
    at = places(len(M))
    return M.ravel()[at.upper] * at.weights


def smat(x: np.ndarray, n: int) -> np.ndarray:
    """The symmetric matrix of a vector; O(n²)."""
    at = places(n)
    return (x * at.unweights)[at.full].reshape(n, n)


def pack(A: np.ndarray | Sequence[MatrixLike], symmetrize: bool) -> Stored:
    """Square matrices as rows: a dense array, or CSR if any of them is sparse."""
    if isinstance(A, np.ndarray) and A.ndim != 3 and A.dtype != object:
        raise ValueError(
            f"Expected matrices as an array of shape (m, n, n), got one of shape {A.shape}; rows that are "
            "packed already are taken with packed=True."
        )
    if sp.issparse(A):
        raise ValueError("A single sparse matrix was given: pass a list of matrices, or packed=True for packed rows.")
    if not isinstance(A, Sized):
        raise ValueError(f"Expected a sequence of matrices, got {A!r}.")
    if len(A) == 0:
        raise ValueError("There is nothing to solve: no matrix was given.")
    if any(sp.issparse(a) for a in A):
        return _pack_sparse([sp.coo_array(as_csr(a)[0] if sp.issparse(a) else a) for a in A], symmetrize)
    given = A if isinstance(A, np.ndarray) and A.dtype != object else [as_numbers(a) for a in A]
    n = _order([a.shape for a in given])
    dtype = _float_type([a.dtype for a in (given[:1] if isinstance(given, np.ndarray) else given)])
    at = places(n)
    out = np.empty((len(A), len(at.upper)), dtype)
    step = max(1, BLOCK_CELLS // (n * n))
    for lo in range(0, len(A), step):
        block = np.asarray(given[lo : lo + step], np.float64)
        _check_finite(np.isfinite(block.reshape(len(block), -1)).all(axis=1), lo)
        mirrored = block.transpose(0, 2, 1)
        if not symmetrize:
            _check_symmetric((block == mirrored).all(axis=(1, 2)), lo)
        else:
            block = 0.5 * block + 0.5 * mirrored
        out[lo : lo + step] = block.reshape(len(block), -1)[:, at.upper] * at.weights
    return out


def pack_factors(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """The rows of :math:`a_i a_i^\\top - b_i b_i^\\top`."""
    a, b = np.atleast_2d(np.asarray(a)), np.atleast_2d(np.asarray(b))
    if a.shape != b.shape or a.ndim != 2 or a.size == 0:
        raise ValueError(f"Factors are two arrays of one shape (m, n), got {a.shape} and {b.shape}.")
    at = places(a.shape[1])
    i, j = np.divmod(at.upper, a.shape[1])
    out = np.empty((len(a), len(i)), _float_type([a.dtype, b.dtype]))
    step = max(1, BLOCK_CELLS // len(i))
    for lo in range(0, len(a), step):
        u, v = (f[lo : lo + step].astype(np.float64) for f in (a, b))
        out[lo : lo + step] = (u[:, i] * u[:, j] - v[:, i] * v[:, j]) * at.weights
    return out


def _pack_sparse(A: Sequence[sp.coo_array], symmetrize: bool) -> sp.csr_array:
    n = _order([a.shape for a in A])
    dtype = _float_type([a.dtype for a in A])
    for k, a in enumerate(A):
        _check_finite(np.array([np.isfinite(a.data).all()]), k)
        if not symmetrize:
            _check_symmetric(np.array([abs(a - a.T).max() == 0 if a.nnz else True]), k)
    row = np.repeat(np.arange(len(A)), [a.nnz for a in A])
    i, j = (np.concatenate([a.coords[axis] for a in A]).astype(np.int64) for axis in (0, 1))
    values = np.concatenate([a.data for a in A]).astype(np.float64)
    # Each of two mirrored entries a and b contributes its half of √2 (a + b)/2.
    values = np.where(i == j, values, values / ROOT_2)
    column = places(n).full[i * n + j]
    packed = sp.csr_array((values, (row, column)), shape=(len(A), n * (n + 1) // 2))
    packed.sum_duplicates()
    packed.eliminate_zeros()
    return packed.astype(dtype)


def _order(shapes: Sequence[tuple[int, ...]]) -> int:
    n = shapes[0][0] if shapes[0] else 0
    for k, shape in enumerate(shapes):
        if shape != (n, n):
            raise ValueError(
                f"Matrices must be square and of one size: matrix {k} has the shape {shape}, not {(n, n)}."
            )
    if n == 0:
        raise ValueError("There is nothing to solve: the matrices are 0 × 0.")
    return n


def _float_type(dtypes: Sequence[np.dtype]) -> np.dtype:
    """float32 if all are; otherwise float64, since √2 times an integer is not an integer."""
    for k, dtype in enumerate(dtypes):
        if dtype.kind not in "iubf":
            raise ValueError(f"Matrices must hold real numbers; matrix {k} has entries of type {dtype}.")
    return np.dtype(np.float32 if all(d == np.float32 for d in dtypes) else np.float64)


def _check_finite(fine: np.ndarray | np.bool, first: int) -> None:
    if not fine.all():
        raise ValueError(f"Matrix {first + int(np.argmin(fine))} has NaN or infinite entries.")


def _check_symmetric(fine: np.ndarray, first: int) -> None:
    if not fine.all():
        raise ValueError(
            f"Matrix {first + int(np.argmin(fine))} is not symmetric: make it so, or let symmetrize=True "
            "take (A + Aᵀ)/2, which has the same products with symmetric X."
        )


SMALL = 16  # up to this order one call of `eigh` is fastest: Python calls dominate


def few_threads(order: int) -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread up to the order 512: two to three times as fast for such matrices."""
    return threadpool_limits(1, user_api="blas") if order <= 512 else nullcontext()


def top_eigenvalue(M: np.ndarray) -> float:
    """The largest eigenvalue; O(n³), without eigenvectors."""
    n = len(M)
    if n <= SMALL:
        return float(np.linalg.eigvalsh(M)[-1])
    options = dict(eigvals_only=True, subset_by_index=(n - 1, n - 1), check_finite=False)
    return float(scipy.linalg.eigh(M, driver="evr", **options)[0])


def onto_bounded_cone(M: np.ndarray, *, unit_trace: bool = False) -> np.ndarray:
    """The nearest X with X ⪰ 0 and tr X ≤ 1, or tr X = 1, by projecting the eigenvalues.

    Only eigenvectors whose projected eigenvalue is positive are computed; they are few if the result has a low rank.
    Reduction to the tridiagonal Q T Qᵀ gives all eigenvalues; then the eigenvectors of T that are needed are multiplied
    by Q. It costs :math:`\\tfrac43 n^3` operations, and O(n² r) for the rank r.
    """
    n, capped = len(M), onto_simplex if unit_trace else onto_cap
    if n > SMALL:
        reflectors, diagonal, beside, factors, _ = lapack.dsytrd(M, lower=1, lwork=32 * n)
        values, failed = lapack.dsterf(diagonal, beside)
        kept = capped(values)
        rank = int(np.count_nonzero(kept))
        if rank == 0 and not failed:
            return np.zeros((n, n))
        if rank <= 0.25 * n and not failed:  # else all eigenvectors together are faster
            half = _top_vectors(reflectors, diagonal, beside, factors, rank) * np.sqrt(kept[n - rank :])
            return half @ half.T
    values, vectors = np.linalg.eigh(M)
    kept = capped(values)
    half = vectors[:, kept > 0.0] * np.sqrt(kept[kept > 0.0])
    return half @ half.T


def _top_vectors(reflectors, diagonal, beside, factors, rank) -> np.ndarray:
    n = len(diagonal)
    options = dict(select="i", select_range=(n - rank, n - 1), lapack_driver="stemr", check_finite=False)
    vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside, **options)[1]
    # dsytrd stores the reflectors of Q below the subdiagonal: one row lower than a QR factorisation would.
    turned = lapack.dormqr("L", "N", reflectors[1:, :-1], factors, vectors[1:], 64 * rank)[0]
    return np.vstack([vectors[:1], turned])


class TopPair(NamedTuple):
    """A Ritz pair: with probability 0.99 the largest eigenvalue is at most `error` above `value`."""

    value: float
    vector: np.ndarray
    error: float
    products: int


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
        Q = with_row(Q, k)
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


def with_row(rows: np.ndarray, k: int) -> np.ndarray:
    """The array, doubled if it has no row k."""
    return rows if k < len(rows) else np.concatenate([rows, np.zeros_like(rows)])


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
        relative: bool = True,
        fraction: Fraction | None = None,
    ) -> None:
        rows = _checked_rows(cast(MatrixLike | Data, A)) if packed else pack(cast(Sequence[MatrixLike], A), symmetrize)
        super().__init__(rows, relative=relative, fraction=fraction)
        self.order = order_of(self.d)

    @classmethod
    def from_factors(cls, a: ArrayLike, b: ArrayLike, **options: Any) -> "Semidefinite":
        """The problem with :math:`A_i = a_i a_i^\\top - b_i b_i^\\top`, as in metric learning.

        Parameters
        ----------
        a, b : arrays of shape (m, n)
        """
        return cls(pack_factors(a, b), packed=True, **options)

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
        """The nearest point of K, by projecting the eigenvalues onto {l ≥ 0, Σ l ≤ 1}; O(n³), in float64."""
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
        x = self.project(x)
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
        return max(upper, NEGLIGIBLE * self.typical / self.order**0.5)


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
