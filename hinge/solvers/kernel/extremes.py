"""The lesser and the larger of two numbers, so that the least of many is found several at a time.

A comparison that heeds nan keeps its place in a loop; these may be made in any order. Neither number may be nan.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

Real = TypeVar("Real", float, np.float32)


def lesser(a: Real, b: Real) -> Real:
    """The lesser of two numbers of one type."""
    return a if a < b else b


def larger(a: Real, b: Real) -> Real:
    """The larger of two numbers of one type."""
    return a if a > b else b


def _chosen_by(sign: str) -> Callable:
    @intrinsic
    def chosen(context: Any, a: types.Float, b: types.Float) -> Any:
        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            flags = ("nnan", "nsz")
            return builder.select(builder.fcmp_ordered(sign, *args, flags=flags), *args, flags=flags)

        return a(a, b), emit

    return chosen


_lesser, _larger = _chosen_by("<"), _chosen_by(">")


@overload(lesser, inline="always")
def _compiled_lesser(a, b):
    return lambda a, b: _lesser(a, b)


@overload(larger, inline="always")
def _compiled_larger(a, b):
    return lambda a, b: _larger(a, b)
