"""All small kernel problems of a fit in one compiled call, without the overhead of a separate run for each."""

from contextlib import nullcontext
from typing import Any, Literal, NamedTuple

import numpy as np

from hinge.access import Gram, as_points
from hinge.access.gram.points.as_points import Points
from hinge.access.gram.points.given import GivenPoints, check_own_values
from hinge.access.gram.weight_vector import WeightVector
from hinge.estimators.kernel_input import dense_if_small, part_of
from hinge.estimators.kernel_tasks import Answers, Runs
from hinge.estimators.parameters import KernelData
from hinge.estimators.weights import class_weights
from hinge.kernels import Function, Kernel
from hinge.monitoring import History, Record, Status
from hinge.monitoring.clock import now
from hinge.monitoring.interrupts import called_off
from hinge.problems import Expansion, KernelRegularized, sorted_bias
from hinge.problems.svm.examples import FAINT, spread_of
from hinge.problems.svm.losses import HINGE, Loss
from hinge.solvers.kernel.active_set import MOST, ActiveSet, advance_many, fit_alone, measured
from hinge.solvers.kernel.solved_together import Sums, Together, measured_levels, solve_together, unsolved
from hinge.threads import one_blas_thread
from hinge.types import Stored

WORK = 2e7
"""Operations in one compiled call, some tens of milliseconds: between calls the clock and Ctrl-C are checked."""
MANY = 128
"""Points from which on the Newton steps of a regression use LAPACK."""
FEW_PRODUCTS = 1 << 18
"""Multiplications of a matrix product up to which BLAS uses one thread anyway; limiting its threads would cost more."""
TILE_ROWS = 256
MANY_CLASSES, MOST_OF_PAIRS = 5, 2 * MOST
"""So many classes are solved together up to so many points of a pair: each kernel value then serves several pairs."""


class Parts(NamedTuple):
    """The problems of a fit, as concatenated arrays.

    Attributes
    ----------
    kept : ndarray, optional
        The rows that take part; None for all.
    taken, cuts : ndarray of int64
        Rows of each problem, as indices among the rows that take part, and the start of each problem.
    y, s : ndarray of shape (len(taken),)
        Their labels or targets, and their weights.
    """

    kept: np.ndarray | None
    taken: np.ndarray
    cuts: np.ndarray
    y: np.ndarray
    s: np.ndarray


class Wanted(NamedTuple):
    """The parameters of the problems, and limits of the run.

    Attributes
    ----------
    C : float
    free : bool
        Whether there is a bias.
    tol : float
    ends : float, optional
        When to stop, by `now`.
    on_interrupt : {"raise", "keep"}
    loss : Loss
    """

    C: float
    free: bool
    tol: float
    ends: float | None
    on_interrupt: str
    loss: Loss = HINGE

    @property
    def epsilon(self) -> float | None:
        """ε of the loss of regression; None for the hinge."""
        return self.loss.epsilon if self.loss.two_sided else None


def are_small(kernel: Kernel, codes: np.ndarray, n_classes: int, cache_bytes: float, *, one_vs_one: bool) -> bool:
    """Whether every problem of a fit is small, and the Gram matrix of all rows fits into the cache."""
    by_value = isinstance(kernel, Function) and kernel.on != "blocks"
    if by_value or 8.0 * len(codes) ** 2 > cache_bytes:
        return False
    if not one_vs_one:
        return len(codes) <= MOST
    largest = int(np.sort(np.bincount(codes, minlength=n_classes))[-2:].sum())
    return largest <= (MOST_OF_PAIRS if n_classes >= MANY_CLASSES else MOST)


def run_targets(X: KernelData, kernel: Kernel, t: np.ndarray, weight: np.ndarray | None, wanted: Wanted) -> Runs:
    """Solve the problem of a regression."""
    kept = None if weight is None or weight.all() else np.flatnonzero(weight)  # rows of weight zero take no part
    s = np.ones(len(t)) if weight is None else weight
    if kept is not None:
        X, t, s = part_of(X, kept, kernel), t[kept], s[kept]
    return _solved(X, kernel, Parts(kept, np.arange(len(t)), np.array([0, len(t)]), t, s), wanted)


