"""The lesser and the larger of two numbers, so that the least of many is found several at a time.

A comparison that heeds nan keeps its place in a loop; these may be made in any order. Neither number may be nan.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from hinge.compiled import extends_compiler

Real = TypeVar("Real", float, np.float32)


def lesser(a: Real, b: Real) -> Real:
    """The lesser of two numbers of one type."""
    return a if a < b else b


def larger(a: Real, b: Real) -> Real:
    """The larger of two numbers of one type."""
    return a if a > b else b


@extends_compiler
def _select() -> None:
    """By comparisons that need not heed nan."""
    from numba import types
    from numba.extending import intrinsic, overload

    def chosen_by(sign: str) -> Callable:
        @intrinsic
        def chosen(context, a: types.Float, b: types.Float):
            def emit(context, builder, signature, args):
                flags = ("nnan", "nsz")
                return builder.select(builder.fcmp_ordered(sign, *args, flags=flags), *args, flags=flags)

            return a(a, b), emit

        return chosen

    less, greater = chosen_by("<"), chosen_by(">")

    @overload(lesser, inline="always")
    def compiled_lesser(a, b):
        return lambda a, b: less(a, b)

    @overload(larger, inline="always")
    def compiled_larger(a, b):
        return lambda a, b: greater(a, b)
