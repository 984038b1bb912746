"""The few things that NumPy and torch spell differently, for code that runs on both."""

import numpy as np

from hinge.kernels import namespace
from hinge.types import Array


def whole(x: Array) -> Array:
    """`x` rounded down to int64."""
    return x.astype(np.int64) if isinstance(x, np.ndarray) else x.long()


def add_at(a: Array, i: Array, x: float) -> None:
    """``a[i] += x`` for a number x, where an index that occurs twice counts twice."""
    if isinstance(a, np.ndarray):
        np.add.at(a, i, x)
    else:
        a.index_add_(0, i, a.new_full((len(i),), x))


def counts_to(n: int, like: Array) -> Array:
    """1, 2, ..., n in the type and on the device of an array."""
    if isinstance(like, np.ndarray):
        return np.arange(1.0, n + 1.0)
    return namespace(like).arange(1, n + 1, device=like.device, dtype=like.dtype)
