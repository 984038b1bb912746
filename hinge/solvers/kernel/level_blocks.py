"""SVMs with ν in place of a margin by blocks of kernel rows, on a random subset that grows until it is all points."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.constraints import Constraints, count, number
from hinge.monitoring import Status
from hinge.problems import Certificate, Expansion, Problem
from hinge.problems.base import Cost
from hinge.problems.svm.kernel_duality import UNIT
from hinge.problems.svm.levels import KernelLevels, summing_to
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.conjugate_steps import pair_steps
from hinge.solvers.kernel.face_steps import face_steps
from hinge.solvers.kernel.low_rank import improve_problem, is_due
from hinge.solvers.kernel.stalling import STILL, gains, lacks_margin

STEP_VALUES = 20_000_000
"""Kernel values of one iteration, about: a fraction of a second."""
FEW, FINE = 512, 1e-4
"""All points of a problem of no more are solved together to this fraction of their largest violation."""


class LevelState(NamedTuple):
    """α and responses r of the points in their `order`, of which the first `m` are worked on.

    `alpha` has a row for each copy of the points. r belongs to β = `known`, which α runs ahead of while it is taken
    in; the r of the first `scored` points is there. `path` is how far each β has moved in all, and `terms` how many
    additions have made an r. `gap`, `levels` and `dual` belong to the last α that was all known, and the dual has
    made no progress for `still` rounds; more than `STILL` if w is zero. `spent` is the arithmetic of all rounds, in
    units of n.
    """

    order: np.ndarray
    alpha: np.ndarray
    known: np.ndarray
    r: np.ndarray
    path: np.ndarray
    terms: int
    m: int
    scored: int
    gap: float
    levels: np.ndarray
    dual: float
    still: int
    spent: float
    t: int


@dataclass(frozen=True)
class LevelBlocks(Solver[KernelLevels, LevelState]):
    """Dual descent over blocks of points, from a good start: the answer for a subset.

    .. math:: \\min_\\alpha\\ \\tfrac12\\|w\\|^2 - \\sum_i\\sigma_it_i\\alpha_i, \\qquad 0 \\le \\alpha_i \\le s_i,
              \\quad \\sum_{\\sigma_i = \\sigma}\\alpha_i = M

    A random subset of `first` points is solved, of each class its share. Then, until the subset is all points: it
    grows by `growth`; the responses of the new points are computed; where t = 0 they get

    .. math:: \\alpha_j = \\min\\big(s_j, \\max(0, (\\theta - m_j)/K_{jj})\\big),

    what each would need on its own, with a θ for each sign such that their sum is right, and all responses are
    brought up to date; in regression both copies of some new points get all they can have, which moves no response;
    and rounds mend what is wrong. A round takes the points that violate

    .. math:: m_i \\ge l \\text{ where } \\alpha_i < s_i, \\qquad
              m_i \\le l \\text{ where } \\alpha_i > 0

    most, and those strictly between their bounds; solves the problem of this block by pair steps, of two points of
    one sign; and updates all responses.

    An answer with S support vectors has S·n kernel values in its responses, and of one class there are at least νn of
    them. This is what growing costs, whatever the number of steps. To that come n values for each point whose
    α a round changes and whose row is not in the cache.

    Parameters
    ----------
    block : int
        New points of a working set.
    first : int
        Points of the first subset.
    growth : int
        Factor by which the subset grows.
    rough : float
        Certified gap of the subset at which it grows.
    inner : float
        A block is solved to this fraction of its largest violation.
    most : int
        Largest working set.

    References
    ----------
    B. Schölkopf and others, *Estimating the Support of a High-Dimensional Distribution*, 2001;
    C.-C. Chang, C.-J. Lin, *Training ν-Support Vector Classifiers: Theory and Algorithms*, 2001;
    R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working Set Selection Using Second Order Information*, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelNuClassification
    >>> from hinge.solvers import LevelBlocks
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> problem = KernelNuClassification(X, np.where(X[:, 0] > 0, 1, -1), 0.3, Gaussian(gamma=1.0))
    >>> result = solve(problem, LevelBlocks(), stop=Stop(tol=1e-3))
    >>> bool(result.certificate.gap <= 1e-3)
    True
    """

    block: int = 512
    first: int = 1024
    growth: int = 4
    rough: float = 0.01
    inner: float = 0.05
    most: int = 2048

    paper = Paper(
        "Estimating the Support of a High-Dimensional Distribution",
        "Schölkopf, Platt, Shawe-Taylor, Smola, Williamson",
        2001,
        "the dual problem",
    )
    tubes = True
    exact_estimate = True
    status_at_end = Status.STALLED
    constraints = Constraints(
        block=count(2),
        first=count(2),
        growth=count(2),
        rough=number(above=0),
        inner=number(above=0, below=1),
        most=count(2),
    )

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, KernelLevels):
            kinds = "KernelOneClass, KernelNuClassification and KernelNuRegression"
            return f"LevelBlocks solves {kinds} problems, not {type(problem).__name__}; use BlockDual."
        return None

    def init(self, problem: KernelLevels, seed: int = 0, start: Expansion | None = None) -> LevelState:
        n = problem.n
        m = min(n, self.first) if start is None and problem.gram.narrows else n
        order = np.arange(n)
        if m < n:
            order = mixed_order(problem, draw_units(key_of(seed), 0, n))
        alpha = np.zeros(problem.sign.shape)
        alpha[:, :m] = first_weights(problem, order[:m]) if start is None else completed(problem, start.beta)
        known, r, path = np.zeros((3, n))
        levels = np.zeros(len(problem.signs))
        return LevelState(order, alpha, known, r, path, 0, m, m, np.inf, levels, -np.inf, 0, 0.0, 0)

    def advance(self, problem: KernelLevels, state: LevelState, n_iter: int) -> LevelState:
        for _ in range(n_iter):
            problem.gram.focus(state.order[: state.m])
            if state.scored < state.m:
                state = self._score(problem, state)
            elif state.dual == -np.inf or not np.array_equal(_beta(problem, state), state.known):
                state = self._take_in(problem, state)
            elif state.m < problem.n and (state.gap <= self.rough or state.still >= STILL):
                state = state._replace(m=min(problem.n, self.growth * state.m), gap=np.inf, dual=-np.inf, still=0)
            else:
                before, state = state.spent, self._round(problem, state)
                if state.still == STILL and state.m == problem.n:
                    state = state._replace(spent=np.inf)  # the last attempt, at any price
                if is_due(before, state.spent):
                    state = _improved(problem, state)
            state = state._replace(t=state.t + 1)
        return state

    # --- growing --------------------------------------------------------------------------

    def _score(self, problem: KernelLevels, state: LevelState) -> LevelState:
        """The responses of some new points; once they are all there, α for them."""
        old = np.flatnonzero(state.known)
        end = min(state.m, state.scored + max(1, STEP_VALUES // max(1, len(old))))
        new = slice(state.scored, end)
        state.r[new] = problem.gram.pass_over(state.order[old], state.known[old], state.order[new])
        if end == state.m:
            first = _before(problem.n, state.m, self.first, self.growth)
            rows, r = state.order[first:end], state.r[first:end]
            # As responses will be once the new points share the mass.
            state.alpha[:, first:end] = first_weights(problem, rows, r * (end / first))
        return state._replace(scored=end)

    def _take_in(self, problem: KernelLevels, state: LevelState) -> LevelState:
        """Bring the responses up to date with some of the α that have changed."""
        beta = _beta(problem, state)
        ahead = np.flatnonzero(beta != state.known)
        some = ahead[: max(1, STEP_VALUES // state.m)]
        change = (beta - state.known)[some]
        gram, columns = problem.gram, state.order[: state.m]
        if len(some) == 0:
            return _measured(problem, state)
        if state.m <= min(self.first, gram.capacity):  # these rows will be used again: keep them
            state.r[: state.m] += gram.host(gram.combine(state.order[some], change))
        else:
            state.r[: state.m] += gram.host(gram.pass_over(state.order[some], change, columns))
        state.known[some] = beta[some]
        state.path[some] += np.abs(change)
        state = state._replace(terms=state.terms + len(some))
        return _measured(problem, state) if len(some) == len(ahead) else state

    # --- mending --------------------------------------------------------------------------

    def _round(self, problem: KernelLevels, state: LevelState) -> LevelState:
        """One working set: chosen, solved, and its change spread over all responses."""
        m, gram, rows = state.m, problem.gram, state.order[: state.m]
        sign = problem.sign[:, rows].ravel()
        over = problem.over(problem.margins(state.r[:m], rows), state.levels, rows).ravel()
        alpha, box = state.alpha[:, :m].ravel(), np.broadcast_to(problem.boxes[rows], (len(state.alpha), m)).ravel()
        at = self._chosen(problem, over, alpha, box, sign)
        points, where = at % m, np.arange(len(at))
        if len(state.alpha) == 2:
            points, where = np.unique(points, return_inverse=True)
        kernel_rows = gram.rows(rows[points])
        # In β = σα, so that K needs no signs; both copies of a point have the same e.
        s, old = sign[at], sign[at] * alpha[at]
        beta, bound = old.copy(), s * box[at]
        e = (state.r[points] - problem.linear[rows[points]])[where] + problem.bias_of(state.levels) - problem.centre
        lo, hi = np.minimum(bound, 0.0), np.maximum(bound, 0.0)
        cut = int(np.count_nonzero(s > 0))
        violation = max(
            float(e[part][beta[part] > lo[part]].max(initial=-np.inf))
            - float(e[part][beta[part] < hi[part]].min(initial=np.inf))
            for part in (slice(0, cut), slice(cut, len(at)))[: len(problem.signs)]
        )
        spread, made = 0.0, 0.0
        if violation > 0.0:
            size = float(np.abs(state.r[:m]).max(initial=0.0)) + float(np.abs(problem.linear).max())
            inner = self.inner if len(at) < len(alpha) or len(at) > FEW else FINE
            limit = 1000 + 50 * len(at)
            K = kernel_rows.block()
            K = K if len(state.alpha) == 1 else np.ascontiguousarray(K[np.ix_(where, where)])
            # A response is known no better than the largest term of its sum.
            term = float(np.abs(np.diagonal(K)).max() * np.abs(beta).max())
            tol = max(inner * violation, 1e-14 * size, UNIT * term)
            made = pair_steps(K, beta, e, lo, hi, tol, limit, 0.0, cut, problem.certifiable)
            if made == limit and problem.certifiable:
                made += face_steps(K, beta, e, lo, hi, True, cut)  # where pairs are slow: K is nearly singular
                if len(problem.signs) == 2 and len(state.alpha) == 1:
                    spread = float(np.diagonal(K).mean(dtype=np.float64) - K.mean(dtype=np.float64))
            change = np.bincount(where, beta - old)
            state.r[:m] += gram.host(kernel_rows.combine(gram.array(change)))
            state.path[points] += np.abs(change)
            state.alpha[at // m, at % m] = np.abs(beta)
            state.known[points] = _beta(problem, state)[points]
            spent = state.spent + len(at) * (m + made) / problem.n
            state = state._replace(terms=state.terms + len(at) + 1, spent=spent)
        return _measured(problem, state, max(len(at), 2.0 * made) / len(alpha), spread)

    def _chosen(
        self, problem: KernelLevels, over: np.ndarray, alpha: np.ndarray, box: np.ndarray, sign: np.ndarray
    ) -> np.ndarray:
        """The points of a working set, the first sign first; copies are counted on."""
        gram, parts = problem.gram, len(problem.signs)
        grows, falls = alpha < box, alpha > 0
        size = min(self.most, gram.most_rows)
        half = max(1, min(self.block, size) // 2 // parts)
        between, low = grows & falls, over < 0
        every = [sign == one for one in problem.signs] if parts > 1 else [np.True_]
        # Points exactly on the level too (<=, >=): the only partner for a pair may be one of them.
        sides = grows & (over <= 0), falls & (over >= 0)
        new = [_worst(own & ~between & side, over, half) for own in every for side in sides]
        room = max(2 * parts, size - sum(map(len, new)))
        # If they do not all fit, take half from either side: a pair needs one point of each.
        each = room if between.sum() <= room else room // 2 // parts
        kept = [_worst(own & between & side, over, each) for own in every for side in (low, ~low)]
        at = np.sort(np.concatenate([*new, *kept]))
        return at if parts == 1 else at[np.argsort(sign[at] < 0, kind="stable")]

    # --- answers --------------------------------------------------------------------------

    def solution(self, problem: KernelLevels, state: LevelState) -> Expansion:
        """The β that are known; where there are no targets, the values of a subset are scaled to the sum of all."""
        beta, responses, path = np.zeros((3, problem.n))
        scale, complete = 1.0, _complete(problem, state)
        if not complete and not problem.loss.two_sided:
            mass = problem.mass * len(problem.signs)
            scale = mass / (float(np.abs(state.known).sum()) or mass)
        beta[state.order], responses[state.order] = scale * state.known, scale * state.r
        path[state.order] = scale * state.path
        b = problem.bias_of(scale * state.levels)
        return Expansion(beta, b, responses, path, state.terms + problem.n if complete else np.inf)

    # --- what the driver asks -------------------------------------------------------------

    def estimate(self, problem: KernelLevels, state: LevelState) -> float | Certificate:
        return state.gap if _complete(problem, state) else Certificate.unknown()

    def pause(self, problem: KernelLevels, state: LevelState) -> int:
        return 0 if state.m == problem.n and state.still >= STILL else 1

    def cost(self, problem: KernelLevels, state: LevelState | None = None) -> Cost:
        n = problem.n
        size = min(self.most, problem.gram.most_rows)
        block = 0 if size <= problem.gram.capacity else size * size
        values = block + min(n * n, max(STEP_VALUES + n, size * n))
        if problem.gram.weights is not None:
            # The responses of an attempt by `low_rank`, and of what it is compared with.
            values += 4 * problem.sign.size
        return Cost(kernel_values=values, a_pass=max(1, n // self.block))


def _before(n: int, m: int, first: int, growth: int) -> int:
    """The size from which the subset grew to m."""
    size = min(n, first)
    while min(n, growth * size) < m:
        size *= growth
    return size


def _beta(problem: KernelLevels, state: LevelState) -> np.ndarray:
    """β of α, in the order of the state."""
    if len(problem.signs) == 1:
        return state.alpha.ravel()
    return (problem.sign[:, state.order] * state.alpha).sum(axis=0)


def _measured(problem: KernelLevels, state: LevelState, share: float = 1.0, spread: float = 0.0) -> LevelState:
    """The state with the levels and the certificate of its first m points.

    Parameters
    ----------
    share : float
        How much of a pass was made, or how many were: points looked at, or moved in pairs.
    spread : float
        Mean squared distance of points from their mean, where steps are slow; zero if no margin is too small to go on.
    """
    m = state.m
    alpha, beta, r, rows = state.alpha[:, :m], state.known[:m], state.r[:m], state.order[:m]
    margins = problem.margins(r, rows)
    levels = problem.levels(margins, alpha, rows)
    slack = problem.slack(problem.over(margins, levels, rows), alpha, rows)
    sq, gain = float(beta @ r), float(problem.linear[rows] @ beta)
    gap, dual = problem.error(slack, sq, gain), gain - 0.5 * sq
    moves = gains(dual, state.dual, abs(gain) + 0.5 * abs(sq), slack, share)
    still = 0 if moves else state.still + 1
    if problem.vanishes(sq) or lacks_margin(sq, slack, problem.mass, spread):  # there is nothing left to gain
        still = STILL + 1
    return state._replace(levels=levels, gap=gap, dual=max(dual, state.dual), still=still)


def _improved(problem: KernelLevels, state: LevelState) -> LevelState:
    """Go on, over all points, from the answer of `low_rank`, if as much work has been done as that takes."""
    alpha = np.empty_like(state.alpha)
    alpha[:, state.order] = state.alpha
    whole = state.m == problem.n
    better = improve_problem(problem, (problem.sign * alpha).ravel(), state.spent, feasible=whole)
    if better is None:
        return state
    n, (beta, r) = problem.n, better
    state.alpha[:], state.r[:] = np.abs(beta).reshape(alpha.shape)[:, state.order], r[state.order]
    state.known[:] = _beta(problem, state)
    state.path[:] = np.abs(state.known)
    return _measured(problem, state._replace(terms=n, m=n, scored=n, dual=-np.inf, still=0))


def _complete(problem: KernelLevels, state: LevelState) -> bool:
    """Whether all points are in, and all responses up to date."""
    return state.scored == problem.n and np.array_equal(_beta(problem, state), state.known)


def mixed_order(problem: KernelLevels, draws: np.ndarray) -> np.ndarray:
    """A random order in which every beginning has its share of either sign, and one point at least."""
    sign, place = problem.sign[0], np.empty(problem.n)
    for one in problem.signs:
        own = np.flatnonzero(sign == one)
        place[own[np.argsort(draws[own], kind="stable")]] = np.arange(len(own)) / max(1, len(own))
    return np.argsort(place, kind="stable")


def first_weights(problem: KernelLevels, rows: np.ndarray, r: np.ndarray | None = None) -> np.ndarray:
    """First α of some points: the same share for all, or as if each were alone, given what the others respond."""
    sign = problem.sign[:, rows]
    s = np.broadcast_to(problem.boxes[rows], sign.shape)
    if len(sign) == 2:  # the first of them, both copies: no response depends on it
        target = float(problem.shares.min()) * float(problem.boxes[rows].sum())
        return np.clip(target - (np.cumsum(s, axis=1) - s), 0.0, s)
    alpha = np.empty(sign.shape)
    for one, share in zip(problem.signs, np.minimum(problem.shares, 1.0).tolist(), strict=True):
        own = sign == one
        if r is None or not own.any():
            alpha[own] = share * s[own]
        else:
            diag = np.maximum(problem.gram.diag[rows], 1e-12)
            alpha[own] = _on_a_level((one * r)[own[0]], diag[own[0]], s[own], share * float(s[own].sum()))
    return alpha


def _on_a_level(m: np.ndarray, own: np.ndarray, s: np.ndarray, total: float) -> np.ndarray:
    """α that lift margins to a common level, each its own alone; the level found by bisection."""
    low, high = float(m.min()), float((m + s * own).max())
    for _ in range(100):
        theta = 0.5 * (low + high)
        enough = np.clip((theta - m) / own, 0.0, s).sum() >= total
        low, high = (low, theta) if enough else (theta, high)
    return summing_to(np.clip((high - m) / own, 0.0, s), s, total)


def completed(problem: KernelLevels, beta: np.ndarray) -> np.ndarray:
    """Feasible α near β: in their boxes, and of the right sums."""
    alpha = np.minimum(problem.weights_of(beta), problem.boxes)
    if len(alpha) == 2:  # both copies of a point alike, so that β stays
        room = problem.boxes - alpha.sum(axis=0)
        lack = max(0.0, problem.mass - float(alpha.sum(axis=1).max()))
        alpha += lack * room / (float(room.sum()) or 1.0)
    for sign in problem.signs:
        own = problem.sign == sign
        alpha[own] = summing_to(alpha[own], np.broadcast_to(problem.boxes, own.shape)[own], problem.mass)
    return alpha


def _worst(mask: np.ndarray, e: np.ndarray, k: int) -> np.ndarray:
    """Positions of at most k of a mask: the ones with the largest |e|."""
    found = np.flatnonzero(mask)
    return found if len(found) <= k else found[np.argsort(-np.abs(e[found]), kind="stable")[:k]]
