"""Many small kernel problems over one Gram matrix in one compiled call, by the rounds of `active_set`."""

from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.level_gap import CLASSES, TARGETS, level_gap, level_of, relative_gap
from hinge.problems.svm.quantiles import quantile
from hinge.solvers.kernel.active_set import FINEST, FIRST, SHARPER, STILL, measured, most_pairs, newton_steps
from hinge.solvers.kernel.two_point import pair_steps, single_steps

WANTED, TRIED = 1.0, 2.0
"""Newton steps."""


class Together(NamedTuple):
    """Many problems over one Gram matrix: problem k has the points ``rows[cuts[k]:cuts[k + 1]]``.

    Attributes
    ----------
    K : ndarray of shape (n, n)
    A, B : ndarray of shape (k, n)
        Errors of its values, as `Gram.errors` gives them.
    rows, cuts : ndarray of int64
    y, box, lo, hi, beta, r : ndarray of shape (len(rows),)
        Labels or targets, largest |β|, bounds of β, and what is found: coefficients and responses.
    lam, unit, spread : ndarray
        λ of each problem, its unit of gaps, and its spread of targets.
    found : ndarray of shape (n_problems, 9)
        Gap or violation, the same without rounding, objective, bias; and where it stands: rounds made, the
        violation to solve to, the dual, for how many rounds that has been still, and whether Newton steps are wanted
        or were tried in this round. A gap of inf: yet to be solved.
    """

    K: np.ndarray
    A: np.ndarray
    B: np.ndarray
    rows: np.ndarray
    cuts: np.ndarray
    y: np.ndarray
    box: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    beta: np.ndarray
    r: np.ndarray
    lam: np.ndarray
    unit: np.ndarray
    spread: np.ndarray
    found: np.ndarray


class Sums(NamedTuple):
    """What problems have whose dual weights have a given sum, of either sign: see `KernelLevels`.

    Attributes
    ----------
    form : int
        That of `level_gap`; of targets, the second half of a problem's points are the copies of the first.
    mass : ndarray
        The sum M of each problem.
    positive : ndarray of int64
        Points of each problem whose sign is positive: its first ones.
    levels : ndarray of shape (n_problems, 2)
        What is found.
    centre : float
        What was subtracted from the targets.
    """

    form: int
    mass: np.ndarray
    positive: np.ndarray
    levels: np.ndarray
    centre: float


def unsolved(n_problems: int) -> np.ndarray:
    """`found` of problems that are yet to be solved."""
    return np.tile([np.inf, 0.0, np.nan, 0.0, 0.0, FIRST, -np.inf, 0.0, 0.0], (n_problems, 1))


def solve_together(
    these: Together,
    first: int,
    tol: float,
    free: bool,
    certifiable: bool,
    work: float,
    epsilon: float | None = None,
    sums: Sums | None = None,
) -> int:
    """Solve problems from `first` on, until about so much `work` is done; the number of the next one.

    `epsilon` is that of the ε-insensitive loss; None for the hinge. Where there are `sums`, β is feasible at the start.

    All by pair steps, in one compiled call. Where they are slow it is left for Newton steps, so that these are compiled
    for those who need them.
    """
    k, fixed, indefinite = first, None if free else True, None if certifiable else True
    while True:
        k = solve_by_pairs(these, k, tol, work, fixed, indefinite, epsilon, sums)
        if k == len(these.lam) or these.found[k, 8] != WANTED:
            return k
        work -= _place_by_newton(these, k, free, epsilon, sums)
        if not work > 0.0:
            return k


def _place_by_newton(these: Together, k: int, free: bool, epsilon: float | None, sums: Sums | None) -> float:
    """Newton steps of problem k; the arithmetic done."""
    part = slice(these.cuts[k], these.cuts[k + 1])
    rows, beta = these.rows[part], these.beta[part]
    K = these.K[np.ix_(rows, rows)]
    e = K @ (beta if sums is None else net_of(sums.form, beta)) - these.y[part]
    cut = None if sums is None else int(sums.positive[k])
    work = newton_steps(K, beta, e, these.lo[part], these.hi[part], free, epsilon, cut)
    these.r[part], these.found[k, 8] = e + these.y[part], TRIED
    return len(rows) * (1.0 + work)


@compiled
def solve_by_pairs(these, first, tol, work, fixed, indefinite, epsilon, sums):
    """`solve_together` as far as pair steps lead; a problem for which Newton steps are wanted says so.

    `fixed` and `indefinite` are True or None, as for `measured`.
    """
    done = 0.0
    for k in range(first, len(these.cuts) - 1):
        at, end = these.cuts[k], these.cuts[k + 1]
        n, y, beta = end - at, these.y[at:end], these.beta[at:end]
        lo, hi = these.lo[at:end], these.hi[at:end]
        cut = None if sums is None else sums.positive[k]
        K, own = _own_values(these.K, these.rows[at:end])
        e, off = np.empty(n), np.zeros(n)
        _pulls(K, y, beta if sums is None else net_of(sums.form, beta), e)
        if sums is not None and these.found[k, 4] == 0.0 and these.found[k, 8] == 0.0:
            these.spread[k] = max(e.max() - e.min(), 1e-300)
            if sums.form == CLASSES:
                _begin_with_the_worst(sums, k, K, these.box[at:end], beta, e)
        found, finished = these.found[k], False
        while not finished and done < work:
            level, most = found[5] * these.spread[k], most_pairs(n)
            if fixed is None:
                steps = pair_steps(K, beta, e, lo, hi, level, most, epsilon, cut)
            else:
                steps = single_steps(K, beta, e, lo, hi, level, most, epsilon)
            done += n * (1.0 + 3.0 * steps)
            if indefinite is None and steps == most and found[8] != TRIED:
                found[8] = WANTED
                break
            found[8] = 0.0
            found[5] = max(SHARPER * found[5], FINEST)
            found[4] += 1.0
            net, as_is, ended = beta, np.inf, False
            for look in range(2):
                b, gap, value, objective = _measured(these, k, net, e, own, off, fixed, indefinite, epsilon, sums)
                if look == 0:
                    found[7] = 0.0 if value > found[6] + 1e-14 * abs(value) else found[7] + 1.0
                    found[6] = max(value, found[6])
                    as_is, ended = gap, found[7] >= STILL and found[5] <= FINEST
                    if gap > tol and not ended:
                        break
                    # The sums anew, so that their rounding is that of one sum; then all rounding is counted.
                    net = beta if sums is None else net_of(sums.form, beta)
                    _pulls(K, y, net, e)
                    _errors(these.A, these.B, these.rows[at:end], net, own, off)
                else:
                    finished = gap <= tol or ended
                    found[0] = gap if finished else np.inf
                    found[1], found[2], found[3] = as_is, objective, b
                    off[:] = 0.0
            if finished:
                for i in range(n):
                    beta[i] = net[i]
        for i in range(n):
            these.r[at + i] = e[i] + y[i]
        if done >= work or found[8] == WANTED:
            return k + finished
    return len(these.cuts) - 1


