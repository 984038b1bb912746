"""Small kernel problems on their whole Gram matrix: pairs of points, and Newton steps on their face."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.monitoring import Status
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.duality import duality_gap, stationary_bias
from hinge.solvers.base import Paper, Solver
from hinge.solvers.two_point import pair_steps, single_steps

MOST = 1024
"""Points up to which the whole matrix is worked on; above, `BlockDual` spares what it can of it."""
MOST_FREE = 512
"""Points between their bounds up to which a Newton step is worth its system of equations."""
RIDGE = 1e-11
"""Share of the largest value that is added to the diagonal of such a system: it may be singular."""
FIRST = 0.1
"""Violation to which the pairs are solved first."""
SHARPER = 0.3
"""Share of it to which they are solved after each look that was not good enough."""
FINEST = 1e-13
STILL = 16
"""Rounds without a gain after which there is none to be had in floating point."""


class ActiveState(NamedTuple):
    """β, its pulls e = Kβ - y, the violation to solve to, the gap and the dual when last computed.

    The dual has been `still` for so many rounds.
    """

    beta: np.ndarray
    e: np.ndarray
    level: float
    gap: float
    b: float
    dual: float
    still: int
    t: int


@dataclass(frozen=True)
class ActiveSet(Solver[KernelRegularized, ActiveState]):
    """Dual ascent by pairs of points, in turn with Newton steps over all that are between their bounds.

    .. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta - y^\\top\\beta, \\qquad lo \\le \\beta \\le hi,
              \\quad \\textstyle\\sum_i\\beta_i = 0 \\text{ with a free bias}

    A round makes at most 2n + 50 pair steps (`two_point`). If these do not end it, the points F strictly
    between their bounds move together, by the Δ that solves

    .. math:: K_{FF}\\Delta = -e_F + \\mu\\mathbf 1, \\qquad \\textstyle\\sum\\Delta = 0,

    as far as the box allows; a point that meets its bound leaves F, and so on until a whole step was made.
    Pairs find out which points are at which bound, and are slow to place the others where C is large or K
    nearly singular, as for unscaled features; Newton steps place those at once.

    A round costs O(n) arithmetic for each pair step and O(|F|³ + n|F|) for each Newton step. All n² kernel
    values are computed, once.

    References
    ----------
    R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working Set Selection Using Second Order Information*, 2005;
    K. Scheinberg, *An Efficient Implementation of an Active Set Method for SVMs*, 2006.
    """

    paper = Paper("Working Set Selection Using Second Order Information for Training Support Vector Machines",
                  "Fan, Chen, Lin", 2005, "WSS 3, on the whole matrix")  # fmt: skip
    exact_estimate = True
    finished = Status.STALLED

    def rejects(self, problem: Any) -> str | None:
        if not isinstance(problem, KernelRegularized):
            return f"ActiveSet solves KernelRegularized problems, not {type(problem).__name__}; use SBP."
        if problem.n > 4 * MOST:
            return (
                f"ActiveSet works on the whole Gram matrix, and {problem.n} points are many; use BlockDual."
            )
        return None

    def init(self, problem: KernelRegularized, seed: int = 0, start: Expansion | None = None) -> ActiveState:
        beta, r = np.zeros((2, problem.n))
        if start is not None:
            beta = problem.feasible(start.beta)
            used = np.flatnonzero(beta)
            r = problem.gram.host(problem.gram.pass_over(used, beta[used], np.arange(problem.n)))
        return ActiveState(beta, r - problem.y, FIRST, np.inf, 0.0, -np.inf, 0, 0)

    def advance(self, problem: KernelRegularized, state: ActiveState, n_iter: int) -> ActiveState:
        if n_iter == 0:
            return state
        K, lo, hi = problem.gram.whole(), *problem.limits
        beta, e, level, gap, b, dual, still, t = state
        free, certifiable = problem.bias == "free", problem.certifiable
        boxes = np.ascontiguousarray(problem.boxes)
        zeros, own = np.zeros(problem.n), np.sqrt(np.maximum(np.diagonal(K), 0.0)).copy()
        for _ in range(n_iter):
            _round(K, beta, e, lo, hi, level, free, certifiable)
            level = max(SHARPER * level, FINEST)
            b, gap, value, _ = _measured(
                K, problem.y, boxes, problem.lam, beta, e, lo, hi, own, zeros, free, certifiable
            )
            still = 0 if value > dual + 1e-14 * abs(value) else still + 1
            dual, t = max(value, dual), t + 1
        return ActiveState(beta, e, level, gap, b, dual, still, t)

    def solution(self, problem: KernelRegularized, state: ActiveState) -> Expansion:
        return Expansion(state.beta.copy(), state.b, state.e + problem.y, None, problem.n)

    def certificate(self, problem: KernelRegularized, state: ActiveState, answer: Any) -> Any:
        """Of responses that are summed anew, so that their rounding is that of one sum."""
        if state.t > 0:
            r = answer.beta @ problem.gram.whole().astype(np.float64, copy=False)
            answer = answer._replace(responses=r)
        return problem.certificate(answer)

    def estimate(self, problem: KernelRegularized, state: ActiveState) -> float:
        return state.gap

    def pause(self, problem: KernelRegularized, state: ActiveState) -> int:
        return 0 if state.still >= STILL and state.level <= FINEST else 1

    def per_pass(self, problem: KernelRegularized) -> int:
        return 1

    def max_reads(self, problem: KernelRegularized) -> int:
        return 0

    def max_evals(self, problem: KernelRegularized, state: ActiveState) -> int:
        every = problem.n**2
        if problem.gram.capacity < problem.n:
            return 2 * every
        return every if problem.gram.evals < problem.n * (problem.n + 1) // 2 else 0  # or all are there


class Together(NamedTuple):
    """Many problems over one Gram matrix: problem k has the points ``rows[cuts[k]:cuts[k + 1]]``.

    Attributes
    ----------
    K : ndarray of shape (n, n)
    A, B : ndarray of shape (k, n)
        Errors of its values, as `Gram.errors` gives them.
    rows, cuts : ndarray of int64
    y, box, beta, r : ndarray of shape (len(rows),)
        Labels, largest |β|, and what is found: coefficients and responses.
    lam : ndarray
        λ of each problem.
    found : ndarray of shape (n_problems, 8)
        Gap or violation, its rounding, objective, bias; and where it stands: rounds made, the violation to
        solve to, the dual, and for how many rounds that has been still. A gap of inf: yet to be solved.
    """

    K: np.ndarray
    A: np.ndarray
    B: np.ndarray
    rows: np.ndarray
    cuts: np.ndarray
    y: np.ndarray
    box: np.ndarray
    beta: np.ndarray
    r: np.ndarray
    lam: np.ndarray
    found: np.ndarray


def unsolved(n_problems: int) -> np.ndarray:
    """`found` of problems that are yet to be solved."""
    return np.tile([np.inf, 0.0, np.nan, 0.0, 0.0, FIRST, -np.inf, 0.0], (n_problems, 1))


@compiled
def solve_together(these, first, tol, free, certifiable, work):
    """Solve problems from `first` on, until about so much `work` is done; the number of the next one."""
    done = 0.0
    for k in range(first, len(these.cuts) - 1):
        at, end = these.cuts[k], these.cuts[k + 1]
        n, rows = end - at, these.rows[at:end]
        y, box, beta = these.y[at:end], these.box[at:end], these.beta[at:end]
        K, own, lo, hi = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
        for i in range(n):
            own[i] = np.sqrt(max(these.K[rows[i], rows[i]], 0.0))
            lo[i], hi[i] = (0.0, box[i]) if y[i] > 0 else (-box[i], 0.0)
            for j in range(n):
                K[i, j] = these.K[rows[i], rows[j]]
        e, off = -y.astype(np.float64), np.zeros(n)
        _add_rows(K, beta, e)
        found, finished = these.found[k], False
        while not finished and done < work:
            done += n * (1.0 + _round(K, beta, e, lo, hi, found[5], free, certifiable))
            found[5] = max(SHARPER * found[5], FINEST)
            found[4] += 1.0
            as_is, ended = np.inf, False
            for look in range(2):
                b, gap, value, objective = _measured(
                    K, y, box, these.lam[k], beta, e, lo, hi, own, off, free, certifiable
                )
                if look == 0:
                    found[7] = 0.0 if value > found[6] + 1e-14 * abs(value) else found[7] + 1.0
                    found[6] = max(value, found[6])
                    as_is, ended = gap, found[7] >= STILL and found[5] <= FINEST
                    if gap > tol and not ended:
                        break
                    # The sums anew, so that their rounding is that of one sum; then all rounding is counted.
                    for i in range(n):
                        e[i] = -y[i]
                    _add_rows(K, beta, e)
                    _errors(these.A, these.B, rows, beta, own, off)
                else:
                    finished = gap <= tol or ended
                    found[0], found[1], found[2], found[3] = (
                        gap if finished else np.inf,
                        gap - as_is,
                        objective,
                        b,
                    )
                    off[:] = 0.0
        these.r[at:end] = e + y
        if done >= work:
            return k + finished
    return len(these.cuts) - 1


@compiled
def _add_rows(K, beta, e):
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


@compiled
def _measured(K, y, box, lam, beta, e, lo, hi, own, off, free, certifiable):
    """The bias, the relative gap or, where there is none, the violation; the dual; and the primal."""
    n = len(beta)
    r = e + y
    if certifiable:
        b = _best_bias(r, y, box) if free else 0.0
        primal, _, most, dual = duality_gap(y, box, lam, beta, r, off, own, b, free, np.empty(n))
        return b, most / dual if dual > 0.0 else np.inf, dual, primal
    least, largest, dual, primal = np.inf, -np.inf, 0.0, 0.0
    b = stationary_bias(beta, e, lo, hi) if free else 0.0
    for i in range(n):
        if beta[i] < hi[i]:
            least = min(least, e[i])
        if beta[i] > lo[i]:
            largest = max(largest, e[i])
        dual += lam * beta[i] * (y[i] - 0.5 * r[i])
        primal += lam * (0.5 * beta[i] * r[i] + box[i] * max(0.0, 1.0 - y[i] * (r[i] + b)))
    violation = largest - least if free else max(largest, -least)
    return b, max(violation, 0.0), dual, primal


@compiled
def _best_bias(r, y, weight):
    """The order statistic of the kinks y - r at which the positive mass is used up."""
    n = len(y)
    kinks, mass = y - r, weight.copy()
    target = total = 0.0
    for i in range(n):
        total += weight[i]
        if y[i] > 0:
            target += weight[i]
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:  # Shell's sort, which takes a tenth of the compilation of NumPy's
        for i in range(gap, n):
            kink, own, j = kinks[i], mass[i], i
            while j >= gap and kinks[j - gap] > kink:
                kinks[j], mass[j] = kinks[j - gap], mass[j - gap]
                j -= gap
            kinks[j], mass[j] = kink, own
        gap //= 3
    below = 0.0
    for k in range(n):
        below += mass[k]
        if below >= target * (1.0 - 1e-12):
            flat = k + 1 < n and abs(below - target) <= 1e-12 * total
            return 0.5 * (kinks[k] + kinks[k + 1]) if flat else kinks[k]
    return kinks[n - 1]


@compiled
def _round(K, beta, e, lo, hi, level, free, convex):
    """Pair steps and, where these do not end it, Newton steps; the arithmetic done, in units of n.

    Where the problem is not convex there are pair steps only: they lead where LIBSVM's do.
    """
    n = len(beta)
    most = 2 * n + 50
    if free:
        steps = pair_steps(K, beta, e, lo, hi, level, most)
    else:
        steps = single_steps(K, beta, e, lo, hi, level, most)
    work = 3.0 * steps
    if steps == most and convex:
        work += _newton(K, beta, e, lo, hi, free)
    return work


@compiled
def _newton(K, beta, e, lo, hi, free):
    """Whole steps on the face of the points between their bounds, which shrinks until one fits in the box."""
    n = len(beta)
    F = np.empty(n, np.int64)
    m = 0
    largest = 0.0
    for i in range(n):
        largest = max(largest, K[i, i])
        if lo[i] < beta[i] < hi[i]:
            F[m] = i
            m += 1
    work, allowed = 0.0, 100.0 * n
    if m > MOST_FREE:
        return work
    while m > free and work < allowed:
        work += m * m * m / 6.0 / n + 2.0 * m
        L, p, q = np.empty((m, m)), np.empty(m), np.ones(m)
        for i in range(m):
            p[i] = -e[F[i]]
            for j in range(i + 1):
                L[i, j] = K[F[i], F[j]]
            L[i, i] += RIDGE * largest
        if not _factor(L, largest):
            return work
        _solve(L, p)
        if free:
            _solve(L, q)
            mu = p.sum() / q.sum()
            p -= mu * q
        slope = 0.0
        t, blocked = 1.0, -1
        for i in range(m):
            k = F[i]
            slope += e[k] * p[i]
            bound = hi[k] - beta[k] if p[i] > 0.0 else beta[k] - lo[k]
            if abs(p[i]) * t > bound:
                t, blocked = bound / abs(p[i]), i
        if not slope < 0.0:
            return work
        for i in range(m):
            k = F[i]
            d = t * p[i]
            new = beta[k] + d
            if i == blocked:
                new = hi[k] if p[i] > 0.0 else lo[k]
            new = min(max(new, lo[k]), hi[k])
            d = new - beta[k]
            beta[k] = new
            row = K[k]
            for j in range(n):
                e[j] += d * row[j]
        if free:
            _balance(K, beta, e, lo, hi, F, m)
        if blocked < 0:
            return work
        kept = 0
        for i in range(m):
            if lo[F[i]] < beta[F[i]] < hi[F[i]]:
                F[kept] = F[i]
                kept += 1
        m = kept
    return work


@compiled
def _balance(K, beta, e, lo, hi, F, m):
    """Give back to one point what rounding took from the sum of all: a long step loses digits of it."""
    total, room, at = 0.0, 0.0, -1
    for k in range(len(beta)):
        total += beta[k]
    for i in range(m):
        k = F[i]
        if min(hi[k] - beta[k], beta[k] - lo[k]) > room:
            room, at = min(hi[k] - beta[k], beta[k] - lo[k]), k
    if at >= 0 and abs(total) < room:
        beta[at] -= total
        row = K[at]
        for j in range(len(e)):
            e[j] -= total * row[j]


@compiled(fastmath={"contract", "reassoc"})
def _factor(L, largest):
    """Cholesky in place, by rows of the lower triangle; False where a pivot is not positive."""
    for i in range(len(L)):
        for j in range(i + 1):
            s = L[i, j]
            a, b = L[i, :j], L[j, :j]
            for k in range(j):
                s -= a[k] * b[k]
            if i > j:
                L[i, j] = s / L[j, j]
            elif s > 1e-3 * RIDGE * largest:
                L[i, i] = np.sqrt(s)
            else:
                return False
    return True


@compiled
def _solve(L, x):
    m = len(x)
    for i in range(m):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(m - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
