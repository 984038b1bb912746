"""Sparse matrices whose parts do not fit together, through every door; sound ones in between."""

import contextlib
import copy
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..doors import DOORS

FORMATS = ("csr", "csr", "csr", "csc", "coo", "bsr", "lil", "dok", "dia")
TYPES = (np.float32, np.float64, np.float64, np.int32, np.int8, np.bool_, np.complex128, np.longdouble)
WILD = (-1, -7, 1 << 20, 1 << 31, 1 << 33, (1 << 31) - 1, (1 << 63) - 1, -(1 << 63))


def case(rng):
    """A random matrix, broken in up to two ways, or not at all."""
    X, y = drawn(rng)
    breaks = BREAKS if X.format in ("csr", "csc", "bsr") else COORDINATES if X.format == "coo" else LISTS
    with np.errstate(all="ignore"), contextlib.suppress(Exception):  # what is past breaking
        for _ in range(int(rng.integers(3))):
            breaks[int(rng.integers(len(breaks)))](X, rng)
    broken = X.format in ("csr", "csc") and not sound(X)
    door = DOORS[int(rng.integers(len(DOORS)))]
    before = copy.deepcopy({k: v for k, v in vars(X).items() if isinstance(v, np.ndarray)})
    door(X, y, rng)
    assert not broken, f"{door.__name__} took a broken matrix"
    for name, value in before.items():
        assert np.array_equal(vars(X)[name], value, equal_nan=value.dtype.kind in "fc"), f"{name} was written"


def drawn(rng):
    """A sound matrix in some format, container and type, and its labels."""
    n, d = (int(k) for k in rng.integers(1, 14, 2))
    if rng.random() < 0.2:
        d = n
    dense = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4), 0)
    X = sp.csr_array(dense.astype(TYPES[int(rng.integers(len(TYPES)))]))
    X = X.asformat(FORMATS[int(rng.integers(len(FORMATS)))])
    if rng.random() < 0.5:
        X = getattr(sp, f"{X.format}_matrix")(X)
    return X, np.resize([-1, 1], n)[rng.permutation(n)]


def sound(X):
    """Whether compiled code may follow the indices: SciPy's own slow check, on a copy."""
    lines, length = X.shape if X.format == "csr" else X.shape[::-1]
    p, i = X.indptr, X.indices
    return (
        all(isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype in (np.int32, np.int64) for a in (p, i))
        and len(p) == lines + 1
        and p[0] == 0
        and sorted(p.tolist()) == p.tolist()
        and p[-1] <= min(len(i), len(X.data))
        and all(0 <= j < length for j in i[: p[-1]].tolist())
    )


def _poke(part, rng, values=WILD):
    """One entry, or a few, replaced."""
    if len(part):
        at = rng.integers(len(part), size=int(rng.integers(1, 3)))
        part[at] = np.array(values, dtype=object)[rng.integers(len(values), size=len(at))].astype(part.dtype)


def _indices(X, rng):
    X.indices = X.indices.astype(rng.choice([np.int32, np.int64]))
    _poke(X.indices, rng, WILD if X.indices.dtype == np.int64 else [-1, -7, X.shape[1], 1 << 20, (1 << 31) - 1])


def _indptr(X, rng):
    X.indptr = X.indptr.astype(rng.choice([np.int32, np.int64]))
    _poke(X.indptr, rng, WILD if X.indptr.dtype == np.int64 else [-1, 0, 1, X.nnz, 1 << 20, (1 << 31) - 1])


def _short(X, rng):
    name = str(rng.choice(["data", "indices", "indptr"]))
    setattr(X, name, getattr(X, name)[: int(rng.integers(len(getattr(X, name)) + 1))])


def _long(X, rng):
    name = str(rng.choice(["data", "indices", "indptr"]))
    part = getattr(X, name)
    setattr(X, name, np.concatenate([part, part[: int(rng.integers(1, 4))]]))


def _types(X, rng):
    name = str(rng.choice(["indices", "indptr"]))
    kind = [np.uint8, np.uint32, np.float64, object, ">i4", np.int16, "U3"][int(rng.integers(7))]
    setattr(X, name, getattr(X, name).astype(kind))


def _shuffled(X, rng):
    if X.data.ndim == 1:
        for lo, hi in pairwise(X.indptr.tolist()):
            if 0 <= lo <= hi <= len(X.indices):
                X.indices[lo:hi] = X.indices[lo:hi][rng.permutation(hi - lo)]


def _repeated(X, rng):
    if len(X.indices) > 1:
        k = int(rng.integers(1, len(X.indices)))
        X.indices[k] = X.indices[k - 1]


def _flags(X, rng):
    X.has_sorted_indices = bool(rng.random() < 0.8)
    X.has_canonical_format = bool(rng.random() < 0.8)


def _values(X, rng):
    if X.data.dtype.kind == "f" and X.data.size:
        wild = [np.nan, np.inf, -np.inf, 1e30, 1e-30, 1e300, 5e-324, 3e38]
        X.data.reshape(-1)[rng.integers(X.data.size)] = rng.choice(wild)


def _dimensions(X, rng):
    name = str(rng.choice(["indices", "indptr", "data"]))
    part = getattr(X, name)
    setattr(X, name, part[:, None] if rng.random() < 0.7 else part.tolist())


def _strides(X, rng):
    for name in ("indices", "indptr", "data"):
        part = getattr(X, name)
        setattr(X, name, np.repeat(part, 2, axis=0)[::2])


def _read_only(X, rng):
    for name in ("indices", "indptr", "data"):
        getattr(X, name).setflags(write=False)


def _coordinates(X, rng):
    at = [a.astype(np.int64 if rng.random() < 0.3 else a.dtype) for a in X.coords]
    k = int(rng.integers(2))
    if len(at[k]):
        at[k] = at[k].copy()
        at[k][int(rng.integers(len(at[k])))] = int(rng.choice([-1, -100, X.shape[k], 1 << 20, (1 << 31) - 1]))
    X.coords = tuple(at)


def _fewer(X, rng):
    X.data = X.data[: int(rng.integers(len(X.data) + 1))]


def _of_lists(X, rng):
    if X.format == "lil" and X.shape[0]:
        i = int(rng.integers(X.shape[0]))
        X.rows[i] = [[5000], [-1], [0, 1, 2, 3] * 50, [], ["a"], [1.5], [1 << 40]][int(rng.integers(7))]
    elif X.format == "dok":
        X._dict[[(0, 1 << 20), (-1, 0), (0, 1 << 40)][int(rng.integers(3))]] = X.dtype.type(1)
    elif X.format == "dia":
        X.offsets = [X.offsets[:-1], np.zeros_like(X.offsets), X.offsets + (1 << 20)][int(rng.integers(3))]


BREAKS = (
    _indices,
    _indices,
    _indptr,
    _indptr,
    _short,
    _long,
    _types,
    _shuffled,
    _repeated,
    _flags,
    _values,
    _dimensions,
    _strides,
    _read_only,
)
COORDINATES = _coordinates, _coordinates, _fewer
LISTS = (_of_lists,)
