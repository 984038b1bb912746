"""Every table and figure of the papers, one a file, run by ``hinge reproduce``."""

import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from hinge.experiments import registry
from hinge.experiments.base import CellResult, CellResults, Claim, Experiment, Outcome, Verdict


def find(names: Iterable[str]) -> list[Experiment]:
    """Experiments by name, each once; "all" is all of them, and "pegasos" all of that paper."""
    wanted: dict[str, None] = {}
    everything = registry.names()
    for name in names:
        plain = name.lower().replace("_", "-")
        family = [known for known in everything if plain == "all" or known.startswith(f"{plain}-")]
        for known in family or [nearest(plain, everything, "experiment", "all")]:
            wanted[known] = None
    return [load(name) for name in everything if name in wanted]


def load(name: str) -> Experiment:
    """An experiment by its name; the others are not imported."""
    found: Experiment = import_module(registry.module_of(name)).experiment
    return found


def nearest(name: str, names: Sequence[str], what: str, *others: str) -> str:
    """The name if it is one of them; otherwise an error that names the nearest, and all of them."""
    if name in names:
        return name
    near = difflib.get_close_matches(name, [*names, *others], 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"There is no {what} {name!r}: {hint}The {what}s are {', '.join([*names, *others])}.")


def __getattr__(name: str) -> Any:
    if name == "NAMES":  # as the registry has them when they are asked for
        return registry.names()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["CellResult", "CellResults", "Claim", "Experiment", "Outcome", "Verdict", "find", "load", "nearest"]
