"""CoCoA+ over parts that lie with workers: the client has w, and leaves α and the rows where they are.

A round sends v to the parts, lets each of them ascend on its own rows for some passes, and adds what they changed in
the order of their numbers,

.. math:: v \\leftarrow v + \\gamma\\Delta, \\qquad \\Delta = \\sum_k\\Delta_k, \\qquad
          \\gamma = \\min\\Big(1,\\; \\frac{\\Lambda r - \\langle v, \\Delta\\rangle}{\\|\\Delta\\|^2}\\Big),

where r is what the dual's sum over rows gained. γ, which is 1 in nearly all rounds, maximises a bound on the dual along
the way: whatever σ' was, the dual does not fall. σ' follows the parts as in `CoCoA`, towards
:math:`\\rho = \\|\\Delta\\|^2/\\sum_k\\|\\Delta_k\\|^2`.

The bias is no coordinate of v: parts could not agree on it, each pushing b back to where its own rows want it. It is a
multiplier β with a proximal term, as in `SDCA`, whose κ grows while b goes one way, and shrinks when it turns; where b
is penalised it has its own cost besides: with a constant feature of square c, and κ' for κ c/(c + κ),

.. math:: b = \\beta + \\frac{\\kappa'u}\\Lambda, \\qquad u = \\sum_i s_i\\alpha_iy_i, \\qquad
          \\beta \\leftarrow \\frac{c}{c + \\kappa}\\,b \\quad\\text{after each round},

at whose fixed point b = cu/Λ, or u = 0 where b is free, c = ∞.

The gap that the parts met on their way says when a certificate is worth its two passes. It is the
certificate of `Regularized`, summed from the parts.

A worker's share of a round is dual ascent on the rows of a part, CoCoA+'s subproblem, for all classes.
The part begins with all parts' v and changes it by :math:`\\Delta_k`. After each pass it continues from
:math:`v + \\sigma'\\Delta_k`, as if the others had done :math:`\\sigma' - 1` times what it did itself, so that any
number of passes is one ascent on the subproblem of :mod:`hinge.solvers.ascent.local_ascent`.

A round is a function of values: the part, its α, a message. Who loses the result computes it again, bit for bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from hinge.dask.cluster import ClientLoop, ClusterFit, bytes_of, same
from hinge.dask.parts import ClusterTask, Part, problem_of
from hinge.monitoring import Status
from hinge.problems import Certificate, Regularized, Solution
from hinge.problems.base import EPS
from hinge.problems.svm.examples import balance
from hinge.problems.svm.penalized import primal_value, relative_gap
from hinge.problems.svm.regularized import DualShare, dual_value
from hinge.sampling import key_of
from hinge.solvers.ascent.active_rows import first_epoch, list_rows, rows_a_block, unmarked
from hinge.solvers.ascent.cocoa import FORGET
from hinge.solvers.ascent.local_ascent import AscentRows, Share, end_epoch, local_ascent
from hinge.solvers.ascent.sdca import first_dual

MOST_PASSES = 1 << 10
"""Passes of a round, at most: each has a stream of random numbers of its own."""
ROUND_CELLS = 1 << 24
"""Cells that a part visits in a round, at least: some ten times what it costs to send a round out and back."""
KEPT_ROUNDS = 8
"""Rounds after which α comes to the client: a lost worker costs no more than these again."""
STALLED = 3
"""Rounds without any rise of the dual after which there is none to come."""

# --- a worker's side -----------------------------------------------------------------------------


class Message(NamedTuple):
    """What all parts begin a round with; arrays have a row for each task that is still open.

    `step` is by how much of the last round's change of α was applied, and `at` the places of the tasks among all.
    """

    round: int
    seed: int
    passes: int
    tasks: tuple[ClusterTask, ...]
    at: np.ndarray
    step: np.ndarray
    v: np.ndarray
    u: np.ndarray
    beta: np.ndarray
    kappa: np.ndarray
    sigma: np.ndarray


class Kept(NamedTuple):
    """α of a part before and after its last round, a row a task: how much of the change counts is decided later."""

    before: np.ndarray
    after: np.ndarray


class Report(NamedTuple):
    """What a part, or some parts together, changed: sums, with an entry or a row for each open task.

    Δv and Δu; `apart`, the sum of :math:`\\|\\Delta_k\\|^2 + \\kappa\\Delta u_k^2`; the dual's sum over rows,
    before, and by how much it rose; the gap as the first pass met it; the masses of α where αy is positive and
    negative; cells read.
    """

    dv: np.ndarray
    du: np.ndarray
    apart: np.ndarray
    conjugates: np.ndarray
    rise: np.ndarray
    gap: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    cells: np.ndarray


class Ascended(NamedTuple):
    """What a round leaves: α stays with the part, the report goes to the client."""

    kept: Kept
    report: Report


def first_kept(part: Part, tasks: int) -> Kept:
    """α = 0."""
    return Kept(*(np.zeros((tasks, part.n)) for _ in range(2)))


def apply_step(kept: Kept, step: np.ndarray) -> np.ndarray:
    """α after a step of each task; within its bounds, as both ends are."""
    alpha = kept.after.copy()
    for t in np.flatnonzero(step != 1.0):
        before, after = kept.before[t], kept.after[t]
        alpha[t] = np.clip(before + step[t] * (after - before), np.minimum(before, after), np.maximum(before, after))
    return alpha


def kept_from(alpha: np.ndarray) -> Kept:
    """α as the client has kept it."""
    return Kept(alpha, alpha)


def ascend(part: Part, kept: Kept, message: Message) -> Ascended:
    """A round of a part: some passes over its rows for each open task. It reads them once a pass, or fewer of them."""
    before = apply_step(kept, message.step)
    after, reports = before.copy(), []
    for place, (task, t) in enumerate(zip(message.tasks, message.at, strict=True)):
        key = key_of(message.seed, part.number * len(before) + int(t))
        reports.append(_ascend(part, task, after[t], message, place, key))
    columns = zip(*reports, strict=True)
    return Ascended(Kept(before, after), Report(*(np.concatenate(column) for column in columns)))


def add_reports(*reports: Report) -> Report:
    """What several parts changed together, added in their order."""
    total = reports[0]
    for report in reports[1:]:
        total = Report(*(a + b for a, b in zip(total, report, strict=True)))
    return total


def _ascend(part: Part, task: ClusterTask, alpha: np.ndarray, message: Message, place: int, key: np.uint64) -> Report:
    """One task: α is written in place."""
    v, u, sigma = message.v[place], float(message.u[place]), float(message.sigma[place])
    kappa, problem = float(message.kappa[place]), problem_of(part, task)
    if problem is None:
        return Report(np.zeros_like(v)[None], *np.zeros((8, 1)))
    rows, active, epoch = AscentRows.from_problem(problem), np.zeros(part.n, np.uint32), first_epoch()
    list_rows(epoch, active, problem.weight)
    sq = np.require(part.sq, requirements="W")  # filled by the first round; a copy where it was sent here
    conjugates, listed, group = _conjugates(problem, alpha), int(epoch.active), rows_a_block(problem.matrix)
    dual, dv, du, gap = first_dual(), np.zeros_like(v), 0.0, np.inf
    dual.beta, dual.kappa, dual.Lam = message.beta[place], kappa, task.Lam
    for turn in range(message.passes):
        number, every = message.round * MOST_PASSES + turn, np.zeros(1, np.uint32)
        dual.u = u + sigma * du
        share = Share(active, listed, every, 0, 1, listed, group, key, number)
        change = local_ascent(rows, share, alpha, sq, v + sigma * dv, dual, sigma)
        dv += change.dv
        du += change.du
        gap = change.gap if turn == 0 else gap
        dual.highest, dual.lowest = change.highest, change.lowest
        # Rows that were marked leave the list, as in `SDCA`; the bias does not move.
        end_epoch(dual, first_epoch(), active, task.Lam, False, True)
        listed = int(unmarked(active, listed))
        if not listed:
            break
    positive, negative = problem.class_mass(alpha)
    rise, apart = _conjugates(problem, alpha) - conjugates, dv @ dv + kappa * du**2
    numbers = du, apart, conjugates, rise, gap, positive, negative, problem.reads
    return Report(dv[None], *(np.array([number], np.float64) for number in numbers))


def _conjugates(problem: Regularized, alpha: np.ndarray) -> float:
    """Σ s(tα - ℓ*(α))."""
    linear, _, square = problem.conjugates(alpha)
    return (linear - 0.5 * problem.loss.curvature * square) * problem.total


class CertificateQuery(NamedTuple):
    """Which answers are to be certified: w and b of some tasks, at the places `at` among all.

    `step` belongs to the last round. α of the side of the sign `side` is scaled by `ratio`, for a free bias.
    """

    tasks: tuple[ClusterTask, ...]
    at: np.ndarray
    step: np.ndarray
    w: np.ndarray
    b: np.ndarray
    side: np.ndarray
    ratio: np.ndarray


class TaskShare(NamedTuple):
    """Shares of one task: its loss at most, its dual, its unit, and the terms added up one after the other."""

    loss: float
    dual: DualShare
    unit: float
    terms: int


class CertifiedPart(NamedTuple):
    """Shares of all tasks, with the responses ⟨w, x⟩ of the rows, which stay with the part; and cells read."""

    shares: tuple[TaskShare, ...]
    responses: tuple[np.ndarray, ...]
    cells: int


def certify_part(part: Part, kept: Kept, question: CertificateQuery) -> CertifiedPart:
    """The shares of a part. It reads its rows twice; rows with α = 0 once."""
    alpha = apply_step(kept, question.step)
    found = [
        _certify_task(part, task, alpha[t], question, k)
        for k, (task, t) in enumerate(zip(question.tasks, question.at, strict=True))
    ]
    shares, responses, cells = zip(*found, strict=True)
    return CertifiedPart(shares, responses, sum(cells))


def losses(part: Part, found: CertifiedPart, question: CertificateQuery, biases: np.ndarray) -> np.ndarray:
    """Shares of the losses, at most, at other biases: a row for each task. It reads no row."""
    out = np.zeros(biases.shape)
    for k, task in enumerate(question.tasks):
        problem = problem_of(part, task)
        if problem is not None:
            for at, b in enumerate(biases[k].tolist()):
                error = problem.response_error(question.w[k], b)
                out[k, at] = problem.mean_loss_from(found.responses[k], b, error)
    return out


def _certify_task(
    part: Part, task: ClusterTask, alpha: np.ndarray, question: CertificateQuery, k: int
) -> tuple[TaskShare, np.ndarray, int]:
    """One task."""
    w, b, problem = question.w[k], float(question.b[k]), problem_of(part, task)
    if problem is None:
        return together([], len(w)), np.zeros(0), 0
    if task.free:
        alpha = problem.side_scaled(alpha, int(question.side[k]), float(question.ratio[k]))
    r = problem.responses(w)  # which measures the rows, too
    loss = problem.mean_loss_from(r, b, problem.response_error(w, b))
    dual = problem.dual_share(alpha, problem.combination(alpha), task.parts + 1)
    return TaskShare(loss, dual, problem.unit, problem.terms), r if task.free else r[:0], problem.reads


def together(shares: Sequence[TaskShare], d: int) -> TaskShare:
    """The shares of several parts, added up in their order."""
    duals = [share.dual for share in shares]
    z = sum((dual.z for dual in duals), np.zeros(d))
    sums = [float(sum(column)) for column in list(zip(*duals, strict=True))[1:-1]] if duals else [0.0] * 6
    dual = DualShare(z, *sums, *[max((dual.largest for dual in duals), default=0.0)])
    terms = max((share.terms for share in shares), default=0)
    return TaskShare(
        sum(share.loss for share in shares), dual, sum(share.unit for share in shares), terms + len(shares)
    )


def certificate(share: TaskShare, task: ClusterTask, w: np.ndarray, b: float) -> Certificate:
    """P at most, D at least, and the relative gap between them, of all rows."""
    paid, constant_sq = 0.5 * float(w @ w), 0.0
    if task.bias == "penalized":
        paid, constant_sq = paid + 0.5 * (b / task.bias_scale) ** 2, task.bias_scale**2
    primal = primal_value(task.lam, paid, len(w), share.loss, share.terms)
    dual = dual_value(share.dual, task.lam, task.loss, constant_sq, share.terms)
    return Certificate(primal, dual, relative_gap(primal, dual, share.unit), b)


# --- the client's side ---------------------------------------------------------------------------


@dataclass
class Place:
    """Where the ascent of a task is: v, u, the multiplier β of a free bias, σ'.

    `gap` is the relative gap as the last round met it at its beginning, `trust` what the last certificate was, over
    what was predicted; `least` is a bound on σ' that was learned; `flat` counts rounds without a rise.
    """

    task: ClusterTask
    v: np.ndarray
    sigma: float
    u: float = 0.0
    kappa: float = 0.0
    beta: float = 0.0
    b: float = 0.0
    moved: float = 0.0
    step: float = 1.0
    least: float = 1.0
    masses: tuple[float, float] = (0.0, 0.0)
    gap: float = np.inf
    foreseen: float = np.inf
    trust: float = 1.0
    flat: int = 0
    certificate: Certificate = field(default_factory=Certificate.unknown)
    over: bool = False

    @property
    def answer(self) -> Solution:
        """w and b, the bias of the certificate where there is one."""
        return Solution(self.v / self.task.Lam, self.b if self.certificate.is_unknown else self.certificate.b)

    def move(self, report: Report, k: int, spread: float) -> None:
        """Take a round: entry k of what all parts changed."""
        Lam, kappa = self.task.Lam, self.felt
        dv, du = report.dv[k], float(report.du[k])
        sq = float(dv @ dv) + kappa * du**2
        # Besides the norms the dual is concave: between both ends it lies above its chord.
        slope = float(report.rise[k]) - (float(self.v @ dv) + kappa * self.u * du) / Lam - self.beta * du
        self.step = 1.0 if slope * Lam >= sq else max(0.0, slope * Lam / sq)
        self._foresee(float(report.gap[k]), float(report.conjugates[k]), spread)
        rise = self.step * (slope - 0.5 * self.step * sq / Lam)
        self.v = self.v + self.step * dv
        self.u += self.step * du
        still = self._turn() and rise <= 4 * EPS * abs(float(report.conjugates[k]))
        self.flat = self.flat + 1 if still else 0
        self._follow(max(1.0, sq / float(report.apart[k])) if report.apart[k] > 0.0 else 1.0)
        self.masses = float(report.positive[k]), float(report.negative[k])
        self.certificate = Certificate.unknown()

    @property
    def felt(self) -> float:
        """κ' = κ c/(c + κ), or κ of a free bias."""
        return self.kappa * self.hold

    @property
    def hold(self) -> float:
        """c/(c + κ), or 1 of a free bias."""
        c = self.task.bias_scale**2
        return c / (c + self.kappa) if self.task.bias == "penalized" else 1.0

    def _turn(self, *, faster: float = 2.0, slower: float = 4.0, small: float = 1e-6) -> bool:
        """The bias after a round, and the multiplier and κ for the next; whether it does not move any more.

        κ is multiplied by `faster` while the bias moves in one direction, and divided by `slower` when it turns; moves
        below `small` do not count.
        """
        before, self.b = self.b, self.beta + self.felt * self.u / self.task.Lam
        moved, self.moved = self.moved, self.b - before
        if abs(self.moved) > small * (1.0 + abs(self.b)) and moved:
            self.kappa *= faster if self.moved * moved > 0.0 else 1.0 / slower
        self.beta = self.hold * self.b
        return abs(self.moved) <= EPS * (1.0 + abs(self.b))

    def _follow(self, needed: float) -> None:
        """σ' goes towards what was needed; where it was too small, it stays above twice that from then on."""
        if needed > self.sigma * (1.0 + 1e-9):
            self.least = min(2.0 * self.sigma, float(self.task.parts))
        self.sigma = max(needed, FORGET * self.sigma + (1.0 - FORGET) * needed, self.least)

    def _foresee(self, gap: float, conjugates: float, spread: float) -> None:
        """The gap that this round should leave, if it did as the last one, from what it met at its beginning."""
        Lam, c = self.task.Lam, self.task.bias_scale**2
        dual = conjugates - float(self.v @ self.v) / (2 * Lam)
        if self.task.free:
            gap += abs(self.u) * spread  # what it costs to make u = 0
        elif self.task.bias == "penalized":  # b is not yet what α makes of it
            dual -= c * self.u**2 / (2 * Lam)
            gap += Lam / (2 * c) * (self.beta + (self.felt - c) * self.u / Lam) ** 2
        self.trust = max(1.0, 0.5 * self.trust)
        before, self.gap = self.gap, gap / dual if dual > 0.0 else np.inf
        factor = self.gap / before if 0.0 < before < np.inf else 1.0
        self.foreseen = self.gap * min(1.0, factor)


