"""All class pairs of a fit solved at once on a GPU, if only their answers are needed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hinge.estimators.fitting.kernel_runs import Task
from hinge.estimators.fitting.linear_runs import Plan
from hinge.monitoring.clock import left_of, now
from hinge.problems import KernelProblem, KernelRegularized
from hinge.solvers import Result, choose

if TYPE_CHECKING:
    from hinge.access.gram.device import DeviceGram


def run_pairs(
    tasks: Sequence[Task], plan: Plan, gram: "DeviceGram", problem_of: Callable[[Any, Task], KernelProblem]
) -> tuple[Plan, list[Result]]:
    """The plan with the remaining time, and results that `run_tasks` can use, or continue from.

    There are no results if callbacks are set, if earlier answers are to be started from, if a limit other than time is
    set, if Ctrl-C is to return an answer, or if the solver is not `DeviceBlock`.
    """
    from hinge.solvers.kernel.device_block import DeviceBlock
    from hinge.solvers.kernel.device_pairs import solve_pairs

    stop = plan.stop
    asked = stop.max_iter, stop.max_kernel_evals, stop.target, stop.max_reads
    if any(one is not None for one in asked) or plan.reports or plan.starts or plan.on_interrupt != "raise":
        return plan, []
    began = now()
    problems = [problem_of(gram.part(task.rows), task) for task in tasks if task.rows is not None]
    regularized = [problem for problem in problems if isinstance(problem, KernelRegularized)]
    solver = plan.solver or choose(problems[0], tol=stop.tol).solver
    if len(regularized) < len(tasks) or not isinstance(solver, DeviceBlock) or stop.tol <= 0:
        return plan, []
    ends = None if stop.max_time is None else began + stop.max_time
    results = solve_pairs(regularized, solver, stop.tol, plan.seed, ends)
    seconds = now() - began
    for result in results:
        result.history[-1] = result.history[-1]._replace(seconds=seconds)
    return plan._replace(stop=replace(stop, max_time=left_of(stop.max_time, began))), results
