"""SDCA's first pass over rows that arrive in pieces: every row is seen once."""

from typing import NamedTuple

import numpy as np

from hinge.problems import Regularized, Solution
from hinge.solvers.ascent.sdca import SDCA, stopping_target


class Stream(NamedTuple):
    """What has been learned from a stream of rows.

    v = Σ sᵢαᵢyᵢxᵢ, u = Σ sᵢαᵢyᵢ, κ and Λ as in `SDCA`, the weight of the rows seen, the average of
    the iterates (w, b) with weights proportional to the weight seen, with the sum of these weights; and β, which is
    not zero where a level is free.
    """

    v: np.ndarray
    u: float
    kappa: float
    Lam: float
    seen: float
    w: np.ndarray
    b: float
    averaged: float
    beta: float = 0.0


def begin(d: int) -> Stream:
    """The state before any row."""
    return Stream(np.zeros(d), 0.0, 0.0, 0.0, 0.0, np.zeros(d), 0.0, 0.0)


def resume(w: np.ndarray, b: float, piece: Regularized, C: float | None, mass: float) -> Stream:
    """A stream that has learned (w, b) from rows of the given total weight before `piece` comes."""
    Lam = piece.lam * mass if C is None else 1.0 / C
    kappa = _kappa(piece)
    if piece.pull:
        u = piece.pull * mass
        return Stream(Lam * w, u, kappa, Lam, mass, w.copy(), b, mass**2 / 2, b - kappa * u / Lam)
    u = Lam * b / kappa if kappa > 0 else 0.0
    return Stream(Lam * w, u, kappa, Lam, mass, w.copy(), b, mass**2 / 2)


def learn(stream: Stream, piece: Regularized, C: float | None, seed: int) -> Stream:
    """Take the rows of `piece` into account, each once.

    Every row takes the exact dual step of the problem of all rows seen so far, as in the first pass of
    `SDCA`: with λ fixed, :math:`\\Lambda = \\lambda\\sum_{j\\le t}s_j` grows with the rows; with C fixed,
    Λ = 1/C. All rows seen keep a feasible dual, of which v and u are all that need be kept. The model
    is the average of the iterates with weights t, updated so rarely that it costs no more than reading
    the rows.

    Notes
    -----
    *Differs* from a fit: a free bias is the weight of a constant feature of the rows' typical norm. Of a problem whose
    bias costs ν besides (`OneClass`), β moves with the rows, by the share of its step in `SDCA` that they have in all
    rows seen: together with what Λ takes from u, b takes the stochastic gradient step
    :math:`b \\leftarrow b + \\frac{\\kappa s_t}{\\Lambda_t}(\\alpha_t - \\nu)`.
    """
    solver = SDCA()
    state = solver.init(piece, seed)
    kappa = stream.kappa or _kappa(piece)
    state.v[:] = stream.v
    dual = state.dual
    pull = kappa * piece.pull / piece.lam
    dual.u, dual.beta, dual.kappa = stream.u, stream.beta if stream.seen else -pull, kappa
    seen = stream.seen + piece.total
    full = 1.0 / C if C is not None else piece.lam * seen
    dual.Lam = full if C is not None else stream.Lam
    dual.growing = C is None
    goal = stopping_target(piece)._replace(Lam=full)
    w, b, averaged = stream.w.copy(), stream.b, stream.averaged
    left = rows = solver.pause(piece, state)
    step = max(16, piece.d * piece.n // max(1, piece.matrix.n_cells))
    while left > 0:
        n = min(step, left)
        solver.run(piece, state, n, goal, moves=False)
        left -= n
        t = stream.seen + piece.total * (1 - left / rows)
        averaged += n / rows * piece.total * t
        # Weights so small that their squares vanish are averaged as if they were the first.
        share = n / rows * piece.total * t / averaged if averaged > 0.0 else 1.0
        Lam = dual.Lam
        if piece.pull:
            dual.beta += n / rows * piece.total / t * (kappa * float(dual.u) / Lam - pull)
        w += share * (state.v / Lam - w)
        b += share * (float(dual.beta) + kappa * float(dual.u) / Lam - b)
    return Stream(state.v, float(dual.u), kappa, full, seen, w, b, averaged, float(dual.beta))


def solution(stream: Stream) -> Solution:
    """The model so far."""
    return Solution(stream.w, stream.b)


def _kappa(piece: Regularized) -> float:
    if piece.bias == "free":
        return piece.matrix.typical_sq_norm() or 1.0
    return piece.constant_sq
