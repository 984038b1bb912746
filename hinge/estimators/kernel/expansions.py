"""Decision values of kernel estimators: sums over support vectors, computed in tiles of bounded memory."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp

from hinge.access.arrays import doubled, is_tensor, like, to_host
from hinge.access.gram.as_points import ROUNDING, needs_double
from hinge.access.gram.given_points import as_block
from hinge.access.gram.inner_points import sq_norms, weight_vector
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.tasks import coefficients_of_pairs
from hinge.kernels import Function, Kernel, Precomputed, namespace
from hinge.types import Stored

Block: TypeAlias = Callable[[slice, slice], Stored]
"""Kernel values of some rows and some support vectors."""

ROWS_BYTES = 1 << 21
"""Most bytes of sparse rows that are converted to dense at a time."""

ROWS_THERE = 1 << 16
"""Rows on a device that are converted at a time."""

SINGLE = tuple(np.dtype(name) for name in ("float32", "float16", "bool", "int8", "uint8", "int16", "uint16"))


def kernel_sums(
    kernel: Kernel,
    X: KernelData,
    vectors: KernelData,
    coef: np.ndarray,
    cuts: np.ndarray,
    *,
    exact: bool = False,
    tile: tuple[int, int] = (512, 1024),
) -> np.ndarray:
    """Σ coef · K(x, z) over the support vectors z, for each group of them.

    Parameters
    ----------
    kernel : Kernel
    X : array, CSR matrix, or a list of items
        For a `Precomputed` kernel, the kernel values of all training points.
    vectors : array, CSR matrix, or a list of items
        The support vectors; for a `Precomputed` kernel, their indices.
    coef : ndarray of shape (k, n_SV)
    cuts : ndarray of shape (groups + 1,)
        Group g is the support vectors from ``cuts[g]`` to ``cuts[g + 1]``.
    exact : bool
        Whether to compute in float64 even if X and the support vectors are float32 or smaller types.
    tile : (int, int)
        Most rows and support vectors whose kernel values are computed together: 4 MB, which caches hold.

    Returns
    -------
    ndarray of shape (m, groups, k)
    """
    n = len(X) if isinstance(X, list) else X.shape[0]
    out = np.zeros((n, len(cuts) - 1, len(coef)))
    block = _blocks_of(kernel, X, vectors, exact)
    step, width = tile
    if not isinstance(X, list):
        step = max(1, min(step, ROWS_BYTES // (8 * max(1, X.shape[1]))))
    for lo in range(0, n, step):
        rows = slice(lo, min(lo + step, n))
        for group, (first, last) in enumerate(pairwise(cuts.tolist())):
            for c in range(first, last, width):
                some = slice(c, min(c + width, last))
                out[rows, group] += np.ascontiguousarray(block(rows, some), np.float64) @ coef[:, some].T
    return out


def kernel_values(kernel: Kernel, X: KernelData, vectors: KernelData, *, step: int = 1024) -> Iterator[np.ndarray]:
    """K(x, z) in float64 of all support vectors z, for some rows x after the other."""
    n = len(X) if isinstance(X, list) else X.shape[0]
    block, every = _blocks_of(kernel, X, vectors, True), slice(0, None)
    return (np.asarray(block(slice(lo, lo + step), every), np.float64) for lo in range(0, n, step))


def binary_expansions(
    dual: np.ndarray, n_support: np.ndarray, *, one_vs_one: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The indices of the support vectors of each decision function, and their coefficients in it."""
    every = np.arange(dual.shape[1])
    return coefficients_of_pairs(dual, n_support) if one_vs_one else [(every, row) for row in dual]


def weights_of(dual: np.ndarray, vectors: KernelData, n_support: np.ndarray, *, one_vs_one: bool) -> Any:
    """w of each decision function of a linear kernel, summed in twice the precision; sparse if the vectors are."""
    rows, sums = cast(Stored, vectors), binary_expansions(dual, n_support, one_vs_one=one_vs_one)
    if is_tensor(rows):  # sums of float64 where the vectors lie
        return np.stack([to_host(like(row, rows) @ doubled(rows[own])) for own, row in sums])
    found = [weight_vector(rows, *one) for one in sums]
    coef: Any = sp.vstack([sp.csr_matrix(w) for w in found], "csr") if sp.issparse(rows) else np.stack(found)
    (coef.data if sp.issparse(coef) else coef).flags.writeable = False  # a change would not reach dual_coef_
    return coef


