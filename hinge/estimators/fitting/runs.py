"""The runs of a fit: the only place of the estimators that calls the driver, on a problem or on a batch of them."""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from hinge.access import Gram, Points
from hinge.access.gram.given_points import FunctionPoints
from hinge.estimators.data.kernel_input import batch_points, part_of
from hinge.estimators.fitting.attributes import (
    Runs,
    ScaledAnswer,
    answers_of,
    ends_of,
    join_runs,
    of_members,
    scaled_answer,
    scaled_answers,
)
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.reports import Ends, Report
from hinge.estimators.fitting.tasks import PackedTasks, Task, pack_tasks, sort_rows
from hinge.kernels import Kernel
from hinge.monitoring import History, Record, Status, Stop
from hinge.monitoring.checkpoint import Checkpoint
from hinge.monitoring.interrupts import called_off_by, calling_off, left_of, now, within
from hinge.problems import (
    KernelProblem,
    KernelSlackConstrained,
    LinearProblem,
    Multiclass,
    Regularized,
    SlackConstrained,
)
from hinge.problems.batch import Batch
from hinge.problems.svm.kernel_batch import LevelBatch, PackedBatch
from hinge.solvers import ActiveSet, FromLandmarks, Result, Simba, Solver, choose, solve, solve_slack
from hinge.solvers.choice.auto import in_parts
from hinge.solvers.kernel.active_batch import SlowPairs
from hinge.threads import cores, each, one_blas_thread, threads_of

if TYPE_CHECKING:
    from hinge.access.gram.device import DeviceGram
    from hinge.solvers.kernel.device_block import DeviceBatch


class Plan(NamedTuple):
    """Settings of the runs, the same for every class.

    Attributes
    ----------
    solver : Solver, optional
        None to choose one.
    stop : Stop
    passes : int, optional
        Limit of the passes over the data, if `stop` has no limit of the iterations.
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
    own_dual : bool
        Whether the coefficients of a kernel machine must be dual weights of its rows, however soon a run ends.
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
    own_dual: bool = False


def run_all(problems: Sequence[LinearProblem | Multiclass], plan: Plan, threads: int) -> list[Result]:
    """Solve every problem, in several threads; Ctrl-C ends all of them.

    If there are more threads than problems, several threads work on each. A solver that can solve all problems jointly
    (`Solver.joint`) does so.
    """
    count = len(problems)
    plan = plan._replace(threads=max(1, threads // count))
    with one_blas_thread() if threads > 1 else nullcontext():
        if plan.solver is not None and plan.solver.joint and all(isinstance(one, Regularized) for one in problems):
            return run_jointly(cast(Sequence[Regularized], problems), plan._replace(threads=1))
        if count == 1 and not isinstance(problems[0], SlackConstrained):  # which has many runs
            return [run_one(problems[0], 0, plan)]
        return run_each(count, lambda k, own: run_one(problems[k], k, own), plan, threads)


def joint_solver(problem: LinearProblem, tol: float) -> Solver | None:
    """The solver that is chosen for a problem, if it can solve others over the same rows jointly with it."""
    if not isinstance(problem, Regularized) or not problem.in_memory:
        return None
    solver = choose(problem, tol=tol).solver
    return solver if solver.joint else None


def run_jointly(problems: Sequence[Regularized], plan: Plan, checkpoint: Checkpoint | None = None) -> list[Result]:
    """One run for all problems, which share one matrix."""
    if len(problems) == 1:
        return [run_one(problems[0], 0, plan, checkpoint)]
    joint = plan._replace(starts=[list(plan.starts)] if plan.starts else ())
    result = run_one(Batch(problems), 0, joint, checkpoint)
    return results_of_members(result)


def results_of_members(result: Result) -> list[Result]:
    """The result of a batch as one for each member; all have the state of the batch, and the solver of a member."""
    answers = result.solution.members
    certificates = getattr(result.certificate, "members", [result.certificate] * len(answers))  # none after Ctrl-C
    solver = getattr(result.solver, "solver", result.solver)  # which `SideBySide` wraps
    each = zip(answers, certificates, strict=True)
    return [replace(result, solution=answer, certificate=one, solver=solver) for answer, one in each]


def run_each(count: int, run_task: Callable[[int, Plan], Result], plan: Plan, threads: int) -> list[Result]:
    """Call ``run_task(k, own)`` for each k, where `own` is `plan` with the task's share of the limits."""
    jobs = min(count, threads) if min(count, threads) == 1 else min(count, threads, cores())
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


