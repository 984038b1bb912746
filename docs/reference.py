"""Which names are public, and the pages of the reference that list them.

A name is public if it is in ``__all__`` of one of the modules below. All else may change without notice. The pages
are written anew for each build, so that a new name needs no line here.
"""

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple


class Part(NamedTuple):
    """A public module: where its names are, what its page is called, and what stands on top of it."""

    module: str
    title: str
    says: str


PARTS = (
    Part(
        "hinge",
        "Estimators, problems and the functions most people need",
        "Names are imported when they are first used, so that ``import hinge`` is cheap.",
    ),
    Part("hinge.selection", "Choosing C, γ and thresholds", "Searches that share what their fits have in common."),
    Part("hinge.explain", "Explaining a machine", "Its features and its training rows, as tables of plain columns."),
    Part("hinge.display", "Pictures of a fit", "Drawn by matplotlib in scikit-learn's manner: ``from_estimator``."),
    Part("hinge.kernels", "Kernels", "By name in ``kernel=``, or as a value with its settings."),
    Part("hinge.dask", "On a Dask cluster", "Rows that lie with the workers of a cluster."),
    Part("hinge.datasets", "Data sets", "A catalog of the papers' sets, readers, and generators with known answers."),
    Part("hinge.export", "Models for others", "scikit-learn, ONNX, skops, and the text files of LIBSVM and LIBLINEAR."),
    Part("hinge.problems", "Problems", "What is wanted: data and parameters, and the certificate of an answer."),
    Part("hinge.solvers", "Solvers", "How: one algorithm a class, each in a file of its own, and what runs them."),
    Part("hinge.saddle", "Results of max-min problems", "What `hinge.max_margin` and its like give back."),
    Part("hinge.monitoring", "Watching a run", "Limits, reasons for an end, and what was seen on the way."),
    Part("hinge.prediction", "Predictions that buy cells", "What `LinearSVC.learn_order` and `buy` give."),
    Part("hinge.bounds", "The papers' bounds", "What the five papers promise, as functions for plots."),
)


def names(module: str) -> list[str]:
    """The public names of a module, each where it is shown first: `hinge.SVC`, not also `hinge.estimators.SVC`."""
    shown = _named("hinge") if module != "hinge" else {}
    return [name for name, thing in _named(module).items() if not _same(shown, name, thing)]


def public() -> dict[str, Any]:
    """All public things by their full names."""
    return {f"{part.module}.{name}": _named(part.module)[name] for part in PARTS for name in names(part.module)}


def _named(module: str) -> dict[str, Any]:
    """What a module offers; constants and modules have no page of their own."""
    found = import_module(module)
    offered = {name: getattr(found, name) for name in getattr(found, "__all__", dir(found))}
    return {name: thing for name, thing in offered.items() if _has_page(thing)}


def _has_page(thing: Any) -> bool:
    ours = str(getattr(thing, "__module__", "")).split(".")[0] == "hinge"
    return ours and not isinstance(thing, ModuleType) and (inspect.isclass(thing) or callable(thing))


def _same(shown: dict[str, Any], name: str, thing: Any) -> bool:
    return shown.get(name) is thing


def write(folder: Path) -> None:
    """Write a page for each part, and the index; Sphinx makes a page for each name of them."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{part.module}.rst": _page(part) for part in PARTS} | {"index.rst": _index()}
    for name, text in files.items():
        target = folder / name
        if not target.exists() or target.read_text(encoding="utf-8") != text:  # else all is read anew
            target.write_text(text, encoding="utf-8")


def _page(part: Part) -> str:
    title = f"``{part.module}``: {part.title}"
    listed = "\n".join(f"   {name}" for name in names(part.module))
    return (
        f"{title}\n{'=' * len(title)}\n\n{part.says}\n\n.. currentmodule:: {part.module}\n\n"
        f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listed}\n"
    )


def _index() -> str:
    listed = "\n".join(f"   {part.module}" for part in PARTS)
    return (
        "API reference\n=============\n\nThe names on these pages are public: a change that breaks one is announced in "
        "the changelog. Whatever else can be imported is internal, and described in :doc:`/architecture`.\n\n"
        "Solvers, kernels and experiments by the name that one asks for them by: :doc:`/lists`.\n\n"
        f".. toctree::\n   :maxdepth: 2\n\n{listed}\n"
    )
