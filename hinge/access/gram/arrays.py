"""The few things that NumPy and torch spell differently, for code that runs on both."""

from typing import Any

import numpy as np

from hinge.kernels import namespace


def whole(x: Any) -> Any:
    """`x` rounded down to int64."""
    return x.astype(np.int64) if namespace(x) is np else x.long()


def add_at(a: Any, i: Any, x: float) -> None:
    """``a[i] += x`` for a number x, where an index that occurs twice counts twice."""
    if namespace(a) is np:
        np.add.at(a, i, x)
    else:
        a.index_add_(0, i, a.new_full((len(i),), x))


def counts_to(n: int, like: Any) -> Any:
    """1, 2, ..., n in the type and on the device of an array."""
    xp = namespace(like)
    return np.arange(1.0, n + 1.0) if xp is np else xp.arange(1, n + 1, device=like.device, dtype=like.dtype)
