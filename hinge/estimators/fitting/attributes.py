"""Fitted attributes from the results of runs: coefficients, support vectors, and how the runs ended."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from hinge.access.occupied import Occupied
from hinge.estimators.data.kernel_input import part_of
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.reports import STALLED_ADVICE, Ends, how_all_ended
from hinge.estimators.fitting.tasks import Task, by_class, dual_layout, pack_tasks
from hinge.estimators.kernel.expansions import weights_of
from hinge.estimators.linear import crammer_singer
from hinge.kernels import Kernel, Linear, Precomputed
from hinge.monitoring import Status
from hinge.problems import (
    Expansion,
    KernelNuClassification,
    KernelNuRegression,
    KernelProblem,
    KernelRegularized,
    KernelSlackConstrained,
    L1Regularized,
    LinearProblem,
    Multiclass,
    Regularized,
    Solution,
)
from hinge.problems.batch import BatchCertificate
from hinge.problems.svm.kernel_batch import (
    KernelBatch,
    NuClassificationBatch,
    NuRegressionBatch,
    OneClassBatch,
    PackedBatch,
)
from hinge.problems.svm.kernel_duality import UNIT
from hinge.solvers import Result, Simba


def ends_of(results: Sequence[Result]) -> Ends:
    """How these runs ended."""
    each = [
        (one.certificate.gap, one.certificate.objective, one.n_iter, one.history, one.solution, one.status)
        for one in results
    ]
    gaps, objectives, rounds, histories, solutions, statuses = zip(*each, strict=True)
    numbers = np.array(gaps), np.array(objectives), np.array(rounds)
    return Ends(list(dict.fromkeys(statuses)), *numbers, histories, solutions, results[0].solver)


def describe_runs(
    model: BaseEstimator, ends: Ends, max_iter: int | None = None, if_stalled: str = STALLED_ADVICE
) -> None:
    """Set the attributes that say how the runs went, and warn if one was cut off."""
    several = len(ends.gaps) > 1
    model.gap_ = float(ends.gaps.max())
    model.objective_ = ends.objectives if several else float(ends.objectives[0])
    model.history_ = list(ends.histories) if several else ends.histories[0]
    model.solver_ = ends.solver
    model.stop_reason_ = how_all_ended(ends.statuses, model.gap_, model.tol, max_iter, if_stalled).name.lower()
    if getattr(model, "_skl_callbacks", None):
        model._callback_fit_ctx.call_on_fit_task_end(estimator=model)


def check_coefficients(beta: np.ndarray) -> None:
    """Raise if kernel values were such that coefficients are no numbers."""
    if not np.isfinite(beta).all():
        raise ValueError(
            "Kernel values are so large, and so alike, that their differences are lost: the fit has no answer. "
            "Scale the features, for instance with sklearn.preprocessing.StandardScaler."
        )


# --- linear fits ----------------------------------------------------------------------------


def starts(last: list[Solution] | None, seen: Occupied) -> list[Solution | None]:
    """Earlier answers as starts on this data; their α is dropped if the number of rows differs."""
    if not last or len(last[0].w) != seen.width + (last[0].w.ndim > 1):  # of several classes, with the constant feature
        return []
    same_rows = last[0].alpha is not None and len(last[0].alpha) == seen.matrix.shape[0]
    last = [answer._replace(w=seen.narrow(answer.w)) for answer in last]
    return [answer if same_rows else answer._replace(alpha=None) for answer in last]


def widened(results: list[Result], seen: Occupied) -> list[Result]:
    """Results with weights for all columns, zero for those that were left out."""
    if seen.columns is None:
        return results
    return [replace(one, solution=one.solution._replace(w=seen.wide(one.solution.w))) for one in results]


def keep_results(
    model: BaseEstimator, results: Sequence[Result], problems: Sequence[LinearProblem | Multiclass]
) -> None:
    """Set the attributes of a linear fit, and warn if it was cut off."""
    model.coef_, model.intercept_ = coefficients([result.solution for result in results], problems)
    model._answers = [result.solution for result in results] if model.warm_start else None
    model._mass = problems[0].total  # needed by `partial_fit`
    model.n_iter_ = max(1, *(-(-r.n_iter // r.per_pass) for r in results))
    for name in ("_streams", "dual_coef_", "support_"):  # of an earlier fit
        model.__dict__.pop(name, None)
    dual = dual_coefficients(results, problems)
    if dual is not None:
        model.dual_coef_, model.support_ = dual
    describe_runs(model, ends_of(results))


def coefficients(
    answers: Sequence[Solution], problems: Sequence[LinearProblem | Multiclass]
) -> tuple[np.ndarray, np.ndarray]:
    """w and b of all classes; a row of w for each."""
    if isinstance(problems[0], Multiclass):
        return crammer_singer.coefficients(answers[0], problems[0])
    ws = [answer.w for answer in answers]
    return ws[0][None] if len(ws) == 1 else np.array(ws), np.array([answer.b for answer in answers])


def dual_coefficients(
    results: Sequence[Result], problems: Sequence[LinearProblem | Multiclass]
) -> tuple[np.ndarray, np.ndarray] | None:
    """yᵢαᵢcᵢ/λ for each class, and the rows where any is not zero; None without a dual."""
    if isinstance(problems[0], Multiclass):
        return crammer_singer.dual_coefficients(results[0].solution, problems[0])
    if isinstance(results[0].solver, Simba) or isinstance(problems[0], L1Regularized):
        return None  # their dual weights give a bound, but w is not a combination of the rows by these
    alphas = [result.solution.alpha for result in results]
    if any(alpha is None for alpha in alphas):
        return None
    support = np.flatnonzero(np.logical_or.reduce([alpha != 0 for alpha in alphas]))
    dual = np.empty((len(results), len(support)))
    for row, result, alpha, problem in zip(dual, results, alphas, problems, strict=True):
        share = problem.share()
        alpha.take(support, out=row, mode="clip")  # "raise" would make a copy first
        row *= problem.y[support]
        row *= share if isinstance(share, float) else share[support]
        if isinstance(problem, Regularized):
            row /= problem.lam
        else:  # a slack-constrained answer has no λ: scaled to the norm of w instead
            made = np.linalg.norm(problem.combination(alpha))
            row *= np.linalg.norm(result.solution.w) / (made or 1.0)
    return dual, support


# --- kernel fits ----------------------------------------------------------------------------


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


def answers_of(answers: Sequence[Expansion], tasks: Sequence[Task]) -> Answers:
    """The answers of some tasks as concatenated arrays."""
    packed = pack_tasks(tasks)
    return Answers(
        np.concatenate([answer.beta for answer in answers]),
        packed.rows,
        packed.cuts,
        np.array([answer.b for answer in answers]),
        np.concatenate([answer.responses + (answer.b if answer.terms < np.inf else np.nan) for answer in answers]),
    )


def values_of(answers: Answers, n: int, takes: int) -> np.ndarray | None:
    """The decision values that runs have computed, nan for rows that take no part; None if others are not known.

    Each of the n rows has a label in `takes` of the runs.
    """
    if len(answers.rows) < n * takes or np.isnan(answers.f).any():
        return None
    scores = np.full((n, len(answers.b)), np.nan)
    scores[answers.rows, np.repeat(np.arange(len(answers.b)), np.diff(answers.cuts))] = answers.f
    return scores


class Runs(NamedTuple):
    """All runs of a kernel fit.

    Attributes
    ----------
    ends : Ends
    answers : Answers
    lam, nu : ndarray of shape (n_runs,)
        λ and ν of each answer, as in `ScaledAnswer`.
    evals, asked : int
        Kernel values computed, and kernel values requested.
    problem : KernelProblem or PackedBatch
        The one that was solved last.
    stalled : bool
        Whether another method may come nearer to the optimum.
    """

    ends: Ends
    answers: Answers
    lam: np.ndarray
    nu: np.ndarray
    evals: int
    asked: int
    problem: Any
    stalled: bool = False

    @property
    def gap(self) -> float:
        """The largest gap."""
        return float(self.ends.gaps.max())


def join_runs(parts: Sequence[Runs]) -> Runs:
    """Several runs, one after the other."""
    if len(parts) == 1:
        return parts[0]
    ends, answers, lam, nu, evals, asked, problems, stalled = zip(*parts, strict=True)
    beta, rows, _, b, f = (np.concatenate(one) for one in zip(*answers, strict=True))
    cuts = np.cumsum([0, *(size for part in answers for size in np.diff(part.cuts))])
    joined = Answers(beta, rows, cuts, b, f)
    every = Ends(
        list(dict.fromkeys(status for one in ends for status in one.statuses)),
        np.concatenate([one.gaps for one in ends]),
        np.concatenate([one.objectives for one in ends]),
        np.concatenate([one.rounds for one in ends]),
        [history for one in ends for history in one.histories],
        [solution for one in ends for solution in one.solutions],
        ends[0].solver,
    )
    each = np.concatenate(lam), np.concatenate(nu)
    return Runs(every, joined, *each, sum(evals), sum(asked), problems[-1], any(stalled))


def scaled_answer(problem: KernelProblem, result: Result) -> ScaledAnswer:
    """The scaled answer of a run; for a given slack or ν it is divided by its margin (Lemma 2.1)."""
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


def scaled_answers(
    batch: PackedBatch, result: Result, rows: np.ndarray
) -> tuple[Answers, np.ndarray, np.ndarray] | None:
    """The scaled answers of all members of a batch, whose points are these rows of the data; their λ, and their ν.

    None if a margin is so small that coefficients divided by it would overflow.
    """
    (beta, r, b), cuts, firsts = result.solution, batch.cuts, batch.cuts[:-1]
    sizes = np.diff(cuts)
    if isinstance(batch, NuRegressionBatch):  # every point occurs twice
        n = batch.n
        answers = Answers(batch.expansion(result.solution, 0).beta, rows[:n], np.array([0, n]), b, np.full(n, np.nan))
        return answers, np.array([1.0 / float(batch.boxes[:n].sum())]), np.full(1, np.nan)
    if isinstance(batch, OneClassBatch):
        return Answers(beta, rows, cuts, b, r + b), np.full(1, np.nan), np.full(1, np.nan)
    sq = np.maximum(np.add.reduceat(beta * r, firsts), 0.0)
    if isinstance(batch, KernelBatch):
        loss = np.maximum(of_members(batch, result, "objective") - 0.5 * batch.lam * sq, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            nu = np.where(sq > 0, loss / np.sqrt(sq), np.inf)
        return Answers(beta, rows, cuts, b, r + np.repeat(b, sizes)), batch.lam, nu
    assert isinstance(batch, NuClassificationBatch)
    rho, s, y = result.state.levels.mean(axis=1), batch.boxes, batch.y
    rounding = UNIT * batch.mass**2 * np.add.reduceat(batch.points.diag()[batch.rows], firsts) / sizes
    some = (rho > 0.0) & (sq > rounding)  # there is always a margin, unless a run was cut off or ν is too small
    scale = np.where(some, rho, 1.0)
    if not (scale > 1e-300 * (np.maximum.reduceat(np.abs(beta), firsts) + np.abs(b))).all():
        return None
    each, total = np.repeat(scale, sizes), np.add.reduceat(s, firsts)
    f = (r + np.repeat(b, sizes)) / each
    loss = np.add.reduceat(s * np.maximum(1.0 - y * f, 0.0), firsts) / total
    with np.errstate(divide="ignore"):
        nu = np.where(sq > 0.0, loss * scale / np.sqrt(sq), np.inf)
    order = np.argsort(rows) if len(sizes) == 1 else slice(None)  # the rows of a single problem are in their order
    answers = Answers((beta / each)[order], rows[order], cuts, b / scale, f[order])
    return answers, np.where(some, rho, 0.0) / total, nu


def of_members(batch: PackedBatch, result: Result, name: str) -> np.ndarray:
    """One field of the certificates of all members; there are none after Ctrl-C at the start."""
    if isinstance(result.certificate, BatchCertificate):
        return result.certificate.column(name)
    return np.full(len(batch.lam), getattr(result.certificate, name))


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
