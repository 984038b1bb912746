"""Which outcomes of a case are failures, and what most targets assert."""

import json
import linecache
import traceback
from typing import Any

import numpy as np
import scipy.sparse as sp

REFUSALS = ValueError, TypeError, OSError, RuntimeError
NO_SENTENCES = UnicodeError, json.JSONDecodeError, np.linalg.LinAlgError, RecursionError
"""Errors of a kind that is a refusal, and whose words help nobody."""
MAY_BE_INFINITE = ("gap_", "objective_", "history_", "radius_", "slack_", "lam_", "upper", "gap", "lower", "history")
"""What is infinite or NaN where there is no certificate."""


def fault_of(error: BaseException) -> str:
    """What is wrong with an exception; nothing if it is a refusal in a sentence."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    kind = f"{type(error).__name__}: {error}"
    if any(
        note.startswith("The kernel failed on") for note in getattr(error, "__notes__", ())
    ):  # a given function's own error
        return ""
    if not isinstance(error, REFUSALS) or isinstance(error, NO_SENTENCES):
        return kind
    if not linecache.getline(where.filename, where.lineno or 0).strip().startswith("raise"):
        return f"{kind} (nobody's sentence: {where.filename}:{where.lineno})"
    return "" if len(str(error).split()) > 2 else f"{kind} (no sentence)"


def check_finite(name: str, value: Any) -> None:
    """Numbers of any container, without NaN and infinity."""
    values = value.data if sp.issparse(value) else np.asarray(value)
    assert values.dtype.kind not in "fc" or np.isfinite(values).all(), f"{name} is not finite: {value!r}"


def check_fitted(model: Any, X: Any = None) -> None:
    """No attribute of a fit and no answer for X is NaN or infinite, but for certificates that are missing."""
    for name, value in vars(model).items():
        public = name.endswith("_") and not name.startswith("_") and name not in MAY_BE_INFINITE
        if public and (isinstance(value, int | float | np.ndarray | np.generic) or sp.issparse(value)):
            check_finite(name, value)
    if X is not None:
        check_finite("decision_function", model.decision_function(X))
        check_finite("predict", model.predict(X))
        if hasattr(model, "predict_proba"):
            check_probabilities(model, X)


def check_probabilities(model: Any, X: Any) -> None:
    """They are probabilities, and the largest is that of the predicted class."""
    p = model.predict_proba(X)
    assert np.isfinite(p).all() and (p >= 0).all() and np.allclose(p.sum(axis=1), 1.0), f"no probabilities: {p!r}"
    codes = np.searchsorted(model.classes_, model.predict(X))
    assert np.array_equal(p.argmax(axis=1), codes), "the most probable class is not the predicted one"
    if hasattr(model, "predict_proba_interval"):
        lower, upper = model.predict_proba_interval(X)
        assert ((lower >= 0) & (lower <= upper + 1e-9) & (upper <= 1 + 1e-9)).all(), (
            f"no interval: {lower!r}, {upper!r}"
        )


def check_rows(table: Any) -> None:
    """What is said of training rows is finite, and a row never speaks against its own label."""
    for name, column in table.columns.items():
        check_finite(name, column)
    assert (table.influence >= -1e-6 * np.maximum(1.0, np.abs(table.margin))).all(), f"influence: {table.influence!r}"


def command(*arguments: Any) -> str:
    """What a command of hinge prints; its errors are raised as they are."""
    from typer.testing import CliRunner

    from hinge.cli.app import application

    result = CliRunner().invoke(application(), ["--debug", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 2), f"exit code {result.exit_code}: {result.output}"
    return result.output