def linear_sums(X: KernelData, coef: np.ndarray | sp.csr_matrix) -> Any:
    """⟨w, x⟩ in float64, of shape (m, k); dense rows are converted a few at a time."""
    if is_tensor(X):
        there: Any = X
        w = like(_full(coef).T, there)
        return namespace(there).cat([doubled(part) @ w for part in there.split(ROWS_THERE)])
    rows = cast(Stored, X)
    if sp.issparse(rows):
        return cast(np.ndarray, _full(rows @ coef.T))
    out = np.empty((len(rows), coef.shape[0]))
    step = max(1, ROWS_BYTES // (8 * max(1, rows.shape[1])))
    for lo in range(0, len(rows), step):
        some = slice(lo, lo + step)
        out[some] = rows[some].astype(np.float64, copy=False) @ coef.T
    return out


def _blocks_of(kernel: Kernel, X: KernelData, vectors: KernelData, exact: bool) -> Block:
    """A function of two slices that returns the kernel values of those rows and support vectors."""
    if isinstance(kernel, Precomputed):
        values, numbers = cast(np.ndarray, X), cast(np.ndarray, vectors)
        return lambda rows, some: values[rows][:, numbers[some]]
    if isinstance(kernel, Function):
        return lambda rows, some: function_block(kernel, X[rows], vectors[some])
    assert not isinstance(X, list) and not isinstance(vectors, list)  # only a function takes other items
    if not hasattr(kernel, "of_dots"):
        both = sp.issparse(X) and sp.issparse(vectors)
        return lambda rows, some: kernel(_full(X[rows], both), _full(vectors[some], both))
    sq_x, sq_z = sq_norms(X), sq_norms(vectors)
    exact |= needs_double(kernel, np.concatenate([sq_x, sq_z]))
    dtype: Any = np.float32 if X.dtype in SINGLE and vectors.dtype in SINGLE and not exact else np.float64
    if kernel.shifts and dtype is np.float32:
        largest = max(sq_x.max(initial=0.0), sq_z.max(initial=0.0))
        loses = getattr(kernel, "gamma", 1.0) * largest * np.finfo(np.float32).eps > ROUNDING
        dtype = np.float64 if loses else dtype
    sq_x, sq_z = sq_x.astype(dtype), sq_z.astype(dtype)
    # A multiplication of a dense product takes about a 32nd of the time of one in a sparse product.
    thin = sp.issparse(vectors) and cast(sp.csr_array, vectors).nnz * 32 < vectors.shape[0] * vectors.shape[1]
    held: dict[str, Any] = {"rows": None}

    def block(rows: slice, some: slice) -> np.ndarray:
        if held["rows"] != rows:  # all tiles of support vectors come before the next rows: convert these to dense once
            held.update(rows=rows, part=np.ascontiguousarray(_full(X[rows]), dtype))
        if thin:
            dots = np.ascontiguousarray((vectors[some].astype(dtype, copy=False) @ held["part"].T).T)
        else:
            dots = held["part"] @ _full(vectors[some]).astype(dtype, copy=False).T
        return kernel.of_dots(dots, sq_x[rows], sq_z[some])

    return block


def function_block(kernel: Function, xs: KernelData, zs: KernelData) -> np.ndarray:
    """K(xs, zs) by calls of the function; its values must be finite, and of the right shape."""
    shape = tuple(len(part) if isinstance(part, list) else part.shape[0] for part in (xs, zs))
    if kernel.on == "blocks":
        values = as_block(kernel.function(xs, zs), shape)
    else:
        found = [[kernel.function(x, z) for z in zs] for x in xs]
        values = np.asarray(found, np.float64).reshape(shape)
    if not np.isfinite(values).all():
        raise ValueError("The kernel gave a value that is not finite; it must give a finite number for all pairs.")
    return values


def _full(part: Stored, keep: bool = False) -> Stored:
    return cast(sp.csr_array, part).toarray() if sp.issparse(part) and not keep else part