def run_together(
    X: KernelData,
    kernel: Kernel,
    codes: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None,
    per_class: np.ndarray | None,
    *,
    C: float,
    free: bool,
    tol: float,
    ends: float | None,
    on_interrupt: str,
    one_vs_one: bool,
) -> Runs:
    """Solve all binary problems of a fit, over one Gram matrix.

    Parameters
    ----------
    X : array or CSR matrix
        Kernel values if the kernel is precomputed.
    codes : ndarray of shape (n,)
        The class of each row.
    weight, per_class : ndarray, optional
        Weights of rows and of classes.
    free : bool
        Whether there is a bias.
    ends : float, optional
        When to stop, by `now`.
    one_vs_one : bool
        Whether to solve all class pairs, or each class against the rest.
    """
    s = weight
    kept = None if s is None or s.all() else np.flatnonzero(s)  # rows of weight zero take no part
    if one_vs_one:  # sorted by class, so that the kernel values of two classes are contiguous
        kept = np.arange(len(codes)) if kept is None else kept
        kept = kept[np.argsort(codes[kept], kind="stable")]
    if kept is not None:
        X, codes, s = part_of(X, kept, kernel), codes[kept], s if s is None else s[kept]
    s = np.ones(len(codes)) if s is None else s
    if one_vs_one:
        taken, cuts, y = one_vs_one_rows(codes, n_classes)
        s = (s if per_class is None else s * per_class[codes])[taken]
    else:
        targets = [1] if n_classes == 2 else range(n_classes)
        taken, cuts = np.tile(np.arange(len(s)), len(targets)), len(s) * np.arange(len(targets) + 1)
        sides = [codes == k for k in targets]
        y = np.where(np.concatenate(sides), np.int8(1), np.int8(-1))
        own = [class_weights(side, s, per_class, k) for side, k in zip(sides, targets, strict=True)]
        s = np.concatenate(own)  # type: ignore[arg-type]
    wanted = Wanted(C, free, tol, ends, on_interrupt)
    return _solved(X, kernel, Parts(kept, taken, cuts, y, s), wanted)


def _solved(X: KernelData, kernel: Kernel, parts: Parts, wanted: Wanted) -> Runs:
    """Solve all problems of a fit over the Gram matrix of X, the rows that take part."""
    points, K = points_and_values(X, kernel)
    return solved_over(points, K, values_computed(points, kernel), parts, wanted)


def solved_over(
    points: Points, K: np.ndarray, evals: int, parts: Parts, wanted: Wanted, start: np.ndarray | None = None
) -> Runs:
    """The same with given kernel values, `evals` of which were computed; `start` is a feasible β for all problems."""
    began = now()
    kept, taken, cuts, y, s = parts
    tol, epsilon = wanted.tol, wanted.epsilon
    A, B = points.errors()
    lam, box = 1.0 / (wanted.C * np.add.reduceat(s, cuts[:-1])), wanted.C * s
    unit, spread = np.zeros(len(lam)), np.ones(len(lam))
    if epsilon is not None:
        unit[0], spread[0] = FAINT * float(s @ np.abs(y)) / float(s.sum()), spread_of(y)
    lo, hi = (-box, box) if epsilon is not None else (np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0))
    beta, r = np.zeros((2, len(taken)))
    if start is not None:
        beta[:] = start
    these = Together(K, A, B, taken, cuts, y, box, lo, hi, beta, r, lam, unit, spread, unsolved(len(lam)))
    certifiable = not points.indefinite
    if (
        start is None
        and epsilon is not None
        and certifiable
        and len(y) > MANY
        and fit_alone(box, np.diagonal(K), spread[0])
    ):
        advance_many(K, beta, -y, lo, hi, tol * spread[0], wanted.free, True, epsilon, 0)
    cut_off = run_all(these, wanted, certifiable)
    if points.weighted is not None:
        certify_by_weights(these, points.weighted, wanted, cut_off)
    else:
        for k in np.flatnonzero((these.found["gap"] > tol) & (these.found["as_is"] <= tol)):
            _certify_again(these, int(k), points, wanted)
    for k in np.flatnonzero(np.isinf(these.found["gap"])):
        _take_as_it_is(these, int(k), wanted)
    runs = _runs(these, tol, certifiable, cut_off, points.n, evals, now() - began)
    return runs if kept is None else runs._replace(answers=runs.answers._replace(rows=kept[taken]))


