"""The problems of a kernel fit over few points as one batch, which is solved in one run."""

from contextlib import nullcontext
from typing import Any, Literal

import numpy as np

from hinge.access import Points, as_points
from hinge.access.gram.given_points import FunctionPoints
from hinge.estimators.data.kernel_input import dense_if_small, part_of
from hinge.estimators.fitting.kernel_runs import Answers, Runs
from hinge.estimators.fitting.one_vs_one import class_pairs
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.weights import class_weights
from hinge.kernels import Function, Kernel
from hinge.monitoring import History, Status, Stop
from hinge.problems.batch import BatchCertificate
from hinge.problems.svm.duality import UNIT
from hinge.problems.svm.kernel_batch import (
    KernelBatch,
    LevelBatch,
    NuClassificationBatch,
    NuRegressionBatch,
    PackedBatch,
)
from hinge.problems.svm.losses import Loss
from hinge.solvers import ActiveSet, Result, solve
from hinge.solvers.kernel.active_rounds import MOST
from hinge.threads import one_blas_thread

Bias = Literal["free", "none"]
OnInterrupt = Literal["raise", "keep"]
FEW_PRODUCTS = 1 << 18
"""Multiplications of a matrix product up to which BLAS uses one thread anyway; limiting its threads would cost more."""
MANY_CLASSES, MOST_OF_PAIRS = 5, 2 * MOST
"""So many classes are solved together up to so many points of a pair: each kernel value then serves several pairs."""
FINER = 0.1
"""A ν-SVM of regression is solved to this fraction of the tolerance: the last round is cheap, and improves predictions.
"""


def fit_in_batch(kernel: Kernel, codes: np.ndarray, n_classes: int, cache_bytes: float, *, one_vs_one: bool) -> bool:
    """Whether every problem of a fit is small, and the Gram matrix of all rows fits into the cache."""
    by_value = isinstance(kernel, Function) and kernel.on != "blocks"
    if by_value or 8.0 * len(codes) ** 2 > cache_bytes:
        return False
    if not one_vs_one:
        return len(codes) <= MOST
    largest = int(np.sort(np.bincount(codes, minlength=n_classes))[-2:].sum())
    return largest <= (MOST_OF_PAIRS if n_classes >= MANY_CLASSES else MOST)


def run_targets(
    X: KernelData,
    kernel: Kernel,
    t: np.ndarray,
    weight: np.ndarray | None,
    C: float,
    bias: Bias,
    loss: Loss,
    stop: Stop,
    on_interrupt: OnInterrupt,
) -> Runs:
    """Solve the problem of a regression."""
    kept = None if weight is None or weight.all() else np.flatnonzero(weight)  # rows of weight zero take no part
    s = np.ones(len(t)) if weight is None else weight
    if kept is not None:
        X, t, s = part_of(X, kept, kernel), t[kept], s[kept]
    rows, cuts = np.arange(len(t)), np.array([0, len(t)])
    batch = KernelBatch(points_of(X, kernel), rows, cuts, t, s, C, bias=bias, loss=loss)
    return _run(batch, X, rows if kept is None else kept, stop, on_interrupt)


