"""Many small kernel problems over one Gram matrix in one compiled call, by the rounds of `active_set`."""

import math
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled, scalars_array
from hinge.problems.svm.level_gap import CLASSES, TARGETS, level_gap, level_of, relative_gap
from hinge.problems.svm.quantiles import quantile
from hinge.solvers.kernel.active_set import FINEST, FIRST, MOST, PASSES, SHARPER, measured, most_pairs, steps_on_face
from hinge.solvers.kernel.conjugate_steps import conjugate_steps
from hinge.solvers.kernel.stalling import STILL, count_idle, lacks_margin
from hinge.solvers.kernel.two_point import pair_steps, single_steps

PIECES = 24
"""Times as many conjugate steps as pair steps come before Newton steps."""


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
    found : structured ndarray of shape (n_problems,)
        What `unsolved` makes, and where each stands.
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
    """`found` of problems that are yet to be solved.

    `gap` (inf before the end) or violation, `as_is` the same without rounding, `primal`, bias `b`; `rounds` made, the
    `level` of violation to solve to, the `dual`, for how many rounds that has been `still`, and whether pair steps have
    given way to Newton's, `on_face`.
    """
    first = dict(gap=np.inf, as_is=0.0, primal=np.nan, b=0.0, rounds=0, level=FIRST, dual=-np.inf, still=0.0)
    return np.repeat(scalars_array(**first, on_face=False)[None], n_problems)


def solve_together(
    these: Together,
    first: int,
    tol: float,
    free: bool,
    convex: bool,
    work: float,
    epsilon: float | None = None,
    sums: Sums | None = None,
) -> int:
    """Solve problems from `first` on, until about so much `work` is done; the number of the next one.

    `epsilon` is that of the ε-insensitive loss; None for the hinge. Where there are `sums`, β is feasible at the start.
    """
    k, left = first, work
    # None for what is rarely asked for: its code is not compiled then. Nor is that of Newton steps, where no problem
    # needs them.
    unbiased, indefinite, plain = None if free else True, None if convex else True, None if sums else True
    # Conjugate steps are for problems whose Newton steps would be long.
    many = True if free and convex and plain and epsilon is None and np.diff(these.cuts).max() > MOST else None
    while True:
        k, stuck, done = _solve(these, k, tol, left, unbiased, indefinite, epsilon, plain, sums, many)
        left -= done
        if stuck:
            left -= _move_on_face(these, k, free, epsilon, sums)
        if not stuck or left <= 0.0:
            return k


@compiled
def _solve(these, first, tol, work, unbiased, indefinite, epsilon, plain, sums, many):
    """Rounds until so much work is done, or the pair steps of a problem are slow; whether they are; the work done."""
    done = 0.0
    for k in range(first, len(these.cuts) - 1):
        at, end = these.cuts[k], these.cuts[k + 1]
        n, y, beta, box = end - at, these.y[at:end], these.beta[at:end], these.box[at:end]
        lo, hi, rows = these.lo[at:end], these.hi[at:end], these.rows[at:end]
        cut = None if sums is None else sums.positive[k]
        K, own = _own_values(these.K, rows)
        e, off, none = np.empty(n), np.empty(n), np.zeros(n)
        _pulls(K, y, beta if sums is None else net_of(sums.form, beta), e)
        found, finished, stuck, net = these.found[k], False, False, beta
        mass, spread = 0.0 if sums is None else sums.mass[k], _spread_of(K, sums)
        if sums is not None and found.rounds == 0 and not found.on_face:
            these.spread[k] = _range_of(e)
            if sums.form == CLASSES:
                _begin_with_the_worst(sums, k, K, box, beta, e)
        while not (finished or stuck) and done < work:
            if not found.on_face:
                level, most = found.level * these.spread[k], most_pairs(n) * (1 if many is None else PIECES)
                if unbiased is None:
                    steps = _move_pairs(K, beta, e, lo, hi, level, most, epsilon, cut, many)
                else:
                    steps = single_steps(K, beta, e, lo, hi, level, most, epsilon)
                done += n * (1.0 + 3.0 * steps)
                stuck = indefinite is None and steps == most
            found.on_face = stuck
            if stuck:
                continue
            found.level = SHARPER * found.level if SHARPER * found.level > FINEST else FINEST
            found.rounds += 1
            net, errors, as_is, ended = beta, none, np.inf, False
            for look in range(2):
                if plain is not None:
                    b, gap, value, primal = measured(
                        y, box, these.lam[k], these.unit[k], net, e, lo, hi, own, errors, unbiased, indefinite, epsilon
                    )
                if sums is not None:
                    b, gap, value, primal = measured_levels(sums, k, box, y, net, e, own, errors, these.unit[k])
                if look == 0:
                    found.still = _rounds_without_gain(these, k, value, primal, indefinite, plain, mass, spread)
                    found.dual = value if value > found.dual else found.dual
                    as_is, ended = gap, found.still >= STILL
                    if gap > tol and not ended:
                        break
                    # The sums anew, so that their rounding is that of one sum; then all rounding is counted.
                    net, errors = beta if sums is None else net_of(sums.form, beta), off
                    _pulls(K, y, net, e)
                    _errors(these.A, these.B, rows, net, own, off)
                else:
                    finished = gap <= tol or ended
                    found.gap = gap if finished else np.inf
                    found.as_is, found.primal, found.b = as_is, primal, b
        for i in range(n):
            these.r[at + i] = e[i] + y[i]
            if finished:
                beta[i] = net[i]
        if stuck or done >= work:
            return k + finished, stuck, done
    return len(these.cuts) - 1, False, done


