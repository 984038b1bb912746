"""All small ν-SVM problems of a fit in one compiled call, as `small_tasks` does for those with C."""

from typing import Any, NamedTuple

import numpy as np

from hinge.estimators.kernel_input import part_of
from hinge.estimators.kernel_tasks import Answers, Runs
from hinge.estimators.parameters import KernelData
from hinge.estimators.small_tasks import (
    Wanted,
    certify_by_weights,
    one_vs_one_rows,
    points_and_values,
    run_all,
    values_computed,
)
from hinge.kernels import Kernel
from hinge.monitoring import History, Record, Status
from hinge.monitoring.clock import now
from hinge.problems.svm.duality import UNIT
from hinge.problems.svm.examples import FAINT
from hinge.problems.svm.level_gap import CLASSES, TARGETS
from hinge.solvers import LevelBlocks
from hinge.solvers.kernel.solved_together import Sums, Together, measured_levels, net_of, unsolved

FINER = 0.1
"""A regression is solved to this fraction of the tolerance: the last round is cheap, and improves predictions."""


class Parts(NamedTuple):
    """The problems of a fit as concatenated arrays: see `Together`.

    Attributes
    ----------
    taken, cuts : ndarray of int64
        Rows of each problem, as indices among the rows that take part, and the start of each problem.
    sign, linear, s : ndarray of shape (len(taken),)
        σ, t and s of `KernelLevels`; points with σ = 1 come first in each problem.
    alpha : ndarray of shape (len(taken),)
        Feasible dual weights to start from.
    faint : float
        Lower limit of what the gap of regression is divided by.
    """

    taken: np.ndarray
    cuts: np.ndarray
    sign: np.ndarray
    linear: np.ndarray
    s: np.ndarray
    alpha: np.ndarray
    faint: float = 0.0


class Solved(NamedTuple):
    """All problems of a fit, solved.

    Attributes
    ----------
    these : Together
    sums : Sums
    cut_off : Status, optional
        Why it ended early; None if all were solved.
    n, evals : int
        Points, and kernel values computed.
    seconds : float
    """

    these: Together
    sums: Sums
    cut_off: Status | None
    n: int
    evals: int
    seconds: float


def run_nu_classes(
    X: KernelData,
    kernel: Kernel,
    codes: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None,
    nu: float,
    wanted: Wanted,
) -> Runs | None:
    """The ν-SVMs of all class pairs, over one Gram matrix; None if one could not be certified.

    Parameters
    ----------
    X : array or CSR matrix
        Kernel values if the kernel is precomputed.
    codes : ndarray of shape (n,)
        The class of each row.
    weight : ndarray, optional
        Weights of rows.
    nu : float
        Feasible for every pair of classes.
    """
    codes = 1 - codes if n_classes == 2 else codes  # of two classes, the second is the positive one
    kept = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    kept = kept[np.argsort(codes[kept], kind="stable")]
    codes, s = codes[kept], np.ones(len(kept)) if weight is None else weight[kept]
    taken, cuts, y = one_vs_one_rows(codes, n_classes)
    # The classes of all class pairs, i0, j0, i1, j1, ..., their sizes and the sums of their weights.
    meeting = np.stack(np.triu_indices(n_classes, 1), axis=1).ravel()
    sizes, room = np.bincount(codes, minlength=n_classes)[meeting], np.bincount(codes, s, n_classes)[meeting]
    mass = 0.5 * nu * (room[::2] + room[1::2])
    share = np.minimum(np.repeat(mass, 2) / room, 1.0)
    s = s[taken]
    parts = Parts(taken, cuts, y, np.zeros(len(y)), s, s * np.repeat(share, sizes))
    sums = Sums(CLASSES, mass, sizes[::2].copy(), np.zeros((len(mass), 2)), 0.0)
    solved = _solved(part_of(X, kept, kernel), kernel, parts, sums, wanted)
    if solved is None:
        return None
    these, rho = solved.these, sums.levels.mean(axis=1)
    sq = np.maximum(np.add.reduceat(these.beta * these.r, cuts[:-1]), 0.0)
    rounding = UNIT * sums.mass**2 * np.add.reduceat(np.diagonal(these.K)[taken], cuts[:-1]) / np.diff(cuts)
    rho = np.where((rho > 0.0) & (sq > rounding), rho, np.inf)
    scale, b = np.where(rho < np.inf, rho, 1.0), these.found["b"]
    if not (scale > 1e-300 * (np.maximum.reduceat(np.abs(these.beta), cuts[:-1]) + np.abs(b))).all():
        return None  # the coefficients divided by the margin would overflow
    each = np.repeat(scale, np.diff(cuts))
    f = (these.r + np.repeat(b, np.diff(cuts))) / each
    short = np.maximum(1.0 - y * f, 0.0)
    loss = np.add.reduceat(s * short, cuts[:-1]) / np.add.reduceat(s, cuts[:-1])
    with np.errstate(divide="ignore"):
        slack = np.where(sq > 0.0, loss * scale / np.sqrt(sq), np.inf)
    lam = np.where(rho < np.inf, rho, 0.0) / np.add.reduceat(s, cuts[:-1])
    order = np.argsort(kept) if n_classes == 2 else slice(None)
    answers = Answers((these.beta / each)[order], kept[taken][order], cuts, b / scale, f[order])
    return _runs(solved, answers, lam, slack, wanted)


