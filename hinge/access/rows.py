"""Counted row access for compiled code: one set of functions for dense and CSR storage.

Compiled code reads the data only by ``row = read_row(A, i)``, which counts, followed by ``dot``, ``dots``, ``add_row``
and ``sq_norm`` on that row, which do not count again. The same source compiles for both storages, because Numba chooses
the implementation of each function by the type of `A`; with the JIT disabled the plain functions do the same.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hinge.compiled import extends_compiler


def prefetch(array: np.ndarray, at: int | np.integer) -> None:
    """Prefetch the cache line of an entry of a flat array; a hint without other effect.

    `at` must be an unsigned integer in compiled code. It may be beyond the end: nothing is read.
    """


@extends_compiler
def _emit_prefetch() -> None:
    """As an instruction: an overload would be another function to compile for each type of array."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable

    @type_callable(prefetch)
    def kind(context):
        return lambda array, at: types.void

    @lower_builtin(prefetch, types.Array, types.Integer)
    def emit(context, builder, signature, args):
        start = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(start, [args[1]]), ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        taken = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), i32, i32, i32])
        hint = cgutils.get_or_insert_function(builder.module, taken, "llvm.prefetch.p0")
        builder.call(hint, [place, i32(0), i32(3), i32(1)])  # for reading, into all cache levels, data cache
        return context.get_dummy_value()


