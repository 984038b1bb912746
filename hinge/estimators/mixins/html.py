"""The summary of a fit that notebooks show below scikit-learn's diagram: its certificate, and its course."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from hinge.calibration.left_out import error_in_words
from hinge.monitoring import Record

WIDTH, HEIGHT = 360, 150
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 10, 36
"""Size of the picture, and its margins, in pixels."""

MOST_TICKS = 4

_alone: ContextVar[bool] = ContextVar("alone", default=False)
"""Whether the estimator is shown by itself, with the summary below the diagram, rather than inside another's."""


class FittedHTML:
    """A mixin for estimators with ``gap_``, ``stop_reason_``, ``solver_`` and ``history_``.

    In the diagram of a pipeline or a search the summary is in the estimator's own box, from scikit-learn 1.9 on.
    """

    def _repr_html_inner(self) -> str:
        with _shown_alone():
            return super()._repr_html_inner() + summary(self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        with _shown_alone():
            bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:  # depends on scikit-learn's option `display`
            bundle["text/html"] += summary(self)
        return bundle

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        attributes = super()._get_fitted_attr_html(doc_link)  # type: ignore[misc]
        return attributes if _alone.get() else _WithSummary(attributes, summary(self))


@contextmanager
def _shown_alone() -> Iterator[None]:
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


class _Shown(Protocol):
    """A part of scikit-learn's diagram."""

    def __len__(self) -> int: ...
    def _repr_html_inner(self) -> str: ...


class _WithSummary:
    """scikit-learn's list of fitted attributes, followed by the summary."""

    def __init__(self, attributes: _Shown, text: str) -> None:
        self.attributes, self.text = attributes, text

    def __len__(self) -> int:
        return len(self.attributes)

    def _repr_html_inner(self) -> str:
        return self.attributes._repr_html_inner() + self.text


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
    """The gap of each run against time, on logarithmic axes, as an SVG; empty if none is known."""
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
    flat = high - low < 1e-9  # one look has one time, and perhaps a gap of tol: a decade about it
    low, high = np.where(flat, low - 0.5, low), np.where(flat, high + 0.5, high)
    scale = np.array((WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM), float) / (high - low)

    def across(seconds: float) -> float:
        return LEFT + (seconds - low[0]) * scale[0]

    def down(gap: float) -> float:
        return HEIGHT - BOTTOM - (gap - low[1]) * scale[1]

    drawn = []
    for curve in curves:
        places = [(across(x), down(y)) for x, y in curve]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-opacity=".7"/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="currentColor"/>' for x, y in places]
    foot, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    says = (
        f"gap {10 ** every[:, 1].max():.2g} to {10 ** every[:, 1].min():.2g} within {10 ** every[:, 0].max():.2g} s; "
        f"dashed: tol={tol:g}; both scales are logarithmic"
    )
    words = [
        *((across(value), foot + 14.0, "middle", f"{10**value:.2g}") for value in _ticks(low[0], high[0])),
        *((LEFT - 5.0, down(value) + 4.0, "end", f"{10**value:.2g}") for value in _ticks(low[1], high[1])),
        ((LEFT + right) / 2, HEIGHT - 4.0, "middle", "seconds"),
    ]
    labels = "".join(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{end}">{text}</text>' for x, y, end, text in words)
    middle = (TOP + foot) / 2
    labels += f'<text transform="translate(12 {middle:.1f}) rotate(-90)" text-anchor="middle">gap</text>'
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(says)}" font-size="11" '
        f'fill="currentColor"><title>{escape(says)}</title>'
        f'<line x1="{LEFT}" x2="{right}" y1="{down(goal):.1f}" y2="{down(goal):.1f}" stroke="currentColor" '
        f'stroke-dasharray="4 3" stroke-opacity=".5"/>'
        f'<path d="M{LEFT} {TOP}V{foot}H{right}" fill="none" stroke="currentColor" stroke-opacity=".5"/>'
        f"{labels}{''.join(drawn)}</svg>"
    )


def _ticks(low: float, high: float) -> list[float]:
    """Logarithms of a few values between two: powers of ten if there are two of them, else the two ends."""
    powers = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
    if len(powers) < 2:
        return [low, high]
    return powers[:: -(-len(powers) // MOST_TICKS)].tolist()


def _certificate(gap: float, tol: float) -> str:
    if not np.isfinite(gap):
        return "none"
    return f"relative gap of at most {gap:.2g} (tol={tol:g}{'' if gap <= tol else ', not reached'})"


def _histories(model: BaseEstimator) -> list[Any]:
    history = getattr(model, "history_", [])
    return [history] if not history or hasattr(history[0], "gap") else list(history)
