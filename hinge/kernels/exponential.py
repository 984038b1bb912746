"""The Gaussian kernel of inner products, its exponential in a form that compilers turn into vector code."""

import numpy as np

from hinge.compiled import compiled

_F = np.float32
_LOG2E = 1.4426950408889634
# 2**f for |f| <= 1/2 as a polynomial of least relative error, 1e-7.
_C0, _C1, _C2 = _F(1.0), _F(0.6931470036506653), _F(0.24022242426872253)
_C3, _C4, _C5 = _F(0.05550733581185341), _F(0.009671512991189957), _F(0.001326472731307149)
_ZERO, _LEAST = _F(0.0), _F(-126.0)
_MAGIC = _F(12582912.0)  # 1.5 * 2**23: adding it leaves a whole number in the low bits
_23 = np.int32(23)
_FAST = {"contract", "nsz"}


def gaussian_of_dots(G: np.ndarray, sq_x: np.ndarray, sq_z: np.ndarray, gamma: float) -> None:
    """``G <- exp(-gamma (sq_x + sq_z - 2 G))`` in place, at most 1."""
    if G.dtype == np.float32 and G.size:
        _in_place(G, *_terms(sq_x, sq_z, gamma))
    else:
        _double(G, sq_x, sq_z, gamma)


def gaussian_to_rows(
    G: np.ndarray, sq_x: np.ndarray, sq_z: np.ndarray, gamma: float, slab: np.ndarray, slots: np.ndarray,
    first: int,
) -> None:  # fmt: skip
    """The same in single precision, row r written to ``slab[slots[r]]`` from column `first` on."""
    if G.size:
        _to_rows(G, *_terms(sq_x, sq_z, gamma), slab, slots, first)


def _terms(
    sq_x: np.ndarray, sq_z: np.ndarray, gamma: float
) -> tuple[np.float32, np.ndarray, np.ndarray, bool]:
    """Factors and terms of the exponents of 2, and whether one may be below the least that there is."""
    g = _F(gamma * _LOG2E)
    most = float(sq_x.max()) ** 0.5 + float(sq_z.max()) ** 0.5  # by Cauchy and Schwarz
    return _F(2.0) * g, g * sq_x, -g * sq_z, not float(g) * most**2 < 120.0


@compiled(fastmath=_FAST)
def _to_rows(G, two, own, other, far, slab, slots, first):
    R, last = len(own), first + len(other)
    fours = 0 if far else R - R % 4
    for r in range(0, fours, 4):
        a, b = slab[slots[r], first:last], slab[slots[r + 1], first:last]
        c, d = slab[slots[r + 2], first:last], slab[slots[r + 3], first:last]
        _four(G[r], G[r + 1], G[r + 2], G[r + 3], two, own[r : r + 4], other, a, b, c, d)
    for r in range(fours, R):
        _one(G[r], two, own[r], other, slab[slots[r], first:last])


@compiled(fastmath=_FAST)
def _in_place(G, two, own, other, far):
    R = len(own)
    fours = 0 if far else R - R % 4
    for r in range(0, fours, 4):
        _four_in_place(G[r], G[r + 1], G[r + 2], G[r + 3], two, own[r : r + 4], other)
    for r in range(fours, R):
        _one_in_place(G[r], two, own[r], other)


@compiled(fastmath=_FAST)
def _four(x0, x1, x2, x3, two, own, other, y0, y1, y2, y3):
    """Four rows at once: their exponentials do not wait for one another."""
    o0, o1, o2, o3 = own[0], own[1], own[2], own[3]
    for j in range(np.uint64(len(other))):
        z0 = _at_most_0(two * x0[j] + (other[j] - o0))
        z1 = _at_most_0(two * x1[j] + (other[j] - o1))
        z2 = _at_most_0(two * x2[j] + (other[j] - o2))
        z3 = _at_most_0(two * x3[j] + (other[j] - o3))
        y0[j], y1[j], y2[j], y3[j] = _power(z0), _power(z1), _power(z2), _power(z3)


@compiled(fastmath=_FAST)
def _one(x, two, own, other, y):
    """One row, of which values may be too small for single precision."""
    for j in range(np.uint64(len(x))):
        z = _at_most_0(two * x[j] + (other[j] - own))
        y[j] = _power(_LEAST if z < _LEAST else z)


# The same in place: where an array is given twice, nothing is vectorised.


@compiled(fastmath=_FAST)
def _four_in_place(x0, x1, x2, x3, two, own, other):
    o0, o1, o2, o3 = own[0], own[1], own[2], own[3]
    for j in range(np.uint64(len(other))):
        z0 = _at_most_0(two * x0[j] + (other[j] - o0))
        z1 = _at_most_0(two * x1[j] + (other[j] - o1))
        z2 = _at_most_0(two * x2[j] + (other[j] - o2))
        z3 = _at_most_0(two * x3[j] + (other[j] - o3))
        x0[j], x1[j], x2[j], x3[j] = _power(z0), _power(z1), _power(z2), _power(z3)


@compiled(fastmath=_FAST)
def _one_in_place(x, two, own, other):
    for j in range(np.uint64(len(x))):
        z = _at_most_0(two * x[j] + (other[j] - own))
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


@compiled
def _double(G, sq_x, sq_z, gamma):
    for r in range(G.shape[0]):
        for j in range(G.shape[1]):
            z = 2.0 * gamma * G[r, j] - gamma * (sq_x[r] + sq_z[j])
            G[r, j] = np.exp(0.0 if z > 0.0 else z)
