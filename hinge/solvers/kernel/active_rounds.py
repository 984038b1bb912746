"""Rounds of pair steps and Newton steps on a whole Gram matrix, and their duality gap."""

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.kernel_duality import duality_gap, slope_above, slope_below, stationary_bias, width_of
from hinge.problems.svm.levels import quantile
from hinge.solvers.kernel.conjugate_steps import pair_steps, single_steps
from hinge.solvers.kernel.face_steps import face_steps
from hinge.solvers.kernel.set_exchange import exchange_sets

MOST = 1024
"""Points up to which the whole matrix is worked on; above, `BlockDual` spares what it can of it."""
LARGEST_PAIR = 2 * MOST
"""The same of pairs of many classes, of whose kernel values each serves several pairs."""
ALONE = 3.0
"""Times the spread of the targets that a coefficient can add to its own response, where it is said to fit it alone."""
FIRST = 0.1
"""Violation to which the pairs are solved first."""
SHARPER = 0.3
"""Share of it to which they are solved after each evaluation that was not good enough."""
FINEST = 1e-13
PASSES = 4.0
"""Passes that a round of pair steps is worth: it moves that number of points."""


def fit_alone(boxes: np.ndarray, diag: np.ndarray, spread: float, rank: float = np.inf) -> bool:
    """Whether most points of a regression could meet their targets on their own, long before they reach their bounds.

    Then most will lie between them, and pair steps would be many. Of a kernel matrix of lower `rank` no more than that
    need to, and one for the bias.
    """
    return rank >= len(boxes) // 2 and float(boxes.mean() * diag.mean()) > ALONE * spread


def exchange_and_move(
    K: np.ndarray,
    beta: np.ndarray,
    e: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    level: float,
    free: bool,
    epsilon: float | None,
) -> float:
    """Where pair steps are slow whole sets of points are exchanged, and then pairs have the rest.

    Where the sets do not settle, a round of 24 times the pair steps follows. Returns the arithmetic, in units of n.
    """
    n = len(beta)
    most = most_pairs(n)

    def moves(limit: int) -> int:
        if free:
            return int(pair_steps(K, beta, e, lo, hi, level, limit, epsilon or 0.0, n, True))
        return int(single_steps(K, beta, e, lo, hi, level, limit, width_of(epsilon)))

    made = moves(most)
    if made < most:
        return float(made)
    settled = exchange_sets(K, beta, e, lo, hi, free, epsilon)
    return float(most + n + moves(most if settled else 24 * most))


@compiled
def measured(y, box, lam, unit, beta, e, lo, hi, own, off, free, indefinite, epsilon):
    """The bias, the relative gap or, where there is none, the violation; the dual; and the primal.

    `y`, `unit` and `epsilon` are as in `KernelRegularized.aims` and so on: labels, 0 and `ONE_SIDED` for the hinge. The
    bias may be `free`. `indefinite` is None, and its part not compiled, where the kernel is positive semidefinite.
    """
    n = len(beta)
    r = np.empty(n)
    for i in range(n):
        r[i] = e[i] + y[i]
    if indefinite is not None:
        return _violation(y, box, lam, beta, e, r, lo, hi, free, epsilon)
    b = _best_bias(y, e, box, epsilon) if free else 0.0
    primal, _, most, dual = duality_gap(y, box, lam, beta, r, off, own, b, free, np.empty(n), epsilon)
    if most == 0.0 and epsilon >= 0.0:
        return b, 0.0, dual, primal
    return b, most / max(dual, unit) if max(dual, unit) > 0.0 else np.inf, dual, primal


@compiled
def _violation(y, box, lam, beta, e, r, lo, hi, free, epsilon):
    """What `measured` gives where there is no certificate: how far slopes are apart that should be equal."""
    least, largest, dual, primal = np.inf, -np.inf, 0.0, 0.0
    b = stationary_bias(beta, e, lo, hi, epsilon) if free else 0.0
    for i in range(len(beta)):
        if beta[i] < hi[i]:
            least = min(least, slope_above(beta[i], e[i], epsilon))
        if beta[i] > lo[i]:
            largest = max(largest, slope_below(beta[i], e[i], epsilon))
        dual += lam * beta[i] * (y[i] - 0.5 * r[i])
        if epsilon < 0.0:
            cost = max(0.0, 1.0 - y[i] * (r[i] + b))
        else:
            dual -= lam * epsilon * abs(beta[i])
            cost = max(0.0, abs(y[i] - r[i] - b) - epsilon)
        primal += lam * (0.5 * beta[i] * r[i] + box[i] * cost)
    violation = largest - least if free else max(largest, -least)
    return b, max(violation, 0.0), dual, primal


@compiled(no_cpython_wrapper=True)
def _best_bias(y, e, weight, epsilon):
    """The order statistic of the kinks y - r, with r = e + y, at which the positive mass is used up.

    With an `epsilon` there are two kinks a point, at y - r ± ε, and half of their mass is to be used up.
    """
    n, times = len(e), 1 if epsilon < 0.0 else 2
    kinks, mass, target = np.empty(times * n), np.empty(times * n), 0.0
    for i in range(n):
        if epsilon < 0.0:
            kinks[i], mass[i] = y[i] - (e[i] + y[i]), weight[i]
            target += weight[i] if y[i] > 0 else 0.0
        else:
            kink = y[i] - (e[i] + y[i])
            kinks[i], kinks[n + i] = kink - epsilon, kink + epsilon
            mass[i], mass[n + i] = weight[i], weight[i]
            target += weight[i]
    low, high = quantile(kinks, mass, target)
    return 0.5 * (low + high)


@compiled(inline="always")
def most_pairs(n):
    """Pair steps of a round."""
    return 2 * n + 50


@compiled
def steps_on_face(K, beta, e, lo, hi, free, epsilon, cut):
    """Newton steps; with the term ε|β| every point stays on its side of zero, where that term is linear.

    The points before the `cut` and from it on have a sum of their own. The arithmetic done, in units of n.
    """
    if epsilon <= 0.0:
        return face_steps(K, beta, e, lo, hi, free, cut)
    n = len(beta)
    low, high, sides = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(n):
        if beta[i] > 0.0:
            high[i], sides[i] = hi[i], epsilon
        elif beta[i] < 0.0:
            low[i], sides[i] = lo[i], -epsilon
        e[i] += sides[i]
    work = face_steps(K, beta, e, low, high, free, cut)
    for i in range(n):
        e[i] -= sides[i]
    return work
