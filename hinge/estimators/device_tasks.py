"""All pairs of classes of a fit on a GPU at once, where nobody asks for more than their answers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hinge.estimators.kernel_tasks import Task
from hinge.estimators.one_vs_rest import Plan
from hinge.monitoring.clock import left_of
from hinge.problems import KernelProblem, KernelRegularized
from hinge.solvers import Result, choose

if TYPE_CHECKING:
    from hinge.access.gram.device import DeviceGram


def run_pairs(
    tasks: Sequence[Task], plan: Plan, gram: "DeviceGram", problem_of: Callable[[Any, Task], KernelProblem]
) -> tuple[Plan, list[Result]]:
    """What is left of the plan, and the results that `run_tasks` need not compute, or can go on from.

    There are none where looks on the way are asked for, earlier answers are to be begun from, another limit than
    time is set, or Ctrl-C is to leave an answer; or the solver is not the one that can.
    """
    from hinge.solvers.kernel.device_block import DeviceBlock
    from hinge.solvers.kernel.device_pairs import solve_pairs

    stop = plan.stop
    asked = stop.max_iter, stop.max_kernel_evals, stop.target, stop.max_reads
    if any(one is not None for one in asked) or plan.reports or plan.starts or plan.on_interrupt != "raise":
        return plan, []
    began = time.perf_counter()
    problems = [problem_of(gram.part(task.rows), task) for task in tasks if task.rows is not None]
    regularized = [problem for problem in problems if isinstance(problem, KernelRegularized)]
    solver = plan.solver or choose(problems[0], tol=stop.tol).solver
    if len(regularized) < len(tasks) or not isinstance(solver, DeviceBlock) or stop.tol <= 0:
        return plan, []
    ends = None if stop.max_time is None else began + stop.max_time
    results = solve_pairs(regularized, solver, stop.tol, plan.seed, ends)
    seconds = time.perf_counter() - began
    for result in results:
        result.history[-1] = result.history[-1]._replace(seconds=seconds)
    return plan._replace(stop=replace(stop, max_time=left_of(stop.max_time, began))), results
