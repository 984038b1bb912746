"""Kernel machines in the span of landmarks, over parts that lie with workers: jobs, and bounds of the exact kernel.

With m landmarks and :math:`K_{mm} = LL^T` a part makes the features :math:`z_i = L^{-1}K_{mi}` of its rows, on which
the rounds of linear machines run. What they find is certified as by `Nystroem`, in three passes:

1. sums over rows choose the dual weights :math:`\\alpha_i = \\Pi_{[0,1]}\\big(\\tfrac12 + (1 - y_if_i)/h\\big)`, for
   the width h whose dual objective is largest, less what features leave of the kernel matrix, by its diagonal; where
   that falls short, f is the answer of passes over a loss that stays smooth, whose own dual weights these are;
2. every part sums up the losses of its rows by exact kernel values with the landmarks, for the upper bound;
3. every pair of pieces of parts sums up :math:`\\beta_p^TK_{pq}\\beta_q`, S²/2 kernel values in all for S rows with
   positive weights, for the lower bound.

Every job is a function of values, and sums are added in the order of parts: who loses a result computes it again, bit
for bit.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.access import Gram, as_points
from hinge.dask.parts import ClusterTask, Part, problem_of, stacked
from hinge.estimators.kernel.expansions import kernel_values
from hinge.kernels import Kernel
from hinge.problems import Certificate, Regularized
from hinge.problems.base import EPS, FEW, rounding
from hinge.problems.svm.kernel_duality import relative_gap
from hinge.sampling import draw_units
from hinge.types import Stored

WIDTHS = 2.0 ** -np.arange(14.0)
"""Widths h from which the dual weights of an answer are chosen."""
PIECE = 1 << 14
"""Rows of a part whose kernel values with others are summed up in one job."""
ROWS = 2048
"""Rows whose kernel values with the landmarks are in memory at a time."""


class Drawn(NamedTuple):
    """The least random numbers of a part's rows, and which rows have them."""

    units: np.ndarray
    rows: np.ndarray


class Landmarks(NamedTuple):
    """The landmarks, :math:`L^{-T}`, the kernel, and how far rounding may move eigenvalues of :math:`K_{mm}`."""

    points: Stored
    back: np.ndarray
    kernel: Kernel
    rounding: float


class Featured(NamedTuple):
    """A part with features for rows, and K(x, x) - ‖z‖² of each."""

    part: Part
    rest: np.ndarray


class LandmarkAnswers(NamedTuple):
    """Of each task: w and b in the features, and the coefficients of the landmarks."""

    tasks: tuple[ClusterTask, ...]
    w: np.ndarray
    b: np.ndarray
    coef: np.ndarray


class DualPlaces(NamedTuple):
    """Of each task where its dual weights are looked for: w and b in the features, and widths h."""

    tasks: tuple[ClusterTask, ...]
    w: np.ndarray
    b: np.ndarray
    widths: np.ndarray


class DualChoice(NamedTuple):
    """Of each task w, b and the width whose dual weights are best, and the factors that balance both signs.

    `value` is their dual objective, by an estimate of the exact kernel's, and `lost` by how much that is below the one
    of the features.
    """

    w: np.ndarray
    b: np.ndarray
    widths: np.ndarray
    factors: np.ndarray
    value: np.ndarray
    lost: np.ndarray


class DualSums(NamedTuple):
    """BoundedSums over rows for each task, width and sign of y: Σ cαz, Σ cα, and Σ (cα)² of what features leave."""

    z: np.ndarray
    mass: np.ndarray
    rest: np.ndarray


class DualPoints(NamedTuple):
    """The dual point of each task, a row of β; and for each sign Σ|β|, Σ|β|‖φ‖, and the largest |β| in units of c/λ."""

    beta: np.ndarray
    size: np.ndarray
    length: np.ndarray
    largest: np.ndarray


class Support(NamedTuple):
    """The rows of a piece that have a dual weight in some task, and these weights, a row a task."""

    rows: Stored
    beta: np.ndarray


class BoundedSums(NamedTuple):
    """Of each task a sum, and how much larger the exact one may be; and kernel values computed."""

    value: np.ndarray
    off: np.ndarray
    evals: int


