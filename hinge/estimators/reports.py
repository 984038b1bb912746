"""Who is told of each look at the answer: standard error, and scikit-learn's callbacks."""

import sys
from typing import Any

import numpy as np

from hinge.estimators.one_vs_rest import Report
from hinge.monitoring import Record
from hinge.problems import Solution


def to_callbacks(model: Any, root: Any, X: Any, y: Any, classes: np.ndarray) -> Report:
    """A subtask "look" of the fit for each look; its context carries the record."""

    def report(k: int, record: Record, solution: Solution) -> bool:
        look = root.subcontext(task_name="look")
        look.record = record
        look.call_on_fit_task_begin(estimator=model, X=X, y=y)
        fitted = {"classes_": classes, "coef_": solution.w[None], "intercept_": np.array([solution.b])}
        asked = look.call_on_fit_task_end(
            estimator=model, X=X, y=y,
            reconstruction_attributes=fitted if len(classes) == 2 else None,
        )  # fmt: skip
        return bool(asked)

    return report


def to_stderr(classes: np.ndarray) -> Report:
    """A line for each look."""

    def report(k: int, record: Record, solution: Solution) -> bool:
        name = "" if len(classes) == 2 else f"class {classes[k]}: "
        parts = [f"{record.seconds:8.2f} s", f"{record.feature_reads:,} reads"]
        if np.isfinite(record.certificate):
            parts.append(f"objective {record.objective:.6g}, gap {record.certificate:.2e}")
        if np.isfinite(record.score):
            parts.append(f"held-out error {record.score:.4f}")
        sys.stderr.write(f"[hinge] {name}{', '.join(parts)}\n")
        return False

    return report
