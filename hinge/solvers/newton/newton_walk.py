"""The way of Newton's method from pass to pass: where to ask for sums, and where to go by them.

A pass is asked for all that a step needs at the place where the last step should lead, and for the objective at other
lengths of it: where that place is good enough, and it nearly always is, the next step is known after the same pass.
"""

from typing import NamedTuple

import numpy as np

from hinge.compiled import Scalars, scalars
from hinge.problems import Certificate
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import Loss
from hinge.problems.svm.penalized import primal_value, relative_gap
from hinge.solvers.newton.hessians import by_features, penalty_of
from hinge.solvers.newton.near_rows import small_answer
from hinge.solvers.newton.newton_sums import Question, Sums, dual_bound

STEPS = np.array([0.0, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0])
"""Lengths at which a pass knows the objective, of the one that it is made for."""
TRIAL = 4  # the place of that one
ENOUGH = 0.5  # share of the best decrease among them that is good enough
SHRINK = 0.2  # by what μ falls from one pass to the next
LEAVE = 1.0  # it does where Newton promises a decrease below this share of the smoothing error
NARROW, WIDE = 0.1, 2.5  # initial μ at the solution of a sample, and at w = 0, in units of the spread
SHARP = 1e-6  # μ, in units of the spread, at which the smoothed loss is the loss
NOTHING = 1e-13  # a decrease, in units of the objective, that rounding may have made
ROUGH = 0.1  # H is made of a sample of rows as long as a pass reduces the gap to this share
STALLED = 12  # passes without a thousandth of progress that end a run


class Outline(NamedTuple):
    """A problem without its rows; `keep` is the share of these that may be held in memory between passes."""

    d: int
    lam: float
    loss: Loss
    bias: Bias
    bias_scale: float
    keep: float = 0.0


class Walk(NamedTuple):
    """The point, the next step, and the best certified answer.

    ============== ===============================================================================
    `x`, `p`       the point and the direction; the bias is the last entry
    `best`         the best certified answer
    `squares`      Σ s x² of each feature, once known; empty if the loss is smooth
    `place.tau`    length of the step that is tried
    `place.line`   width of the smoothing for which p was made
    `place.mu`     width of the smoothing in the next pass
    `place.primal` objective of `best`
    `place.b`      bias of `best`
    `place.bound`  largest lower bound on the optimum
    `place.unit`   unit of the gap
    `place.least`  least gap so far
    `place.still`  passes in which it has not improved
    `place.sharp`  width at which the loss is hardly smoothed
    `place.share`  share of the rows that the next pass copies
    `place.thin`   whether H may be made of a sample: until a step was too long, or gained little
    ============== ===============================================================================
    """

    x: np.ndarray
    p: np.ndarray
    best: np.ndarray
    squares: np.ndarray
    place: Scalars


def initial_walk(outline: Outline, spread: float, start: np.ndarray | None = None) -> Walk:
    """The walk at a start, or at 0 if there is none; `spread` is the typical residual at w = 0."""
    d = outline.d
    mu = 0.0 if outline.loss.curvature else spread * (WIDE if start is None else NARROW)
    x = np.zeros(d + 1) if start is None else start.copy()
    numbers = scalars(
        tau=1.0,
        line=mu,
        mu=mu,
        primal=np.inf,
        b=0.0,
        bound=-np.inf,
        unit=0.0,
        least=np.inf,
        still=0,
        sharp=SHARP * spread,
        share=0.0,
        thin=True,
    )
    return Walk(x, np.zeros(d + 1), np.zeros(d), np.zeros(d if mu else 0), numbers)


def next_query(walk: Walk) -> Question:
    """What the next pass has to sum up."""
    x, p, place = walk.x, walk.p, walk.place
    tau, widths = float(place.tau), (float(place.line), float(place.mu))
    return Question(x + tau * p, p, (STEPS - 1.0) * tau, *widths, float(place.share), walk.squares, bool(place.thin))


def certificate_of(walk: Walk) -> Certificate:
    """The certificate of the best answer."""
    place = walk.place
    primal, bound = float(place.primal), float(place.bound)
    if primal == np.inf:
        return Certificate.unknown(float(walk.x[-1]))
    return Certificate(primal, bound, relative_gap(primal, bound, float(place.unit)), float(place.b))


