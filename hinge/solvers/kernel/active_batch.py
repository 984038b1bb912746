"""Many small kernel problems over one Gram matrix in one compiled call, by the rounds of `active_rounds`."""

import math
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled, scalars_array
from hinge.problems.base import Certificate
from hinge.problems.batch import combine_certificates
from hinge.problems.svm.examples import sorted_bias
from hinge.problems.svm.kernel_batch import BatchExpansion, Blocks, Errors, KernelBatch, LevelBatch, PackedBatch
from hinge.problems.svm.kernel_duality import certificate_at, longer, width_of
from hinge.problems.svm.levels import CLASSES, ONE_CLASS, TARGETS, level_gap, level_of, quantile, relative_gap
from hinge.solvers.kernel.active_rounds import (
    FINEST,
    FIRST,
    LARGEST_PAIR,
    MOST,
    PASSES,
    SHARPER,
    exchange_and_move,
    fit_alone,
    measured,
    most_pairs,
    steps_on_face,
)
from hinge.solvers.kernel.conjugate_steps import pair_steps_of, single_steps
from hinge.solvers.kernel.low_rank import DualBox, affordable_rank, improve_by_rank, is_due
from hinge.solvers.kernel.member_rows import copy_all, member_values
from hinge.solvers.kernel.stalling import STILL, count_idle, lacks_margin

MANY = 128
"""Points from which on the Newton steps of a regression use LAPACK."""


class SlowPairs(Exception):
    """Pair steps are slow for a member so large that Newton steps over its points would be slower than `BlockDual`.

    `evals` is the number of kernel values that have been computed.
    """

    def __init__(self, evals: int) -> None:
        super().__init__(f"Pair steps are slow for more than {LARGEST_PAIR} points: solve the members by BlockDual.")
        self.evals = evals


class BatchState(NamedTuple):
    """Where each member is, in the layout of `PackedBatch`.

    ========= ================ ==========================================================================
    `beta`    (len(rows),)     coefficients
    `e`       (len(rows),)     :math:`e = K\\beta - y`, of each member's own points
    `spread`  (n_members,)     unit of the violations
    `found`   (n_members,)     what `unsolved` makes
    `levels`  (n_members, 2)   levels of ν-SVMs
    `t`       int              rounds so far, of all members
    ========= ================ ==========================================================================
    """

    beta: np.ndarray
    e: np.ndarray
    spread: np.ndarray
    found: np.ndarray
    levels: np.ndarray
    t: int


class Together(NamedTuple):
    """A batch and its state, as compiled code takes them: the fields of `PackedBatch` and of `BatchState`.

    K and `blocks` have the kernel values of one group of members, at the `places` of their points: K all of them where
    there is one bundle, and no blocks then.
    """

    K: np.ndarray
    blocks: Blocks | None
    places: np.ndarray
    errors: Errors
    rows: np.ndarray
    cuts: np.ndarray
    y: np.ndarray
    box: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    lam: np.ndarray
    unit: np.ndarray
    beta: np.ndarray
    e: np.ndarray
    spread: np.ndarray
    found: np.ndarray


class Sums(NamedTuple):
    """What a `LevelBatch` has beside, and the levels of its state."""

    form: int
    mass: np.ndarray
    positive: np.ndarray
    centre: float
    levels: np.ndarray


CERTIFICATE = ("primal", "bound", "gap", "b", "as_is")
"""The fields of a `Certificate`, by their names in the state."""
UNSOLVED = scalars_array(
    **dict(zip(CERTIFICATE, (np.nan, -np.inf, np.inf, 0.0, np.nan), strict=True)),
    **dict(rounds=0, level=FIRST, dual=-np.inf, still=0.0, on_face=False, work=0.0),
)


def unsolved(n_members: int) -> np.ndarray:
    """`found` of members that are yet to be solved.

    The fields of a `Certificate` (the gap is inf before the end, or the violation where the kernel allows none; `as_is`
    is that without rounding); the `rounds` made, the `level` of violation to solve to, the `dual`, for how many rounds
    that has been `still`, whether pair steps have given way to Newton's, `on_face`, and the `work` of rounds in which
    they have, in units of the member's points.
    """
    return np.repeat(UNSOLVED[None], n_members)


