"""Iterations of the SBP by arrays: batches, a free bias (section 3.6), devices, and what averages do not need."""

import math
from typing import Any, NamedTuple

import numpy as np

from hinge.access.gram.base import add_at, counts_to, whole
from hinge.kernels import namespace
from hinge.problems import Expansion, KernelSlackConstrained
from hinge.solvers.papers.water_level import WaterLevel, one_basin, two_basins
from hinge.types import Array

LARGEST = 1e200
"""Squared norms above this are on their way to overflow."""


class SBPState(NamedTuple):
    """w = s v, with v in responses and coefficients a, and what makes its averages.

    `u` and `ua` hold what the average lacks of v and a: mean = (A v - u)/W with A = Σ ωₜsₜ, W = Σ ωₜ.
    `top` is the best level so far, and `best_v`, `best_a` the w that had it, where it is kept; `p` is the sum
    of ωₜpₜ where it is kept; `gamma` the last level of v, by which the next begins.
    """

    v: Any
    a: Any
    u: Any
    ua: Any
    s: float
    sq: float
    A: float
    W: float
    gamma: float
    top: float
    best_v: Any
    best_a: Any
    p: Any
    drawn: int
    t: int
    key: np.uint64


def advance_batches(
    problem: KernelSlackConstrained, state: SBPState, draws: Array, eta: float, uniform: bool, best: bool, keep_p: bool
) -> SBPState:
    """An iteration for each row of `draws`, which has a number of [0, 1) for each point of the batch."""
    gram, k = problem.gram, draws.shape[1]
    v, a, u, ua, s, sq, A, W, gamma, top, best_v, best_a, p, drawn, t, key = state
    y = gram.array(problem.y.astype(np.float64))
    basins = [gram.array(points) for points in _basins(problem)]
    volume = problem.nu * sum(len(points) for points in basins)
    for draw in gram.array(draws):
        t += 1
        c = y * v
        if len(basins) == 2:  # levels are homogeneous, so s can wait
            level = two_basins(c, basins[0], basins[1], volume / s, k // 2)
        else:
            level = one_basin(c, basins[0], volume / s, gamma)
        gamma = level.gamma
        if t & (t - 1) == 0 and t >= 64 and level.floods:
            answer = Expansion(gram.host(a) * problem.y, 0.0, gram.host(v))
            raise ValueError(problem.flooded(problem.usable(answer)))
        if best and gamma * s > top:
            top = gamma * s
            best_v[:], best_a[:] = s * v, s * a
        omega = 1.0 if uniform else float(t)
        if keep_p:
            for wet in level.wet:
                p[wet] += omega / (len(basins) * len(wet))
        j = _drawn(level, draw)
        drawn += len(j)
        step = eta / math.sqrt(drawn) / s
        delta = step * y[j]
        rows = gram.combine(j, delta)  # by (3.4)
        sq += float((delta * (2.0 * v[j] + rows[j])).sum())
        v += rows
        u += A * rows
        add_at(a, j, step)
        add_at(ua, j, step * A)
        check_size(sq)
        s = min(s, 1.0 / math.sqrt(max(sq, 1e-300)))
        A += omega * s
        W += omega
    return SBPState(v, a, u, ua, s, sq, A, W, gamma, top, best_v, best_a, p, drawn, t, key)


def check_size(sq: float) -> None:
    """An error if the squared norm is on its way to overflow."""
    if not sq < LARGEST:
        raise ValueError(
            "The norm of the answer overflows: the steps of SBP are for kernel values of about one. "
            "Divide the kernel, or the features, by their size."
        )


def _basins(problem: KernelSlackConstrained) -> list[np.ndarray]:
    """The points of each basin; points of weight zero are in none."""
    counts = np.broadcast_to(problem.weight > 0, (problem.n,))
    if problem.bias == "none":
        return [np.flatnonzero(counts)]
    return [np.flatnonzero(counts & (problem.y == side)) for side in (1, -1)]


def _drawn(level: WaterLevel, u: Array) -> Array:
    """Points drawn from p*, uniform among the wet ones.

    With two classes, a single point is of a random class; a batch has half its points of each.
    """
    half = len(u) // 2
    if len(level.wet) == 1:
        return _some(level.wet[0], u)
    if half:
        return namespace(u).concatenate([_some(level.wet[0], u[:half]), _some(level.wet[1], u[half : 2 * half])])
    return _some(level.wet[int(u[0] >= 0.5)], (2.0 * u) % 1.0)


def _some(wet: Array, u: Array) -> Array:
    """One wet point from each of k equal parts of the list, for k draws; all of them if there are no more."""
    k = len(u)
    return wet if len(wet) <= k and k > 1 else wet[whole((counts_to(k, u) - 1.0 + u) * (len(wet) / k))]