def run_all(these: Together, wanted: Wanted, certifiable: bool, sums: Sums | None = None) -> Status | None:
    """Solve the problems one after the other; returns why it ended early, None if all were solved."""
    k = 0
    try:
        while k < len(these.lam):
            if called_off():
                return Status.INTERRUPTED
            if wanted.ends is not None and now() >= wanted.ends:
                return Status.MAX_TIME
            k = solve_together(these, k, wanted.tol, wanted.free, certifiable, WORK, wanted.epsilon, sums)
    except KeyboardInterrupt:
        if wanted.on_interrupt == "raise":
            raise
        return Status.INTERRUPTED
    return None


def certify_by_weights(
    these: Together, rows: Stored, wanted: Wanted, cut_off: Status | None, sums: Sums | None = None
) -> None:
    """Certify the answers of a linear kernel by way of w, which they predict with; not those that were cut off."""
    exact, unbiased = WeightVector(rows), None if wanted.free else True
    for k, found in enumerate(these.found):
        if cut_off is not None and np.isinf(found["gap"]):
            continue
        part = slice(these.cuts[k], these.cuts[k + 1])
        mine, y, box, beta = these.rows[part], these.y[part], these.box[part], these.beta[part]
        used = np.flatnonzero(beta)
        these.r[part], off = exact.again(mine[used], beta[used], mine)
        e, own = these.r[part] - y, exact.norms[mine]
        if sums is None:
            lo, hi, lam, unit = these.lo[part], these.hi[part], these.lam[k], these.unit[k]
            b, gap, _, primal = measured(y, box, lam, unit, beta, e, lo, hi, own, off, unbiased, None, wanted.epsilon)
        else:
            b, gap, _, primal = measured_levels(sums, k, box, y, beta, e, own, off, these.unit[k])
        found["b"], found["gap"], found["primal"] = b, gap, primal


def _certify_again(these: Together, k: int, points: Points, wanted: Wanted) -> None:
    """Try to certify, by more accurate sums, an answer whose gap is above `tol` only because of rounding."""
    part = slice(these.cuts[k], these.cuts[k + 1])
    gram, n = Gram(points, 0), points.n
    beta, r, y, weight = np.zeros((4, n))
    beta[these.rows[part]], r[these.rows[part]] = these.beta[part], these.r[part]
    y[:], weight[these.rows[part]] = 1.0, these.box[part]
    y[these.rows[part]] = these.y[part]
    bias: Literal["free", "none"] = "free" if wanted.free else "none"
    problem = KernelRegularized(gram, y, these.lam[k], weight=weight, bias=bias, loss=wanted.loss)
    found = these.found[k]
    answer = Expansion(beta, found.b, r, None, n)
    sharp = problem.sharpened(answer, problem.certificate(answer), wanted.tol)
    if sharp.gap < found.gap:
        found.gap, found.as_is, found.primal, found.b = sharp.gap, sharp.unrounded, sharp.objective, sharp.b


def _take_as_it_is(these: Together, k: int, wanted: Wanted) -> None:
    """Fill in the best bias and the objective of an answer whose run was cut off before its certificate."""
    part = slice(these.cuts[k], these.cuts[k + 1])
    y, r, box = these.y[part], these.r[part], these.box[part]
    b = float(sorted_bias(r, y, box / box.sum(), wanted.epsilon)) if wanted.free else 0.0
    short = 1.0 - y * (r + b) if wanted.epsilon is None else y - r - b
    loss = float(box @ wanted.loss.of(short))
    these.found[k].primal, these.found[k].b = these.lam[k] * (0.5 * float(these.beta[part] @ r) + loss), b


