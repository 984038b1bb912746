"""The triplet of section 2 of the Pegasos paper: w = a·v with ν = ‖w‖², and its running average.

Shrinking w costs O(1) and adding a row costs the row's nonzeros. Beside v stand its coordinates β
in the span of the rows, v = Σ βᵢ yᵢ xᵢ, so that a·β is a candidate for the dual at all times; the
average of the iterates is kept the same way, as A·v + u with coordinates A·β + γ, which costs
nothing while v does not change.
"""

from typing import NamedTuple

import numpy as np

from hinge.access import add_row
from hinge.compiled import compiled

# Places in `scalars`: a, ν, A, the sum of averaging weights; the constant feature's share of v and
# of u; the free bias and its running average.
SCALE, SQ, AVERAGED, TOTAL, V0, U0, B, B_SUM = range(8)
TINY = 1e-5  # smaller would cost the average digits, larger time


class Scaled(NamedTuple):
    """w = a·v, its average, the coordinates of both in the rows, and a bias."""

    v: np.ndarray
    u: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray
    scalars: np.ndarray


def zeros(n: int, d: int) -> Scaled:
    """w = 0."""
    scalars = np.zeros(8)
    scalars[SCALE] = 1.0
    return Scaled(np.zeros(d), np.zeros(d), np.zeros(n), np.zeros(n), scalars)


def last(z: Scaled) -> tuple[np.ndarray, float, np.ndarray, float]:
    """w, the constant feature's weight, the coordinates of w, and the free bias."""
    a = z.scalars[SCALE]
    return a * z.v, a * z.scalars[V0], a * z.beta, z.scalars[B]


def average(z: Scaled) -> tuple[np.ndarray, float, np.ndarray, float]:
    """The same four for the average of the iterates."""
    A, total = z.scalars[AVERAGED], z.scalars[TOTAL] or 1.0
    w, w0, coords = A * z.v + z.u, A * z.scalars[V0] + z.scalars[U0], A * z.beta + z.gamma
    return w / total, w0 / total, coords / total, z.scalars[B_SUM] / total


@compiled
def shrink(z, factor):
    """w ← factor · w, in O(1) but for rare rescaling."""
    s = z.scalars
    s[SCALE] *= factor
    s[SQ] *= factor * factor
    if abs(s[SCALE]) < TINY:  # before a·v loses digits: fold a into v, and A·v into u
        for j in range(len(z.v)):
            z.u[j] += s[AVERAGED] * z.v[j]
            z.v[j] *= s[SCALE]
        for i in range(len(z.beta)):
            z.gamma[i] += s[AVERAGED] * z.beta[i]
            z.beta[i] *= s[SCALE]
        s[U0] += s[AVERAGED] * s[V0]
        s[V0] *= s[SCALE]
        s[AVERAGED] = 0.0
        s[SCALE] = 1.0


@compiled
def add(A, row, z, i, step, yi, constant, response, sq):
    """w ← w + step · yᵢ · (xᵢ, constant), given ⟨w, (xᵢ, constant)⟩ and ‖(xᵢ, constant)‖²."""
    s = z.scalars
    delta = step / s[SCALE]
    s[SQ] += 2.0 * step * yi * response + step * step * sq
    add_row(A, row, delta * yi, z.v)
    z.beta[i] += delta
    s[V0] += delta * yi * constant
    if s[AVERAGED] != 0.0:
        add_row(A, row, -s[AVERAGED] * delta * yi, z.u)
        z.gamma[i] -= s[AVERAGED] * delta
        s[U0] -= s[AVERAGED] * delta * yi * constant


@compiled
def project(z, radius):
    """w ← the nearest point with ‖w‖ ≤ radius."""
    if z.scalars[SQ] > radius * radius:
        shrink(z, radius / np.sqrt(z.scalars[SQ]))


@compiled
def accumulate(z, rho):
    """Count the present iterate in the average with weight rho."""
    s = z.scalars
    s[AVERAGED] += rho * s[SCALE]
    s[TOTAL] += rho
    s[B_SUM] += rho * s[B]


@compiled
def keep(z):
    """Make the present iterate the average: how a random iterate is kept."""
    s = z.scalars
    z.u[:] = 0.0
    z.gamma[:] = 0.0
    s[U0] = 0.0
    s[AVERAGED], s[TOTAL], s[B_SUM] = s[SCALE], 1.0, s[B]
