"""Fingerprints of items and kernels: equal for equal ones, in this process and in others."""

import functools
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access.gram.row_store import fingerprint_of
from hinge.kernels import Function, Gaussian

X = np.random.default_rng(0).standard_normal((25, 3))


SCALE = 1.0


def value(x, z):
    return float(np.exp(-SCALE * ((x - z) ** 2).sum()))


KERNEL = Function(value)


# --- fingerprints -----------------------------------------------------------------------------


class Thing:
    def __init__(self, size):
        self.size = size


class Scaled:
    def __init__(self, scale):
        self.scale, self.calls = scale, 0

    def __call__(self, x, z):
        self.calls += 1
        return self.scale * value(x, z)

    def method(self, x, z):
        self.calls += 1
        return self.scale * value(x, z)


def made(gamma):
    return lambda x, z: np.exp(-gamma * abs(x - z))


def test_items_are_told_apart():
    several = [
        X,
        X.astype(np.float32),
        X.T.copy(),
        X[:, ::-1],
        sp.csr_array(X),
        list(X),
        X.tolist(),
        [tuple(x) for x in X],
        ["ab", "c"],
        ["a", "bc"],
        [b"ab", b"c"],
        [1, 2],
        [1.0, 2.0],
        [True, 2],
        [None, 2],
        ["1", "2"],
        range(1, 3),
        [Thing(1), Thing(2)],
        [Thing(2), Thing(1)],
        [["a", "b"], ["c"]],
        [["a"], ["b", "c"]],
        np.array(["ab", "c"], object),
        np.array(["ab", "c"]),
        np.array([1, 2], "datetime64[s]"),
        [],
        [{1: 2}],
    ]
    prints = [fingerprint_of(items, KERNEL) for items in several]
    same = {"range and list": (11, 16), "object array and list": (8, 21)}
    assert len(set(prints)) == len(several) - len(same)
    assert all(prints[a] == prints[b] for a, b in same.values())
    again = [X.copy(), np.asfortranarray(X), sp.csr_array(X).tocoo()]
    assert [fingerprint_of(items, KERNEL) for items in again] == [prints[0], prints[0], prints[4]]
    assert fingerprint_of([Thing(1), Thing(2)], KERNEL) == prints[17]


def test_items_that_have_no_fingerprint():
    with pytest.raises(TypeError, match="type 'function' cannot be told apart"):
        fingerprint_of([lambda: 1], KERNEL)


def test_kernels_are_told_apart(monkeypatch):
    scaled = Scaled(2.0)
    kernels = [
        "name",
        "other name",
        Gaussian(1.0),
        Gaussian(2.0),
        value,
        Function(value, on="blocks"),
        max,
        made(1.0),
        made(2.0),
        functools.partial(value, 1),
        functools.partial(value, 2),
        functools.partial(value, z=1),
        scaled,
        Scaled(3.0),
        scaled.method,
        Scaled(3.0).method,
        functools.lru_cache(made(1.5)),
        lambda x, z: 1.0,
        lambda x, z: 2.0,
        lambda x, z: sum(SCALE * a for a in x),
        lambda x, z, p=3: 1.0,
    ]
    prints = [fingerprint_of(X, kernel) for kernel in kernels]
    assert len(set(prints)) == len(kernels)
    scaled(X[0], X[1])
    scaled.method(X[0], X[1])
    assert prints == [fingerprint_of(X, kernel) for kernel in kernels]
    assert fingerprint_of(X, Scaled(2.0)) == fingerprint_of(X, scaled)
    assert fingerprint_of(X, made(1.0)) == fingerprint_of(X, made(1.0))
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    changed = [a != b for a, b in zip(prints, (fingerprint_of(X, kernel) for kernel in kernels), strict=True)]
    assert np.flatnonzero(changed).tolist() == [4, 5, 9, 10, 11, 12, 13, 14, 15, 19]


def test_functions_that_count_or_call_themselves():
    calls = 0

    def counting(x, z):
        nonlocal calls
        calls += 1
        return counting(x[1:], z[1:]) if len(x) else 0.0

    before = fingerprint_of(X, counting)
    counting(X[0], X[1])
    assert calls == 4 and fingerprint_of(X, counting) == before


@pytest.mark.slow
def test_sets_have_the_same_fingerprint_in_every_process():
    code = """
        from hinge.access.gram.row_store import fingerprint_of
        words = "a bb ccc dddd eeeee".split()
        print(fingerprint_of([set(words), frozenset(words), [{*words, 1, None}]], "kernel"))
    """
    said = {
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(said) == 1
    items = [{"a", "b"}, {"c"}], [{"a"}, {"b", "c"}], [["a", "b"], ["c"]], [frozenset("ab"), {"c"}]
    assert len({fingerprint_of(each, KERNEL) for each in items}) == len(items)