def _runs(
    these: Together, tol: float, certifiable: bool, cut_off: Status | None, n: int, evals: int, seconds: float
) -> Runs:
    gap, objective, b, rounds = (these.found[name] for name in ("gap", "primal", "b", "rounds"))
    good = Status.CONVERGED if certifiable else Status.STATIONARY
    statuses = [good if value <= tol else cut_off or Status.STALLED for value in gap.tolist()]
    gap = gap if certifiable else np.full(len(gap), np.nan)
    sq = np.maximum(np.add.reduceat(these.beta * these.r, these.cuts[:-1]), 0.0)
    loss = np.maximum(objective - 0.5 * these.lam * sq, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        nu = np.where(sq > 0, loss / np.sqrt(sq), np.inf)
    history = [
        History([Record(int(t), seconds, 0, evals, p, g, np.nan)])
        for t, p, g in zip(rounds.tolist(), objective.tolist(), gap.tolist(), strict=True)
    ]
    kept: list[Any] = []
    f = these.r + np.repeat(b, np.diff(these.cuts))
    return Runs(
        Answers(these.beta, these.rows, these.cuts, b.copy(), f),
        kept,
        gap,
        objective.copy(),
        these.lam,
        nu,
        statuses,
        rounds.astype(np.int64),
        history,
        ActiveSet(),
        evals,
        n**2,
    )


def one_vs_one_rows(codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, cuts and labels of all class pairs, for rows sorted by class; the first class of a pair is positive."""
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes))])
    sizes = np.diff(ends)
    # The classes of all class pairs in one flat list: i0, j0, i1, j1, ...
    meeting = np.stack(np.triu_indices(n_classes, 1), axis=1).ravel()
    counts = sizes[meeting]
    places = np.concatenate([[0], np.cumsum(counts)])
    taken = np.arange(places[-1]) - np.repeat(places[:-1] - ends[meeting], counts)
    y = np.repeat(np.resize(np.array([1, -1], np.int8), len(meeting)), counts)
    return taken, places[::2].copy(), y


def points_and_values(X: KernelData, kernel: Kernel) -> tuple[Points, np.ndarray]:
    """The points in their most accurate form, and all their kernel values."""
    points = _given_by(kernel, X) if isinstance(kernel, Function) else as_points(dense_if_small(X), kernel, exact=True)
    check_own_values(np.arange(points.n), points.diag(), indefinite=points.indefinite)
    width = 1 if isinstance(X, list) else X.shape[1]
    with one_blas_thread() if points.n**2 * width > FEW_PRODUCTS else nullcontext():
        return points, _whole_gram(points)


def values_computed(points: Points, kernel: Kernel) -> int:
    """Number of kernel values computed: one triangle of the matrix, or all of it by a function of blocks."""
    return points.n**2 if isinstance(kernel, Function) else points.n * (points.n + 1) // 2


def _given_by(kernel: Function, X: KernelData) -> Points:
    """All values of a function of blocks, by a single call as in scikit-learn."""
    points = as_points(X, kernel)
    every, K = np.arange(points.n), np.empty((points.n, points.n))
    points.fill(every, every, K)
    return GivenPoints(K)


def _whole_gram(points: Points) -> np.ndarray:
    """All kernel values in float64; one triangle is computed and mirrored."""
    n = points.n
    K = np.empty((n, n))
    for lo in range(0, n, TILE_ROWS):
        hi = min(lo + TILE_ROWS, n)
        tile = np.empty((hi - lo, n - lo), points.dtype)
        points.fill(np.arange(lo, hi), np.arange(lo, n), tile)
        K[lo:hi, lo:] = tile
        K[hi:, lo:hi] = tile[:, hi - lo :].T
    return K
