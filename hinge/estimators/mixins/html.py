"""The summary of a fit that notebooks show below scikit-learn's diagram: its certificate, and its course."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from hinge.calibration.expected_error import error_in_words
from hinge.monitoring import Record

WIDTH, HEIGHT, EDGE = 260, 90, 8
"""Size and margin of the picture, in pixels."""


class FittedHTML:
    """A mixin for estimators with ``gap_``, ``stop_reason_``, ``solver_`` and ``history_``."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + summary(self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:  # depends on scikit-learn's option `display`
            bundle["text/html"] += summary(self)
        return bundle


def summary(model: BaseEstimator) -> str:
    """A table of how the fit ended, and a plot of its gap against time; empty if the model is not fitted.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    str
        HTML and SVG, without scripts or external resources.
    """
    gap = getattr(model, "gap_", None)
    if gap is None:
        return ""
    lines = [("certificate", _certificate(float(gap), float(model.tol)))]
    if hasattr(model, "stop_reason_"):
        lines.append(("ended", str(model.stop_reason_).replace("_", " ")))
    if np.isfinite(getattr(model, "error_", np.nan)):
        words = error_in_words(float(model.error_), float(model.error_std_), hasattr(model, "classes_"))
        lines.append(("error to expect", f"{words}, by leave-one-out"))
    if hasattr(model, "solver_"):
        lines.append(("solver", type(model.solver_).__name__))
    for name, words in (
        ("n_iter_", "iterations"),
        ("n_feature_reads_", "cells read"),
        ("n_kernel_evals_", "kernel values"),
    ):
        if hasattr(model, name):
            lines.append((words, f"{int(np.sum(getattr(model, name))):,}"))
    cells = "".join(
        f'<tr><th style="text-align:left;padding:0 1em 0 0;font-weight:600">{escape(name)}</th>'
        f'<td style="text-align:left;padding:0">{escape(value)}</td></tr>'
        for name, value in lines
    )
    return (
        '<div style="display:flex;gap:1.5em;align-items:center;font-size:.9em;margin-top:.5em">'
        f"<table>{cells}</table>{picture(_histories(model), float(model.tol))}</div>"
    )


def picture(histories: Sequence[Iterable[Record]], tol: float) -> str:
    """The gap of each run against time, on logarithmic scales, as an SVG; empty if none is known."""
    curves = []
    for history in histories[:12]:  # more curves could not be distinguished
        looks = [(look.seconds, look.gap) for look in history]
        points = np.array(looks, np.float64).reshape(-1, 2)
        points = points[np.isfinite(points).all(axis=1) & (points > 0.0).all(axis=1)]
        if len(points):
            curves.append(np.log10(points))
    if not curves:
        return ""
    every = np.concatenate(curves)
    goal = np.log10(tol) if np.isfinite(tol) and tol > 0.0 else float(every[:, 1].min())
    low = np.minimum(every.min(axis=0), (np.inf, goal))
    high = np.maximum(every.max(axis=0), (-np.inf, goal))
    size = np.array((WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE), float)
    scale = np.where(high > low, size / np.where(high > low, high - low, 1.0), 0.0)

    def placed(points: np.ndarray) -> np.ndarray:
        across = (points - low) * scale
        across[:, 0] += 0.0 if scale[0] else size[0]  # a single time is drawn at the right edge
        return np.stack([EDGE + across[:, 0], HEIGHT - EDGE - across[:, 1]], axis=1)

    drawn = []
    for curve in curves:
        places = placed(curve)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-opacity=".7"/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="currentColor"/>' for x, y in places[-1:]]
    level = HEIGHT - EDGE - (goal - low[1]) * scale[1]
    says = (
        f"gap {10 ** high[1]:.2g} to {10 ** every[:, 1].min():.2g} within {10 ** high[0]:.2g} s; "
        f"dashed: tol={tol:g}; both scales are logarithmic"
    )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(says)}"><title>{escape(says)}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="currentColor" stroke-opacity=".25"/>'
        f'<line x1="0" x2="{WIDTH}" y1="{level:.1f}" y2="{level:.1f}" stroke="currentColor" stroke-dasharray="4 3" '
        f'stroke-opacity=".5"/>{"".join(drawn)}</svg>'
    )


def _certificate(gap: float, tol: float) -> str:
    if not np.isfinite(gap):
        return "none"
    return f"relative gap of at most {gap:.2g} (tol={tol:g}{'' if gap <= tol else ', not reached'})"


def _histories(model: BaseEstimator) -> list[Any]:
    history = getattr(model, "history_", [])
    return [history] if not history or isinstance(history[0], Record) else list(history)