def run_one(
    problem: LinearProblem | Multiclass | KernelProblem | Batch | PackedBatch,
    k: int,
    plan: Plan,
    checkpoint: Checkpoint | None = None,
    *,
    keep_state: bool = False,
) -> Result:
    """Run number k, of one problem or of a batch; if the slack is given, by root-finding in λ."""
    solver, stop = plan.solver, plan.stop
    by_lambda = isinstance(problem, SlackConstrained | KernelSlackConstrained) and _by_lambda(problem, solver)
    answered = None if by_lambda else problem  # for each λ there are answers to another problem
    options: dict[str, Any] = {
        "stop": stop,
        "passes": plan.passes,
        "seed": plan.seed,
        "start": plan.starts[k] if k < len(plan.starts) else None,
        "score": None if plan.aside is None else _error_on(problem, plan.aside, stop.max_kernel_evals is None),
        "callbacks": [partial(report, k, answered) for report in plan.reports],
        "on_interrupt": plan.on_interrupt,
    }
    if by_lambda:
        assert isinstance(problem, SlackConstrained | KernelSlackConstrained)
        result = solve_slack(problem, solver, **options)
    else:
        if solver is None:
            chosen = choose(problem, few_reads=stop.max_reads is not None, tol=stop.tol).solver
            chosen = chosen.exact if plan.own_dual and isinstance(chosen, FromLandmarks) else chosen
            alone = plan.threads == 1 or stop.max_reads is not None
            solver = chosen if alone else in_parts(chosen, cast(Any, problem), plan.threads)
        result = solve(problem, solver, checkpoint=checkpoint, **options)
    return result if keep_state else replace(result, state=None)


def _by_lambda(problem: SlackConstrained | KernelSlackConstrained, solver: Solver | None) -> bool:
    """Whether a given slack is solved for by root-finding in λ: not if it is zero, or the solver takes it directly."""
    if isinstance(problem, SlackConstrained):
        return not isinstance(solver, Simba)
    return problem.nu > 0 and (solver is None or solver.rejects(problem) is not None)


def _error_on(problem: Any, aside: np.ndarray, may_compute: bool) -> Callable[[Any], float]:
    """A function that returns the error rate on held-out rows; in regression, their mean absolute error.

    Of a batch it is the largest, so that a run ends when all are small enough. It returns nan if responses of these
    rows are missing and kernel values may not be computed for them.
    """
    if isinstance(problem, Batch):
        errors = [_error_on(member, aside, may_compute) for member in problem.members]
        return lambda answer: max(error(one) for error, one in zip(errors, answer.members, strict=True))
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


# --- kernel problems ------------------------------------------------------------------------


def run_in_batch(
    tasks: Sequence[Task],
    plan: Plan,
    X: KernelData,
    kernel: Kernel,
    batch_of: Callable[[Points, PackedTasks], PackedBatch],
    *,
    by_class: bool,
    finer: float = 1.0,
    rounded: bool = False,
) -> Runs | None:
    """Solve all tasks as one batch over one Gram matrix; None if the batch is rejected, or coefficients overflow.

    A limit of the iterations holds for each task: then each is a batch of its own. If it is the rounding of kernel
    values that prevents a certificate, the run continues without it. Raises `SlowPairs` as `advance_batch` does.

    Parameters
    ----------
    tasks : sequence of Task
    plan : Plan
        Without reports, held-out rows and starts.
    X : array, CSR matrix, or a list of items
        Kernel values if the kernel is precomputed.
    kernel : Kernel
    batch_of : callable
        Makes the batch of some points and tasks.
    by_class : bool
        Whether rows are sorted by class, so that the kernel values of two classes are contiguous.
    finer : float
        Fraction of the tolerance to which to solve.
    rounded : bool
        Whether kernel values may be rounded to float32.
    """
    tol, began = plan.stop.tol, now()
    plan = plan._replace(solver=ActiveSet(tol=tol, finer=finer))
    groups = [tasks] if plan.stop.max_iter is None else [[task] for task in tasks]
    batches, rows = zip(*[_batch(group, X, kernel, batch_of, by_class, rounded) for group in groups], strict=True)
    if any(cast(Solver, plan.solver).rejects(batch) is not None for batch in batches):
        return None

    def run(k: int, own: Plan) -> Result:
        return run_one(batches[k], 0, own, keep_state=True)

    again, retry = None, False
    try:
        with one_blas_thread():
            results = [run(0, plan)] if len(groups) == 1 else run_each(len(groups), run, plan, 1)
        if retry := rounded and any(result.status is Status.STALLED for result in results):
            rest = plan._replace(stop=replace(plan.stop, max_time=left_of(plan.stop.max_time, began)))
            again = run_in_batch(tasks, rest, X, kernel, batch_of, by_class=by_class, finer=finer)
    except SlowPairs as slow:  # of one of these batches, or of those of the second run
        own = sum(one.kernel_evals for one in batches)
        raise SlowPairs(own + slow.evals if retry else own) from slow
    if retry:
        return None if again is None else again._replace(evals=again.evals + sum(one.kernel_evals for one in batches))
    parts = [_runs_of(*one, tol) for one in zip(batches, results, rows, strict=True)]
    return join_runs(cast(list[Runs], parts)) if all(part is not None for part in parts) else None


