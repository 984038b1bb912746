"""The Gaussian kernel of inner products, its exponential in a form that compilers turn into vector code."""

import math

import numpy as np

from hinge.compiled import compiled

_F = np.float32
_LOG2E = math.log2(math.e)
# 2**f for |f| <= 1/2 as a polynomial of least relative error, 1e-7.
_C0, _C1, _C2 = _F(1.0), _F(0.6931470036506653), _F(0.24022242426872253)
_C3, _C4, _C5 = _F(0.05550733581185341), _F(0.009671512991189957), _F(0.001326472731307149)
_ZERO, _2, _LEAST = _F(0.0), _F(2.0), _F(-126.0)
_MAGIC = _F(12582912.0)  # 1.5 * 2**23: adding it leaves a whole number in the low bits
_23 = np.int32(23)
# 2**f for |f| <= 1/2 in double precision: the Taylor series of exp(f ln 2), whose rest is below 1e-16.
_T = tuple(0.6931471805599453**k / float(np.prod(np.arange(1.0, k + 1))) for k in range(13))
_D_MAGIC, _D_LEAST = 6755399441055744.0, -1022.0  # 1.5 * 2**52
_52 = np.int64(52)
_FAST = {"contract", "nsz"}


def gaussian_of_dots(G: np.ndarray, sq_x: np.ndarray, sq_z: np.ndarray, gamma: float) -> None:
    """``G <- exp(-gamma (sq_x + sq_z - 2 G))`` in place, at most 1.

    The distance is formed before it is scaled: it is exact for whole numbers below 2**24.
    """
    if G.dtype == np.float32 and G.size:
        _in_place(G, _F(gamma * _LOG2E), sq_x, -sq_z, _far(sq_x, sq_z, gamma))
    elif G.size:
        _double(G, sq_x, sq_z, gamma)


def gaussian_to_rows(
    G: np.ndarray, sq_x: np.ndarray, sq_z: np.ndarray, gamma: float, slab: np.ndarray, slots: np.ndarray, first: int
) -> None:
    """The same in single precision, row r written to ``slab[slots[r]]`` from column `first` on."""
    if G.size:
        _to_rows(G, _F(gamma * _LOG2E), sq_x, -sq_z, _far(sq_x, sq_z, gamma), slab, slots, first)


def _far(sq_x: np.ndarray, sq_z: np.ndarray, gamma: float) -> bool:
    """Whether a value may be too small for single precision, by Cauchy and Schwarz."""
    return not gamma * (float(sq_x.max()) ** 0.5 + float(sq_z.max()) ** 0.5) ** 2 < 80.0


@compiled(fastmath=_FAST)
def _to_rows(G, g, sq, less, far, slab, slots, first):
    R, last = len(sq), first + len(less)
    fours = 0 if far else R - R % 4
    for r in range(0, fours, 4):
        a, b = slab[slots[r], first:last], slab[slots[r + 1], first:last]
        c, d = slab[slots[r + 2], first:last], slab[slots[r + 3], first:last]
        _four(G[r], G[r + 1], G[r + 2], G[r + 3], g, sq[r : r + 4], less, a, b, c, d)
    for r in range(fours, R):
        _one(G[r], g, sq[r], less, slab[slots[r], first:last])


@compiled(fastmath=_FAST)
def _in_place(G, g, sq, less, far):
    R = len(sq)
    fours = 0 if far else R - R % 4
    for r in range(0, fours, 4):
        _four_in_place(G[r], G[r + 1], G[r + 2], G[r + 3], g, sq[r : r + 4], less)
    for r in range(fours, R):
        _one_in_place(G[r], g, sq[r], less)


@compiled(fastmath=_FAST)
def _four(x0, x1, x2, x3, g, own, less, y0, y1, y2, y3):
    """Four rows together: their exponentials do not wait for one another."""
    o0, o1, o2, o3 = own[0], own[1], own[2], own[3]
    for j in range(np.uint64(len(less))):
        z0 = _at_most_0(_2 * x0[j] + (less[j] - o0)) * g
        z1 = _at_most_0(_2 * x1[j] + (less[j] - o1)) * g
        z2 = _at_most_0(_2 * x2[j] + (less[j] - o2)) * g
        z3 = _at_most_0(_2 * x3[j] + (less[j] - o3)) * g
        y0[j], y1[j], y2[j], y3[j] = _power(z0), _power(z1), _power(z2), _power(z3)