def begin_batch(problem: PackedBatch, start: BatchExpansion | None = None) -> BatchState:
    """The first state, at an answer within the bounds if one is given."""
    beta, e, count = problem.start.copy(), -problem.aims.astype(np.float64), len(problem.lam)
    if start is not None and ((problem.lo <= start.beta) & (start.beta <= problem.hi)).all():
        beta[:] = start.beta
        e += start.responses
    return BatchState(beta, e, problem.spread.copy(), unsolved(count), np.zeros((count, 2)), 0)


def sums_of(problem: PackedBatch, state: BatchState) -> Sums | None:
    """What compiled code needs of ν-SVMs; None for others."""
    if not isinstance(problem, LevelBatch):
        return None
    return Sums(problem.form, problem.mass, problem.positive, problem.centre, state.levels)


def is_done(state: BatchState, tol: float) -> np.ndarray:
    """Which members have the gap `tol`, or will not come nearer to it."""
    found = state.found
    return (found["gap"] <= tol) | (found["still"] >= STILL)


def advance_batch(problem: PackedBatch, state: BatchState, n_iter: int, tol: float, finer: float = 1.0) -> BatchState:
    """So many rounds, of the first member that is not done, then of the next one; fewer if all are done.

    A member is done when its gap is at most `tol`, and at most `finer` times that but for rounding.
    """
    free, epsilon, left, sums = problem.bias == "free", width_of(problem.epsilon), n_iter, sums_of(problem, state)
    # None for what is rare, since code for it is left out then: what a kernel that is not positive needs, and ν-SVMs.
    indefinite, plain = None if problem.certifiable else True, True if sums is None else None
    sizes, done = np.diff(problem.cuts), is_done(state, tol)
    for group in problem.groups:
        if left == 0 or done[group.members].all():
            continue
        blocks = problem.blocks(group)
        these = Together(
            blocks.first,
            blocks if len(problem.groups) > 1 else None,
            problem.places,
            problem.errors,
            problem.rows,
            problem.cuts,
            problem.aims.astype(np.float64, copy=False),
            problem.boxes,
            problem.lo,
            problem.hi,
            problem.lam,
            problem.unit,
            state.beta,
            state.e,
            state.spread,
            state.found,
        )
        while left > 0:
            goal = float(tol), float(finer * tol)
            k, stuck, made = _solve(these, group.members, goal, left, free, indefinite, epsilon, plain, sums)
            left -= made
            if stuck:
                work, n = state.found["work"], sizes[k]
                if n > LARGEST_PAIR and isinstance(problem, KernelBatch):
                    raise SlowPairs(problem.kernel_evals)
                before = float(work[k])
                work[k] += most_pairs(n)
                if sums is None and (n > MOST or _most_between(problem, k)):
                    work[k] += _exchange(problem, state, k)
                else:
                    work[k] += _move_on_face(these, k, free, epsilon, sums)
                if problem.certifiable and is_due(before, work[k]):
                    _improve_by_rank(problem, state, k, tol)
            elif k < 0:
                break
    found = state.found
    if problem.certifiable and not (found["gap"] <= tol).all():
        for k in np.flatnonzero((found["gap"] > tol) & (found["still"] >= STILL) & (found["work"] < np.inf)):
            found["work"][k] = np.inf  # the last attempt, at any price
            _improve_by_rank(problem, state, int(k), tol)
            if isinstance(problem, KernelBatch) and not problem.loss.two_sided and found["gap"][k] > tol:
                _make_longer(problem, state, int(k))
    return state._replace(t=state.t + n_iter - left)


def _most_between(problem: PackedBatch, k: int) -> bool:
    """Whether most points of member k, a regression, will lie between their bounds."""
    part, rank = problem.parts[k], np.inf if problem.weights is None else problem.weights.rows.shape[1]
    if problem.epsilon is None or part.stop - part.start <= MANY:
        return False
    return fit_alone(problem.boxes[part], problem.diagonal[problem.rows[part]], float(problem.spread[k]), rank)


def _exchange(problem: PackedBatch, state: BatchState, k: int) -> float:
    """`exchange_and_move` of member k."""
    part, free = problem.parts[k], problem.bias == "free"
    K, level = problem.values_of(k), float(state.found["level"][k] * problem.spread[k])
    now, bounds = (state.beta[part], state.e[part]), (problem.lo[part], problem.hi[part])
    return exchange_and_move(K, *now, *bounds, level, free, problem.epsilon)