class Rounds(ClientLoop):
    """The rounds of one fit.

    Parameters
    ----------
    fit : ClusterFit
    cells : int
        Of the largest part.
    centre : float
        A bias to begin with.
    seed : int
    """

    def __init__(self, fit: ClusterFit, cells: int, centre: float, seed: int) -> None:
        super().__init__(fit)
        count, self.seed, self.since = len(fit.parts), seed, 0
        self.places = [Place(task, np.zeros(fit.d), float(count), kappa=task.kappa) for task in fit.tasks]
        for place in self.places:
            place.b = place.beta = centre if place.task.free else 0.0
        self.kept = self.cluster.map("begin", first_kept, fit.parts, shared=(len(fit.tasks),))
        # Fewer passes waste the way to the parts, more passes ignore what the other parts have changed.
        self.round_passes = int(np.clip(-(-ROUND_CELLS // max(1, cells)), 2, 16))

    def _turn(self, ends: float) -> float:
        limit, sigma = self.stop.max_iter, max(place.sigma for place in self._open)
        self._round(self.round_passes if limit is None else min(self.round_passes, limit - self.passes), ends)
        self._certify([place for place in self._open if self._is_promising(place)], self.ends)
        return sigma

    @property
    def _answers(self) -> list[tuple[Solution, Certificate]]:
        return [(place.answer, place.certificate) for place in self.places]

    @property
    def _ended(self) -> Status | None:
        if not self._open:
            return Status.CONVERGED
        return Status.STALLED if all(place.flat >= STALLED for place in self._open) else None

    def _last_word(self) -> None:
        self._certify([place for place in self.places if place.certificate.is_unknown], np.inf)

    @property
    def _open(self) -> list[Place]:
        return [place for place in self.places if not place.over]

    def _round(self, passes: int, ends: float) -> None:
        """All parts in parallel, all open tasks in each."""
        places = self._open
        at = np.array([k for k, place in enumerate(self.places) if not place.over])
        step = np.array([place.step for place in self.places])
        names = ("v", "u", "beta", "felt", "sigma")
        columns = (np.array([getattr(place, name) for place in places]) for name in names)
        tasks = tuple(place.task for place in places)
        message = Message(self.round, self.seed, passes, tasks, at, step, *columns)
        sent = self.cluster.submit("message", same, message)
        ascended = self.cluster.map("ascend", ascend, self.parts, self.kept, shared=(sent,))
        reports = self.cluster.map("report", attrgetter("report"), ascended)
        report = self._sum_over_parts(message, reports, add_reports, ends, ascended)
        for place in self.places:
            place.step = 1.0
        for k, place in enumerate(places):
            place.move(report, k, self.spread)
        self.kept = self.cluster.map("alpha", attrgetter("kept"), ascended)
        self.round, self.passes, self.reads = self.round + 1, self.passes + passes, self.reads + int(report.cells.sum())
        self.since += 1
        if self.since == KEPT_ROUNDS:
            self._keep()

    def _keep(self) -> None:
        """Bring α to the client, and go on from there: what came before is forgotten, and need not be done again."""
        step = np.array([place.step for place in self.places])
        alphas = self.cluster.gather(self.cluster.map("taken", apply_step, self.kept, shared=(step,)))
        self.kept = self.cluster.map("kept", kept_from, alphas)
        for place in self.places:
            place.step = 1.0
        self.moved += 2 * sum(alpha.nbytes for alpha in alphas)
        self.since = 0

    def _is_promising(self, place: Place) -> bool:
        """Whether a certificate may be good enough; now and then one is made in any case."""
        due = self.round >= 32 and self.round & (self.round - 1) == 0
        return self.stop.tol > 0 and (due or place.flat >= STALLED or place.foreseen * place.trust <= self.stop.tol)

    def _certify(self, places: Sequence[Place], ends: float) -> None:
        """Certificates of the answers of some tasks; those that are good enough are over."""
        if not places:
            return
        sides, ratios = zip(*(balance(*place.masses) for place in places), strict=True)
        b = np.array([place.b for place in places])
        question = CertificateQuery(
            tuple(place.task for place in places),
            np.array([k for k, place in enumerate(self.places) if any(place is other for other in places)]),
            np.array([place.step for place in self.places]),
            np.array([place.v / place.task.Lam for place in places]),
            b,
            np.array(sides),
            np.array(ratios),
        )
        sent = self.cluster.submit("question", same, question)
        asked = self.cluster.map("certify", certify_part, self.parts, self.kept, shared=(sent,))
        found = self.cluster.gather(self.cluster.map("share", attrgetter("shares", "cells"), asked), ends)
        self.reads += sum(cells for _, cells in found)
        self.moved += bytes_of(question) + sum(bytes_of(part) for part in found)
        totals = [
            together(of_task, len(w))
            for of_task, w in zip(zip(*(part for part, _ in found), strict=True), question.w, strict=True)
        ]
        if places[0].task.free:
            totals, b = self._best_biases(question, asked, sent, totals, ends)
        for place, total, w, bias in zip(places, totals, question.w, b, strict=True):
            place.certificate = certificate(total, place.task, w, float(bias))
            place.over = place.certificate.gap <= self.stop.tol and self.stop.tol > 0
            if 0.0 < place.foreseen < np.inf:
                place.trust = place.certificate.gap / place.foreseen

    def _best_biases(
        self, question: CertificateQuery, asked: Sequence[Any], sent: Any, totals: list[TaskShare], ends: float
    ) -> tuple[list[TaskShare], np.ndarray]:
        """The losses at better biases than the multipliers give: ever closer to the best of some that are tried.

        Any bias has a certificate; the loss is convex in it, so that the best lies beside the best of those tried.
        """
        count = 16  # candidates on either side of the best so far
        best, width, tasks = question.b, np.maximum(self.spread, np.abs(question.b)), np.arange(len(question.b))
        powers = 2.0 ** -np.arange(count)
        near = np.concatenate([-powers, [0.0], powers[::-1]])
        for _ in range(3):
            tried = best[:, None] + width[:, None] * near
            found = self.cluster.gather(self.cluster.map("bias", losses, self.parts, asked, shared=(sent, tried)), ends)
            self.moved += sum(part.nbytes for part in found) + tried.nbytes
            cost = sum(found[1:], found[0])
            at = np.where(cost.min(axis=1) < cost[:, count], cost.argmin(axis=1), count)  # of equals, the one so far
            best, loss = tried[tasks, at], cost[tasks, at]
            width = width * (near[np.minimum(at + 1, len(near) - 1)] - near[np.maximum(at - 1, 0)])
            near = np.linspace(-1.0, 1.0, 2 * count + 1)
        return [total._replace(loss=float(value)) for total, value in zip(totals, loss, strict=True)], best


def first_kappa(lam: float, typical: float, spread: float) -> float:
    """κ to begin with: between what moves b as its own rows answer, some λ, and a share of the rows' squared norms."""
    return float(np.sqrt(10.0 * lam * spread * max(0.03 * typical, 10.0 * lam * spread)))