def update_walk(walk: Walk, outline: Outline, sums: Sums) -> None:
    """Use the sums of a pass: certify its point, and move there with a new step, or try another length.

    A Newton step that is far too long was made of too few rows: along features that no row on the parabola has, only
    λ bounds it. Then the next passes copy the rows near their kink, and steps lead to the solution of the small
    problem that :mod:`hinge.solvers.newton.near_rows` makes of them.
    """
    x, p, place = walk.x, walk.p, walk.place
    question = next_query(walk)
    _certify(walk, outline, question.u, sums)
    if len(walk.squares) and not walk.squares.any():
        walk.squares[:] = sums.squares
    if p.any():
        tau = _length(question, penalty_of(outline), sums.along) * float(place.tau)
        if tau != place.tau:
            place.tau, place.share = tau, outline.keep if len(walk.squares) else 0.0
            place.thin = False
            return
    x[:] = question.u
    place.tau = 1.0
    if question.share > 0.0:
        gap, terms = certificate_of(walk).gap, int(sums.costs.terms)
        to, bound = small_answer(outline, outline.loss, sums.rows, x, gap, terms)
        p[:], place.bound, place.line = to - x, max(place.bound, bound), place.sharp
    else:
        _newton_step(walk, outline, sums)


def _newton_step(walk: Walk, outline: Outline, sums: Sums) -> None:
    """Set the Newton step from x for the width of the pass; reduce the width if the step promises little."""
    x, p, place, penalty = walk.x, walk.p, walk.place, penalty_of(outline)
    g = penalty * x - sums.z.sum(axis=0)
    if outline.bias == "none":
        g[-1] = 0.0
    p[:] = -by_features(outline, sums.H, g, 1.0 / (place.mu + outline.loss.curvature))
    place.line = place.mu
    paid = penalty > 0.0
    if 0.5 * float((g[paid] ** 2 / penalty[paid]).sum()) <= LEAVE * sums.costs.gap:
        place.mu *= SHRINK


def _length(question: Question, penalty: np.ndarray, along: np.ndarray) -> float:
    """The length to try next, of the one that was tried; 1 if that was good enough."""
    points = question.u + question.offsets[:, None] * question.p
    F = 0.5 * (points**2) @ penalty + along
    at = int(F.argmin())
    if F[0] - F[TRIAL] >= ENOUGH * (F[0] - F[at]) - NOTHING * abs(F[0]):
        return 1.0
    if at in (0, len(F) - 1):
        return float(STEPS[-1] if at else 0.25 * STEPS[1])
    # The minimum of the parabola through the best and its neighbours, between which the minimum lies.
    (a, b, c), (fa, fb, fc) = STEPS[at - 1 : at + 2], F[at - 1 : at + 2]
    left, right = (b - a) * (fb - fc), (b - c) * (fb - fa)
    low = float(b - 0.5 * ((b - a) * left - (b - c) * right) / (left - right))
    return low if abs(low - 1.0) > 0.05 else float(b)


def _certify(walk: Walk, outline: Outline, u: np.ndarray, sums: Sums) -> None:
    """The objective at u at most, and a bound; what is better than before is kept."""
    place, w, b = walk.place, u[:-1], float(u[-1])
    paid, constant_sq = 0.5 * float(w @ w), 0.0
    if outline.bias == "penalized":
        paid, constant_sq = paid + 0.5 * (b / outline.bias_scale) ** 2, outline.bias_scale**2
    primal = primal_value(outline.lam, paid, len(w), float(sums.costs.loss), int(sums.costs.terms))
    place.bound = max(place.bound, dual_bound(sums, outline.lam, outline.loss, constant_sq, outline.bias == "free"))
    if primal < place.primal:
        walk.best[:] = w
        place.primal, place.b = primal, b
    place.unit = sums.costs.unit
    gap = certificate_of(walk).gap
    place.thin &= gap <= ROUGH * place.least
    better = gap < 0.999 * place.least
    place.still = 0 if better else place.still + 1
    place.least = min(gap, place.least)
