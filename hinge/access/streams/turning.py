"""Transposition of columns that are separate arrays into rows."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic, overload

from hinge.compiled import compiled

TALL = 128
"""Rows that are transposed at a time, such that the output stays in the cache."""


def turn(columns: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Write columns of one length side by side: ``out[:, j] = columns[j]``."""
    kept = [np.ascontiguousarray(column, out.dtype) for column in columns]
    if any(len(column) != len(out) for column in kept) or len(kept) != out.shape[1]:
        raise ValueError(f"There are {len(kept)} columns, of {sorted(map(len, kept))} rows, but room for {out.shape}.")
    _turn(np.array([column.ctypes.data for column in kept], np.intp), np.empty(0, out.dtype), out)


@compiled
def _turn(places, like, out):
    """Four columns at a time, since a processor can follow only a few streams of reads and writes."""
    n, d = out.shape
    for top in range(0, n, TALL):
        end = min(top + TALL, n)
        for j in range(0, d - 3, 4):
            a, b = column_at(places[j], n, like), column_at(places[j + 1], n, like)
            c, e = column_at(places[j + 2], n, like), column_at(places[j + 3], n, like)
            for i in range(top, end):
                out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = a[i], b[i], c[i], e[i]
        for j in range(d - d % 4, d):
            a = column_at(places[j], n, like)
            for i in range(top, end):
                out[i, j] = a[i]


def column_at(place: int, count: int, like: np.ndarray) -> np.ndarray:
    """An array of `count` numbers at a memory address, in the type of `like`; the owner must stay alive."""
    held = (ctypes.c_char * (count * like.itemsize)).from_address(int(place))
    return np.frombuffer(memoryview(held), like.dtype)


@intrinsic
def _pointer(context: Any, place: types.Integer, like: types.Array) -> Any:
    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(place, like), emit


@overload(column_at, inline="always")
def _compiled(place, count, like):
    return lambda place, count, like: carray(_pointer(place, like), count)  # type: ignore[call-arg]