def _batch(
    tasks: Sequence[Task],
    X: KernelData,
    kernel: Kernel,
    batch_of: Callable[[Points, PackedTasks], PackedBatch],
    by_class: bool,
    rounded: bool,
) -> tuple[PackedBatch, np.ndarray]:
    """A batch over the rows of some tasks, in the order in which they first occur; and these rows."""
    packed = pack_tasks(tasks, by_class=by_class)
    rows = packed.rows
    if by_class or tasks[0].rows is not None:
        first = np.full(len(X) if isinstance(X, list) else X.shape[0], -1)
        first[rows[::-1]] = np.arange(len(rows))[::-1]
        order = rows[np.sort(first[first >= 0])]
        first[order] = np.arange(len(order))
        X, packed = part_of(X, order, kernel), packed._replace(rows=first[rows])
    batch = batch_of(batch_points(X, kernel, rounded=rounded), packed)
    if isinstance(batch, LevelBatch) and isinstance(batch.points, FunctionPoints):
        _ = batch.K  # only its values say whether the kernel is positive semidefinite
    return batch, rows


def _runs_of(batch: PackedBatch, result: Result, rows: np.ndarray, tol: float) -> Runs | None:
    """The run of a batch as one run for each member; None if coefficients overflow.

    The last record of each is the last one of the batch, with the member's own rounds, objective and gap.
    """
    found, scaled = result.state.found, scaled_answers(batch, result, rows)
    if scaled is None:
        return None
    stalled = isinstance(batch, LevelBatch) and result.status is Status.STALLED
    # Not a run that shows no margin at all: other methods would not find one.
    stalled = stalled and not ((found["gap"] <= tol) | np.isinf(found["as_is"])).all()
    objectives, gaps = (of_members(batch, result, name) for name in ("objective", "gap"))
    # Where there are no certificates, the solver knows by how much the conditions of a stationary point are violated.
    ended = (gaps if batch.certifiable else found["gap"]) <= tol
    good = Status.CONVERGED if batch.certifiable else Status.STATIONARY
    bad = Status.STALLED if result.status.is_success else result.status
    statuses = [good] * bool(ended.any()) + [bad] * (not ended.all())
    earlier, last, rounds = list(result.history)[:-1], result.history[-1], found["rounds"].astype(np.int64)
    same, each = map(repeat, last[1:4]), (one.tolist() for one in (objectives, gaps))
    records = map(Record, rounds.tolist(), *same, *each, repeat(last.score))
    histories = [History([*earlier, record]) for record in records]
    ends = Ends(statuses, gaps, objectives, rounds, histories, [result.solution], result.solver)
    return Runs(ends, *scaled, batch.kernel_evals, batch.n**2, batch, stalled)


def run_tasks(
    tasks: Sequence[Task],
    plan: Plan,
    gram_of: Callable[[np.ndarray | None, bool], Gram],
    problem_of: Callable[[Gram, Task], KernelProblem],
    known: Sequence[Result] = (),
) -> Runs:
    """Run one task after the other; tasks on the same rows share a Gram, and thus its cache of kernel rows.

    If rounding of the kernel values prevents a certificate, the run continues with more accurate ones. Results in
    `known` are used, unless they have stalled: then runs continue from them.
    """
    tasks = [sort_rows(task) for task in tasks]
    scaled: dict[int, ScaledAnswer] = {}
    held: list[Any] = []
    solved: list[KernelProblem] = []
    spent = np.full(2, sum(result.history[-1].kernel_evals for result in known), np.int64)
    limit = plan.stop.max_kernel_evals

    def run(k: int, own: Plan) -> Result:
        task, stop = tasks[k], own.stop
        if not held or held[0] is not task.rows:
            _let_go(held)  # frees its memory before the next Gram is made
            held[:] = task.rows, gram_of(task.rows, False)
        problem = problem_of(held[1], task)
        if known and known[k].status is not Status.STALLED:
            scaled[k], solved[:] = scaled_answer(problem, known[k]), [problem]
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
        scaled[k], solved[:] = scaled_answer(problem, result), [problem]
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
    lam, nu = (np.array(values) for values in zip(*((one.lam, one.nu) for one in found), strict=True))
    answers = answers_of([one.answer for one in found], tasks)
    return Runs(ends_of(results), answers, lam, nu, int(spent[0]), int(spent[1]), solved[0])


