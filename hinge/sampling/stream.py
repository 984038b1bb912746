"""A counter-based random stream: draw number c of stream k is a pure function of (k, c).

A solver's state carries the key and the number of draws so far, so that a run cut into
pieces makes the same draws as the uncut run. The function is the finalizer of SplitMix64
(Steele, Lea and Flood 2014) applied to an odd multiple of the counter. `pick` and
`pick_square` make one draw in proportion to given weights, in O(n).
"""

import numpy as np

from hinge.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / (1 << 53)


def key_of(seed: int, stream: int = 0) -> np.uint64:
    """The key of a stream: distinct for distinct (seed, stream)."""
    return np.uint64(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0])


@compiled(inline="always")
def draw_unit(key, counter):
    """Uniform float64 in [0, 1)."""
    z = key + np.uint64(counter) * _GOLDEN
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return ((z ^ (z >> _S31)) >> _S11) * _UNIT


@compiled(inline="always")
def draw_index(key, counter, n):
    """Uniform integer in [0, n)."""
    return np.int64(draw_unit(key, counter) * n)


@compiled
def stream_of(key, number):
    """The key of a stream of its own for each number: for who draws beside others, in whatever order they run."""
    return np.uint64(draw_unit(key, number) / _UNIT)


@compiled
def draw_units(key, first, count):
    """Draws number first to first + count of the stream, uniform in [0, 1)."""
    out = np.empty(count)
    for k in range(count):
        out[k] = draw_unit(key, first + k)
    return out


_SUMS = {"reassoc", "contract", "nsz"}  # sums may be reordered: they are kept by vector instructions


@compiled
def pick(weights, unit):
    """The first place where the cumulative sum exceeds the unit's part of the whole; -1 if all are zero."""
    target = unit * weights.sum()
    last = -1
    for i in range(len(weights)):
        if weights[i] > 0.0:
            last = i
            if target < weights[i]:
                break
            target -= weights[i]
    return last


@compiled
def pick_square(x, unit):
    """The same for weights x², and their sum."""
    total = _squares(x)
    target, last = unit * total, -1
    for j in range(len(x)):
        weight = np.float64(x[j]) * np.float64(x[j])
        if weight > 0.0:
            last = j
            if target < weight:
                break
            target -= weight
    return last, total


@compiled(fastmath=_SUMS)
def _squares(x):
    total = 0.0
    for j in range(len(x)):
        total += np.float64(x[j]) * np.float64(x[j])
    return total