def _improve_by_rank(problem: PackedBatch, state: BatchState, k: int, tol: float) -> None:
    """Solve member k by `low_rank`, if as much work has been done as that takes; with a gap of `tol` it is done."""
    part, work = problem.parts[k], float(state.found["work"][k])
    c = -problem.aims[part].astype(np.float64)
    free, total = problem.bias == "free", None
    if isinstance(problem, LevelBatch):
        free = problem.form != ONE_CLASS
        total = float(problem.mass[k]) * (2.0 if free else 1.0)
    box = DualBox(c, problem.lo[part], problem.hi[part], free, problem.epsilon or 0.0, total)
    most = affordable_rank(work, part.stop - part.start)
    K = None if problem.weights is not None else problem.values_of(k)
    at = problem.rows[part] if K is None else np.arange(len(K))
    better = improve_by_rank(K, problem.weights, at, box, state.beta[part], most)
    if better is None:
        return
    before, known = (state.beta[part].copy(), state.e[part].copy()), state.found["gap"][k]
    state.beta[part], state.e[part] = better[0], better[1] + c
    found = _certify_anew(problem, state, k)
    if found.gap <= tol or found.gap < known < np.inf:
        state.found["rounds"][k] += 1
        for name, value in zip(CERTIFICATE, found, strict=False):
            state.found[name][k] = value
    elif known < np.inf:  # its certificate belongs to the coefficients before
        state.beta[part], state.e[part] = before


def solution_of(problem: PackedBatch, state: BatchState) -> BatchExpansion:
    """The answers so far."""
    beta = net_of(problem.form, state.beta) if isinstance(problem, LevelBatch) else state.beta
    return BatchExpansion(beta, state.e + problem.aims, state.found["b"])


def certify_batch(problem: PackedBatch, state: BatchState, tol: float) -> float | Certificate:
    """The certificates of all members; the largest violation, where the kernel allows no certificate.

    Where rounding keeps a gap above `tol`, sums are made anew, more exactly: of a linear kernel by way of w.
    """
    found = state.found
    if not problem.certifiable:
        return float(found["gap"].max())
    every = np.stack([found[name] for name in CERTIFICATE], axis=1)
    for k in np.flatnonzero(found["gap"] > tol).tolist():
        one = Certificate(*every[k].tolist())
        if one.gap == np.inf or problem.weights is not None:
            every[k] = _certify_anew(problem, state, k)[:5]
        elif one.unrounded <= tol:
            member, answer = problem.members[k], problem.expansion(solution_of(problem, state), k)
            again = member.sharpened(answer, member.certificate(answer), tol)
            best = min(one, again, key=lambda each: each.gap)
            every[k] = best[:5]
            _lengthen(problem, state, k, best.scale)
        if one.gap < np.inf:
            for name, value in zip(CERTIFICATE, every[k], strict=True):
                found[name][k] = value
    return combine_certificates(every)


def _lengthen(problem: PackedBatch, state: BatchState, k: int, s: float) -> None:
    """Multiply w of member k, as its certificate says."""
    if s != 1.0:
        part = problem.parts[k]
        state.beta[part] *= s
        state.e[part] = s * (state.e[part] + problem.aims[part]) - problem.aims[part]


def _certify_anew(problem: PackedBatch, state: BatchState, k: int) -> Certificate:
    """The certificate of member k by responses that are summed anew; they are kept if the member has been solved."""
    part, sums = problem.parts[k], sums_of(problem, state)
    y, box, beta = problem.aims[part], problem.boxes[part], state.beta[part]
    beta = beta if sums is None else net_of(sums.form, beta)
    own, r, off = _summed_anew(problem, k, beta)
    e, unit = r - y, problem.unit[k]
    if state.found["gap"][k] < np.inf or state.found["rounds"][k] == 0:
        state.e[part] = e
    if sums is None:
        low = r - y * off if problem.epsilon is None else r  # the bias for the worst rounding
        b = float(sorted_bias(low, y, box, problem.epsilon)) if problem.bias == "free" else 0.0
        lam, free = problem.lam[k], problem.bias == "free"
        return certificate_at(y, box, lam, unit, beta, r, off, own, b, free, problem.epsilon)
    gaps = []
    for errors in (np.zeros(len(off)), off):  # as if there were no rounding, and with it
        b, gap, _, primal, bound = measured_levels(sums, k, box, y, beta, e, own, errors, unit)
        gaps.append(gap)
    return Certificate(primal, bound, gap, b, gaps[0])


