"""Odd values of every type, and small problems to try them on."""

import decimal
import fractions
import pathlib

import numpy as np
import scipy.sparse as sp

NUMBERS = (
    0,
    1,
    2,
    3,
    -1,
    10**30,
    -(10**30),
    1 << 31,
    0.0,
    -0.0,
    0.3,
    1.5,
    -0.5,
    1e-3,
    1e3,
    1e-30,
    1e30,
    1e-99,
    1e99,
    1e-150,
    1e150,
    1e-300,
    1e300,
    5e-324,
    1.7e308,
    np.nan,
    np.inf,
    -np.inf,
)
SCALARS = (
    np.float32(0.5),
    np.float64(0.1),
    np.float16(2.0),
    np.int64(2),
    np.uint8(1),
    np.bool_(True),
    np.float64(np.nan),
    np.longdouble(0.25),
    np.array(0.5),
    np.array([1.0]),
    np.complex128(1j),
    np.str_("rbf"),
    np.datetime64("2020-01-01"),
)
THINGS = (
    None,
    True,
    False,
    "",
    "auto",
    "balanced",
    "scale",
    "x",
    "1",
    b"x",
    [],
    [1],
    (),
    (1, 2),
    {},
    {0: 1.0},
    {0, 1},
    object(),
    lambda *_: 0.0,
    int,
    dict,
    range(3),
    slice(2),
    1j,
    fractions.Fraction(1, 3),
    decimal.Decimal("0.5"),
    pathlib.Path("x"),
    np.zeros(0),
    np.ones((2, 2)),
    NotImplemented,
    ...,
    ValueError("x"),
)
ODD = (*NUMBERS, *NUMBERS, *SCALARS, *THINGS)


def one_of(rng, values):
    """A value, whatever its type."""
    return values[int(rng.integers(len(values)))]


def table(rng, rows=None):
    """A small table of an ordinary or an odd kind, and two labels."""
    n, d = int(rng.integers(6, 30)) if rows is None else rows, int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    y[:2] = -1, 1
    kind = int(rng.integers(8))
    if kind == 0:
        X = X.round()
    elif kind == 1:
        X = (X > 0).astype(float)
    elif kind == 2:
        X[:, 0] = 1.0
    elif kind == 3:
        X = np.repeat(X[:1], n, axis=0)
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    return (sp.csr_array(X) if rng.random() < 0.25 else X), y


def scaled(rng, X):
    """The same table in other units: of all values, of columns, of a row, or shifted."""
    kind, exponent = (
        int(rng.integers(5)),
        float(rng.choice([-320, -200, -100, -45, -30, -9, 9, 15, 20, 30, 38, 60, 75, 200])),
    )
    X = X.toarray() if sp.issparse(X) else X
    with np.errstate(all="ignore"):
        if kind == 0:
            X = X + rng.choice([1e3, 1e7, 1e12, 1e30])
        elif kind == 1:
            X = X * 10.0 ** rng.uniform(-30, 30, X.shape[1])
        elif kind == 2:
            X = X.astype(np.float64)
            X[int(rng.integers(len(X)))] *= 10.0**exponent
        else:
            X = X * 10.0**exponent
        X = X.astype(rng.choice([np.float64, np.float64, np.float32]))
    return sp.csr_array(X) if rng.random() < 0.3 else X
