"""Dense input of every type, shape, order and content, with labels to match, through every door."""

import copy

import numpy as np
import pandas as pd

from ..doors import DOORS

TYPES = ("f8", "f8", "f4", "f4", "f2", "g", "i8", "i2", "u1", "?", "c8", ">f8", ">i4", "O", "U4", "M8[s]", "V4")
SCALES = (1e-300, 1e-30, 1e-3, 1.0, 1.0, 1.0, 1e3, 1e20, 1e69, 1e200)
WILD = (np.nan, np.inf, -np.inf, 1e300, 5e-324, -0.0, 3e38)


def case(rng):
    """A random array in a random wrapping."""
    n, d = (int(k) for k in rng.integers(0, 14, 2)) if rng.random() < 0.1 else rng.integers(2, 14, 2).tolist()
    X = _shaped(_values(rng, n, d), rng)
    y = _labels(rng, n)
    kept = copy.deepcopy(X) if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" else None
    door = DOORS[int(rng.integers(len(DOORS)))]
    door(X, y, rng)
    assert kept is None or np.array_equal(X, kept, equal_nan=X.dtype.kind == "f"), "X was written"


def _values(rng, n, d):
    X = rng.normal(size=(n, d)) * SCALES[int(rng.integers(len(SCALES)))]
    if rng.random() < 0.2:
        X[:] = X[:1]
    if rng.random() < 0.2:
        X = X.round()
    if rng.random() < 0.15:
        X += 10.0 ** int(rng.integers(0, 9))
    if rng.random() < 0.2 and X.size:
        X.ravel()[rng.integers(X.size)] = WILD[int(rng.integers(len(WILD)))]
    with np.errstate(all="ignore"):
        kind = TYPES[int(rng.integers(len(TYPES)))] if rng.random() < 0.5 else "f8"
        return X.astype("i8").astype(kind) if kind in ("M8[s]", "V4") else X.astype(kind)


def _shaped(X, rng):
    """The same numbers as something else that users have."""
    way = int(rng.integers(24))
    if way == 0:
        return X.tolist()
    if way == 1:
        return np.asfortranarray(X)
    if way == 2:
        return np.repeat(X, 2, axis=0)[::2]
    if way == 3:
        return X[::-1]
    if way == 4:
        return X[0] if len(X) else X
    if way == 5:
        return X[:, :, None]
    if way == 6 and X.dtype.kind != "V":
        return np.ma.masked_array(X, mask=rng.random(X.shape) < 0.1)
    if way == 7 and X.dtype.kind not in "VcgM":
        return pd.DataFrame(X.astype(X.dtype.newbyteorder("=")))
    if way == 8:
        X = X.copy()
        X.setflags(write=False)
        return X
    if way == 9:
        return [*X.tolist(), [1.0]]  # rows of several lengths
    if way == 10 and X.dtype.kind in "fiu":
        return np.asmatrix(X)
    if way == 11:
        return [None, "x", 3, {}, object(), np.float64(2)][int(rng.integers(6))]
    return X


def _labels(rng, n):
    way = int(rng.integers(20))
    y = np.resize([-1, 1], n)[rng.permutation(n)]
    if way == 0:
        return np.ones(n, int)
    if way == 1:
        return y[:-1]
    if way == 2:
        return np.where(y > 0, np.nan, 1.0)
    if way == 3:
        return np.array(["yes", "no"])[(y > 0).astype(int)]
    if way == 4:
        return y[:, None]
    if way == 5:
        return y.astype(object)
    if way == 6:
        return y.tolist()
    if way == 7:
        return rng.normal(size=n)
    return y
