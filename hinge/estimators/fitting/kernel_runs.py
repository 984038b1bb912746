"""The runs of a kernel fit: its binary problems (tasks), solved one after the other, and their answers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.access import Gram
from hinge.estimators.data.kernel_input import part_of
from hinge.estimators.fitting.linear_runs import Plan, run_each, run_one
from hinge.estimators.fitting.one_vs_one import by_class, class_pairs, dual_layout
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.weights import class_weights
from hinge.estimators.kernel.expansions import weights_of
from hinge.kernels import Kernel, Linear, Precomputed
from hinge.monitoring import History, Status
from hinge.problems import (
    Expansion,
    KernelNuClassification,
    KernelNuRegression,
    KernelProblem,
    KernelRegularized,
    KernelSlackConstrained,
)
from hinge.solvers import Result, Solver
from hinge.threads import one_blas_thread, threads_of


class Task(NamedTuple):
    """A binary problem, of one class against another or against the rest; or the problem of a regression.

    Attributes
    ----------
    rows : ndarray, optional
        The rows that take part; None for all.
    y : ndarray
        Their labels, -1 and +1, in int8; or their targets in float64.
    weight : ndarray, optional
        Their weights; zero for held-out rows.
    aside : ndarray, optional
        The held-out rows, as indices among those that take part.
    """

    rows: np.ndarray | None
    y: np.ndarray
    weight: np.ndarray | None
    aside: np.ndarray | None


class ScaledAnswer(NamedTuple):
    """An answer scaled such that the margin is at decision values ±1, its λ, and its ν = mean hinge loss / ‖w‖."""

    answer: Expansion
    lam: float
    nu: float


class Answers(NamedTuple):
    """Coefficients of all runs, as concatenated arrays.

    Attributes
    ----------
    beta, rows : ndarray
        The coefficients, and the rows of the data that they belong to.
    cuts : ndarray of shape (n_runs + 1,)
        Start of each run in these arrays.
    b : ndarray of shape (n_runs,)
    f : ndarray
        Decision values of these rows; nan if a run has not computed all of them.
    """

    beta: np.ndarray
    rows: np.ndarray
    cuts: np.ndarray
    b: np.ndarray
    f: np.ndarray


class Runs(NamedTuple):
    """All runs of a fit.

    Attributes
    ----------
    answers : Answers
    kept : list of Expansion
        The same as starts for a later fit; empty if they are not available.
    gap, objective, lam, nu : ndarray of shape (n_runs,)
    statuses : list of Status
    n_iter : ndarray of shape (n_runs,)
        Iterations of each.
    history : list of History
    solver : Solver
    evals, asked : int
        Kernel values computed, and kernel values requested.
    """

    answers: Answers
    kept: list[Expansion]
    gap: np.ndarray
    objective: np.ndarray
    lam: np.ndarray
    nu: np.ndarray
    statuses: list[Status]
    n_iter: np.ndarray
    history: list[Any]
    solver: Solver
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
    """The binary problems of a fit. Rows of weight zero are left out, except held-out rows (`aside`)."""
    kept = np.ones(len(codes), bool) if weight is None else weight > 0
    if aside is not None:
        weight = np.ones(len(codes)) if weight is None else weight.copy()
        weight[aside] = 0.0
    if not one_vs_one:
        rows = None if kept.all() else np.flatnonzero(kept)
        targets = [1] if n_classes == 2 else range(n_classes)
        return [_task(rows, codes == k, class_weights(codes == k, weight, per_class, k), aside) for k in targets]
    if per_class is not None:
        weight = per_class[codes] if weight is None else weight * per_class[codes]
    members = [np.flatnonzero((codes == k) & kept) for k in range(n_classes)]
    both = [(i, np.sort(np.concatenate([members[i], members[j]]))) for i, j in class_pairs(n_classes)]
    return [_task(rows, codes == i, weight, aside) for i, rows in both]


def regression_task(t: np.ndarray, weight: np.ndarray | None, aside: np.ndarray | None) -> Task:
    """The problem of a regression; rows of weight zero are left out, except held-out rows (`aside`)."""
    rows = None if weight is None or weight.all() else np.flatnonzero(weight)
    if aside is not None:
        weight = np.ones(len(t)) if weight is None else weight.copy()
        weight[aside] = 0.0
        if not weight.any():
            raise ValueError("All rows of positive weight are held out: give a smaller validation_fraction.")
    if rows is None:
        return Task(None, t, weight, aside)
    assert weight is not None
    return Task(rows, t[rows], weight[rows], None if aside is None else np.searchsorted(rows, aside))


def _task(rows: np.ndarray | None, positive: np.ndarray, weight: np.ndarray | None, aside: np.ndarray | None) -> Task:
    if rows is not None:
        positive, weight = positive[rows], None if weight is None else weight[rows]
        aside = None if aside is None else np.flatnonzero(np.isin(rows, aside))
    return Task(rows, np.where(positive, np.int8(1), np.int8(-1)), weight, aside)


def check_mass(
    codes: np.ndarray,
    labels: list[Any],
    weight: np.ndarray | None,
    per_class: np.ndarray | None,
    aside: np.ndarray | None,
) -> None:
    """Raise if a class has no row of positive weight."""
    weight = np.ones(len(codes)) if weight is None else weight.copy()
    if aside is not None:
        weight[aside] = 0.0
    mass = np.bincount(codes, weight, minlength=len(labels))
    mass = mass if per_class is None else mass * per_class
    missing = np.flatnonzero(mass <= 1e-12 * mass.sum())
    if len(missing) == len(labels) - 1:
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class: 2 classes or more must "
            f"have one, and {labels[missing[0]]!r} has none."
        )
    if len(missing):
        raise ValueError(
            f"No row of class {labels[missing[0]]!r} has a positive weight: 2 classes or more must have one."
        )


def run_tasks(
    tasks: Sequence[Task],
    plan: Plan,
    gram_of: Callable[[np.ndarray | None, bool], Gram],
    problem_of: Callable[[Gram, Task], KernelProblem],
    known: Sequence[Result] = (),
) -> Runs:
    """Run one task after the other; tasks on the same rows share a Gram, and thus its cache of kernel rows.

    If rounding of the kernel values prevents a certificate, the run continues with more accurate ones. Results in
    `known` are used if they have converged; else runs continue from them.
    """
    scaled: dict[int, ScaledAnswer] = {}
    held: list[Any] = []
    spent = np.full(2, sum(result.history[-1].kernel_evals for result in known), np.int64)
    limit = plan.stop.max_kernel_evals

    def run(k: int, own: Plan) -> Result:
        task, stop = tasks[k], own.stop
        if not held or held[0] is not task.rows:
            _let_go(held)  # frees its memory before the next Gram is made
            held[:] = task.rows, gram_of(task.rows, False)
        problem = problem_of(held[1], task)
        if known and known[k].status is Status.CONVERGED:
            scaled[k] = scaled_answer(problem, known[k])
            return known[k]
        if known:
            own = own._replace(starts=[result.solution for result in known])
        gram, start = problem.gram, own.starts[k] if k < len(own.starts) else None
        if limit is not None:
            share = max(0, int(limit) - int(spent[0])) // (len(tasks) - k)
            cost = 0 if start is None else int(np.count_nonzero(start.beta)) * problem.n
            if cost > share:
                start, cost = None, 0  # its responses alone would cost more kernel values than are left
            stop = replace(stop, max_kernel_evals=share - cost)
        own = own._replace(stop=stop, aside=task.aside, starts=[None] * k + [start])
        result = billed(problem, k, own)
        if result.status is Status.STALLED and gram.dtype == np.float32 and gram.finer is not None:
            _let_go(held)
            held[:] = task.rows, gram_of(task.rows, True)
            problem = problem_of(held[1], task)
            result = _joined(result, billed(problem, k, _rest(own, k, result)))
        if known:
            result = _joined(known[k], result)
        scaled[k] = scaled_answer(problem, result)
        return result

    def billed(problem: KernelProblem, k: int, own: Plan) -> Result:
        before = np.array([problem.gram.evals, problem.gram.asked])
        try:
            return run_one(problem, k, own)
        finally:
            spent[:] += np.array([problem.gram.evals, problem.gram.asked]) - before

    try:
        results = run_each(len(tasks), run, plan, 1)
    finally:
        _let_go(held)
    found = [scaled[k] for k in range(len(tasks))]
    return Runs(
        answers_of([one.answer for one in found], tasks),
        [result.solution for result in results],
        np.array([result.certificate.gap for result in results]),
        np.array([result.certificate.objective for result in results]),
        np.array([one.lam for one in found]),
        np.array([one.nu for one in found]),
        [result.status for result in results],
        np.array([result.n_iter for result in results]),
        [result.history for result in results],
        results[0].solver,
        int(spent[0]),
        int(spent[1]),
    )


def answers_of(answers: Sequence[Expansion], tasks: Sequence[Task]) -> Answers:
    """The answers of some tasks as concatenated arrays."""
    rows = [np.arange(len(task.y)) if task.rows is None else task.rows for task in tasks]
    cuts = np.concatenate([[0], np.cumsum([len(part) for part in rows])])
    return Answers(
        np.concatenate([answer.beta for answer in answers]),
        np.concatenate(rows),
        cuts,
        np.array([answer.b for answer in answers]),
        np.concatenate([answer.responses + (answer.b if answer.terms < np.inf else np.nan) for answer in answers]),
    )


def _rest(plan: Plan, k: int, result: Result) -> Plan:
    """The plan of a run that continues from a result: the remaining limits, and its answer as the start."""
    stop, last = plan.stop, result.history[-1]
    if stop.max_time is not None:
        stop = replace(stop, max_time=max(0.0, stop.max_time - last.seconds))
    if stop.max_kernel_evals is not None:
        stop = replace(stop, max_kernel_evals=max(0, int(stop.max_kernel_evals) - last.kernel_evals))
    return plan._replace(stop=stop, starts=[None] * k + [result.solution])


def _joined(first: Result, second: Result) -> Result:
    """The result of two runs as one; the second continued from the first."""
    last, history = first.history[-1], History(list(first.history))
    for record in second.history:
        history.append(
            record._replace(
                iteration=record.iteration + first.n_iter,
                seconds=record.seconds + last.seconds,
                kernel_evals=record.kernel_evals + last.kernel_evals,
            )
        )
    return replace(second, n_iter=first.n_iter + second.n_iter, history=history)


def _let_go(held: list[Any]) -> None:
    """Drop the Gram, and close its store so that other processes may write to it."""
    if held and getattr(held[1], "store", None) is not None:
        held[1].store.close()
    held.clear()


def scaled_answer(problem: KernelProblem, result: Result) -> ScaledAnswer:
    """The scaled answer of a run; that of a given slack or ν is divided by its margin (Lemma 2.1)."""
    answer: Any = result.solution
    lam = np.nan
    if isinstance(problem, KernelRegularized | KernelNuRegression):
        lam = problem.lam
    elif isinstance(problem, KernelNuClassification):
        answer, lam = problem.in_margins(answer)
    elif isinstance(problem, KernelSlackConstrained):
        gamma, b, s = problem.level(answer)
        ended = result.status in (Status.CONVERGED, Status.FINISHED)
        if ended and gamma <= 0:
            raise ValueError(
                f"slack={problem.nu:g} leaves no margin: the kernel does not separate the classes. Give a larger slack."
            )
        usable = problem.usable(answer)
        if ended and problem.nu > usable * (1 + 1e-6):
            raise ValueError(problem.flooded(usable))
        scale = s / gamma if gamma > 0 else 1.0
        norm = float(np.sqrt(problem.checked(answer))) or 1.0
        answer = Expansion(answer.beta * (scale / norm), b * scale, answer.responses * (scale / norm))
        if ended and problem.mean_loss(answer.responses, answer.b) > (1 - 1e-6) * _constant_loss(problem):
            raise ValueError(
                f"slack={problem.nu:g} is too large for the smaller class: it covers all its rows, and "
                "a constant prediction is optimal. Give a smaller slack."
            )
    norm, loss = problem.criteria_of(answer)
    return ScaledAnswer(answer, lam, loss / norm if norm > 0 else np.inf)


def _constant_loss(problem: KernelProblem) -> float:
    """The mean hinge loss of w = 0, at its best bias."""
    return 2.0 * min(problem.class_mass(np.ones(problem.n))) if problem.bias == "free" else 1.0


def expanded(
    answers: Answers, X: KernelData, codes: np.ndarray, n_classes: int, kernel: Kernel, *, one_vs_one: bool
) -> dict[str, Any]:
    """The fitted attributes for prediction: support vectors, sorted by class, and coefficients."""
    beta, rows, cuts, b, _ = answers
    if one_vs_one:
        dual, support, n_support = dual_layout(beta, rows, cuts, codes, n_classes)
    else:
        beta, rows = beta.reshape(len(b), -1), rows[: cuts[1]]
        support, n_support = by_class(rows[(beta != 0).any(axis=0)], codes, n_classes)
        dual = beta[:, np.searchsorted(rows, support)]
    vectors = np.empty((0, 0)) if isinstance(kernel, Precomputed) else part_of(X, support, kernel)
    linear = isinstance(kernel, Linear)
    return {
        "_weights": weights_of(dual, vectors, n_support, one_vs_one=one_vs_one) if linear else None,
        "support_": support,
        "support_vectors_": vectors,
        "n_support_": n_support,
        "dual_coef_": sp.csr_matrix(dual) if sp.issparse(X) else dual,  # as in scikit-learn
        "intercept_": b,
    }


@contextmanager
def gram_threads(n_jobs: int | None) -> Iterator[int]:
    """The number of threads of a Gram; BLAS uses one thread meanwhile, since its own would wait by spinning."""
    with one_blas_thread():
        yield threads_of(n_jobs)