def run_nu_targets(
    X: KernelData, kernel: Kernel, t: np.ndarray, weight: np.ndarray | None, nu: float, wanted: Wanted
) -> Runs | None:
    """The ν-SVM of regression; None if it could not be certified."""
    kept = None if weight is None or weight.all() else np.flatnonzero(weight)  # rows of weight zero take no part
    s = np.full(len(t), wanted.C) if weight is None else wanted.C * weight
    if kept is not None:
        X, t, s = part_of(X, kept, kernel), t[kept], s[kept]
    n, centre, mass = len(t), float(np.median(t)), 0.5 * nu * float(s.sum())
    alpha = np.clip(mass - (np.cumsum(s) - s), 0.0, s)  # equal weights of both copies of the first points: w = 0
    every, linear, box, start = (np.tile(part, 2) for part in (np.arange(n), t - centre, s, alpha))
    faint = FAINT * float(s @ np.abs(t))
    parts = Parts(every, np.array([0, 2 * n]), np.repeat([1.0, -1.0], n), linear, box, start, faint)
    sums = Sums(TARGETS, np.array([mass]), np.array([n]), np.zeros((1, 2)), centre)
    solved = _solved(X, kernel, parts, sums, wanted, FINER)
    if solved is None:
        return None
    beta, b = solved.these.beta, solved.these.found["b"].copy()
    rows, none = np.arange(n) if kept is None else kept, np.full(n, np.nan)  # no use for decision values
    answers = Answers(beta[:n] + beta[n:], rows, np.array([0, n]), b, none)
    return _runs(solved, answers, np.array([1.0 / float(s.sum())]), np.full(1, np.nan), wanted)


def _solved(
    X: KernelData, kernel: Kernel, parts: Parts, sums: Sums, wanted: Wanted, share: float = 1.0
) -> Solved | None:
    """Solve all problems over the Gram matrix of X, the rows that take part; None if one was not certified."""
    began = now()
    taken, cuts, sign, linear, s, alpha, faint = parts
    points, K = points_and_values(X, kernel)
    if points.indefinite:
        return None
    A, B = points.errors()
    lo, hi, k = np.where(sign > 0, 0.0, -s), np.where(sign > 0, s, 0.0), len(cuts) - 1
    numbers = np.full(k, np.nan), np.full(k, faint), np.ones(k), unsolved(k)
    these = Together(K, A, B, taken, cuts, linear, s, lo, hi, sign * alpha, np.zeros(len(s)), *numbers)
    cut_off = run_all(these, wanted._replace(tol=share * wanted.tol), True, sums)
    if points.weighted is not None:
        certify_by_weights(these, points.weighted, wanted, cut_off, sums)
    # A run that shows no margin at all ends here; other methods would not find one.
    if cut_off is None and not ((these.found["gap"] <= wanted.tol) | np.isinf(these.found["as_is"])).all():
        return None
    for i in np.flatnonzero(np.isinf(these.found["gap"])).tolist():
        _take_as_it_is(these, i, sums)
    return Solved(these, sums, cut_off, points.n, values_computed(points, kernel), now() - began)


def _take_as_it_is(these: Together, k: int, sums: Sums) -> None:
    """Fill in the levels, the bias and the objective of an answer whose run was cut off before its certificate."""
    part = slice(these.cuts[k], these.cuts[k + 1])
    rows, beta, y = these.rows[part], these.beta[part], these.y[part]
    beta[:] = net_of(sums.form, beta)
    these.r[part] = beta @ these.K[np.ix_(rows, rows)]
    none, own = np.zeros(len(y)), np.sqrt(np.maximum(np.diagonal(these.K)[rows], 0.0))
    e, unit = these.r[part] - y, these.unit[k]
    b, _, _, objective = measured_levels(sums, k, these.box[part], y, beta, e, own, none, unit)
    these.found[k].primal, these.found[k].b = objective, b


def _runs(solved: Solved, answers: Answers, lam: np.ndarray, slack: np.ndarray, wanted: Wanted) -> Runs:
    gap, objective, rounds = (solved.these.found[name] for name in ("gap", "primal", "rounds"))
    history = [
        History([Record(int(t), solved.seconds, 0, solved.evals, p, g, np.nan)])
        for t, p, g in zip(rounds.tolist(), objective.tolist(), gap.tolist(), strict=True)
    ]
    ended = solved.cut_off or Status.STALLED
    kept: list[Any] = []
    return Runs(
        answers,
        kept,
        gap.copy(),
        objective.copy(),
        lam,
        slack,
        [Status.CONVERGED if value <= wanted.tol else ended for value in gap.tolist()],
        rounds.astype(np.int64),
        history,
        LevelBlocks(),
        solved.evals,
        solved.n**2,
    )
