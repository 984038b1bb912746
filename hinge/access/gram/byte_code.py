"""The compiled code of inner products of bytes and bits, see `byte_dots`; importing it imports Numba."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hinge.access.gram.byte_dots import LANES, SHIFT, X86
from hinge.compiled import compiled

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_INTS, _FLOATS = ir.VectorType(_I32, 4), ir.VectorType(ir.FloatType(), 4)
_COLUMNS = 256
"""Columns of a tile: their bytes stay in the second level cache while all rows meet them."""


def _instruction(builder, x86):
    """What adds the products of bytes of a and b to sums, the type of such bytes, and the type of the sums."""
    if x86:  # whose b are less by 128
        kind = ir.VectorType(_I32, 16)
        name, bytes_ = "llvm.x86.avx512.vpdpbusd.512", kind
        top = ir.Constant(kind, [ir.Constant(_I32, 0x80808080)] * 16)
    else:
        kind, bytes_ = _INTS, ir.VectorType(ir.IntType(8), 16)
        name = "llvm.aarch64.neon.udot.v4i32.v16i8"
    call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind, bytes_, bytes_]), name)

    def add_products(sums, a, b):
        return builder.call(call, [sums, a, builder.xor(b, top) if x86 else b])

    return add_products, bytes_, kind


def _lanes(builder, a, b, numbers):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(numbers)), numbers))


def _quarter(builder, sums):
    """Four numbers with the same sum."""
    while (n := sums.type.count) > 4:
        halves = (_lanes(builder, sums, sums, list(range(lo, lo + n // 2))) for lo in (0, n // 2))
        sums = builder.add(*halves)
    return sums


def _added_pairs(builder, a, b):
    """Sums of neighbours, of a and then of b."""
    return builder.add(_lanes(builder, a, b, [0, 2, 4, 6]), _lanes(builder, a, b, [1, 3, 5, 7]))


@intrinsic
def _dots_4x4(typing, base, stride, rows, columns, own, other, scale, out, out_stride):
    """Inner products of 4 rows with 4 columns of bytes, these less `SHIFT`, twice each, less `own` and `other`, whole
    numbers; then scaled, as float32 at `out`. All are addresses.
    """
    four = types.UniTuple(types.int64, 4)
    u64 = types.uint64
    signature = types.void(u64, u64, four, four, u64, u64, types.float32, u64, u64)

    def codegen(context, builder, signature, args):
        base, stride, rows, columns, own, other, scale, out, out_stride = args

        def address(numbers, k):
            return builder.add(base, builder.mul(builder.extract_value(numbers, k), stride))

        starts = [address(rows, k) for k in range(4)], [address(columns, k) for k in range(4)]
        before, loop, after = (builder.block, builder.append_basic_block("dots"), builder.append_basic_block("done"))
        builder.branch(loop)
        builder.position_at_end(loop)
        at = builder.phi(_I64)
        at.add_incoming(ir.Constant(_I64, 0), before)
        add_products, bytes_, kind = _instruction(builder, X86)
        sums = [builder.phi(kind) for _ in range(16)]
        a, b = (
            [builder.load(builder.inttoptr(builder.add(p, at), bytes_.as_pointer()), align=1) for p in side]
            for side in starts
        )
        added = [add_products(sums[4 * r + c], a[r], b[c]) for r in range(4) for c in range(4)]
        for phi, value in zip(sums, added, strict=True):
            phi.add_incoming(ir.Constant(kind, [0] * kind.count), before)
            phi.add_incoming(value, loop)
        following = builder.add(at, ir.Constant(_I64, LANES))
        at.add_incoming(following, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, stride), loop, after)
        builder.position_at_end(after)

        def all_of(vector, k):
            lanes = ir.Constant(_INTS, [k] * 4)
            return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), lanes)

        scales = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), scale, ir.Constant(_I32, 0))
        owns, others = (builder.load(builder.inttoptr(p, _INTS.as_pointer()), align=4) for p in (own, other))
        for r in range(4):
            four = [_quarter(builder, one) for one in added[4 * r : 4 * r + 4]]
            sums = _added_pairs(builder, _added_pairs(builder, *four[:2]), _added_pairs(builder, *four[2:]))
            less = builder.add(others, all_of(owns, r))
            dots = builder.sitofp(builder.sub(builder.add(sums, sums), less), _FLOATS)
            row = builder.add(out, builder.mul(ir.Constant(_I64, r), out_stride))
            builder.store(builder.fmul(dots, all_of(scales, 0)), builder.inttoptr(row, _FLOATS.as_pointer()), align=4)
        return context.get_dummy_value()

    return signature, codegen


@compiled
def _sum(row):
    total = np.int64(0)
    for x in row:
        total += np.int64(x)
    return total


@compiled
def byte_dots(P, less, rows, columns, step_sq, G):
    """``G[r, c] = step_sq * (<p, q> - (less[p] + less[q]) / 2)``, rounded once, for packed bytes P.

    `less` are squared norms, or zeros; p and q are rows[r] and columns[c]; G is contiguous.
    """
    base, stride = np.uint64(P.ctypes.data), np.uint64(P.shape[1])
    R, C, scale = len(rows), len(columns), np.float32(0.5) * step_sq
    to, to_stride = np.uint64(G.ctypes.data), np.uint64(4 * C)
    own, other = np.zeros(R + 4, np.int32), np.zeros(C + 4, np.int32)
    for r in range(R):
        own[r] = less[rows[r]]
        if SHIFT:
            own[r] -= 2 * SHIFT * _sum(P[rows[r]])
    for c in range(C):
        other[c] = less[columns[c]]
    edge = np.empty((4, 4), np.float32)
    for first in range(0, C, _COLUMNS):
        last = min(first + _COLUMNS, C)
        for r in range(0, R, 4):
            four = (rows[r], rows[min(r + 1, R - 1)], rows[min(r + 2, R - 1)], rows[min(r + 3, R - 1)])
            mine = np.uint64(own.ctypes.data) + np.uint64(4 * r)
            for c in range(first, last, 4):
                theirs = np.uint64(other.ctypes.data) + np.uint64(4 * c)
                met = (columns[c], columns[min(c + 1, C - 1)], columns[min(c + 2, C - 1)], columns[min(c + 3, C - 1)])
                inside = r + 4 <= R and c + 4 <= C
                place, step = np.uint64(edge.ctypes.data), np.uint64(16)
                if inside:
                    place, step = to + np.uint64(r) * to_stride + np.uint64(4 * c), to_stride
                _dots_4x4(base, stride, four, met, mine, theirs, scale, place, step)  # type: ignore[call-arg]
                if not inside:
                    for i in range(min(4, R - r)):
                        for j in range(min(4, C - c)):
                            G[r + i, c + j] = edge[i, j]


@intrinsic
def _ones(typing, byte):
    """The number of ones among the bits of a byte."""
    return types.uint8(types.uint8), lambda context, builder, signature, args: builder.ctpop(args[0])


@compiled
def bit_dots(planes, rows, columns, step_sq, G):
    """``G[r, c] = step_sq`` times the ones that points rows[r] and columns[c] share, 255 at most.

    ``planes[k]`` is byte k of all points, side by side, so that one instruction meets one byte of a row with 16
    columns.
    """
    K, C = len(planes), len(columns)
    part = np.empty((K, C), np.uint8)
    for k in range(K):
        for c in range(C):
            part[k, c] = planes[k, columns[c]]
    sums = np.empty(C, np.uint8)
    for r in range(len(rows)):
        sums[:] = 0
        own = planes[:, rows[r]]
        for k in range(0, K, 4):
            if own[k] | own[k + 1] | own[k + 2] | own[k + 3]:
                _add_ones(part[k], part[k + 1], part[k + 2], part[k + 3], own[k : k + 4], sums)
        _scaled(sums, step_sq, G[r])


@compiled
def _add_ones(p0, p1, p2, p3, own, sums):
    a0, a1, a2, a3 = own[0], own[1], own[2], own[3]
    for c in range(np.uint64(len(sums))):
        low, high = _shared(p0[c], a0) + _shared(p1[c], a1), _shared(p2[c], a2) + _shared(p3[c], a3)
        sums[c] = np.uint8(sums[c] + low + high)


@compiled
def _shared(a, b):
    return _ones(np.uint8(a & b))  # type: ignore[call-arg]


@compiled
def _scaled(sums, scale, out):
    for c in range(np.uint64(len(sums))):
        out[c] = scale * np.float32(sums[c])
