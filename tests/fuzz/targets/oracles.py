"""Sellers of features that lie about shapes, prices and numbers, and budgets of any size."""

import contextlib
import json
import sqlite3
import tempfile
import urllib.error
import warnings

import numpy as np
import scipy.sparse as sp

import hinge
from hinge import LinearSVC, Oracle

from ..judging import check_finite, check_fitted
from ..odd import ODD, one_of, table


def raise_error(error):
    """What a seller may do instead of answering."""
    raise error


class Seller:
    """Rows and columns of a table, some of them not what they should be."""

    def __init__(self, X, rng):
        self.X, self.rng = X, np.random.default_rng(int(rng.integers(1 << 31)))
        self.often = float(rng.choice([0.0, 0.0, 0.02, 0.5]))
        self.lie = one_of(rng, LIES)
        self.shape = X.shape

    def _said(self, line):
        return self.lie(line) if self.rng.random() < self.often else line

    def row(self, i):
        return self._said(self.X[i])

    def column(self, j):
        return self._said(self.X[:, j])


class CellSeller(Seller):
    """One that has single cells too."""

    def cells(self, i, columns):
        return self._said(self.X[i, columns])


LIES = (
    lambda x: x[:-1],
    lambda x: np.append(x, 1.0),
    lambda x: x * np.nan,
    lambda x: x * np.inf,
    lambda x: None,
    lambda x: "x",
    lambda x: x.tolist(),
    lambda x: x[:, None],
    lambda x: x.astype(str),
    lambda x: x.astype(object),
    lambda x: x * 1j,
    lambda x: 0.0,
    lambda x: (np.arange(len(x)), x),
    lambda x: (np.arange(len(x)) - 1, x),
    lambda x: (np.zeros(len(x), int), x),
    lambda x: ([0], x),
    lambda x: (np.arange(len(x)) + 0.5, x),
    lambda x: sp.csr_array(x[None]),
    lambda x: sp.coo_array(x),
    lambda x: {},
    lambda x: [],
    lambda x: x * 1e300,
    lambda x: iter(x),
    lambda x: (np.array([1 << 40]), np.ones(1)),
    lambda x: ([], []),
    lambda x: ("a", "b"),
    lambda x: np.ma.masked_array(x, x > 0),
    lambda x: x.astype(np.float16),
    lambda x: x > 0,
    lambda x: [[1], [2, 3]],
    lambda x: bytearray(len(x)),
    lambda x: [None] * len(x),
    lambda x: [10**400] * len(x),
    lambda x: json.loads("{"),
    lambda x: raise_error(sqlite3.DatabaseError("database disk image is malformed")),
    lambda x: raise_error(urllib.error.URLError("refused")),
    lambda x: raise_error(ConnectionResetError(104, "reset by peer")),
)
SHAPES = (
    (3,),
    (3, 4, 5),
    (0, 3),
    (3, 0),
    (-1, 2),
    (1.5, 2),
    ("a", "b"),
    None,
    7,
    (2, 10**5),
    [4, 4],
    (True, True),
    (np.int64(5), np.int64(2)),
    (np.nan, 1),
)
LIMITS = (None, None, 0, 1, 5, 50, 500, 1e9, -1, np.nan, np.inf, "x", 2.5, True, 10**30, [1])


def case(rng):
    """A fit, or a margin, on what is sold."""
    X, y = table(rng)
    X = X.toarray() if sp.issparse(X) else X
    seller = one_of(rng, (Seller, CellSeller))(X, rng)
    if rng.random() < 0.1:
        seller.shape = one_of(rng, SHAPES)
    if rng.random() < 0.3:
        seller.prices = one_of(rng, PRICES)(X.shape[1], rng)
    options = {"wait": 0.0, "retries": int(rng.integers(3))}
    for name in ("max_reads", "max_cost"):
        if rng.random() < 0.5:
            options[name] = one_of(rng, LIMITS)
    if rng.random() < 0.2:
        options["prices"] = one_of(rng, PRICES)(X.shape[1], rng)
    if rng.random() < 0.1:
        options[one_of(rng, ("retries", "wait", "timeout", "name", "prices"))] = one_of(rng, ODD[len(ODD) // 2 :])
    if rng.random() < 0.15:
        options["cache"] = tempfile.mkdtemp()
    if isinstance(options.get("wait"), int | float) and not options["wait"] < 0.01:
        options["wait"] = 0.0
    if isinstance(options.get("retries"), int | float) and not options["retries"] < 5:
        options["retries"] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        honest = seller.often == 0 and rng.random() < 0.3  # no waits between calls that fail
        oracle = seller if honest else Oracle(seller, **options)
        with contextlib.closing(oracle) if isinstance(oracle, Oracle) else contextlib.nullcontext():
            if rng.random() < 0.7:
                fit = {
                    "solver": one_of(rng, ("auto", "auto", "frugal", "thrifty", "simba", "probe", "stalesdca", "sdca"))
                }
                if rng.random() < 0.3:
                    fit["slack"] = 0.1
                if rng.random() < 0.3:
                    fit["max_reads"] = one_of(rng, LIMITS)
                model = LinearSVC(max_time=0.3, **fit).fit(oracle, y)
                check_fitted(model, X)
            else:
                door = one_of(
                    rng,
                    (
                        lambda: hinge.max_margin(oracle, y, 0.1, max_time=0.3),
                        lambda: hinge.enclosing_ball(oracle, 0.1, max_time=0.3),
                        lambda: hinge.solve_game(oracle, 0.1, max_time=0.3, largest=9.0),
                    ),
                )
                check_finite("x", door().x)


PRICES = (
    lambda d, rng: rng.random(d),
    lambda d, rng: np.zeros(d),
    lambda d, rng: -np.ones(d),
    lambda d, rng: np.full(d, np.nan),
    lambda d, rng: np.ones(d + 1),
    lambda d, rng: 2.0,
    lambda d, rng: "x",
    lambda d, rng: [None] * d,
    lambda d, rng: np.full(d, 1e300),
    lambda d, rng: np.ones((d, 1)),
    lambda d, rng: rng.integers(0, 4, d),
    lambda d, rng: [],
    lambda d, rng: np.full(d, np.inf),
    lambda d, rng: 10.0 ** rng.uniform(-300, 300, d),
    lambda d, rng: ["1"] * d,
    lambda d, rng: np.ones(d) * 1j,
)