def spread_of_cells(part: Part) -> tuple[float, float, float]:
    """Number, mean, and sum of squares about it, of all cells of a part."""
    cells = float(part.X.shape[0] * part.X.shape[1])
    values: Any = part.X.data if sp.issparse(part.X) else part.X
    mean = float(values.sum(dtype=np.float64)) / cells
    squares = float(((values.astype(np.float64) - mean) ** 2).sum())
    return cells, mean, squares + (cells - values.size) * mean**2


def variance_of(found: Sequence[tuple[float, float, float]]) -> float:
    """The variance of all cells of all parts."""
    cells = sum(count for count, _, _ in found)
    mean = sum(count * own for count, own, _ in found) / cells
    return sum(squares + count * (own - mean) ** 2 for count, own, squares in found) / cells


def drawn(part: Part, first: int, key: np.uint64, count: int) -> Drawn:
    """The least of its rows, which are numbered from `first` on; none of rows that weigh nothing."""
    units = draw_units(key, first, part.n)
    if part.weight is not None:
        units[part.weight <= 0.0] = np.inf
    rows = np.argsort(units, kind="stable")[:count]
    rows = rows[np.isfinite(units[rows])]
    return Drawn(units[rows], rows)


def rows_at(part: Part, rows: np.ndarray) -> tuple[Stored, np.ndarray]:
    """Some rows, and their codes."""
    return part.X[rows], part.y[rows]


def featured(part: Part, landmarks: Landmarks) -> Featured:
    """The features of a part, in single precision: what they give is certified by exact kernel values."""
    Z, at = np.empty((part.n, len(landmarks.back)), np.float32), 0
    diag, rest = _diagonal(landmarks.kernel, part.X), np.empty(part.n)
    for K in kernel_values(landmarks.kernel, part.X, landmarks.points, step=ROWS):
        some = slice(at, at + len(K))
        z = K @ landmarks.back
        Z[some], rest[some], at = z, diag[some] - np.einsum("ij,ij->i", z, z), at + len(K)
    if rest.min() < -math.sqrt(landmarks.rounding * float(diag.max())):
        raise ValueError(
            "The kernel is not positive semidefinite, as landmarks need: some features are longer than K(x, x) "
            "allows. Use another kernel."
        )
    return Featured(part._replace(X=Z, sq=np.zeros(0)), np.maximum(rest, 0.0))


def dual_sums(features: Featured, places: DualPlaces) -> DualSums:
    """What the choice of dual weights needs of a part."""
    found = DualSums(*(np.zeros((*places.widths.shape, 2, *shape)) for shape in (places.w.shape[1:], (), ())))
    for k, task in enumerate(places.tasks):
        if (problem := problem_of(features.part, task)) is None:
            continue
        r = problem.responses(places.w[k])
        for lo in range(0, problem.n, ROWS):
            some = slice(lo, min(lo + ROWS, problem.n))
            a = _weights(problem, r, places.b[k], places.widths[k][:, None], some)
            Z, rest = problem.matrix.whole()[some], features.rest[some]
            for side, sign in enumerate((1, -1)):
                own = np.flatnonzero(problem.y[some] == sign)
                found.z[k, :, side] += sign * (a[:, own] @ Z[own])
                found.mass[k, :, side] += a[:, own].sum(axis=1)
                found.rest[k, :, side] += a[:, own] ** 2 @ rest[own]
    return found


def chosen(sums: DualSums, places: DualPlaces) -> DualChoice:
    """The best width for each task."""
    count = len(places.tasks)
    factors, (widths, value, lost) = np.ones((count, 2)), np.empty((3, count))
    for k, task in enumerate(places.tasks):
        scales = np.ones((places.widths.shape[1], 2))
        if task.free:
            mass = sums.mass[k]
            scales = mass.min(axis=1, keepdims=True) / np.where(mass > 0.0, mass, 1.0)
        z = (scales[:, :, None] * sums.z[k]).sum(axis=1)
        linear = (scales * sums.mass[k]).sum(axis=1)
        rest = (scales**2 * sums.rest[k]).sum(axis=1) / task.lam
        squares = (z * z).sum(axis=1) / task.lam + rest
        s = np.minimum(1.0, np.divide(linear, squares, out=np.ones_like(linear), where=squares > 0.0))
        values = s * linear - 0.5 * s * s * squares
        at = int(np.argmax(values))
        widths[k], factors[k], value[k], lost[k] = places.widths[k, at], scales[at], values[at], 0.5 * rest[at]
    return DualChoice(places.w, places.b, widths, factors, value, lost)