@compiled
def _own_values(values, rows):
    """The kernel values of some points among themselves, and the norms of these points."""
    n = len(rows)
    K, own = np.empty((n, n)), np.empty(n)
    for i in range(n):
        own[i] = np.sqrt(max(values[rows[i], rows[i]], 0.0))
        for j in range(n):
            K[i, j] = values[rows[i], rows[j]]
    return K, own


@compiled
def _begin_with_the_worst(sums, k, K, box, beta, e):
    """Give all weight to the points of least margin, where w is the shorter for it: most of them will need it."""
    n, cut, other, pulls = len(beta), sums.positive[k], np.zeros(len(beta)), np.empty(len(beta))
    for first, last, sign in ((0, cut, 1.0), (cut, n, -1.0)):
        m = sign * e[first:last]
        level, left = quantile(m.copy(), box[first:last].copy(), sums.mass[k])[0], sums.mass[k]
        for tied in range(2):
            for i in range(last - first):
                if (m[i] < level if tied == 0 else m[i] == level) and left > 1e-12 * sums.mass[k]:
                    a = box[first + i] if left > (1.0 - 1e-12) * box[first + i] else left  # at a bound but for rounding
                    other[first + i] = sign * a
                    left -= a
    _pulls(K, np.zeros(n), other, pulls)
    if other @ pulls < beta @ e:
        for i in range(n):
            beta[i], e[i] = other[i], pulls[i]


@compiled
def _measured(these, k, beta, e, own, off, fixed, indefinite, epsilon, sums):
    """The bias, the gap or violation, the dual and the primal of problem k."""
    at, end = these.cuts[k], these.cuts[k + 1]
    y, box = these.y[at:end], these.box[at:end]
    if sums is None:
        lo, hi, lam, unit = these.lo[at:end], these.hi[at:end], these.lam[k], these.unit[k]
        return measured(y, box, lam, unit, beta, e, lo, hi, own, off, fixed, indefinite, epsilon)
    return measured_levels(sums, k, box, y, beta, e, own, off, these.unit[k])


@compiled
def measured_levels(sums, k, box, y, beta, e, own, off, unit):
    """The bias, the relative gap, the dual and the primal of problem k, which has given sums; its levels are kept."""
    n, positive, levels = len(beta), sums.positive[k], sums.levels[k]
    sign, alpha = np.where(np.arange(n) < positive, 1.0, -1.0), np.abs(net_of(sums.form, beta))
    m = sign * e
    levels[0] = level_of(m[:positive], alpha[:positive], box[:positive], sums.mass[k])
    levels[1] = levels[0]
    b = -levels[0]
    if positive < n:
        levels[1] = level_of(m[positive:], alpha[positive:], box[positive:], sums.mass[k])
        b = sums.centre + 0.5 * (levels[1] - levels[0])
    shifts = np.abs(levels).max() + abs(b) + abs(sums.centre)
    slack, sq, gain, most, sq_off, least, shift = level_gap(
        sums.form, sign, box, alpha, y, e + y, off, own, levels, shifts, sums.mass[k]
    )
    gap = relative_gap(sums.form, most, sq - sq_off, least + 0.5 * (sq - sq_off), shift, unit)
    return b, gap, gain - 0.5 * sq, slack + gain - 0.5 * sq


@compiled
def net_of(form, beta):
    """β without what both copies of a point have in common, which moves no response."""
    net = beta.copy()
    if form == TARGETS:
        half = len(beta) // 2
        for i in range(half):
            both = beta[i] + beta[half + i]
            net[i], net[half + i] = max(both, 0.0), min(both, 0.0)
    return net


@compiled
def _pulls(K, y, beta, e):
    """Fill e with Kβ - y."""
    for i in range(len(e)):
        e[i] = -y[i]
    for j in range(len(beta)):
        if beta[j] != 0.0:
            row = K[j]
            for i in range(len(e)):
                e[i] += beta[j] * row[i]


@compiled
def _errors(A, B, rows, beta, own, off):
    """Bounds on the errors of Σ βK: of the values, and of a sum of n terms in float64."""
    n = len(beta)
    size = 0.0
    for j in range(n):
        size += abs(beta[j]) * own[j]
    for i in range(n):
        off[i] = 1.2e-16 * (n + 1) * size * own[i]
    for k in range(len(A)):
        size = 0.0
        for j in range(n):
            size += abs(beta[j]) * B[k, rows[j]]
        for i in range(n):
            off[i] += A[k, rows[i]] * size