def _rest(plan: Plan, k: int, result: Result) -> Plan:
    """The plan of a run that continues from a result: the remaining limits, and its answer as the start."""
    stop, last = plan.stop, result.history[-1]
    if stop.max_time is not None:
        stop = replace(stop, max_time=max(0.0, stop.max_time - last.seconds))
    if stop.max_kernel_evals is not None:
        stop = replace(stop, max_kernel_evals=max(0, int(stop.max_kernel_evals) - last.kernel_evals))
    return plan._replace(stop=stop, starts=[None] * k + [result.solution])


def _joined(first: Result, second: Result) -> Result:
    """The result of two runs as one, with the better answer; the second continued from the first."""
    last, history = first.history[-1], History(list(first.history))
    for record in second.history:
        history.append(
            record._replace(
                iteration=record.iteration + first.n_iter,
                seconds=record.seconds + last.seconds,
                kernel_evals=record.kernel_evals + last.kernel_evals,
            )
        )
    better = first if first.certificate.gap < second.certificate.gap else second
    return replace(
        second,
        solution=better.solution,
        certificate=better.certificate,
        n_iter=first.n_iter + second.n_iter,
        history=history,
    )


def _let_go(held: list[Any]) -> None:
    """Drop the Gram, and close its store so that other processes may write to it."""
    if held and getattr(held[1], "store", None) is not None:
        held[1].store.close()
    held.clear()


def run_pairs(
    tasks: Sequence[Task], plan: Plan, gram: "DeviceGram", problem_of: Callable[[Any, Task], KernelProblem]
) -> Runs:
    """All class pairs over parts of one Gram on a device: in batches, if `DeviceBlock` solves them.

    Not if callbacks are set, or if earlier answers are to be started from; and pairs that stall continue alone.
    """
    from hinge.solvers.kernel.device_block import DeviceBlock, batches_of

    stop, began, known = plan.stop, now(), list[Result]()
    if not plan.reports and not plan.starts:
        tasks = [sort_rows(task) for task in tasks]
        problems = [problem_of(gram.part(task.rows), task) for task in tasks if task.rows is not None]
        solver = plan.solver or choose(problems[0], tol=stop.tol).solver
        solver = solver.exact if plan.solver is None and isinstance(solver, FromLandmarks) else solver
        if isinstance(solver, DeviceBlock):
            batches = list(batches_of(cast(Any, problems), solver))
            own = plan._replace(solver=replace(solver, tol=stop.tol))
            if stop.max_kernel_evals is not None:
                own = own._replace(stop=replace(stop, max_kernel_evals=stop.max_kernel_evals // len(batches)))
            results = run_each(len(batches), lambda k, one: run_one(batches[k], 0, one, keep_state=True), own, 1)
            known = [one for pair in zip(batches, results, strict=True) for one in _split(*pair, stop.tol)]
            plan = plan._replace(stop=replace(stop, max_time=left_of(stop.max_time, began)))

    def part(rows: np.ndarray | None, exact: bool) -> Any:
        return cast("DeviceGram", gram.finer if exact else gram).part(cast(np.ndarray, rows))

    return run_tasks(tasks, plan, part, problem_of, known=known)


def _split(batch: "DeviceBatch", result: Result, tol: float) -> Iterator[Result]:
    """The run of a batch as one run for each member, with the member's own rounds, objective and gap."""
    certificates = getattr(result.certificate, "members", [result.certificate] * len(batch.members))
    earlier, last = list(result.history)[:-1], result.history[-1]
    every = zip(batch.members, result.solution.members, certificates, result.state.known, strict=True)
    for member, answer, one, line in every:
        own = last._replace(iteration=line.t, objective=one.objective, gap=one.gap)
        yield replace(
            result,
            solution=answer,
            certificate=one,
            status=Status.CONVERGED if one.gap <= tol else result.status,
            n_iter=line.t,
            history=History([*earlier, own._replace(kernel_evals=member.kernel_evals)]),
            state=None,
        )


@contextmanager
def gram_threads(n_jobs: int | None) -> Iterator[int]:
    """The number of threads of a Gram; BLAS uses one thread meanwhile, since its own would wait by spinning."""
    with one_blas_thread():
        yield threads_of(n_jobs)