def run_classes(
    X: KernelData,
    kernel: Kernel,
    codes: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None,
    per_class: np.ndarray | None,
    C: float,
    bias: Bias,
    *,
    one_vs_one: bool,
    stop: Stop,
    on_interrupt: OnInterrupt,
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
    C : float
    bias : {"free", "none"}
    one_vs_one : bool
        Whether to solve all class pairs, or each class against the rest.
    stop : Stop
    on_interrupt : {"raise", "keep"}
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
        rows, cuts, y = one_vs_one_rows(codes, n_classes)
        s = (s if per_class is None else s * per_class[codes])[rows]
    else:
        targets = [1] if n_classes == 2 else range(n_classes)
        rows, cuts = np.tile(np.arange(len(s)), len(targets)), len(s) * np.arange(len(targets) + 1)
        sides = [codes == k for k in targets]
        y = np.where(np.concatenate(sides), np.int8(1), np.int8(-1))
        own = [class_weights(side, s, per_class, k) for side, k in zip(sides, targets, strict=True)]
        s = np.concatenate(own)  # type: ignore[arg-type]
    batch = KernelBatch(points_of(X, kernel), rows, cuts, y, s, C, bias=bias)
    return _run(batch, X, rows if kept is None else kept[rows], stop, on_interrupt)


def run_nu_targets(
    X: KernelData,
    kernel: Kernel,
    t: np.ndarray,
    weight: np.ndarray | None,
    C: float,
    nu: float,
    stop: Stop,
    on_interrupt: OnInterrupt,
) -> Runs | None:
    """Solve the ν-SVM of a regression; None if it could not be certified."""
    kept = None if weight is None or weight.all() else np.flatnonzero(weight)  # rows of weight zero take no part
    s = np.full(len(t), C) if weight is None else C * weight
    if kept is not None:
        X, t, s = part_of(X, kept, kernel), t[kept], s[kept]
    batch, n = NuRegressionBatch(points_of(X, kernel), t, s, nu), len(t)
    result = _solve_certified(batch, X, FINER, stop, on_interrupt)
    if result is None:
        return None
    rows, unused = np.arange(n) if kept is None else kept, np.full(n, np.nan)
    beta = batch.expansion(result.solution, 0).beta
    answers = Answers(beta, rows, np.array([0, n]), result.solution.biases, unused)
    return _runs(batch, result, answers, np.array([1.0 / float(s.sum())]), np.full(1, np.nan), stop.tol)


def run_nu_classes(
    X: KernelData,
    kernel: Kernel,
    codes: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None,
    nu: float,
    stop: Stop,
    on_interrupt: OnInterrupt,
) -> Runs | None:
    """Solve the ν-SVMs of all class pairs; None if one could not be certified. ν is feasible for every pair."""
    codes = 1 - codes if n_classes == 2 else codes  # of two classes, the second is the positive one
    kept = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    kept = kept[np.argsort(codes[kept], kind="stable")]
    X, codes, s = part_of(X, kept, kernel), codes[kept], np.ones(len(kept)) if weight is None else weight[kept]
    rows, cuts, y = one_vs_one_rows(codes, n_classes)
    s = s[rows]
    batch = NuClassificationBatch(points_of(X, kernel), rows, cuts, y, s, nu)
    result = _solve_certified(batch, X, 1.0, stop, on_interrupt)
    if result is None:
        return None
    (beta, r, b), sizes, firsts = result.solution, np.diff(cuts), cuts[:-1]
    rho, sq = result.state.levels.mean(axis=1), np.maximum(np.add.reduceat(beta * r, firsts), 0.0)
    rounding = UNIT * batch.mass**2 * np.add.reduceat(np.diagonal(batch.K)[rows], firsts) / sizes
    some = (rho > 0.0) & (sq > rounding)  # there is always a margin, unless a run was cut off or ν is too small
    scale = np.where(some, rho, 1.0)
    if not (scale > 1e-300 * (np.maximum.reduceat(np.abs(beta), firsts) + np.abs(b))).all():
        return None  # the coefficients divided by the margin would overflow
    each, total = np.repeat(scale, sizes), np.add.reduceat(s, firsts)
    f = (r + np.repeat(b, sizes)) / each
    loss = np.add.reduceat(s * np.maximum(1.0 - y * f, 0.0), firsts) / total
    with np.errstate(divide="ignore"):
        slack = np.where(sq > 0.0, loss * scale / np.sqrt(sq), np.inf)
    order = np.argsort(kept) if n_classes == 2 else slice(None)
    answers = Answers((beta / each)[order], kept[rows][order], cuts, b / scale, f[order])
    return _runs(batch, result, answers, np.where(some, rho, 0.0) / total, slack, stop.tol)


def _solve_certified(
    batch: LevelBatch, X: KernelData, share: float, stop: Stop, on_interrupt: OnInterrupt
) -> Result | None:
    """The result for ν-SVMs, solved to a share of the tolerance; None if `LevelBlocks` must solve them."""
    if isinstance(batch.points, FunctionPoints):
        _ = batch.K  # only its values say whether the kernel is positive semidefinite
    if ActiveSet().rejects(batch) is not None:
        return None
    result = _solve(batch, X, share, stop, on_interrupt)
    found = result.state.found
    # A run that shows no margin at all ends here; other methods would not find one.
    settled = ((found["gap"] <= stop.tol) | np.isinf(found["as_is"])).all()
    return result if result.status is not Status.STALLED or settled else None


def _solve(batch: PackedBatch, X: KernelData, share: float, stop: Stop, on_interrupt: OnInterrupt) -> Result:
    """The result for the batch of X, solved to a share of the tolerance."""
    width = 1 if isinstance(X, list) else X.shape[1]
    with one_blas_thread() if batch.n**2 * width > FEW_PRODUCTS else nullcontext():
        return solve(batch, ActiveSet(tol=share * stop.tol), stop=stop, on_interrupt=on_interrupt)


def _run(batch: KernelBatch, X: KernelData, rows: np.ndarray, stop: Stop, on_interrupt: OnInterrupt) -> Runs:
    """Solve the batch of X, whose points have these row numbers in the data."""
    result = _solve(batch, X, 1.0, stop, on_interrupt)
    (beta, r, b), objective = result.solution, _members(batch, result, "objective")
    sq = np.maximum(np.add.reduceat(beta * r, batch.cuts[:-1]), 0.0)
    loss = np.maximum(objective - 0.5 * batch.lam * sq, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = np.where(sq > 0, loss / np.sqrt(sq), np.inf)
    answers = Answers(beta, rows, batch.cuts, b, r + np.repeat(b, np.diff(batch.cuts)))
    return _runs(batch, result, answers, batch.lam, slack, stop.tol)


def _members(batch: PackedBatch, result: Result, name: str) -> np.ndarray:
    """A number of all members' certificates; there are none after Ctrl-C at the start."""
    known = result.certificate.members if isinstance(result.certificate, BatchCertificate) else ()
    return np.array([getattr(one, name) for one in known or [result.certificate] * len(batch.lam)])


def _runs(batch: PackedBatch, result: Result, answers: Answers, lam: np.ndarray, slack: np.ndarray, tol: float) -> Runs:
    """The run of a batch as one run for each member.

    The last record of each is that of the batch, with the member's own rounds, objective and gap.
    """
    gap, objective, found = _members(batch, result, "gap"), _members(batch, result, "objective"), result.state.found
    # Where there are no certificates, the solver knows by how much the conditions of a stationary point are violated.
    reached = gap if batch.certifiable else found["gap"]
    good = Status.CONVERGED if batch.certifiable else Status.STATIONARY
    bad = Status.STALLED if result.status.is_success else result.status
    earlier, last, kept = list(result.history)[:-1], result.history[-1], list[Any]()
    return Runs(
        answers,
        kept,
        gap,
        objective,
        lam,
        slack,
        [good if value <= tol else bad for value in reached.tolist()],
        found["rounds"],
        [
            History([*earlier, last._replace(iteration=t, objective=p, certificate=g)])
            for t, p, g in zip(found["rounds"].tolist(), objective.tolist(), gap.tolist(), strict=True)
        ],
        result.solver,
        batch.kernel_evals,
        batch.n**2,
    )


def one_vs_one_rows(codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, cuts and labels of all class pairs, for rows sorted by class; the first class of a pair is positive."""
    ends = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes))])
    sizes = np.diff(ends)
    # The classes of all class pairs in one flat list: i0, j0, i1, j1, ...
    meeting = np.array(class_pairs(n_classes)).ravel()
    counts = sizes[meeting]
    places = np.concatenate([[0], np.cumsum(counts)])
    taken = np.arange(places[-1]) - np.repeat(places[:-1] - ends[meeting], counts)
    y = np.repeat(np.resize(np.array([1, -1], np.int8), len(meeting)), counts)
    return taken, places[::2].copy(), y


def points_of(X: KernelData, kernel: Kernel) -> Points:
    """The points in their most accurate form; a function must get them as the user gave them."""
    return as_points(X, kernel) if isinstance(kernel, Function) else as_points(dense_if_small(X), kernel, exact=True)
