"""The runs of a linear fit, one for each class against the rest, and the fitted attributes made from them."""

import math
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from hinge.access.occupied import Occupied
from hinge.estimators.linear import crammer_singer
from hinge.monitoring import Record, Status, Stop
from hinge.monitoring.checkpoint import Checkpoint
from hinge.monitoring.clock import left_of, now, within
from hinge.monitoring.interrupts import called_off_by, calling_off
from hinge.problems import (
    KernelProblem,
    KernelSlackConstrained,
    L1Regularized,
    LinearProblem,
    Multiclass,
    Problem,
    Regularized,
    SlackConstrained,
    Solution,
)
from hinge.problems.batch import Batch, BatchSolution
from hinge.solvers import Result, Simba, Solver, choose, solve, solve_slack
from hinge.solvers.choice.auto import in_parts
from hinge.solvers.driver import Callback, check_solver
from hinge.threads import cores, each, one_blas_thread, threads_of

Report = Callable[[int, Record, Solution, Problem | None], bool]
"""Gets the number of the run, a record, the answer, and the problem that it answers; None if that is not at hand."""

STALLED_ADVICE = "Scale the features, regularise more (a smaller C), or ask for less."
SHARED = 10_000  # BLAS uses several threads for vectors of at least this length


class Plan(NamedTuple):
    """Settings of the runs, the same for every class.

    Attributes
    ----------
    solver : Solver, optional
        None to choose one.
    stop : Stop
    passes : int, optional
        Limit of the passes over the data.
    seed : int
    on_interrupt : {"raise", "keep"}
    aside : ndarray of int, optional
        Held-out rows, on which errors are measured.
    reports : tuple of callables
        Called at each record of a run; True ends the run.
    starts : sequence
        Earlier answers to start from, one for each class.
    threads : int
        Threads that may work on one run.
    """

    solver: Solver | None
    stop: Stop
    passes: int | None
    seed: int
    on_interrupt: Any
    aside: np.ndarray | None = None
    reports: tuple[Report, ...] = ()
    starts: Sequence[Any] = ()
    threads: int = 1


def starts(last: list[Solution] | None, seen: Occupied) -> list[Solution | None]:
    """Earlier answers as starts on this data; their α is dropped if the number of rows differs."""
    if not last or len(last[0].w) != seen.width + (last[0].w.ndim > 1):  # of several classes, with the constant feature
        return []
    same_rows = last[0].alpha is not None and len(last[0].alpha) == seen.matrix.shape[0]
    last = [answer._replace(w=seen.narrow(answer.w)) for answer in last]
    return [answer if same_rows else answer._replace(alpha=None) for answer in last]


def widened(result: Result, seen: Occupied) -> Result:
    """A result with weights for all columns, zero for those that were left out."""
    if seen.columns is None:
        return result
    return replace(result, solution=result.solution._replace(w=seen.wide(result.solution.w)))


