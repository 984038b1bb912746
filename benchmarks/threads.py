"""One binary linear problem by two threads against one, and what parts cost: two tables.

    python benchmarks/threads.py [--repeats 5] [--only NAME ...] [--threads 2] [--parts 1 2 4 8 16]

First table: `LinearSVC` to the same certified gap with ``n_jobs=1`` and with so many threads; compiled code warm,
BLAS limited to one thread, runs interleaved, the least wall-clock time of each, since a shared machine can only add
to it; CPU seconds of all threads; whether every run with threads gave the same bits. "dual" is `SDCA` against
`CoCoA`, "Newton" is `Newton` in one part and in several.

Second table: what needs no second core, and no quiet machine. Passes over the data, certificates included, to the same
gap by the number of parts; and the times that a run would be faster with as many cores as parts: tasks are run one
after the other here, by CPU time, of tasks that could have run at once only the longest share counts, and each time
that threads meet costs 80 microseconds.

Real sets are read from $HINGE_DATA (or ../shared/data); a missing set is said and left out. "CCAT-like" is synthetic.
"""

import argparse
import heapq
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

from hinge import LinearSVC, Stop, datasets, solve, threads  # noqa: E402
from hinge.access import matrix  # noqa: E402
from hinge.problems import Regularized  # noqa: E402
from hinge.problems.svm import examples  # noqa: E402
from hinge.solvers import SDCA, CoCoA, Newton  # noqa: E402
from hinge.solvers.ascent import cocoa  # noqa: E402
from hinge.solvers.newton import row_sums  # noqa: E402

HOME = os.environ.get("HINGE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
TOL = 1e-3
MEETING = 80e-6
SETS = {
    "mnist 8-vs-rest": ("mnist", 8, (("dual", 1e-3), ("Newton", 1e-4))),
    "covtype": ("covertype", 1, (("dual", 1e-4), ("Newton", 1e-5), ("Newton", 1e-6))),
    "CCAT-like": ("", None, (("dual", 1e-4), ("dual", 1e-5))),
    "imdb": ("imdb-unigram", None, (("dual", 1e-4), ("dual", 1e-5))),
}
warnings.simplefilter("ignore", ConvergenceWarning)


class Task(NamedTuple):
    """A set, its λ and the method."""

    label: str
    X: Any
    y: np.ndarray
    lam: float
    method: str


def tasks(only: list[str]) -> Iterator[Task]:
    """All that are wanted, set by set."""
    for label, (name, positive, runs) in SETS.items():
        if only and not any(part.lower() in label.lower() for part in only):
            continue
        try:
            data = datasets.load(name, home=HOME, positive=positive) if name else datasets.make_text(780_000, seed=0)
        except (OSError, ValueError) as error:
            print(f"{label}: left out, {error}")
            continue
        for method, lam in runs:
            yield Task(label, data.X_train, data.y_train, lam, method)


def timed(fit: Any) -> tuple[float, float, Any]:
    """Wall-clock and CPU seconds, and what was made."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = fit()
    return time.perf_counter() - wall, time.process_time() - cpu, made


def against(task: Task, threads: int, repeats: int) -> str:
    """One row of the first table."""
    solvers = {"dual": ("sdca", "cocoa"), "Newton": ("newton", "newton")}[task.method]

    def model(n_jobs: int) -> LinearSVC:
        return LinearSVC(
            loss="hinge",
            lam=task.lam,
            tol=TOL,
            fit_intercept=False,
            solver=solvers[n_jobs > 1],
            n_jobs=n_jobs,
            random_state=0,
        )

    walls: dict[int, list[float]] = {1: [], threads: []}
    cpus: dict[int, list[float]] = {1: [], threads: []}
    answers = set()
    for turn in range(repeats + 1):
        for n_jobs in walls:
            wall, cpu, fitted = timed(lambda n_jobs=n_jobs: model(n_jobs).fit(task.X, task.y))
            assert fitted.gap_ <= TOL
            if turn:  # the first compiles
                walls[n_jobs].append(wall)
                cpus[n_jobs].append(cpu)
            if n_jobs > 1:
                answers.add(fitted.coef_.tobytes())
    one, many = min(walls[1]), min(walls[threads])
    return (
        f"{task.label:16} {task.method:7} {task.lam:7.0e} {1e3 * one:9.0f} {1e3 * many:9.0f} {one / many:6.2f}"
        f" {min(cpus[threads]) / min(cpus[1]):9.2f} {'yes' if len(answers) == 1 else 'NO':>5}"
    )


class Turns:
    """`hinge.threads.each` for any number of cores: tasks take turns, and what they would have saved is counted."""

    def __init__(self) -> None:
        self.saved = 0.0

    def each(self, work: Callable[[int], Any], tasks: int, most: int | None = None) -> list[Any]:
        """In place of the one that uses threads."""
        loads, results, total = [0.0] * min(tasks, threads.allowed() if most is None else most), [], 0.0
        for k in range(tasks):
            before = time.thread_time()
            results.append(work(k))
            took = time.thread_time() - before
            total += took
            heapq.heapreplace(loads, loads[0] + took)
        self.saved += total - max(loads) - MEETING if len(loads) > 1 else 0.0
        return results


def passes(task: Task, parts: list[int]) -> str:
    """One row of the second table."""
    read, seconds = [], []
    for count in parts:
        solver = Newton(parts=count) if task.method == "Newton" else SDCA() if count == 1 else CoCoA(count)
        problem, turns = Regularized(task.X, task.y, task.lam), Turns()
        with ExitStack() as stack:
            for module in (matrix, examples, cocoa, row_sums):
                stack.enter_context(patch.object(module, "each", turns.each))
            _, cpu, result = timed(lambda problem=problem, solver=solver: solve(problem, solver, stop=Stop(TOL)))
        assert result.certificate.gap <= TOL
        read.append(problem.reads / problem.pass_cells)
        seconds.append(cpu - turns.saved)
    shown = " ".join(f"{value:6.1f}" for value in read)
    faster = " ".join(f"{seconds[0] / value:5.2f}" for value in seconds)
    return f"{task.label:16} {task.method:7} {task.lam:7.0e} {shown}   {faster}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parts", type=int, nargs="*", default=[1, 2, 4, 8, 16])
    options = parser.parse_args()
    rows, second = [], []
    for task in tasks(options.only):
        rows.append(against(task, options.threads, options.repeats))
        print(rows[-1], flush=True)
        if options.parts:
            second.append(passes(task, options.parts))
    print(
        f"\nTo a certified gap of {TOL:g}; ms of one and of {options.threads} threads, the ratio, CPU ratio, same bits"
    )
    print("\n".join(rows))
    if options.parts:
        counts = " ".join(f"{count:6d}" for count in options.parts), " ".join(f"{count:5d}" for count in options.parts)
        print(
            f"\nPasses by the number of parts, and the times faster on as many cores\n{'':33}{counts[0]}   {counts[1]}"
        )
        print("\n".join(second))


if __name__ == "__main__":
    main()