def _summed_anew(problem: PackedBatch, k: int, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The norms of the points of member k, their responses to these β, and bounds on the errors of those."""
    rows, used, exact = problem.rows[problem.parts[k]], np.flatnonzero(beta), problem.weights
    if exact is not None:
        return exact.norms[rows], *exact.again(rows[used], beta[used], rows)
    K, off = problem.values_of(k), np.empty(len(rows))
    own = np.sqrt(np.maximum(np.diagonal(K).astype(np.float64), 0.0))
    r = beta[used] @ K[used].astype(np.float64, copy=False)
    _errors(K, problem.errors, rows, beta, own, off)
    return own, r, off


def _make_longer(problem: KernelBatch, state: BatchState, k: int) -> None:
    """Multiply w of member k, if that has a smaller gap: see `longer`."""
    part, lam, free, found = problem.parts[k], float(problem.lam[k]), problem.bias == "free", state.found
    y, box, beta = problem.aims[part], problem.boxes[part], state.beta[part]
    _, r, off = _summed_anew(problem, k, beta)
    s, b = longer(y, lam * box, lam * float(beta @ r), r, 3.0 * off, free)  # the new sums will be off too
    if not (0.0 < s < np.inf and (s * np.abs(beta) <= box).all()):  # a β at its bound stays a dual weight
        return
    own, r, off = _summed_anew(problem, k, s * beta)
    certificate = certificate_at(y, box, lam, problem.unit[k], s * beta, r, off, own, b, free, None)
    if certificate.gap < found["gap"][k]:
        state.beta[part], state.e[part] = s * beta, r - y
        for name, value in zip(CERTIFICATE, certificate, strict=False):
            found[name][k] = value


@compiled(tiered=True)
def _solve(these, members, goal, n_iter, free, indefinite, epsilon, plain, sums):
    """So many rounds of these members, or until the pair steps of one are slow.

    Returns the member, -1 if all are done; whether its steps are slow; and the rounds made.
    """
    done, (tol, fine) = 0, goal
    for k in members:
        found = these.found[k]
        if found.gap <= tol or found.still >= STILL:
            continue
        at, end = these.cuts[k], these.cuts[k + 1]
        n, y, beta, box = end - at, these.y[at:end], these.beta[at:end], these.box[at:end]
        lo, hi, rows, e = these.lo[at:end], these.hi[at:end], these.rows[at:end], these.e[at:end]
        cut = n if sums is None else sums.positive[k]
        K, own, source = member_values(these.K, these.blocks, these.places[at:end], beta)
        if plain is None or not free:
            copy_all(source, K)
        off, none = np.empty(n), np.zeros(n)
        finished, stuck, net = False, False, beta
        mass, spread = 0.0 if sums is None else sums.mass[k], _spread_of(K, sums)
        if found.rounds == 0 and not found.on_face:
            _pulls(K, y, beta if sums is None else net_of(sums.form, beta), e)
        if sums is not None and found.rounds == 0 and not found.on_face:
            these.spread[k] = _range_of(e)
            if sums.form != TARGETS:
                _begin_with_the_worst(sums, k, K, box, beta, e)
        while not (finished or stuck) and done < n_iter:
            if not found.on_face:
                level, most = found.level * these.spread[k], most_pairs(n)
                steps = -1
                if plain is not None and not free:
                    steps = single_steps(K, beta, e, lo, hi, level, most, epsilon)
                if steps < 0:
                    width = epsilon if epsilon > 0.0 else 0.0
                    steps = pair_steps_of(K, source, beta, e, lo, hi, level, most, width, cut, indefinite is None)
                stuck = indefinite is None and steps == most
            found.on_face = stuck
            if stuck:
                continue
            found.level = SHARPER * found.level if SHARPER * found.level > FINEST else FINEST
            found.rounds += 1
            done += 1
            net, errors, ended = beta, none, False
            for look in range(2):
                if plain is not None:
                    b, gap, value, primal = measured(
                        y, box, these.lam[k], these.unit[k], net, e, lo, hi, own, errors, free, indefinite, epsilon
                    )
                    bound = value
                if sums is not None:
                    b, gap, value, primal, bound = measured_levels(sums, k, box, y, net, e, own, errors, these.unit[k])
                if look == 0:
                    found.still = _rounds_without_gain(these, k, value, primal, indefinite, sums, mass, spread)
                    found.dual = value if value > found.dual else found.dual
                    ended = found.still >= STILL
                    found.as_is, found.b = gap, b
                    if gap > fine and not ended:
                        break
                    # The sums anew, so that they are rounded as one sum; then all rounding is counted.
                    net, errors = beta if sums is None else net_of(sums.form, beta), off
                    _pulls(K, y, net, e)
                    _errors(K, these.errors, rows, net, own, off)
                else:
                    known = len(these.errors.share) + len(these.errors.A) > 0
                    if K.itemsize == 4 and known and gap > tol:  # single precision has no more to give
                        ended, found.still, found.work = True, float(STILL), np.inf
                    finished = gap <= tol or ended
                    found.gap = gap if finished else np.inf
                    found.primal, found.bound, found.b = primal, bound, b
        if finished:
            for i in range(n):
                beta[i] = net[i]
        if stuck or (done >= n_iter and not finished):
            return k, stuck, done
        if done >= n_iter:
            return k, False, done
    return -1, False, done


@compiled
def _move_on_face(these, k, free, epsilon, sums):
    """Newton steps of member k; the arithmetic done, in units of its points."""
    at, end = these.cuts[k], these.cuts[k + 1]
    y, beta, e = these.y[at:end], these.beta[at:end], these.e[at:end]
    K, _, source = member_values(these.K, these.blocks, these.places[at:end], beta)
    copy_all(source, K)
    _pulls(K, y, beta if sums is None else net_of(sums.form, beta), e)
    cut = len(y) if sums is None else sums.positive[k]
    work = steps_on_face(K, beta, e, these.lo[at:end], these.hi[at:end], free, epsilon, cut)
    _pulls(K, y, beta if sums is None else net_of(sums.form, beta), e)  # what the steps have added up is less exact
    return work


@compiled
def _rounds_without_gain(these, k, value, primal, indefinite, sums, mass, spread):
    """How many rounds in a row have gained nothing; enough to end only at the finest level, or without a margin."""
    found, missing = these.found[k], 0.0
    if indefinite is None:
        missing = (min(primal, these.spread[k]) if sums is None else primal) - value
    without = lacks_margin(-2.0 * value, primal - value, mass, spread)
    idle, n = found.still + 1.0, these.cuts[k + 1] - these.cuts[k]
    if not without:
        idle = count_idle(found.still, value, found.dual, abs(value), missing, PASSES, n)
    idle = min(idle, float(STILL) if without or found.level <= FINEST else STILL - 1.0)
    if without and idle >= STILL:
        found.work = np.inf  # no attempt is worth its price
    return idle


@compiled
def _spread_of(K, sums):
    """The mean squared distance of points from their mean, in the ν-SVM of two classes; else zero."""
    if sums is None or sums.form != CLASSES:
        return 0.0
    n, own, every = len(K), 0.0, 0.0
    for i in range(n):
        own += K[i, i]
        for j in range(n):
            every += K[i, j]
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
    if cut < n:
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
    """The bias, the relative gap, the dual, the primal, and a bound on the optimum of member k; its levels are kept."""
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
    return b, gap, gain - 0.5 * sq, min(slack + gain - 0.5 * sq, least + most), least


@compiled(tiered=True)
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


@compiled
def _errors(K, errors, rows, beta, own, off):
    """Bounds on the errors of Σ βK: of the values, and of a sum of n terms in float64."""
    n = len(beta)
    size, total, share, A, B = 0.0, 0.0, errors.share, errors.A, errors.B
    for j in range(n):
        size += abs(beta[j]) * own[j]
        total += abs(beta[j])
    for i in range(n):
        off[i] = 1.2e-16 * (n + 1) * size * own[i]
    for k in range(len(A)):
        size = 0.0
        for j in range(n):
            size += abs(beta[j]) * B[k, rows[j]]
        for i in range(n):
            off[i] += A[k, rows[i]] * size
    if len(share) > 0 and total > 0.0:
        sums = np.zeros(n)
        for j in range(n):
            if beta[j] != 0.0:
                for i in range(n):
                    sums[i] += abs(beta[j]) * K[j, i]
        for i in range(n):
            part = min(max(sums[i], 1e-30 * total), total)
            off[i] += 1.02 * part * (share[rows[i]] + errors.unit * math.log(total / part))
