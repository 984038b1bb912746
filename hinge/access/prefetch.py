"""Asking memory for what is wanted soon: rows in random order wait for it otherwise."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload


def prefetch(array: np.ndarray, at: int | np.integer) -> None:
    """Have the cache line of a flat array's entry brought near; a hint, which changes nothing and cannot fail.

    `at` must be an unsigned integer in compiled code. It may lie beyond the end: nothing is read.
    """


@intrinsic
def _prefetch(context: Any, array: types.Array, at: types.Integer) -> Any:
    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        start = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(start, [args[1]]), ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), i32, i32, i32])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(hint, [place, i32(0), i32(3), i32(1)])  # to read, to be kept in all caches, of data
        return context.get_dummy_value()

    return types.void(array, at), emit


# For LLVM to inline: what Numba inlines itself it compiles besides, as a function of its own.
_INSIDE: Any = {"forceinline": True, "no_cfunc_wrapper": True}


@overload(prefetch, jit_options=_INSIDE)
def _compiled(array, at):
    return lambda array, at: _prefetch(array, at)  # type: ignore[call-arg]
