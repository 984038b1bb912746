"""Newton's method on a face of the 1-norm: the weights that are not zero, as long as they keep their signs."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hinge.access import add_row, cell, dot, held_row, read_row, span
from hinge.access.rows import CSRRows, DenseRows
from hinge.compiled import compiled
from hinge.problems import L1Regularized
from hinge.solvers.newton.systems import MOST_DIRECT, conjugate_gradient, solved

CG_STEPS = 30  # products with the Hessian at most where it is not formed
TRIALS, CG_TRIALS = 4, 2  # systems of one step, each with ten times the ridge of the one before


class Face(NamedTuple):
    """The columns whose weights are not zero, and whether the constant column is one of them."""

    columns: np.ndarray
    biased: bool

    @property
    def size(self) -> int:
        """Weights that move."""
        return len(self.columns) + self.biased


class Stepped(NamedTuple):
    """The result of a step: the ridge of the next, the decrease of the objective, and the number of systems solved."""

    ridge: float
    fall: float
    systems: int


def face_of(problem: L1Regularized, taken: np.ndarray, w: np.ndarray) -> Face:
    """The face of w among some columns; a free bias is always in it."""
    biased = problem.bias == "free" or (problem.bias == "penalized" and w[-1] != 0.0)
    return Face(taken[w[taken] != 0.0], biased)


def cost_of(problem: L1Regularized, face: Face) -> tuple[float, bool]:
    """What a step should cost, in cells that are visited in the same time; and whether by a factorisation.

    The outer product of a row of c cells takes as long as c²/30 cells if rows are dense, else c²/4; the factorisation
    of a system of m weights as long as m³/50 cells.
    """
    m, cells = face.size, float(count_cells(problem.matrix.columns, face.columns))
    full = 3.0 * cells > problem.n * m
    vectors = 10.0 * problem.n
    direct = vectors + cells * (4.0 + cells / problem.n / (30.0 if full else 4.0)) + m**3 / 50.0
    products = vectors + cells * (4.0 + 2.0 * CG_STEPS)
    is_direct = m <= MOST_DIRECT and direct < products
    return (direct, True) if is_direct else (products, False)


def face_step(problem: L1Regularized, c: np.ndarray, face: Face, w: np.ndarray, e: np.ndarray, ridge: float) -> Stepped:
    """One Newton step on the face from (w, e), which are overwritten.

    With sums over the rows that violate their margin, as in `CDN`, and the signs :math:`\\sigma` of w,

    .. math:: (H + \\rho\\,\\mathrm{diag}\\,H)\\,p = z - \\lambda\\sigma, \\qquad
              H_{jk} = 2\\sum_i c_i x_{ij} x_{ik} .

    Weights that w + p gives another sign become zero. That is wrong where columns are alike and the weight of one
    should become zero for another's sake, so if the objective does not fall, the step ends where the first weight
    would change its sign, and the others continue without it. If it still does not, the ridge ρ grows tenfold.
    A step that brings a quarter of the promised decrease divides it by ten, down to 1e-12; a poorer one doubles it, up
    to 1. H needs a ridge because few rows may violate their margin, so that it is singular.

    Reads the columns of the face twice, and three times for each system; and, where they are too many for a
    factorisation, twice for each product with H.
    """
    if not face.size:
        return Stepped(ridge, 0.0, 1)
    A, y, ones = problem.matrix.columns, problem.y, constant(problem)
    places = np.append(face.columns, len(w) - 1) if face.biased else face.columns
    old, paid = w[places], penalties(problem)[places]
    short = np.maximum(y * e, 0.0)
    now = float(paid @ np.abs(old)) + float((c * short) @ short)
    on = 2.0 * c * (short > 0.0)
    solve = _solver(problem, face, on)
    moving, total = np.ones(face.size, bool), 0.0
    trials = TRIALS if cost_of(problem, face)[1] else CG_TRIALS
    for trial in range(trials):
        g = paid * np.sign(old) - _across(A, face, np.where(y * e > 0.0, 2.0 * c * e, 0.0), ones)
        p = -solve(g, moving, ridge)
        promised = -0.5 * float(g @ p)
        crossing = (old * (old + p) < 0.0) & (paid > 0.0)
        whole = np.where(crossing, 0.0, old + p)
        partly = crossing.any() and trial == 0
        for new in (whole, _to_the_first(old, p, crossing)) if partly else (whole,):
            there = e - _along(A, face, new - old, ones, problem.n)
            np.maximum(y * there, 0.0, out=short)
            fall = now - float(paid @ np.abs(new)) - float((c * short) @ short)
            rounding = 1e-13 * now
            if fall > 0.0 or (fall >= -rounding and promised <= rounding):  # below that the objective tells nothing
                w[places], e[:] = new, there
                now, total = now - fall, total + fall
                if new is whole:
                    good = fall >= 0.25 * promised - rounding
                    ridge = max(ridge / 10.0, 1e-12) if good else min(1.0, 2.0 * ridge)
                    return Stepped(ridge, total, trial + 1)
                old, moving = new, moving & ((new != 0.0) | (paid == 0.0))
                break
        else:
            ridge *= 10.0
    return Stepped(min(1.0, ridge), total, trials)


def most_reads(problem: L1Regularized, face: Face) -> int:
    """How often a step reads the columns of a face, at most."""
    return 2 + 3 * TRIALS if cost_of(problem, face)[1] else 3 + CG_TRIALS * (3 + 2 * CG_STEPS)


def _to_the_first(old: np.ndarray, p: np.ndarray, crossing: np.ndarray) -> np.ndarray:
    """As far along p as all weights keep their signs: the first that would not becomes zero."""
    lengths = np.full(len(p), np.inf)
    lengths[crossing] = -old[crossing] / p[crossing]
    first = int(np.argmin(lengths))
    new = old + lengths[first] * p
    new[first] = 0.0
    return new


def _solver(
    problem: L1Regularized, face: Face, on: np.ndarray
) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    """p as a function of the gradient, the weights that move, and the ridge."""
    A, ones, m = problem.matrix.columns, constant(problem), len(face.columns)
    if cost_of(problem, face)[1]:
        H = np.zeros((face.size, face.size))
        H[:m, :m] = problem.matrix.column_products(face.columns, on)
        if face.biased:
            H[-1] = ones * _across(A, face, on, ones)

        def factored(g: np.ndarray, moving: np.ndarray, ridge: float) -> np.ndarray:
            some, p = np.flatnonzero(moving), np.zeros(face.size)
            part = H[np.ix_(some, some)]
            part[np.diag_indices(len(some))] *= 1.0 + ridge
            p[some] = solved(part, g[some])
            return p

        return factored
    diagonal = np.full(face.size, ones**2 * on.sum())
    squares(A, face.columns, on, diagonal)
    diagonal[diagonal == 0.0] = 1.0

    def iterated(g: np.ndarray, moving: np.ndarray, ridge: float) -> np.ndarray:
        def times(v: np.ndarray) -> np.ndarray:
            r = _along(A, face, v, ones, problem.n)
            return np.where(moving, _across(A, face, on * r, ones) + ridge * diagonal * v, 0.0)

        return conjugate_gradient(times, np.where(moving, g, 0.0), CG_STEPS, diagonal)[0]

    return iterated


def shares(problem: L1Regularized) -> np.ndarray:
    """The cᵢ; one where all are equal."""
    return np.atleast_1d(problem.share())


def constant(problem: L1Regularized) -> float:
    """The value of the constant column, whose weight times this is the bias."""
    return problem.bias_scale if problem.bias == "penalized" else 1.0


def penalties(problem: L1Regularized) -> np.ndarray:
    """What a weight of one costs, for all columns and the constant one: λ, or nothing where the bias is free."""
    paid = np.full(problem.d + 1, problem.lam)
    paid[-1] *= problem.bias != "free"
    return paid


def _across(A: DenseRows | CSRRows, face: Face, v: np.ndarray, ones: float) -> np.ndarray:
    """The products of the columns of a face with a vector over the rows."""
    out = np.empty(face.size)
    products(A, face.columns, v, out)
    if face.biased:
        out[-1] = ones * v.sum()
    return out


def _along(A: DenseRows | CSRRows, face: Face, p: np.ndarray, ones: float, n: int) -> np.ndarray:
    """The sum of the columns of a face, each times its entry of p."""
    out = np.full(n, ones * p[-1] if face.biased else 0.0)
    add_columns(A, face.columns, p, out)
    return out


@compiled
def products(A, columns, v, out):
    """The products of some columns with v."""
    for k in range(len(columns)):
        out[k] = dot(A, read_row(A, columns[k]), v)


@compiled
def add_columns(A, columns, p, out):
    """out and the sum of some columns, each times its entry of p."""
    for k in range(len(columns)):
        if p[k] != 0.0:
            add_row(A, read_row(A, columns[k]), p[k], out)


@compiled
def squares(A, columns, weight, out):
    """The squared norms of some columns, with a weight for each row."""
    for k in range(len(columns)):
        column = read_row(A, columns[k])
        start, stop = span(A, column)
        total = 0.0
        for p in range(start, stop):
            i, x = cell(A, column, p)
            total += weight[i] * x * x
        out[k] = total


@compiled
def count_cells(A, columns):
    """How many cells some columns have."""
    count = np.int64(0)
    for k in range(len(columns)):
        start, stop = span(A, held_row(A, columns[k]))
        count += np.int64(stop - start)
    return count