@compiled(no_cpython_wrapper=True)
def _move_pairs(K, beta, e, lo, hi, level, most, epsilon, cut, many):
    """Pair steps, conjugate ones where points are many; how many were made."""
    if many is not None:
        return conjugate_steps(K, beta, e, lo, hi, level, most, 0.0, None)
    return pair_steps(K, beta, e, lo, hi, level, most, epsilon, cut)


@compiled
def _move_on_face(these, k, free, epsilon, sums):
    """Newton steps of problem k; the work done."""
    at, end = these.cuts[k], these.cuts[k + 1]
    beta, e = these.beta[at:end], np.empty(end - at)
    K, _ = _own_values(these.K, these.rows[at:end])
    _pulls(K, these.y[at:end], beta if sums is None else net_of(sums.form, beta), e)
    cut = None if sums is None else sums.positive[k]
    return len(e) * steps_on_face(K, beta, e, these.lo[at:end], these.hi[at:end], free, epsilon, cut)


@compiled(no_cpython_wrapper=True)
def _own_values(values, rows):
    """The kernel values of some points among themselves, and the norms of these points."""
    n = len(rows)
    K, own, ends = np.empty((n, n)), np.empty(n), np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        own[i] = math.sqrt(values[rows[i], rows[i]]) if values[rows[i], rows[i]] > 0.0 else 0.0
        ends[i] = ends[i + 1] if i + 1 < n and rows[i + 1] == rows[i] + 1 else i + 1
    for i in range(n):
        row, out, first = values[rows[i]], K[i], 0
        while first < n:  # points side by side, as those of a class are, are copied together
            here, there = out[first : ends[first]], row[rows[first] : rows[first] + ends[first] - first]
            for j in range(len(here)):
                here[j] = there[j]
            first = ends[first]
    return K, own


@compiled
def _rounds_without_gain(these, k, value, primal, indefinite, plain, mass, spread):
    """How many rounds in a row have gained nothing; enough to end only at the finest level, or without a margin."""
    found, missing = these.found[k], 0.0
    if indefinite is None:
        missing = (primal if plain is None else min(primal, these.spread[k])) - value
    without = lacks_margin(-2.0 * value, primal - value, mass, spread)
    idle, n = found.still + 1.0, these.cuts[k + 1] - these.cuts[k]
    if not without:
        idle = count_idle(found.still, value, found.dual, abs(value), missing, PASSES, n)
    return min(idle, float(STILL) if without or found.level <= FINEST else STILL - 1.0)


@compiled
def _spread_of(K, sums):
    """The mean squared distance of points from their mean, in the ν-SVM of two classes; else zero."""
    if sums is None or sums.form != CLASSES:
        return 0.0
    n, own, every = len(K), 0.0, 0.0
    for i in range(n):
        own += K[i, i]
        every += K[i].sum()
    return own / n - every / n**2


@compiled
def _range_of(e):
    low, high = e[0], e[0]
    for value in e:
        low, high = min(low, value), max(high, value)
    return max(high - low, 1e-300)


@compiled
def _begin_with_the_worst(sums, k, K, box, beta, e):
    """Give all weight to the points of least margin, where w is the shorter for it: most of them will need it."""
    n, cut, other, pulls = len(beta), sums.positive[k], np.zeros(len(beta)), np.empty(len(beta))
    _weigh_the_worst(1.0, 0, cut, sums.mass[k], box, e, other)
    _weigh_the_worst(-1.0, cut, n, sums.mass[k], box, e, other)
    _pulls(K, np.zeros(n), other, pulls)
    old, new = 0.0, 0.0
    for i in range(n):
        old += beta[i] * e[i]
        new += other[i] * pulls[i]
    if new < old:
        for i in range(n):
            beta[i], e[i] = other[i], pulls[i]


@compiled
def _weigh_the_worst(sign, first, last, mass, box, e, beta):
    """Fill β from the least margin on, as far as the mass goes."""
    m, s = np.empty(last - first), np.empty(last - first)
    for i in range(first, last):
        m[i - first], s[i - first] = sign * e[i], box[i]
    (level, _), left = quantile(m, s, mass), mass
    for tied in range(2):
        for i in range(first, last):
            margin = sign * e[i]
            if (margin < level if tied == 0 else margin == level) and left > 1e-12 * mass:
                a = box[i] if left > (1.0 - 1e-12) * box[i] else left  # at a bound but for rounding
                beta[i] = sign * a
                left -= a


@compiled
def measured_levels(sums, k, box, y, beta, e, own, off, unit):
    """The bias, the relative gap, the dual and the primal of problem k, which has given sums; its levels are kept."""
    n, positive, levels, net = len(beta), sums.positive[k], sums.levels[k], net_of(sums.form, beta)
    sign, alpha, m, r = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        sign[i] = 1.0 if i < positive else -1.0
        alpha[i], m[i], r[i] = abs(net[i]), sign[i] * e[i], e[i] + y[i]
    levels[0] = level_of(m[:positive], alpha[:positive], box[:positive], sums.mass[k])
    levels[1], b = levels[0], -levels[0]
    if positive < n:
        levels[1] = level_of(m[positive:], alpha[positive:], box[positive:], sums.mass[k])
        b = sums.centre + 0.5 * (levels[1] - levels[0])
    shifts = max(abs(levels[0]), abs(levels[1])) + abs(b) + abs(sums.centre)
    slack, sq, gain, most, sq_off, least, shift = level_gap(
        sums.form, sign, box, alpha, y, r, off, own, levels, shifts, sums.mass[k]
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


@compiled(no_cpython_wrapper=True)
def _pulls(K, y, beta, e):
    """Fill e with Kβ - y."""
    for i in range(len(e)):
        e[i] = -y[i]
    for j in range(len(beta)):
        if beta[j] != 0.0:
            for i in range(len(e)):
                e[i] += beta[j] * K[j, i]


@compiled(no_cpython_wrapper=True)
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
