"""Newton's method for squared losses along λ: few features, and a start that is near.

The objective is a parabola as long as no row comes to it or leaves it, and with w near the answer few do: with
:math:`c_i = s_i/\\sum_js_j`, :math:`\\alpha_i = \\ell'(g_i)`, and κ for the curvature of :math:`\\ell^*`,

.. math:: \\nabla F = \\lambda w - \\sum_ic_i\\alpha_iy_ix_i, \\qquad
          \\nabla^2F = \\lambda I + \\frac1\\kappa\\sum_{\\alpha_i \\ne 0}c_ix_ix_i^T, \\qquad
          P(w) - D(\\alpha) = \\frac{\\|\\nabla F\\|^2}{2\\lambda},

since α is the slope at w. A step goes along the Newton direction to the minimum there is on it. From one λ to the next
the sum of :math:`x_ix_i^T` and the margins stay, so that a run costs a read of the rows for each step, d³/3, and d² for
each row that came or went. It is the method of Keerthi and DeCoste, with their line search, over dense Hessians.

References
----------
S. S. Keerthi, D. DeCoste, *A Modified Finite Newton Method for Fast Solution of Large Scale Linear SVMs*, 2005.
"""

from typing import NamedTuple

import numpy as np

from hinge.monitoring.clock import is_over
from hinge.problems import Regularized, Solution
from hinge.solvers.linear import hessians
from hinge.solvers.linear.row_sums import step_along
from hinge.solvers.linear.smoothed_hinge import along, slopes

MOST_STEPS = 100
"""Steps of a run; where rounding is all that is left, fewer."""
NO_LESS, IDLE = 0.999, 10
"""Share of the least distance so far that a step should come to; after so many that do not, the run ends."""


class Curve(NamedTuple):
    """Where a run is, in arrays that the next one goes on with.

    `x` has the bias as its last entry. Of the rows with a weight, `rows`, m are the margins
    :math:`y_i\\langle x, (x_i, 1)\\rangle`, `curved` says which are on the parabola, and `held` which of them H is the
    sum of; `moved` counts those that came to it and went. `alpha` is the dual, and `z` its combination of the rows.
    """

    x: np.ndarray
    m: np.ndarray
    alpha: np.ndarray
    z: np.ndarray
    rows: np.ndarray
    curved: np.ndarray
    held: np.ndarray
    H: np.ndarray
    moved: np.ndarray


class Descended(NamedTuple):
    """The answer of a run, its relative gap, and where it ended."""

    answer: Solution
    gap: float
    curve: Curve


def begin_at(problem: Regularized, start: Solution | None) -> Curve:
    """The first place of a path: an answer, or w = 0."""
    d, weight = problem.d, problem.weight
    rows = np.flatnonzero(weight > 0).astype(np.uint32) if len(weight) > 1 else np.arange(problem.n, dtype=np.uint32)
    n, x = len(rows), np.zeros(d + 1)
    if start is not None:
        x[:d], x[d] = start.w, start.b
    m = np.zeros(n)
    along(problem.matrix.rows, rows, problem.y, x, 0, n, m)
    none = np.zeros(n, bool)
    empty = np.zeros((d + 1, d + 1))
    return Curve(x, m, np.zeros(problem.n), np.zeros(d + 1), rows, none, none.copy(), empty, np.zeros(1, np.int64))


def moved_to(problem: Regularized, curve: Curve, answer: Solution) -> None:
    """Put a path at another answer, from which it goes on."""
    curve.x[:-1], curve.x[-1] = answer.w, answer.b
    along(problem.matrix.rows, curve.rows, problem.y, curve.x, 0, len(curve.rows), curve.m)


def descend(problem: Regularized, curve: Curve, tol: float, ends: float | None = None) -> Descended | None:
    """Newton steps until the relative gap is at most `tol`, or none helps any more; None if time is up.

    Parameters
    ----------
    problem : Regularized
        With a squared loss, and a bias that is penalised or none.
    curve : Curve
        Of a problem on the same data with the same weights; it is written to.
    tol : float
        What of the gap is rounding is not counted.
    ends : float, optional
        When to stop, by `hinge.monitoring.clock.now`.
    """
    x, m, alpha, z, rows, curved, held, H, moved = curve
    given = problem.y, problem.target, problem.weight, problem.loss
    penalty, A, n, center = (
        hessians.penalty_of(problem),
        problem.matrix.rows,
        len(rows),
        np.zeros(len(rows), np.float32),
    )
    paid = penalty if problem.bias == "penalized" else penalty[:-1]
    least, gap, idle = np.inf, np.inf, 0
    for _ in range(MOST_STEPS):
        if is_over(ends):
            return None
        mass, _, linear = slopes(A, rows, *given, m, center, 0.0, alpha, z, curved)
        combined = z / mass
        g = penalty * x - combined
        if problem.bias == "none":
            g[-1] = 0.0
        size = len(paid)
        distance = 0.5 * float(np.square(g[:size]) @ (1.0 / paid))
        dual = linear / mass - 0.5 * float(np.square(combined[:size]) @ (1.0 / paid))
        gap = problem.relative(dual + distance, dual)
        idle = 0 if distance < NO_LESS * least else idle + 1
        least = min(least, distance)
        if gap <= tol or idle == IDLE:
            break
        moved[0] = hessians.follow(problem, H, rows, held, curved, int(moved[0]))
        held[:] = curved
        p = -hessians.by_features(problem, H, g, 1.0 / (problem.loss.curvature * mass))
        q = np.empty(n)
        along(A, rows, problem.y, p, 0, n, q)
        first, second = float(penalty @ (x * p)), float(penalty @ (p * p))
        tau = step_along(problem, rows, m, q, center, 0.0, mass, first, second, 1)
        x += tau * p
        m += tau * q
    b = 0.0 if problem.bias == "none" else float(x[-1])
    return Descended(Solution(x[:-1].copy(), b, alpha.copy()), gap, curve)
