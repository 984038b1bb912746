"""Iterations of the SBP in compiled code: one point at a time, without a bias, while its kernel rows are held.

Each is five passes over n numbers, where arrays take a dozen and as many calls.
"""

import math

import numpy as np

from hinge.access.gram.gram import Gram
from hinge.compiled import compiled
from hinge.problems import KernelSlackConstrained
from hinge.solvers.papers.water_level import lowest_level

LARGEST = 1e200
"""Squared norms above this are on their way to overflow."""
Averages = tuple[float, float, float, float, float]
"""s, ‖v‖², A, W and γ, as in `SBPState`."""


def serves(problem: KernelSlackConstrained) -> bool:
    """Whether rows are held on the host, and every point can be drawn."""
    return isinstance(problem.gram, Gram) and problem.bias == "none" and bool(np.all(problem.weight > 0))


def steps(
    problem: KernelSlackConstrained,
    arrays: tuple[np.ndarray, ...],
    averages: Averages,
    units: np.ndarray,
    t: int,
    eta: float,
    uniform: bool,
) -> Averages:
    """An iteration for each of these draws; `arrays` are v, a, u and ua, which are written."""
    y = problem.y.astype(np.float64)
    slot_of = np.full(problem.n, -1)
    slab, done, asked = np.empty((0, 0), problem.gram.dtype), 0, 0
    while True:
        k, missing, averages = _while_held(
            y, *arrays, averages, problem.nu * problem.n, eta, uniform, units[done:], t + done, slab, slot_of
        )
        problem.gram.asked += problem.n * (k - asked)  # for the row of the first one it was asked below
        done, asked = done + k, 1
        if missing < 0:
            return averages
        in_place = problem.gram.rows(np.array([missing])).in_place()
        assert in_place is not None
        if problem.gram.capacity < problem.n:
            slot_of[:] = -1  # others may have been given up for it
        slab, slot_of[missing] = in_place[0], in_place[1][0]


@compiled
def _while_held(y, v, a, u, ua, averages, volume, eta, uniform, units, t, slab, slot_of):
    """The iterations until a row is missing: how many, the point of that row or -1, and the averages."""
    s, sq, A, W, gamma = averages
    c = np.empty(len(y))
    for k in range(len(units)):
        for i in range(len(y)):
            c[i] = y[i] * v[i]
        level, count = lowest_level(c, volume / s, gamma)  # step 1: levels are homogeneous, so s can wait
        j = _wet_point(c, level, int(units[k] * count))  # step 2
        if slot_of[j] < 0:
            return k, j, (s, sq, A, W, gamma)
        gamma, row = level, slab[slot_of[j]]
        omega = 1.0 if uniform else t + k + 1.0
        step = eta / math.sqrt(t + k + 1.0) / s
        delta = step * y[j]
        sq += delta * (2.0 * v[j] + delta * row[j])
        _add(row, delta, A, v, u)  # step 3, by (3.4)
        a[j] += step
        ua[j] += step * A
        if not sq < LARGEST:
            return k + 1, -1, (s, sq, A, W, gamma)
        s = min(s, 1.0 / math.sqrt(max(sq, 1e-300)))
        A += omega * s
        W += omega
    return len(units), -1, (s, sq, A, W, gamma)


@compiled
def _wet_point(c, gamma, rank):
    """The point with so many wet ones before it."""
    for i in range(len(c)):
        if c[i] <= gamma:
            if rank == 0:
                return i
            rank -= 1
    return len(c) - 1


@compiled(fastmath={"contract", "nsz"})
def _add(row, delta, A, v, u):
    """v += δ K_j, and A times as much to u."""
    for i in range(len(v)):
        part = delta * row[i]
        v[i] += part
        u[i] += A * part
