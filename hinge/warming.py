"""Compilation of everything that common fits need, before the first of them."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.compiled import assigned, compiling_all
from hinge.types import Stored

TIGHT = 1e-13
"""A tolerance for which few rows are solved by dual ascent, like many for any."""
LINEAR: tuple[tuple[str, dict[str, Any]], ...] = (
    ("LinearSVC", {}),
    ("LinearSVC", {"loss": "hinge"}),
    ("LinearSVC", {"loss": "hinge", "tol": TIGHT}),
    ("LinearSVC", {"loss": "hinge", "solver": "newton"}),
    ("LinearSVC", {"penalty": "l1"}),
    ("LinearSVC", {"multi_class": "crammer_singer"}),
    ("LinearSVR", {}),
    ("LinearSVR", {"tol": TIGHT}),
)
KERNEL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SVC", {}),
    ("SVC", {"kernel": "linear"}),
    ("SVC", {"kernel": "poly"}),
    ("SVC", {"solver": "blockdual"}),  # of many rows
    ("NuSVC", {}),
    ("SVR", {}),
    ("NuSVR", {}),
    ("OneClassSVM", {}),
)


def warm(only: Sequence[str] = (), *, progress: bool | None = None) -> None:
    """Compile what the first fits of this machine would wait for; later processes load it.

    One small fit of each kind is made: each estimator, both losses, dense rows of float64 and float32 and sparse ones.
    It takes a minute or two where nothing is compiled yet, and some seconds otherwise.

    Parameters
    ----------
    only : sequence of str
        Names of estimators, such as ``["SVC"]``; by default all.
    progress : bool, optional
        Whether to show a bar on standard error; by default on a terminal.

    Examples
    --------
    >>> import hinge
    >>> hinge.warm(["LinearSVC"])  # doctest: +SKIP
    """
    names = {name for name, _ in (*LINEAR, *KERNEL)}
    if unknown := sorted(set(only) - names):
        raise ValueError(f"only={list(only)!r}: {unknown[0]!r} is not one of {', '.join(sorted(names))}.")
    jobs = [job for job in _jobs() if not only or job[0].split("(")[0] in only]
    shown = sys.stderr.isatty() if progress is None else progress
    for k, (label, fit) in enumerate(jobs):
        if shown:
            done = "#" * (30 * k // len(jobs))
            sys.stderr.write(f"\r[{done:30s}] {k}/{len(jobs)} {label:60.60s}")
            sys.stderr.flush()
        with warnings.catch_warnings(action="ignore"), assigned(compiling_all, True):  # of how good they are
            fit()
    if shown:
        sys.stderr.write(f"\r[{'#' * 30}] {len(jobs)}/{len(jobs)} {'ready':60s}\n")


def _jobs() -> Iterator[tuple[str, Callable[[], None]]]:
    """The fits, by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    code = np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])
    forms = {"float64": X, "float32": X.astype(np.float32), "sparse": sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))}
    for name, settings in (*LINEAR, *KERNEL):
        for form, rows in forms.items():
            # For Newton's method enough rows that products with them are compiled, too.
            every = np.tile(np.arange(90), 100 if settings.get("solver") == "newton" else 1)
            target = (X[:, 2] if "SVR" in name else code)[every]
            given = ", ".join(f"{key}={value!r}" for key, value in settings.items())
            yield f"{name}({given}), {form}", partial(_fit, name, settings, rows[every], target)


def _fit(name: str, settings: dict[str, Any], X: Stored, y: np.ndarray) -> None:
    import hinge.estimators as estimators  # not by way of `hinge`, which offers this function

    model = getattr(estimators, name)(max_iter=200, **settings).fit(X, y)
    model.predict(X)
    if y.dtype.kind == "i" and name != "OneClassSVM":  # with two classes, too
        model.fit(X, y > 1)
