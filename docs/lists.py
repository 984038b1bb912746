"""Write docs/lists.md: every solver, kernel and experiment, as the registries have them.

    python docs/lists.py

A test compares the file with what this writes, so that the list is never out of date.
"""

import inspect
import re
from pathlib import Path

from hinge.experiments import registry as experiments
from hinge.kernels import registry as kernels
from hinge.solvers import registry as solvers

TARGET = Path(__file__).with_name("lists.md")
KINDS = {
    "linear": "The linear SVM, by rows in memory",
    "multiclass": "The linear SVM of several classes at once, by rows in memory",
    "multiclass cells": "The linear SVM of several classes at once, by rows and columns",
    "structured": "The linear SVM of structured outputs, by a user's decoder",
    "cells": "The linear SVM, by rows, columns and cells",
    "1-norm": "The linear SVM with the 1-norm, by columns in memory",
    "kernel": "The kernel SVM",
    "nu": "One class, and ν in place of C or ε",
    "max-min": "Max-min problems",
}


def text() -> str:
    """The whole page."""
    parts = [
        "# Solvers, kernels, experiments",
        "Written by `python docs/lists.py` from the registries in `hinge/solvers`, `hinge/kernels` and "
        "`hinge/experiments`.",
        "## Solvers",
        'An estimator takes the name, `LinearSVC(solver="sdca")`, or a solver with its settings, '
        "`LinearSVC(solver=SDCA(shrinking=False))`; `hinge.solve` takes the latter. Those of several classes at "
        'once are for `LinearSVC(multi_class="crammer_singer")`. `hinge compare` knows those of the linear and of '
        "the kernel SVM.",
        *(part for kind, title in KINDS.items() for part in (f"### {title}", _solvers(kind))),
        "## Kernels",
        "For kernel machines, by name or as `hinge.kernels.Gaussian(gamma=0.5)`; or any function.",
        _kernels(),
        "## Experiments",
        "`hinge reproduce NAME` measures one again.",
        _experiments(),
    ]
    return "\n\n".join(parts) + "\n"


def _solvers(kind: solvers.Solves) -> str:
    lines = []
    for name, entry in solvers.entries(kind).items():
        cls = entry.load()
        asked = f'`"{name}"`' if kind in ("linear", "cells", "1-norm", "kernel", "nu") and not entry.needs else "–"
        if kind == "multiclass":
            asked = f'`"{name.removeprefix("multiclass")}"`'
        paper = f"{cls.paper.authors}, {cls.paper.year}" if hasattr(cls, "paper") else "–"
        lines.append((asked, f"`{entry.class_name}`", _first_line(cls), paper))
    return _table(("`solver=`", "class", "what it is", "paper"), lines)


def _kernels() -> str:
    lines = [(f'`"{name}"`', f"`{cls.__name__}`", _first_line(cls)) for name, cls in kernels.BY_NAME.items()]
    return _table(("`kernel=`", "class", "K(x, z)"), lines)


def _experiments() -> str:
    lines = [(f"`{name}`", one.title, f"{one.paper}, {one.place}") for name, one in experiments.BY_NAME.items()]
    return _table(("name", "what", "paper"), lines)


def _first_line(cls: type) -> str:
    """The first sentence of a docstring, its formulas as Markdown writes them."""
    line = (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
    line = line.replace("\\|", "\\Vert ")  # a bar would end the cell of a table
    return re.sub(r":math:`([^`]*)`", r"$\1$", line).replace("|", "\\|")


def _table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    rows = [head, tuple("---" for _ in head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