@compiled(fastmath=_FAST)
def _one(x, g, own, less, y):
    """One row, of which values may be too small."""
    for j in range(np.uint64(len(x))):
        z = _at_most_0(_2 * x[j] + (less[j] - own)) * g
        y[j] = _power(_LEAST if z < _LEAST else z)


# The same in place, as functions of their own: a loop that gets one array as input and output is not vectorised.


@compiled(fastmath=_FAST)
def _four_in_place(x0, x1, x2, x3, g, own, less):
    o0, o1, o2, o3 = own[0], own[1], own[2], own[3]
    for j in range(np.uint64(len(less))):
        z0 = _at_most_0(_2 * x0[j] + (less[j] - o0)) * g
        z1 = _at_most_0(_2 * x1[j] + (less[j] - o1)) * g
        z2 = _at_most_0(_2 * x2[j] + (less[j] - o2)) * g
        z3 = _at_most_0(_2 * x3[j] + (less[j] - o3)) * g
        x0[j], x1[j], x2[j], x3[j] = _power(z0), _power(z1), _power(z2), _power(z3)


@compiled(fastmath=_FAST)
def _one_in_place(x, g, own, less):
    for j in range(np.uint64(len(x))):
        z = _at_most_0(_2 * x[j] + (less[j] - own)) * g
        x[j] = _power(_LEAST if z < _LEAST else z)


@compiled(fastmath=_FAST)
def _at_most_0(z):
    return _ZERO if z > _ZERO else z  # written so that nan stays nan


@compiled(fastmath=_FAST)
def _power(z):
    """2**z for -126 <= z <= 0, and nan for nan."""
    t = z + _MAGIC
    f = z - (t - _MAGIC)
    ff = f * f
    p = (_C0 + _C1 * f) + ff * ((_C2 + _C3 * f) + ff * (_C4 + _C5 * f))
    exponent = np.int32(np.float32(t).view(np.int32) << _23)
    return np.int32(np.float32(p).view(np.int32) + exponent).view(np.float32)


def _double_of_arrays(G: np.ndarray, sq_x: np.ndarray, sq_z: np.ndarray, gamma: float) -> None:
    """`_double`, operation by operation, with NumPy."""
    g, power, step = gamma * _LOG2E, getattr(_power_of, "py_func", _power_of), max(1, 4096 // G.shape[1])
    for lo in range(0, len(G), step):  # few numbers at a time, which stay in the cache
        part = G[lo : lo + step]
        z = (2.0 * part - (sq_x[lo : lo + step, None] + sq_z)) * g
        z = np.where(z > 0.0, 0.0, z)
        part[:] = power(np.where(z < _D_LEAST, _D_LEAST, z))


@compiled(tiered=_double_of_arrays)
def _double(G, sq_x, sq_z, gamma):
    """In double precision: a relative error below 1e-15, beside the error of the exponent."""
    g = gamma * _LOG2E
    for r in range(G.shape[0]):
        row, own = G[r], sq_x[r]
        for j in range(np.uint64(G.shape[1])):
            z = (2.0 * row[j] - (own + sq_z[j])) * g
            z = 0.0 if z > 0.0 else z
            row[j] = _power_of(_D_LEAST if z < _D_LEAST else z)


@compiled
def _power_of(z):
    """2**z for -1022 <= z <= 0, and nan for nan; of arrays, too."""
    t = z + _D_MAGIC
    f = z - (t - _D_MAGIC)
    f2 = f * f
    f4 = f2 * f2
    low = (_T[0] + _T[1] * f) + f2 * (_T[2] + _T[3] * f)
    middle = (_T[4] + _T[5] * f) + f2 * (_T[6] + _T[7] * f)
    high = (_T[8] + _T[9] * f) + f2 * (_T[10] + _T[11] * f)
    p = low + f4 * (middle + f4 * (high + f4 * _T[12]))
    exponent = np.int64(np.float64(t).view(np.int64) << _52)
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)
