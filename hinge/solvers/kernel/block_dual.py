"""The block dual method: violators drawn as the Stochastic Batch Perceptron draws them, solved exactly."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from hinge.access import Gram
from hinge.access.gram.base import whole
from hinge.constraints import Constraints, count, number
from hinge.kernels import namespace
from hinge.monitoring import Status
from hinge.monitoring.interrupts import hurried
from hinge.problems import Expansion, KernelRegularized, sorted_bias
from hinge.problems.base import Cost, rounded_gap
from hinge.problems.svm.kernel_duality import UNIT, best_scale, width_of
from hinge.sampling import draw_units, key_of
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.conjugate_steps import pair_moves, single_steps
from hinge.solvers.kernel.low_rank import improve_problem, is_due
from hinge.solvers.kernel.stalling import STILL, gains
from hinge.types import Array

ROUGH = 0.2
"""Relative gap at which the first subset has taught what it can."""
UNIFORM = 0.1
"""Relative gap above which new points are drawn uniformly, below which the worst are taken."""
STEPS, FINE = 20, 0.05
"""Steps in a block, for each of its points; and the share of `inner` to which the first few of them go."""
AS_IT_IS = 1e-7
"""A gap from which on no other multiple of w is looked for: by as much β would leave its box."""
LARGE = 1024
"""Points of a working set, half as many where points are few: a round costs as much as some hundred of their rows."""
NEARLY_ALL, LARGEST = 0.9, 2 * LARGE
"""Where so many of the new points keep a weight, twice as many are taken next, up to the largest number or a quarter of
all: their rows will be needed, and rounds can be few."""
EARLY, IN_VAIN = 0.02, 4
"""Gap at which points that were left out are looked at, and the steps of each point that could be in vain otherwise."""
MOST_OF = 0.9
"""Share of the points from which on a block is solved where its rows lie, among all points: to copy it costs more."""
SHARE = 0.7
"""A gap on some of the points must be this much smaller than one asked for on all."""


class BlockState(NamedTuple):
    """β and responses r; `order` lists the points, of which the first `m` are worked on.

    Beyond those, r belongs to an earlier β, which is `past`. `path` is how far each β has moved since the responses
    were last summed anew, and `terms` how many additions an r has had since: what its rounding is relative to, beside
    what it was `known` to be off by then, when the gap was `sharp`. The first subset is `rough`; whether those left out
    later have been `seen`, early or by a certificate. `work` is the last working set, filled up with -1; the next has
    `fresh` new points if that is more than usual. `gap`, `b` and `dual` belong to the first m points, and the
    dual has made no progress for `still` rounds; `spent` is the arithmetic of all, in units of n. The answer is w times
    `scale`, of which `gap` and `b` are. For a kernel that is not positive the violation takes the place of the gap.
    """

    beta: Any
    r: Any
    order: np.ndarray
    m: int
    work: np.ndarray
    fresh: int
    past: np.ndarray
    path: np.ndarray
    terms: int
    known: np.ndarray
    sharp: float
    rough: bool
    seen: bool
    gap: float
    b: float
    scale: float
    dual: float
    still: int
    spent: float
    t: int
    draws: int
    key: np.uint64


@dataclass(frozen=True)
class BlockDual(Solver[KernelRegularized, BlockState]):
    """Dual ascent over blocks of points, on a growing subset, to a certified gap.

    .. math:: \\max_\\beta\\ \\sum_i y_i\\beta_i - \\tfrac12\\beta^\\top K\\beta, \\qquad
              0 \\le y_i\\beta_i \\le c_i/\\lambda,
              \\quad \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

    A round takes a working set of points: half of it new, half of it kept, and more of both where nearly all new
    points keep a weight; computes their kernel rows where the cache does not hold them; solves the problem of the
    block to a third of its violation; and updates all responses. New points are drawn uniformly among those that
    violate their margin, which is the distribution p of the SBP and spares the long plateau of the worst-violator
    rule, then by largest violation once the gap is small. When few points are left to find, the working set is all
    points strictly between their bounds, and what violates.

    The first rounds see a random subset. Its answer tells which other points come near the margin; the
    rest stay out of all rows, and are verified before an answer is given: the certificate is always that
    of the full problem.

    With the ε-insensitive loss the y are targets, :math:`|\\beta_i| \\le c_i/\\lambda`, and the objective loses
    :math:`\\varepsilon\\sum_i|\\beta_i|`. Its slope at β = 0 is another to either side, and zero counts as a bound.

    A round computes at most `block` new rows, twice that by default, and the rows of the working set that the cache
    has dropped; its block is solved by steps of O(size) arithmetic each. An exact answer with S support vectors costs
    at least S·n kernel values, and this method took 1.2 to 1.5 times that on the sets of the paper.

    Parameters
    ----------
    block : int, optional
        Points of a working set; by default 1024, half of that where points are few, 32 where kernel values are
        expensive.
    first : int
        The first subset is one in `first` points; 1 begins with all.
    margin : float
        Points whose margin on the first answer is below this are taken in; of regression, those whose residual
        is above (2 - margin)ε.
    inner : float
        A block is solved to this fraction of its largest violation.
    most : int
        Largest working set at the end.

    References
    ----------
    A. Cotter, S. Shalev-Shwartz, N. Srebro, *The Kernelized Stochastic Batch Perceptron*, 2012, section 4.3;
    R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working Set Selection Using Second Order Information*, 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import BlockDual
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0))
    >>> result = solve(problem, BlockDual(), stop=Stop(tol=1e-3, max_iter=10**5))
    >>> bool(result.certificate.gap <= 1e-3)
    True
    """

    block: int | None = None
    first: int = 8
    margin: float = 1.5
    inner: float = 0.3
    most: int = 12288

    paper = Paper(
        "The Kernelized Stochastic Batch Perceptron",
        "Cotter, Shalev-Shwartz, Srebro",
        2012,
        "section 4.3: dual decomposition",
    )
    tubes = True
    exact_estimate = True
    status_at_end = Status.STALLED
    constraints = Constraints(
        block=count(2) | None, first=count(), margin=number(above=1), inner=number(above=0, below=1), most=count(2)
    )
    solves, instead = KernelRegularized, "SBP"

    def init(self, problem: KernelRegularized, seed: int = 0, start: Expansion | None = None) -> BlockState:
        n, gram, key = problem.n, problem.gram, key_of(seed)
        order, m, draws = np.arange(n), n, 0
        rough = self.first > 1 and start is None and gram.narrows and n >= 16 * block_size(self, problem)
        if rough:
            order = np.argsort(draw_units(key, 0, n), kind="stable")
            draws = n
            aside = np.broadcast_to(problem.weight == 0, (n,))[order]
            order = np.concatenate(
                [order[aside], order[~aside]]
            )  # points of weight 0 stay in: their responses may be asked for
            m = min(n, int(aside.sum()) + -(-n // self.first))
        beta, r = np.zeros(n), np.zeros(n)
        if start is not None:
            beta = problem.dual_point(start)
            used = np.flatnonzero(beta)
            r = gram.host(gram.pass_over(used, beta[used], order))
        state = BlockState(
            gram.array(beta),
            gram.array(r),
            order,
            m,
            np.full(max(self.most, block_size(self, problem)), -1),
            0,
            beta.copy(),
            np.abs(beta),
            int(np.count_nonzero(beta)),
            np.zeros(n),
            np.inf,
            rough,
            False,
            np.inf,
            0.0,
            1.0,
            -np.inf,
            0,
            0.0,
            0,
            draws,
            key,
        )
        return _measured(problem, state)

    def advance(self, problem: KernelRegularized, state: BlockState, n_iter: int) -> BlockState:
        for _ in range(n_iter):
            if widens(problem, state):
                state = self.refresh(problem, state)._replace(seen=not state.rough)
            problem.gram.focus(state.order[: state.m])
            before, state = state.spent, _measured(problem, self._round(problem, state))
            if state.still >= STILL:
                state = state._replace(spent=np.inf)  # the last attempt, at any price
            if is_due(before, state.spent):
                state = self._improve(problem, state)
        return state

    def _improve(self, problem: KernelRegularized, state: BlockState) -> BlockState:
        """Go on from the answer of `low_rank`, if as much work has been done as that takes."""
        better = improve_problem(problem, problem.gram.host(state.beta), state.spent)
        if better is None:
            return state
        beta, r = better
        fresh = at_answer(problem, self, Expansion(beta, 0.0, r, None, int(np.count_nonzero(beta))))
        return fresh._replace(spent=state.spent, t=state.t, draws=state.draws, key=state.key)

    def _round(self, problem: KernelRegularized, state: BlockState) -> BlockState:
        """One working set: chosen, solved, and its change spread over all responses."""
        gram, xp = problem.gram, problem.gram.xp
        columns, y, beta, r = _inside(problem, state)
        lo, hi = _limits(problem, columns, y)
        grows, falls = beta < hi, beta > lo
        e = r - y
        above, below = _slopes(problem, beta, e)
        if problem.bias == "free":
            # The current bias, moved just enough that both sides have violators that can be paired.
            least, most = above[grows].min(), below[falls].max()
            if not least < most:  # no pair violates its conditions: optimal
                return state._replace(t=state.t + 1)
            inset = 0.05 * (most - least)
            e = e + min(max(state.b / state.scale, float(inset - most)), float(-least - inset))
            above, below = _slopes(problem, beta, e)
        up, down = grows & (above < 0), falls & (below > 0)
        size = min(block_size(self, problem), max(gram.capacity, gram.most_rows), state.m)
        most = min(self.most, gram.most_rows)
        before = state.work[state.work >= 0]
        seen = xp.zeros_like(up)
        seen[gram.array(gram.position[before])] = True
        wanted = max(2, size // 2 if len(before) else size, min(state.fresh, most // 2))
        worst = state.gap <= UNIFORM
        u = gram.array(draw_units(state.key, state.draws, wanted))
        half = wanted // 2
        fresh = gram.host(
            xp.concatenate(
                [_some(up & ~seen, above, half, u[:half], worst), _some(down & ~seen, below, half, u[half:], worst)]
            )
        )
        off = e if above is below else xp.where(up, above, xp.where(down, below, 0.0 * e))
        if int(((up | down) & (beta == 0)).sum()) < size or worst:
            most_kept = most - len(fresh)
            between = (grows & falls & (above == below)) | ((up | down) & seen)
            between[gram.array(fresh)] = False
            kept = gram.host(_some(between, off, most_kept, u, True))
        else:
            kept = gram.position[before[: max(size, 2 * wanted) - len(fresh)]]
        at = np.concatenate([fresh, kept])
        sort = np.argsort(at)
        at, new = at[sort], sort < len(fresh)
        work = state.order[at]
        rows = gram.rows(work)
        at = gram.array(at)
        mine, pull = gram.host(beta[at]).copy(), gram.host(e[at]).copy()
        limits = gram.host(lo[at]), gram.host(hi[at])
        violation = float(np.abs(gram.host(off[at])[gram.host((up | down)[at])]).max(initial=0.0))
        held = rows.in_place() if len(work) >= MOST_OF * state.m and problem.bias == "free" else None
        if held is None:
            made = self._solve(problem, rows.block(), np.arange(len(work)), mine, pull, *limits, violation)
        else:  # all other points stay where they are
            every, lines = beta.copy(), np.full(state.m, -1)
            low, high = beta.copy(), beta.copy()
            low[at], high[at], lines[at] = *limits, held[1]
            made = self._solve(problem, held[0], lines, every, e, low, high, violation)
            mine = every[at]
        change, stay = gram.array(mine) - beta[at], np.count_nonzero(mine[new]) >= NEARLY_ALL * len(fresh)
        state.path[work] += np.abs(gram.host(change))
        state.r[columns] = r + rows.combine(change)
        state.beta[gram.array(work)] = gram.array(mine)
        state.work[:] = -1
        # New points first: they are kept longest.
        state.work[: len(work)] = np.concatenate([work[new], work[~new]])
        if self.block is None and not gram.by_value:
            state = state._replace(fresh=min(2 * wanted, LARGEST, problem.n // 4) if stay else wanted // 2)
        spent = state.spent + len(work) * (1.0 + made / problem.n)
        return state._replace(t=state.t + 1, draws=state.draws + wanted, terms=state.terms + len(work) + 1, spent=spent)

    def _solve(
        self,
        problem: KernelRegularized,
        K: np.ndarray,
        lines: np.ndarray,
        beta: np.ndarray,
        e: np.ndarray,
        lo: np.ndarray,
        hi: np.ndarray,
        violation: float,
    ) -> int:
        """Solve the problem of a block, the values of whose points are in these lines of K; the steps made.

        To have the block costs as much as a step for each of its points or more, so that many may be made to get far;
        only where these do not suffice is it left at `inner` of its violation. To spread its change costs as much as a
        step for each point that there is, which is the most, and `STEPS` for each in the block.
        """
        n, least, epsilon = len(beta), 1e-12 * problem.spread, problem.epsilon
        most = STEPS * n + len(problem.gram.columns)
        fine, tol = (max(share * violation, least) for share in (FINE * self.inner, self.inner))
        if problem.bias == "free":
            width, convex = epsilon or 0.0, problem.certifiable
            return int(pair_moves(K, lines, beta, e, lo, hi, fine, n, tol, n + most, width, n, convex))
        made = int(single_steps(K, beta, e, lo, hi, fine, n, width_of(epsilon)))
        return made + int(single_steps(K, beta, e, lo, hi, tol, most, width_of(epsilon))) if made == n else made

    # --- answers --------------------------------------------------------------------------

    def solution(self, problem: KernelRegularized, state: BlockState) -> Expansion:
        """The best multiple of w."""
        beta, r, s = problem.gram.host(state.beta), _all_responses(problem, state), state.scale
        known = s * state.known if state.sharp < np.inf else None
        if s != 1.0:
            return Expansion(s * beta, state.b, s * r, s * state.path, state.terms + problem.n + 2, known)
        return Expansion(beta, state.b, r, state.path, state.terms + problem.n, known)

    def refresh(self, problem: KernelRegularized, state: BlockState) -> BlockState:
        """Add the points outside the subset that are near the margin; the second time, only those nearer to it.

        Where the last certificate has summed responses more exactly, go on from these.
        """
        state = _sharper(problem, state)
        if state.m == problem.n:
            return state
        r = _all_responses(problem, state)
        state.r[:] = problem.gram.array(r)
        state.past[:] = problem.gram.host(state.beta)
        near = self.margin if state.rough else (1.0 + self.margin) / 2
        out = state.order[state.m :]
        f = state.scale * r[out] + state.b
        if problem.epsilon is None:
            margin = problem.y[out] * f
            inside, lacks = margin < near, margin < 1.0
        else:
            margin = np.abs(problem.target[out] - f)
            inside, lacks = margin >= (2.0 - near) * problem.epsilon, margin > problem.epsilon
        if not state.rough and not lacks.any():  # then none of them adds to the gap
            return state
        order = np.concatenate([state.order[: state.m], out[inside], out[~inside]])
        state = state._replace(order=order, m=state.m + int(inside.sum()), rough=False, seen=not state.rough)
        return _measured(problem, state)

    # --- what the driver asks -------------------------------------------------------------

    def estimate(self, problem: KernelRegularized, state: BlockState) -> float:
        return np.inf if state.rough else state.gap / (1.0 if state.m == problem.n else SHARE)

    def pause(self, problem: KernelRegularized, state: BlockState) -> int:
        return 0 if state.still >= STILL else 1

    def cost(self, problem: KernelRegularized, state: BlockState | None = None) -> Cost:
        n, size = problem.n, block_size(self, problem)
        used, m, begun, wider = 0, n, False, False
        if state is not None:
            size = max(size, state.fresh)
            used, m, begun = int((state.beta != 0).sum()), state.m, bool((state.work >= 0).any())
            wider = widens(problem, state)
        if problem.gram.by_value:  # no value is computed twice: new points alone cost
            new = size // 2 if begun else size
            rows = new * (n if wider else m)
        else:
            new = size + min(self.most, used)
            together = min(new, n, problem.gram.most_rows)
            rows = new * n + (together**2 if together > problem.gram.capacity else 0)  # a block apart from the rows
        values = rows + (used + new) * (n - m)
        if problem.gram.weights is not None:
            values += 4 * n  # the responses of an attempt by `low_rank`, and of what it is compared with
        return Cost(kernel_values=values, answer=used * (n - m), a_pass=max(1, n // max(1, size // 2)))

    def restart(self, problem: KernelRegularized, state: BlockState) -> BlockState:
        """At the best multiple of the answer, without computing its responses again."""
        answer = problem.best_multiple(self.solution(problem, state))
        return at_answer(problem, self, answer)._replace(key=state.key)


def block_size(solver: BlockDual, problem: KernelRegularized) -> int:
    """Points of a block: as given, or half of them, within bounds."""
    n = problem.n
    usual = 32 if problem.gram.by_value else max(32, min(LARGE, n // 2, max(LARGE // 2, n // 4)))
    return usual if solver.block is None else solver.block


def at_answer(problem: KernelRegularized, solver: BlockDual, answer: Expansion, seed: int = 0) -> BlockState:
    """The state of a run that continues from a feasible answer with its responses, which are not computed again.

    They must come from the same Gram: an answer of an earlier run for another λ, or a multiple of one.
    """
    gram, path = problem.gram, np.abs(answer.beta)
    if answer.path is not None:
        path = np.maximum(path, answer.path) if answer.known is None else answer.path.copy()
    return _measured(
        problem,
        solver.init(problem, seed)._replace(
            beta=gram.array(answer.beta.copy()),
            r=gram.array(answer.responses.copy()),
            order=np.arange(problem.n),
            m=problem.n,
            past=answer.beta.copy(),
            path=path,
            terms=int(answer.terms),
            known=np.zeros(problem.n) if answer.known is None else answer.known.copy(),
            sharp=np.inf if answer.known is None else 1.0,
            rough=False,
            dual=-np.inf,
            still=0,
        ),
    )


def with_weights(problem: KernelRegularized, state: BlockState, more: int, beta: np.ndarray) -> BlockState:
    """The state with the next points of its order in the subset, at coefficients of `beta` that are not zero.

    The responses of all that are inside are sums that tell how exact they are. `path` counts what follows.
    """
    gram, new = cast(Gram, problem.gram), state.order[state.m : state.m + more]
    every = np.concatenate([new, state.order[: state.m]])
    r, off = gram.again(every, beta[every], every, more)
    state.r[every] += r
    state.known[every] += off + 2.0 * UNIT * np.abs(state.r[every])
    state.beta[new] = beta[new]
    return state._replace(m=len(every))


def first_measured(problem: KernelRegularized, state: BlockState) -> BlockState:
    """The state for its first round, once all of `with_weights` are inside."""
    out = state.order[state.m :]
    state.known[out] = problem.gram.error(np.abs(problem.gram.host(state.beta)), state.m + 1)[out]
    return _measured(problem, state._replace(rough=state.m < problem.n, sharp=1.0, dual=-np.inf, still=0))


def respond(problem: KernelRegularized, state: BlockState, new: np.ndarray) -> None:
    """Give points outside the subset their responses to the present β, in place."""
    gram, used = cast(Gram, problem.gram), np.flatnonzero(state.beta)
    state.r[new], state.known[new] = gram.again(used, state.beta[used], new, len(used))


def widens(problem: KernelRegularized, state: BlockState) -> bool:
    """Whether points outside the subset are due to be looked at, before a certificate asks for it.

    The first subset has soon taught what it can. A second subset pays where it costs less than the steps that
    would be in vain if points were missing: the last rounds take several for each point between its bounds.
    """
    if state.rough:
        return state.gap <= ROUGH
    if state.seen or state.m == problem.n or state.gap > EARLY or problem.gram.by_value:
        return False
    size = int(np.count_nonzero(state.work >= 0))
    return int((state.beta != 0).sum()) * (problem.n - state.m) <= IN_VAIN * size**2


def _all_responses(problem: KernelRegularized, state: BlockState) -> np.ndarray:
    """The responses of all points. The state stays as it is, so that evaluated runs are the same as others."""
    gram = problem.gram
    beta, r = gram.host(state.beta), gram.host(state.r)
    if state.m < problem.n and not hurried():
        moved, out, r = np.flatnonzero(beta != state.past), state.order[state.m :], r.copy()
        r[out] += gram.host(gram.pass_over(moved, (beta - state.past)[moved], out))
    return r


def _sharper(problem: KernelRegularized, state: BlockState) -> BlockState:
    """The state with the responses that the last certificate has summed anew.

    Kernel values in single precision then serve for what β still moves: their rounding counts relative to that.
    Where this did not halve the gap, they do not serve.
    """
    again, s = problem.again, state.scale
    if again is None or problem.gram.on_device or not np.array_equal(again.beta, s * state.beta):
        return state
    r = again.r / s
    off = again.off / s * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * np.abs(r)
    fresh = _measured(
        problem,
        state._replace(r=r, past=state.beta.copy(), path=0.0 * state.path, terms=0, known=off, dual=-np.inf, still=0),
    )
    return fresh._replace(sharp=fresh.gap) if fresh.gap < 0.5 * state.sharp else state


def _measured(problem: KernelRegularized, state: BlockState) -> BlockState:
    """The state with the bias and the relative gap of its first m points."""
    columns, y, beta, r = _inside(problem, state)
    c = problem.share()
    c = c if isinstance(c, float) else problem.gram.array(c)[columns]
    epsilon = problem.epsilon
    b = float(sorted_bias(r, y, c, epsilon)) if problem.bias == "free" else 0.0
    sq, linear = float(beta @ r), float((y * beta).sum())
    if epsilon is None:
        loss = float((c * (1.0 - y * (r + b)).clip(0.0)).sum())
    else:
        loss = float((c * (abs(y - r - b) - epsilon).clip(0.0)).sum())
        linear -= epsilon * float(abs(beta).sum())
    primal, dual = 0.5 * problem.lam * sq + loss, problem.lam * (linear - 0.5 * sq)
    convex = problem.certifiable and sq >= 0
    gap, scale = 0.0, 1.0  # of targets that lie all within the tube there is no more to say
    if not convex:
        gap = _violation(problem, columns, y, beta, r)
    elif epsilon is None or primal != dual:
        free = problem.bias == "free"
        if primal - dual > AS_IT_IS * max(dual, problem.unit):
            s, its, less = best_scale(problem.lam, sq, r, y, c, b, primal - dual, epsilon, free)
            if less < primal:
                scale, b, primal = s, its, less
        gap = rounded_gap(primal, dual, max(dual, problem.unit))
    share = np.count_nonzero(state.work >= 0) / state.m
    missing = min(primal, problem.spread) - dual if problem.certifiable else 0.0
    moves = gains(dual, state.dual, abs(dual), missing, share)
    return state._replace(b=b, scale=scale, gap=gap, dual=dual, still=0 if moves else state.still + 1)


def _violation(problem: KernelRegularized, columns: Array | slice, y: Array, beta: Array, r: Array) -> float:
    """By how much the worst pair, or point without a bias, violates its conditions."""
    lo, hi = _limits(problem, columns, y)
    grows, falls = beta < hi, beta > lo
    above, below = _slopes(problem, beta, r - y)
    low = float(above[grows].min()) if grows.any() else 0.0
    high = float(below[falls].max()) if falls.any() else 0.0
    return max(0.0, high - low if problem.bias == "free" else max(high, -low))


def _limits(problem: KernelRegularized, columns: Array | slice, y: Array) -> tuple[Any, Any]:
    """The least and the largest β of some points, where they are computed with."""
    box = problem.gram.constant(problem.boxes)[columns]
    if problem.epsilon is not None:
        return -box, box
    where = problem.gram.xp.where
    return where(y > 0, 0.0 * box, -box), where(y > 0, box, 0.0 * box)


def _slopes(problem: KernelRegularized, beta: Array, e: Array) -> tuple[Any, Any]:
    """The slopes of eβ + ε|β| to the right and to the left of β: twice the same array for the hinge."""
    epsilon, where = problem.epsilon, problem.gram.xp.where
    if epsilon is None:
        return e, e
    return where(beta >= 0, e + epsilon, e - epsilon), where(beta > 0, e + epsilon, e - epsilon)


def _inside(problem: KernelRegularized, state: BlockState) -> tuple[Any, Any, Any, Any]:
    """Where the points worked on are, and their y or targets, β and r; without a copy where they are all."""
    gram = problem.gram
    in_place = state.m == problem.n and bool((np.diff(state.order) == 1).all())
    columns = slice(None) if in_place else gram.array(state.order[: state.m])
    return columns, gram.constant(problem.aims)[columns], state.beta[columns], state.r[columns]


def _some(mask: Array, e: Array, k: int, u: Array, worst: bool) -> Array:
    """Positions of at most k of a mask: the ones with the largest |e|, or drawn with the uniforms u."""
    xp = namespace(mask)
    found = xp.where(mask)[0]
    if len(found) <= k:
        return found
    if worst:
        return found[xp.argsort(-abs(e[found]))[:k]]
    return found[xp.unique(whole(u[:k] * len(found)))]  # drawn twice, taken once
