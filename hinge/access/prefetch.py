"""Prefetching for compiled code: rows read in random order would otherwise wait for memory."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable


def prefetch(array: np.ndarray, at: int | np.integer) -> None:
    """Prefetch the cache line of an entry of a flat array; a hint without other effect.

    `at` must be an unsigned integer in compiled code. It may be beyond the end: nothing is read.
    """


# Emitted as an instruction: an overload would be another function to compile for each type of array.


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
    builder.call(hint, [place, i32(0), i32(3), i32(1)])  # for reading, into all cache levels, data cache
    return context.get_dummy_value()