def better(one: DualChoice, other: DualChoice) -> DualChoice:
    """Of each task the better one of two."""
    first = one.value >= other.value
    pairs = zip(one, other, strict=True)
    return DualChoice(*(np.where(first.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in pairs))


def dual_points(
    part: Part, features: Featured, kernel: Kernel, tasks: tuple[ClusterTask, ...], choice: DualChoice
) -> DualPoints:
    """The dual points of a part's rows; sums of their sizes are correct to the last bit."""
    count = len(tasks)
    found = DualPoints(np.zeros((count, part.n)), np.zeros((count, 2)), np.zeros((count, 2)), np.zeros(count))
    norms = np.sqrt(np.maximum(_diagonal(kernel, part.X), 0.0))
    for k, task in enumerate(tasks):
        if (problem := problem_of(features.part, task)) is None:
            continue
        r, every = problem.responses(choice.w[k]), slice(None)
        a = _weights(problem, r, choice.b[k], choice.widths[k], every) / task.lam
        found.beta[k] = a * np.where(problem.y > 0, *choice.factors[k]) * problem.y
        used, box = np.flatnonzero(found.beta[k]), np.broadcast_to(problem.share() / task.lam, a.shape)
        found.largest[k] = (np.abs(found.beta[k, used]) / box[used]).max(initial=0.0)
        for side, sign in enumerate((1, -1)):
            mine = np.maximum(sign * found.beta[k], 0.0)
            found.size[k, side], found.length[k, side] = math.fsum(mine), float(mine @ norms)
    return found


def support_of(part: Part, points: DualPoints, lo: int, hi: int) -> Support:
    """The support among the rows from lo to hi."""
    rows = lo + np.flatnonzero((points.beta[:, lo:hi] != 0.0).any(axis=0))
    return Support(rows_at(part, rows)[0], points.beta[:, rows])


def pair_sums(first: Support, second: Support, kernel: Kernel, same: bool, exact: bool) -> BoundedSums:
    """:math:`\\beta_p^TK_{pq}\\beta_q` of two pieces, twice for two different ones, which stand for (q, p) too."""
    count, sizes = len(first.beta), (first.beta.shape[1], second.beta.shape[1])
    value, off = np.zeros((2, count))
    if not min(sizes):
        return BoundedSums(value, off, 0)
    gram = Gram(as_points(first.rows if same else stacked([first.rows, second.rows]), kernel, exact=exact), 0)
    columns = np.arange(sizes[0]) if same else sizes[0] + np.arange(sizes[1])
    for k in range(count):
        mine, theirs = np.flatnonzero(first.beta[k]), np.flatnonzero(second.beta[k])
        if not (len(mine) and len(theirs)):
            continue
        r, e = gram.again(mine, first.beta[k, mine], columns[theirs])
        beta = second.beta[k, theirs]
        products, times = beta * r, 1.0 if same else 2.0
        value[k] = times * float(products.sum())
        off[k] = times * (float(np.abs(beta) @ e) + rounding(len(beta), float(np.abs(products).sum())))
    return BoundedSums(value, off, gram.evals)


def losses(part: Part, answers: LandmarkAnswers, landmarks: Landmarks) -> BoundedSums:
    """The losses of a part's rows by exact kernel values."""
    (value, off), evals, m = np.zeros((2, len(answers.tasks))), 0, answers.coef.shape[1]
    problems = [problem_of(part, task) for task in answers.tasks]
    for lo in range(0, part.n, ROWS):
        rows = part.X[lo : lo + ROWS]
        gram = Gram(as_points(stacked([landmarks.points, rows]), landmarks.kernel, exact=True), 0)
        for k, problem in enumerate(problems):
            if problem is None:
                continue
            r, e = gram.again(np.arange(m), answers.coef[k], m + np.arange(rows.shape[0]))
            b, y = float(answers.b[k]), problem.y[lo : lo + ROWS]
            c = np.broadcast_to(problem.share(), (problem.n,))[lo : lo + ROWS]
            short, room = 1.0 - y * (r + b), e + 2.0 * EPS * (1.0 + np.abs(r) + abs(b))
            found, most = (float(c @ np.maximum(short + extra, 0.0)) for extra in (0.0, room))
            value[k] += found
            off[k] += most - found + rounding(len(c), most)
        evals += gram.evals
    return BoundedSums(value, off + np.array([rounding(part.n, one) for one in value]), evals)


def norms_of(answers: LandmarkAnswers, landmarks: Landmarks) -> BoundedSums:
    """‖w‖² of each task by exact kernel values of the landmarks."""
    points = Support(landmarks.points, answers.coef)
    return pair_sums(points, points, landmarks.kernel, True, True)


def add_up(parts: Sequence[BoundedSums]) -> BoundedSums:
    """The sums of all parts, in their order."""
    values, offs = np.array([one.value for one in parts]), np.array([one.off for one in parts])
    value = np.array([math.fsum(column) for column in values.T])
    off = offs.sum(axis=0) + np.array([rounding(1, float(np.abs(column).sum())) for column in values.T])
    return BoundedSums(value, off, sum(one.evals for one in parts))


def certificates(
    answers: LandmarkAnswers,
    norms: BoundedSums,
    loss: BoundedSums,
    sizes: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    pairs: BoundedSums,
    rows: int,
) -> list[Certificate]:
    """Of each task: P at most, D at least, the gap between them, and what it would be without rounding.

    `sizes` are what `DualPoints` has of each part beside β.
    """
    found = []
    for k, task in enumerate(answers.tasks):
        sq, sq_off = max(float(norms.value[k]), 0.0), float(norms.off[k])
        primal = 0.5 * task.lam * sq + float(loss.value[k])
        most = 0.5 * task.lam * (sq + sq_off) + float(loss.value[k] + loss.off[k])
        most += rounding(FEW, most)
        size, length = ([math.fsum(float(one[at][k, side]) for one in sizes) for side in (0, 1)] for at in (0, 1))
        largest = max(float(one[2][k]) for one in sizes)
        as_is, least = _dual_bound(task, size, length, largest, float(pairs.value[k]), float(pairs.off[k]), rows)
        # The weights, their total, C and λ are rounded: these change P and the optimum, both in proportion to P.
        gap = (most - least) * (1.0 + FEW * EPS) + rounding(rows, primal)
        unrounded = relative_gap(max(primal - as_is, 0.0), as_is, 0.0, None)
        found.append(Certificate(most, least, relative_gap(gap, least, 0.0, None), float(answers.b[k]), unrounded))
    return found


def _dual_bound(
    task: ClusterTask, size: list[float], length: list[float], largest: float, sq: float, off: float, rows: int
) -> tuple[float, float]:
    """D at the best multiple of β, as if ‖w(β)‖² were exact, and a lower bound where it is off; see `dual_bound`."""
    linear, lost, long = math.fsum(size), 0.0, 0.0
    if not linear > 0.0 or (task.free and not min(size) > 0.0):
        return 0.0, 0.0
    if task.free:  # the heavier side is scaled until both are the same
        heavier = int(size[1] > size[0])
        kappa = (abs(size[0] - size[1]) + FEW * EPS * linear) / size[heavier]
        lost, long = kappa * size[heavier], kappa * length[heavier] * (1.0 + rounding(rows, 1.0))
    norm = (math.sqrt(max(sq + off, 0.0)) + long) * (1.0 + FEW * EPS)
    scale = min((1.0 - FEW * EPS) / largest, linear / norm**2 if norm > 0.0 else np.inf)
    gained, paid = scale * linear, 0.5 * (scale * norm) ** 2
    least = gained - scale * lost - paid - FEW * EPS * (gained + paid)
    return task.lam * (gained - 0.5 * scale**2 * max(sq, 0.0)), max(0.0, task.lam * least * (1.0 - FEW * EPS))


def _weights(problem: Regularized, r: np.ndarray, b: float, widths: float | np.ndarray, some: slice) -> np.ndarray:
    """The cα of some rows; a row for each of several widths."""
    e = 1.0 - problem.y[some] * (r[some] + b)
    return np.clip(0.5 + e / widths, 0.0, 1.0) * np.broadcast_to(problem.share(), (problem.n,))[some]


def _diagonal(kernel: Kernel, X: Stored) -> np.ndarray:
    """K(x, x) of some rows."""
    return np.asarray(as_points(X, kernel, exact=True).diag(), np.float64)
