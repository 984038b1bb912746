"""The fuzzers in their short form, and that they catch what they should."""

import zlib

import numpy as np
import pytest

from . import TARGETS, pool
from .pool import run_cases
from .targets.broken import WAYS

pytestmark = pytest.mark.slow

CASES = 8
"""Of each target."""


@pytest.fixture(scope="module")
def outcomes():
    """Faults by target, numbers beside them."""
    found = {name: [] for name in TARGETS}
    for name, number, fault in run_cases(((t, k) for k in range(CASES) for t in TARGETS), seed=12):
        found[name].append((number, fault))
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_input_is_refused_or_answered(target, outcomes):
    assert len(outcomes[target]) == CASES
    assert [entry for entry in outcomes[target] if entry[1]] == []


def test_every_way_to_fail_is_caught(monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 5.0)
    ways = [WAYS[np.random.default_rng([0, zlib.crc32(b"broken"), k]).integers(len(WAYS))] for k in range(40)]
    first = [ways.index(way) for way in WAYS]
    faults = {ways[k]: fault for _, k, fault in run_cases([("broken", k) for k in first], seed=0)}
    assert faults["fine"] == faults["refused"] == ""
    assert "SIGSEGV" in faults["dies"] and "more than 5 s" in faults["hangs"]
    assert "IndexError" in faults["indexes"] and "nobody's sentence" in faults["mutters"]
    assert "AssertionError" in faults["wrong"]
