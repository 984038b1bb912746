"""Reports of a run each time its answer is evaluated (a look): to standard error, and to scikit-learn's callbacks."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from hinge.access.streams.base import RowStream
from hinge.access.tables.table import Table
from hinge.estimators.fitting.linear_runs import Report
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.mixins.callbacks import CallbackContext
from hinge.monitoring import Record
from hinge.monitoring.progress import time_left
from hinge.problems import Expansion, Problem, Solution

Rebuilt: TypeAlias = Callable[[Any], dict[str, Any]]
"""A function that turns an answer into the fitted attributes for predictions."""


def reports_of(
    model: BaseEstimator,
    X: KernelData | Table | RowStream,
    y: np.ndarray | None,
    names: Sequence[str],
    rebuilt: Rebuilt | None,
) -> tuple[Report, ...]:
    """The functions to call at each look: one that prints, if `verbose`, and one for scikit-learn's callbacks.

    `names` are those of the runs, empty if there is only one. `rebuilt` turns an answer into fitted attributes; None if
    a single run is not a model by itself.
    """
    reports: list[Report] = [to_stderr(names, float(model.tol))] if model.verbose else []
    if not hasattr(model, "_init_callback_context"):  # scikit-learn before 1.9
        return tuple(reports)
    root = model._init_callback_context(max_subtasks=None)
    if getattr(model, "_skl_callbacks", None):
        root.call_on_fit_task_begin(estimator=model, X=X, y=y)
        reports.append(to_callbacks(model, root, X, y, rebuilt))
    return tuple(reports)


def to_callbacks(
    model: BaseEstimator,
    root: CallbackContext,
    X: KernelData | Table | RowStream,
    y: np.ndarray | None,
    rebuilt: Rebuilt | None,
) -> Report:
    """A report that opens a subtask "look" of the fit.

    Its context has the record as an attribute, the number of the run, and a function that computes the objective, which
    costs a pass over the rows (None if it is not known here).
    """

    def report(k: int, record: Record, solution: Solution | Expansion, problem: Problem | None) -> bool:
        look = root.subcontext(task_name="look")
        look.record, look.run = record, k
        look.measure_objective = None if problem is None else partial(problem.objective, solution)
        look.call_on_fit_task_begin(estimator=model, X=X, y=y)
        asked = look.call_on_fit_task_end(
            estimator=model, X=X, y=y, reconstruction_attributes=None if rebuilt is None else lambda: rebuilt(solution)
        )
        return bool(asked)

    return report


def to_stderr(names: Sequence[str], tol: float = 0.0) -> Report:
    """A report that writes a line to standard error, with an estimate of the time left to a gap of `tol`, if known."""
    first: dict[int, tuple[float, float]] = {}

    def report(k: int, record: Record, solution: Solution | Expansion, problem: Problem | None) -> bool:
        name = f"{names[k]}: " if names else ""
        parts = [f"{record.seconds:8.2f} s", f"{record.feature_reads:,} reads"]
        if record.kernel_evals:
            parts[1] = f"{record.kernel_evals:,} kernel values"
        if np.isfinite(record.certificate):
            parts.append(f"objective {record.objective:.6g}, gap {record.certificate:.2e}")
            look = record.seconds, float(record.certificate)
            left = time_left(first.setdefault(k, look), look, tol)
            if left:
                parts.append(f"about {left:.3g} s left")
        if np.isfinite(record.score):
            parts.append(f"held-out error {record.score:.4f}")
        sys.stderr.write(f"[hinge] {name}{', '.join(parts)}\n")
        return False

    return report