def run_all(problems: Sequence[LinearProblem | Multiclass], plan: Plan, n_jobs: int | None) -> list[Result]:
    """Solve every problem, in `n_jobs` threads; Ctrl-C ends all of them.

    If there are more threads than problems, several threads work on each. A solver that can solve all problems at once
    (`Solver.joint`) does so.
    """
    if plan.solver is not None and plan.solver.joint and all(isinstance(one, Regularized) for one in problems):
        return run_batch(cast(Sequence[Regularized], problems), plan)
    count, threads = len(problems), threads_of(n_jobs)
    plan = plan._replace(threads=max(1, threads // count))
    with one_blas_thread() if threads > 1 or _has_long_vectors(problems[0]) else nullcontext():
        return run_each(count, lambda k, own: run_one(problems[k], k, own), plan, threads)


def joint_solver(problem: LinearProblem, tol: float) -> Solver | None:
    """The solver that is chosen for a problem, if it can solve others over the same rows jointly with it."""
    if not isinstance(problem, Regularized) or not problem.in_memory:
        return None
    solver = choose(problem, tol=tol).solver
    return solver if solver.joint else None


def _has_long_vectors(problem: LinearProblem | Multiclass) -> bool:
    """Whether BLAS would use several threads for vectors of sparse data, which is slower than one."""
    return problem.matrix.is_sparse and max(problem.matrix.shape) >= SHARED


def run_batch(problems: Sequence[Regularized], plan: Plan, checkpoint: Checkpoint | None = None) -> list[Result]:
    """One run for all problems, which share one matrix."""
    solver, together = plan.solver, len(problems) > 1
    assert solver is not None
    problem: Any = Batch(problems) if together else problems[0]
    scores = [] if plan.aside is None else [_error_on(one, plan.aside, may_compute=True) for one in problems]

    def score(answer: BatchSolution | Solution) -> float:
        """The largest error of all problems, so that the run ends when all are small enough."""
        answers = answer.members if isinstance(answer, BatchSolution) else [answer]
        return max(error(one) for error, one in zip(scores, answers, strict=True))

    stop = plan.stop
    if stop.max_iter is None and plan.passes is not None:
        stop = replace(stop, max_iter=plan.passes * solver.cost(problem).a_pass)
    starts: Any = list(plan.starts) or None
    result = solve(
        problem,
        solver,
        stop=stop,
        seed=plan.seed,
        start=starts if together or starts is None else starts[0],
        score=score if scores else None,
        callbacks=callbacks_of(plan.reports, 0, problem),
        on_interrupt=plan.on_interrupt,
        checkpoint=checkpoint,
    )
    if not together:
        return [replace(result, state=None)]
    shown = getattr(result.solver, "solver", result.solver)  # the solver that `SideBySide` wraps
    certificates = getattr(result.certificate, "members", [result.certificate] * len(problems))  # none after Ctrl-C
    pairs = zip(result.solution.members, certificates, strict=True)
    return [replace(result, solution=a, certificate=c, state=None, solver=shown) for a, c in pairs]


def run_each(count: int, run_task: Callable[[int, Plan], Result], plan: Plan, threads: int) -> list[Result]:
    """Call ``run_task(k, own)`` for each k, where `own` is `plan` with the task's share of the limits."""
    jobs = min(count, threads, cores())
    began = now()
    cancelled = calling_off.get() or threading.Event()

    def run(k: int) -> Result:
        """One task with its share of the remaining limits; after Ctrl-C without any iteration."""
        stop = plan.stop
        if stop.max_reads is not None:
            stop = replace(stop, max_reads=stop.max_reads // count)
        left = left_of(stop.max_time, began)
        if left is not None:
            stop = replace(stop, max_time=left / math.ceil((count - k) / jobs))
        late = cancelled.is_set()
        if late:
            stop = replace(stop, max_iter=0)
        off = None if late and plan.on_interrupt == "raise" else cancelled
        with within(stop.max_time), called_off_by(off):  # the limit includes preparations before the run
            return run_task(k, plan._replace(stop=stop))

    def run_or_not(k: int) -> Result:
        try:
            result = run(k)
        except KeyboardInterrupt:  # between two runs, or before one had an answer
            cancelled.set()
            if plan.on_interrupt == "raise":
                raise
            result = run(k)
        if result.status is Status.INTERRUPTED or (result.status is Status.CALLBACK and jobs == 1):
            cancelled.set()  # ends the other runs, too
        return result

    results = each(run_or_not, count, jobs, cancelled.set)
    if cancelled.is_set():
        why = Status.CALLBACK if any(r.status is Status.CALLBACK for r in results) else Status.INTERRUPTED
        results = [_cut_off(result, why) for result in results]
    return results


def run_one(problem: LinearProblem | Multiclass | KernelProblem, k: int, plan: Plan) -> Result:
    """One run; if the slack is given, by root-finding in λ."""
    start = plan.starts[k] if k < len(plan.starts) else None
    free = plan.stop.max_kernel_evals is None
    score = _error_on(problem, plan.aside, may_compute=free) if plan.aside is not None else None
    by_lambda = isinstance(problem, SlackConstrained | KernelSlackConstrained) and _by_lambda(problem, plan.solver)
    options: dict[str, Any] = {
        "seed": plan.seed,
        "start": start,
        "score": score,
        "callbacks": callbacks_of(plan.reports, k, None if by_lambda else problem),  # answers for λ answer others
        "on_interrupt": plan.on_interrupt,
    }
    stop = plan.stop
    if by_lambda:
        assert isinstance(problem, SlackConstrained | KernelSlackConstrained)
        return replace(solve_slack(problem, plan.solver, stop=stop, passes=plan.passes, **options), state=None)
    solver = plan.solver
    if solver is None:
        chosen = choose(problem, max_reads=stop.max_reads, tol=stop.tol).solver
        solver = chosen if stop.max_reads is not None else in_parts(chosen, problem, plan.threads)
    check_solver(problem, solver)  # before its cost is asked for
    if stop.max_iter is None and plan.passes is not None:
        stop = replace(stop, max_iter=plan.passes * solver.cost(problem).a_pass)
    return replace(solve(problem, solver, stop=stop, **options), state=None)  # states are not needed again


def callbacks_of(reports: Sequence[Report], k: int, problem: Problem | None) -> list[Callback]:
    """The reports as callbacks of run k."""

    def callback_of(report: Report) -> Callback:
        return lambda record, solution: report(k, record, solution, problem)

    return [callback_of(report) for report in reports]


def _by_lambda(problem: SlackConstrained | KernelSlackConstrained, solver: Solver | None) -> bool:
    """Whether a given slack is solved for by root-finding in λ: not if it is zero, or the solver takes it directly."""
    if isinstance(problem, SlackConstrained):
        return not isinstance(solver, Simba)
    return problem.nu > 0 and (solver is None or solver.rejects(problem) is not None)


def _error_on(
    problem: LinearProblem | Multiclass | KernelProblem, aside: np.ndarray, *, may_compute: bool
) -> Callable[[Any], float]:
    """A function that returns the error rate on held-out rows; in regression, their mean absolute error.

    It returns nan if responses of these rows are missing and kernel values may not be computed for them.
    """
    if isinstance(problem, Multiclass):
        return lambda solution: float(np.mean(problem.margins(solution.w, aside, billed=False) <= 0.0))
    truth, regression = problem.y[aside] > 0, problem.loss.two_sided

    def error(solution: Any) -> float:
        if isinstance(problem, KernelSlackConstrained):  # its bias belongs to w/‖w‖
            solution = solution._replace(b=problem.level(solution)[1] * np.sqrt(max(solution.sq_norm, 0.0)))
        if isinstance(problem, KernelProblem) and solution.terms == np.inf:
            used = np.flatnonzero(solution.beta)
            if not may_compute:
                return np.nan
            scores = problem.gram.host(problem.gram.pass_over(used, solution.beta[used], aside)) + solution.b
        elif isinstance(problem, KernelProblem):
            scores = solution.responses[aside] + solution.b
        else:
            scores = problem.matrix.responses_at(aside, solution.w, billed=False) + solution.b
        if regression:
            return float(np.mean(np.abs(problem.target[aside] - scores)))
        return float(np.mean((scores > 0) != truth))

    return error


def _cut_off(result: Result, why: Status) -> Result:
    ended = result.status in (Status.CALLBACK, Status.INTERRUPTED, Status.MAX_ITER)
    return replace(result, status=why) if ended else result


def how_it_ended(results: Sequence[Result], tol: float, max_iter: int | None = None) -> Status:
    """The status of all runs together, with a warning if a limit cut one off or one has no certificate."""
    gap = max(result.certificate.gap for result in results)
    return how_all_ended([result.status for result in results], gap, tol, 7, max_iter)


def how_all_ended(
    every: Sequence[Status],
    gap: float,
    tol: float,
    depth: int = 6,
    max_iter: int | None = None,
    if_stalled: str = STALLED_ADVICE,
) -> Status:
    """One status for all runs, with a warning if a limit cut one off or one has no certificate.

    `depth` is the stack level of the caller of `fit`, to which the warning points. If `max_iter` is given and was the
    limit, the warning begins like scikit-learn's, for code that filters by that. `if_stalled` is the advice if
    rounding ended the run: more time would not help.
    """
    cut_off = [status for status in every if not status.is_success]
    cut_off.sort(key=lambda status: status is not Status.INTERRUPTED)
    other = [status for status in every if status is not Status.CONVERGED]
    status = (cut_off or other or every)[0]
    at_a_limit = bool(cut_off) and status is not Status.INTERRUPTED
    asked = status in (Status.TARGET, Status.CALLBACK)  # another criterion than the gap has been met
    if at_a_limit or (np.isinf(gap) and not asked):
        reached = f"a certified relative gap of {gap:.2g} (" if np.isfinite(gap) else f"no certificate (gap_={gap:g}, "
        why = f"The fit ended because {status.value}, with {reached}tol={tol:g})."
        if at_a_limit:
            why += f" {if_stalled if status is Status.STALLED else 'Allow more, or ask for less.'}"
        if status is Status.MAX_ITER and max_iter is not None:
            why = (
                f"Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data with "
                f"StandardScaler or MinMaxScaler. {why}"
            )
        warnings.warn(why, ConvergenceWarning, stacklevel=depth)
    elif Status.STATIONARY in every:
        warnings.warn(
            "The kernel is not positive semidefinite, so the answer is a stationary point, as LIBSVM finds "
            "it, and has no certificate: gap_ is nan.",
            UserWarning,
            stacklevel=depth,
        )
    return status


def keep_results(
    model: BaseEstimator, results: Sequence[Result], problems: Sequence[LinearProblem | Multiclass]
) -> None:
    """Set the attributes of a linear fit, and warn if it was cut off."""
    model.coef_, model.intercept_ = coefficients([result.solution for result in results], problems)
    model._answers = [result.solution for result in results] if model.warm_start else None
    model._mass = problems[0].total  # needed by `partial_fit`
    model.__dict__.pop("_streams", None)
    model.gap_ = float(max(result.certificate.gap for result in results))
    objectives = np.array([result.certificate.objective for result in results])
    model.objective_ = float(objectives[0]) if len(results) == 1 else objectives
    model.n_iter_ = max(1, *(-(-r.n_iter // r.per_pass) for r in results))
    model.history_ = results[0].history if len(results) == 1 else [result.history for result in results]
    model.stop_reason_ = how_it_ended(results, model.tol).name.lower()
    model.solver_ = results[0].solver
    for name in ("dual_coef_", "support_"):
        model.__dict__.pop(name, None)
    dual = dual_coefficients(results, problems)
    if dual is not None:
        model.dual_coef_, model.support_ = dual
    if getattr(model, "_skl_callbacks", None):
        model._callback_fit_ctx.call_on_fit_task_end(estimator=model)


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
    if any(result.solution.alpha is None or isinstance(result.solver, Simba) for result in results):
        return None  # the dual weights of Simba give a bound, but w is not their combination of the rows
    if any(isinstance(problem, L1Regularized) for problem in problems):
        return None  # nor is the w of an ℓ₁ penalty
    support = np.flatnonzero(np.logical_or.reduce([result.solution.alpha != 0 for result in results]))
    dual = np.empty((len(results), len(support)))
    for row, result, problem in zip(dual, results, problems, strict=True):
        alpha = result.solution.alpha
        assert alpha is not None
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
