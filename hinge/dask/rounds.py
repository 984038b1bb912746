"""CoCoA+ over parts that lie with workers: the client's side, which has w and leaves α and the rows where they are.

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
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from hinge.dask import local_rounds
from hinge.dask.cluster import ClientLoop, ClusterFit, bytes_of, same
from hinge.dask.local_rounds import CertificateQuery, Message, Report
from hinge.dask.parts import ClusterTask
from hinge.monitoring import Status
from hinge.problems import Certificate, Solution
from hinge.problems.base import EPS
from hinge.problems.svm.examples import balance
from hinge.solvers.ascent.cocoa import FORGET
from hinge.solvers.ascent.sdca import SGD_PAYS

ROUND_CELLS = 1 << 24
"""Cells that a part visits in a round, at least: some ten times what it costs to send a round out and back."""
KEPT_ROUNDS = 8
"""Rounds after which α comes to the client: a lost worker costs no more than these again."""
STALLED = 3
"""Rounds without any rise of the dual after which there is none to come."""


@dataclass
class Place:
    """Where the ascent of a task is: v, u, the multiplier β of a free bias, σ', whether Λ still grows.

    `gap` is the relative gap as the last round met it at its beginning, `trust` what the last certificate was, over
    what was predicted; `least` is a bound on σ' that was learned; `flat` counts rounds without a rise.
    """

    task: ClusterTask
    v: np.ndarray
    sigma: float
    growing: bool
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
        self.growing, self.certificate = False, Certificate.unknown()

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
        self.places = [
            Place(task, np.zeros(fit.d), float(count), task.Lam >= SGD_PAYS * count, kappa=task.kappa)
            for task in fit.tasks
        ]
        for place in self.places:
            place.b = place.beta = centre if place.task.free else 0.0
        self.kept = [fit.cluster.submit("begin", local_rounds.first_kept, part, len(fit.tasks)) for part in fit.parts]
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
        names = ("v", "u", "beta", "felt", "sigma", "growing")
        columns = (np.array([getattr(place, name) for place in places]) for name in names)
        tasks = tuple(place.task for place in places)
        message = Message(self.round, self.seed, passes, tasks, at, step, *columns)
        sent = self.cluster.submit("message", same, message)
        ascended = [
            self.cluster.submit("ascend", local_rounds.ascend, part, kept, sent)
            for part, kept in zip(self.parts, self.kept, strict=True)
        ]
        reports = [self.cluster.submit("report", attrgetter("report"), job) for job in ascended]
        report = self._sum_over_parts(message, reports, local_rounds.add_reports, ends, ascended)
        for place in self.places:
            place.step = 1.0
        for k, place in enumerate(places):
            place.move(report, k, self.spread)
        self.kept = [self.cluster.submit("alpha", attrgetter("kept"), job) for job in ascended]
        self.round, self.passes, self.reads = self.round + 1, self.passes + passes, self.reads + int(report.cells.sum())
        self.since += 1
        if self.since == KEPT_ROUNDS:
            self._keep()

    def _keep(self) -> None:
        """Bring α to the client, and go on from there: what came before is forgotten, and need not be done again."""
        step = np.array([place.step for place in self.places])
        alphas = self.cluster.gather(
            [self.cluster.submit("taken", local_rounds.apply_step, kept, step) for kept in self.kept]
        )
        self.kept = [self.cluster.submit("kept", local_rounds.kept_from, alpha) for alpha in alphas]
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
        sides = [balance(*place.masses) for place in places]
        b = [place.b for place in places]
        question = CertificateQuery(
            tuple(place.task for place in places),
            np.array([k for k, place in enumerate(self.places) if any(place is other for other in places)]),
            np.array([place.step for place in self.places]),
            np.array([place.v / place.task.Lam for place in places]),
            np.array(b),
            np.array([side for side, _ in sides]),
            np.array([ratio for _, ratio in sides]),
        )
        sent = self.cluster.submit("question", same, question)
        asked = [
            self.cluster.submit("certify", local_rounds.certify_part, part, kept, sent)
            for part, kept in zip(self.parts, self.kept, strict=True)
        ]
        told = attrgetter("shares", "cells")
        found = self.cluster.gather([self.cluster.submit("share", told, job) for job in asked], ends)
        self.reads += sum(cells for _, cells in found)
        self.moved += bytes_of(question) + sum(bytes_of(part) for part in found)
        totals = [
            local_rounds.together(of_task, len(w))
            for of_task, w in zip(zip(*(part for part, _ in found), strict=True), question.w, strict=True)
        ]
        if places[0].task.free:
            totals, b = self._best_biases(question, asked, sent, totals, ends)
        for place, total, w, bias in zip(places, totals, question.w, b, strict=True):
            place.certificate = local_rounds.certificate(total, place.task, w, float(bias))
            place.over = place.certificate.gap <= self.stop.tol and self.stop.tol > 0
            if 0.0 < place.foreseen < np.inf:
                place.trust = place.certificate.gap / place.foreseen

    def _best_biases(
        self,
        question: CertificateQuery,
        asked: Sequence[Any],
        sent: Any,
        totals: list[local_rounds.TaskShare],
        ends: float,
    ) -> tuple[list[local_rounds.TaskShare], list[float]]:
        """The losses at better biases than the multipliers give: ever closer to the best of some that are tried.

        Any bias has a certificate; the loss is convex in it, so that the best lies beside the best of those tried.
        """
        count = 16  # candidates on either side of the best so far
        best, loss = question.b.copy(), np.array([total.loss for total in totals])
        width = np.maximum(self.spread, np.abs(best))
        away = np.concatenate([-(2.0 ** -np.arange(count)), 2.0 ** -np.arange(count)])
        for _ in range(3):
            tried = best[:, None] + width[:, None] * away
            found = self.cluster.gather(
                [
                    self.cluster.submit("bias", local_rounds.losses, part, job, sent, tried)
                    for part, job in zip(self.parts, asked, strict=True)
                ],
                ends,
            )
            self.moved += sum(part.nbytes for part in found) + tried.nbytes
            cost = sum(found[1:], found[0])
            for k, at in enumerate(cost.argmin(axis=1)):
                offset = float(away[at]) if cost[k, at] < loss[k] else 0.0
                near = np.sort(np.append(away, 0.0))
                place = int(np.searchsorted(near, offset))
                reach = near[min(place + 1, len(near) - 1)] - near[max(place - 1, 0)]
                if offset:
                    best[k], loss[k] = tried[k, at], cost[k, at]
                width[k] *= reach
            away = np.concatenate([-np.arange(1, count + 1), np.arange(1, count + 1)]) / count
        return [total._replace(loss=float(value)) for total, value in zip(totals, loss, strict=True)], best.tolist()


def first_kappa(lam: float, typical: float, spread: float) -> float:
    """κ to begin with: between what moves b as its own rows answer, some λ, and a share of the rows' squared norms."""
    return float(np.sqrt(10.0 * lam * spread * max(0.03 * typical, 10.0 * lam * spread)))