# Sums may be reordered, which allows vector instructions, but NaN and infinity keep their meaning: an invalid value is
# never optimised away.
_REORDER: Any = {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy", "no_cfunc_wrapper": True}

LINE = 64  # bytes of a cache line
LINES = 8  # cache lines of a row to prefetch; further ones are prefetched by the processor itself
NEAR = 1 << 20  # bytes of data that fit into a core's own cache
_1, _2, _3, _4 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class DenseRows(NamedTuple):
    """A C-contiguous matrix; `reads[0]` counts the cells read."""

    X: np.ndarray
    reads: np.ndarray


class CSRRows(NamedTuple):
    """Compressed rows. Indices are unsigned views, since signed ones cost a test for negative indices."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    reads: np.ndarray


def counter() -> np.ndarray:
    """A counter of reads on a cache line of its own, so that threads with different counters do not interfere."""
    return np.zeros(16, np.int64)


def _read_dense(A, i):
    A.reads[0] += A.X.shape[1]
    return np.uint64(i), np.uint64(A.X.shape[1])


def _read_csr(A, i):
    lo, hi = np.uint64(A.indptr[np.uint64(i)]), np.uint64(A.indptr[np.uint64(i) + _1])
    A.reads[0] += np.int64(hi - lo)
    return lo, hi


def _held_dense(A, i):
    return np.uint64(i), np.uint64(A.X.shape[1])


def _held_csr(A, i):
    return np.uint64(A.indptr[np.uint64(i)]), np.uint64(A.indptr[np.uint64(i) + _1])


def _fetch_dense(A, i):
    d, step = np.uint64(A.X.shape[1]), np.uint64(LINE // A.X.itemsize)
    some = np.uint64(LINES) * step
    at = np.uint64(i) * d
    end = at + (some if some < d else d)
    while at < end:
        prefetch(A.X, at)
        at += step


def _fetch_csr(A, i):
    lo, hi = np.uint64(A.indptr[np.uint64(i)]), np.uint64(A.indptr[np.uint64(i) + _1])
    step = np.uint64(LINE // A.data.itemsize)
    end = lo + np.uint64(LINES) * step
    end = end if end < hi else hi
    while lo < end:
        prefetch(A.data, lo)
        prefetch(A.indices, lo)
        lo += step


def _far_dense(A):
    return A.X.nbytes > NEAR


def _far_csr(A):
    return A.data.nbytes + A.indices.nbytes > NEAR


def _span_dense(A, row):
    return np.uint64(0), row[1]


def _span_csr(A, row):
    return row


def _cell_dense(A, row, p):
    return p, A.X[row[0], p]


def _cell_csr(A, row, p):
    return A.indices[p], A.data[p]


def _dot_dense(A, row, w):
    i, s = row[0], 0.0
    for j in range(row[1]):
        s += A.X[i, j] * w[j]
    return s


def _dot_csr(A, row, w):
    # Four partial sums, so that loads need not wait for the previous addition.
    s0 = s1 = s2 = s3 = 0.0
    p, hi = row
    while p + _4 <= hi:
        s0 += A.data[p] * w[A.indices[p]]
        s1 += A.data[p + _1] * w[A.indices[p + _1]]
        s2 += A.data[p + _2] * w[A.indices[p + _2]]
        s3 += A.data[p + _3] * w[A.indices[p + _3]]
        p += _4
    while p < hi:
        s0 += A.data[p] * w[A.indices[p]]
        p += _1
    return (s0 + s1) + (s2 + s3)


def _dots_dense(A, row, W, out):
    # Four cells at a time, so that each sum is loaded and stored once for them.
    x, d = A.X[row[0]], row[1]
    j = np.uint64(0)
    out[:] = 0.0
    while j + _4 <= d:
        a, b, c, e = np.float64(x[j]), np.float64(x[j + _1]), np.float64(x[j + _2]), np.float64(x[j + _3])
        for k in range(len(out)):
            out[k] += a * W[j, k] + b * W[j + _1, k] + c * W[j + _2, k] + e * W[j + _3, k]
        j += _4
    while j < d:
        for k in range(len(out)):
            out[k] += x[j] * W[j, k]
        j += _1


def _dots_csr(A, row, W, out):
    p, hi = row
    out[:] = 0.0
    while p + _4 <= hi:
        a, b = np.float64(A.data[p]), np.float64(A.data[p + _1])
        c, e = np.float64(A.data[p + _2]), np.float64(A.data[p + _3])
        i, j, l, m = A.indices[p], A.indices[p + _1], A.indices[p + _2], A.indices[p + _3]
        for k in range(len(out)):
            out[k] += a * W[i, k] + b * W[j, k] + c * W[l, k] + e * W[m, k]
        p += _4
    while p < hi:
        for k in range(len(out)):
            out[k] += A.data[p] * W[A.indices[p], k]
        p += _1


def _add_dense(A, row, scale, w):
    i = row[0]
    for j in range(row[1]):
        w[j] += scale * A.X[i, j]


def _add_csr(A, row, scale, w):
    for p in range(row[0], row[1]):
        w[A.indices[p]] += scale * A.data[p]


def _add_outer_dense(A, row, scale, H):
    i = row[0]
    for j in range(row[1]):
        xj = scale * A.X[i, j]
        if xj != 0.0:
            for k in range(j + _1):
                H[j, k] += xj * A.X[i, k]


def _add_outer_csr(A, row, scale, H):
    for p in range(row[0], row[1]):
        xj = scale * A.data[p]
        j = A.indices[p]
        for q in range(row[0], row[1]):
            if A.indices[q] <= j:  # rows need not be sorted
                H[j, A.indices[q]] += xj * A.data[q]


def _sq_norm_dense(A, row):
    i, s = row[0], 0.0
    for j in range(row[1]):
        x = np.float64(A.X[i, j])
        s += x * x
    return s


def _sq_norm_csr(A, row):
    s = 0.0
    for p in range(row[0], row[1]):
        x = np.float64(A.data[p])
        s += x * x
    return s


def _sq_distance_dense(A, row, z, sq_z):
    x = A.X[row[0]]
    s = 0.0
    for j in range(row[1]):
        d = np.float64(x[j]) - z[j]
        s += d * d
    return s


def _sq_distance_csr(A, row, z, sq_z):
    # Where the row is zero the squared difference is z_j²: in total ‖z‖² less the z_j² of the stored cells.
    near = there = 0.0
    for p in range(row[0], row[1]):
        zj = z[A.indices[p]]
        d = np.float64(A.data[p]) - zj
        near += d * d
        there += zj * zj
    return near + max(0.0, sq_z - there)


def _verb(dense: Callable, csr: Callable, doc: str) -> Callable[..., Any]:
    """A function with a dense and a CSR implementation, chosen by the type of its first argument."""

    def verb(A, *args):
        return (dense if isinstance(A, DenseRows) else csr)(A, *args)

    verb.__doc__ = doc

    @extends_compiler
    def choose_implementation() -> None:
        from numba import types
        from numba.extending import overload

        @overload(verb, jit_options=_REORDER, strict=False)
        def choose(A, *args):
            if isinstance(A, types.BaseNamedTuple):
                return dense if A.instance_class is DenseRows else csr  # type: ignore[attr-defined]
            return None

    return verb


read_row = _verb(_read_dense, _read_csr, "Row i; counts its cells (nonzeros of CSR, the width of a dense row).")
held_row = _verb(_held_dense, _held_csr, "Row i without counting, for an iteration that has read it before.")
fetch = _verb(_fetch_dense, _fetch_csr, "Prefetch row i into the cache; not counted.")
are_far = _verb(_far_dense, _far_csr, "Whether the rows do not fit into the cache, so that `fetch` pays.")
span = _verb(_span_dense, _span_csr, "The range of p for `cell` in a row.")
cell = _verb(_cell_dense, _cell_csr, "The column and the value of cell p of a row.")
dot = _verb(_dot_dense, _dot_csr, "The inner product of a row with w.")
dots = _verb(_dots_dense, _dots_csr, "The inner products of a row with all columns of W.")
add_row = _verb(_add_dense, _add_csr, "w ← w + scale · x for a row x.")
add_outer = _verb(_add_outer_dense, _add_outer_csr, "Lower triangle of H ← H + scale · x xᵀ for a row x.")
sq_norm = _verb(_sq_norm_dense, _sq_norm_csr, "The squared Euclidean norm of a row.")
sq_distance = _verb(
    _sq_distance_dense, _sq_distance_csr, "The squared distance of a row from z, given the squared norm of z."
)
