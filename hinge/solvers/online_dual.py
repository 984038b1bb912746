"""SDCA's first pass over rows that arrive in pieces: every row is seen once."""

from typing import NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.problems import Regularized, Solution
from hinge.solvers.sdca import BETA, KAPPA, LAM, SDCA, U


class Stream(NamedTuple):
    """What a stream of rows has taught: v = Σ sᵢαᵢyᵢxᵢ, u = Σ sᵢαᵢyᵢ, κ, Λ, and the weight seen."""

    v: np.ndarray
    u: float
    kappa: float
    Lam: float
    seen: float


def begin(d: int) -> Stream:
    """Nothing seen yet."""
    return Stream(np.zeros(d), 0.0, 0.0, 0.0, 0.0)


def resume(w: np.ndarray, b: float, lam: float | None, C: float, mass: float, matrix: Matrix) -> Stream:
    """A stream that has learned the model (w, b) from rows of the given total weight."""
    Lam = lam * mass if lam is not None else 1.0 / C
    kappa = matrix.typical_sq_norm() or 1.0
    return Stream(Lam * w, Lam * b / kappa, kappa, Lam, mass)


def learn(stream: Stream, piece: Regularized, C: float | None, seed: int) -> Stream:
    """Take the rows of `piece` into account, each once.

    Every row takes the exact dual step of the problem of all rows seen so far, as in the first pass of
    `SDCA`: with λ fixed, :math:`\\Lambda = \\lambda\\sum_{j\\le t}s_j` grows with the rows; with C fixed,
    Λ = 1/C. All rows seen keep a feasible dual, of which v and u are all that need be kept.

    Notes
    -----
    *Differs* from a fit: a free bias is the weight of a constant feature of the rows' typical norm.
    """
    solver = SDCA()
    state = solver.init(piece, seed)
    kappa = stream.kappa
    if piece.bias == "free" and kappa == 0.0:
        kappa = piece.matrix.typical_sq_norm() or 1.0
    state.v[:] = stream.v
    state.scalars[[U, BETA, KAPPA]] = stream.u, 0.0, kappa if piece.bias == "free" else piece.constant_sq
    seen = stream.seen + piece.total
    full = 1.0 / C if C is not None else piece.lam * seen
    state.scalars[LAM] = full if C is not None else stream.Lam
    solver.run(piece, state, solver.pause(piece, state), full=full, free=False)
    return Stream(state.v, float(state.scalars[U]), float(state.scalars[KAPPA]), full, seen)


def solution(stream: Stream) -> Solution:
    """The model so far."""
    Lam = stream.Lam or 1.0
    return Solution(stream.v / Lam, stream.kappa * stream.u / Lam)
