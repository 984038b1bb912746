"""The runs behind a fit of a kernel machine: its tasks, one after the other, and their answers."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from hinge.estimators.checks import class_weights
from hinge.estimators.kernel_input import part_of
from hinge.estimators.one_vs_one import by_class, dual_layout, pairs
from hinge.estimators.one_vs_rest import Order, run_each, run_one
from hinge.kernels import Kernel, Precomputed
from hinge.monitoring import Status
from hinge.problems import Expansion, KernelProblem, KernelRegularized, KernelSlackConstrained
from hinge.solvers import Result


class Task(NamedTuple):
    """One class against another, or against the rest.

    Attributes
    ----------
    rows : ndarray, optional
        The rows that take part; None for all.
    y : ndarray of int8
        Their labels, -1 and +1.
    weight : ndarray, optional
        Zero on the rows held out.
    aside : ndarray, optional
        The rows held out, counted among those that take part.
    """

    rows: np.ndarray | None
    y: np.ndarray
    weight: np.ndarray | None
    aside: np.ndarray | None


class Outcome(NamedTuple):
    """An answer in units of the margin, its λ, and its ν: the mean slack at unit norm (Lemma 2.1)."""

    answer: Expansion
    lam: float
    nu: float


class Runs(NamedTuple):
    """All runs of a fit, and the kernel values that they computed and asked for."""

    results: list[Result]
    outcomes: list[Outcome]
    evals: int
    asked: int


def tasks_of(
    codes: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None,
    per_class: np.ndarray | None,
    aside: np.ndarray | None,
    *,
    one_vs_one: bool,
) -> list[Task]:
    """The binary problems of a fit; rows without weight take no part, unless errors are measured on them."""
    kept = np.ones(len(codes), bool) if weight is None else weight > 0
    if aside is not None:
        weight = np.ones(len(codes)) if weight is None else weight.copy()
        weight[aside] = 0.0
    if not one_vs_one:
        rows = None if kept.all() else np.flatnonzero(kept)
        targets = [1] if n_classes == 2 else range(n_classes)
        return [
            _task(rows, codes == k, class_weights(codes == k, weight, per_class, k), aside) for k in targets
        ]
    if per_class is not None:
        weight = per_class[codes] if weight is None else weight * per_class[codes]
    members = [np.flatnonzero((codes == k) & kept) for k in range(n_classes)]
    both = [(i, np.sort(np.concatenate([members[i], members[j]]))) for i, j in pairs(n_classes)]
    return [_task(rows, codes == i, weight, aside) for i, rows in both]


def _task(
    rows: np.ndarray | None, positive: np.ndarray, weight: np.ndarray | None, aside: np.ndarray | None
) -> Task:
    if rows is not None:
        positive, weight = positive[rows], None if weight is None else weight[rows]
        aside = None if aside is None else np.flatnonzero(np.isin(rows, aside))
    return Task(rows, np.where(positive, np.int8(1), np.int8(-1)), weight, aside)


def check_mass(codes: np.ndarray, labels: list[Any], weight: Any, per_class: Any, aside: Any) -> None:
    """Every class must have a row to learn from."""
    weight = np.ones(len(codes)) if weight is None else weight.copy()
    if aside is not None:
        weight[aside] = 0.0
    mass = np.bincount(codes, weight, minlength=len(labels))
    mass = mass if per_class is None else mass * per_class
    missing = np.flatnonzero(mass <= 1e-12 * mass.sum())
    if len(missing):
        raise ValueError(
            f"No row of class {labels[missing[0]]!r} has a positive weight: 2 classes or more must have one."
        )


def run_tasks(
    tasks: Sequence[Task],
    order: Order,
    gram_of: Callable[[np.ndarray | None], Any],
    problem_of: Callable[[Any, Task], KernelProblem],
) -> Runs:
    """Run one task after the other; tasks on the same rows share a Gram, and so the kernel rows it keeps."""
    outcomes: dict[int, Outcome] = {}
    held: list[Any] = []
    spent = np.zeros(2, np.int64)
    limit = order.stop.max_kernel_evals

    def run(k: int, own: Order) -> Result:
        task, stop = tasks[k], own.stop
        if not held or held[0] is not task.rows:
            _let_go(held)  # its memory goes before the next Gram asks for some
            held[:] = task.rows, gram_of(task.rows)
        problem = problem_of(held[1], task)
        gram, start = problem.gram, own.starts[k] if k < len(own.starts) else None
        if limit is not None:
            share = max(0, int(limit) - int(spent[0])) // (len(tasks) - k)
            cost = 0 if start is None else int(np.count_nonzero(start.beta)) * problem.n
            if cost > share:
                start, cost = None, 0  # to take it up would compute too much
            stop = replace(stop, max_kernel_evals=share - cost)
        own = own._replace(stop=stop, aside=task.aside, starts=[None] * k + [start])
        before = np.array([gram.evals, gram.asked])
        try:
            result = run_one(problem, k, own)
        finally:
            spent[:] += np.array([gram.evals, gram.asked]) - before
        outcomes[k] = outcome_of(problem, result)
        return result

    try:
        results = run_each(len(tasks), run, order, 1)
    finally:
        _let_go(held)
    return Runs(results, [outcomes[k] for k in range(len(tasks))], int(spent[0]), int(spent[1]))


def _let_go(held: list[Any]) -> None:
    """Drop a Gram, and let others write where it kept its values."""
    if held and getattr(held[1], "store", None) is not None:
        held[1].store.close()
    held.clear()


def outcome_of(problem: KernelProblem, result: Result) -> Outcome:
    """What a run has found; an answer of the slack-constrained problem is scaled by 1/γ (Lemma 2.1)."""
    answer: Any = result.solution
    lam = np.nan
    if isinstance(problem, KernelRegularized):
        lam = problem.lam
    elif isinstance(problem, KernelSlackConstrained):
        gamma, b, s = problem.level(answer)
        ended = result.status in (Status.CONVERGED, Status.FINISHED)
        if ended and gamma <= 0:
            raise ValueError(
                f"slack={problem.nu:g} leaves no margin: the kernel does not separate the classes. Give more."
            )
        usable = problem.usable(answer)
        if ended and problem.nu > usable * (1 + 1e-6):
            raise ValueError(problem.flooded(usable))
        scale = s / gamma if gamma > 0 else 1.0
        norm = float(np.sqrt(problem.checked(answer))) or 1.0
        answer = Expansion(answer.beta * (scale / norm), b * scale, answer.responses * (scale / norm))
        if ended and problem.loss(answer.responses, answer.b) > (1 - 1e-6) * _constant_loss(problem):
            raise ValueError(
                f"slack={problem.nu:g} is too large for the smaller class: it covers all its rows, and "
                "nothing beats the answer that is always the same. Give less."
            )
    norm, loss = problem.criteria_of(answer)
    return Outcome(answer, lam, loss / norm if norm > 0 else np.inf)


def _constant_loss(problem: KernelProblem) -> float:
    """The mean hinge loss of w = 0, at its best bias."""
    return 2.0 * min(problem.class_mass(np.ones(problem.n))) if problem.bias == "free" else 1.0


def expanded(
    answers: Sequence[Expansion],
    tasks: Sequence[Task],
    X: Any,
    codes: np.ndarray,
    n_classes: int,
    kernel: Kernel,
    *,
    one_vs_one: bool,
) -> dict[str, Any]:
    """The fitted attributes that say how to predict: support vectors class by class, and coefficients."""
    n = len(codes)
    rows = [np.arange(n) if task.rows is None else task.rows for task in tasks]
    if one_vs_one:
        dual, support, n_support = dual_layout([answer.beta for answer in answers], rows, codes, n_classes)
    else:
        used = np.logical_or.reduce([answer.beta != 0 for answer in answers])
        support, n_support = by_class(rows[0][used], codes, n_classes)
        at = np.searchsorted(rows[0], support)
        dual = np.array([answer.beta[at] for answer in answers])
    vectors = np.empty((0, 0)) if isinstance(kernel, Precomputed) else part_of(X, support, kernel)
    return {
        "support_": support, "support_vectors_": vectors, "n_support_": n_support, "dual_coef_": dual,
        "intercept_": np.array([answer.b for answer in answers]),
    }  # fmt: skip


@contextmanager
def gram_threads(n_jobs: int | None) -> Iterator[int]:
    """The number of threads of a Gram; BLAS has one for each of them where a number was given."""
    if n_jobs is None:
        yield 1
        return
    with threadpool_limits(1):
        yield (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
