"""Asking memory for what is wanted soon: rows in random order wait for it otherwise."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable


def prefetch(array: np.ndarray, at: int | np.integer) -> None:
    """Have the cache line of a flat array's entry brought near; a hint, which changes nothing and cannot fail.

    `at` must be an unsigned integer in compiled code. It may lie beyond the end: nothing is read.
    """


# An instruction in the caller's code: an overload would be a function to compile for each type of array.


@type_callable(prefetch)
def _type(context: Any) -> Any:
    return lambda array, at: types.void


@lower_builtin(prefetch, types.Array, types.Integer)
def _emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
    start = context.make_array(signature.args[0])(context, builder, args[0]).data
    place = builder.bitcast(builder.gep(start, [args[1]]), ir.IntType(8).as_pointer())
    i32 = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), i32, i32, i32])
    hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(hint, [place, i32(0), i32(3), i32(1)])  # to read, to be kept in all caches, of data
    return context.get_dummy_value()
