"""Every table and figure of the papers, one a file, run by ``hinge reproduce``."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module

from hinge.experiments.base import Claim, Experiment, Outcome, Result, Results, Verdict

NAMES = (
    "pegasos-table1",
    "pegasos-figure2",
    "pegasos-figure3",
    "pegasos-projection",
    "pegasos-bias",
    "pegasos-scaling",
    "talk-more-data",
    "talk-sgd-dca",
    "talk-combination",
    "talk-runtimes",
    "simba-figure1",
    "simba-runtime",
    "sbp-table1",
    "sbp-table2",
    "sbp-figure2",
    "sbp-runtimes",
    "survey-perceptron",
    "survey-primal-dual",
    "survey-sdp",
)
"""In the order of the papers; the file of "pegasos-table1" is ``pegasos/table1.py``."""


def find(names: Iterable[str]) -> list[Experiment]:
    """Experiments by name, each once; "all" is all of them, and "pegasos" all of that paper."""
    wanted: dict[str, None] = {}
    for name in names:
        plain = name.lower().replace("_", "-")
        family = [known for known in NAMES if plain == "all" or known.startswith(f"{plain}-")]
        for known in family or [nearest(plain, NAMES, "experiment", "all")]:
            wanted[known] = None
    return [_load(name) for name in NAMES if name in wanted]


def nearest(name: str, names: Sequence[str], what: str, *others: str) -> str:
    """The name if it is one of them; otherwise an error that names the nearest, and all of them."""
    if name in names:
        return name
    near = difflib.get_close_matches(name, [*names, *others], 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"There is no {what} {name!r}: {hint}The {what}s are {', '.join([*names, *others])}.")


def _load(name: str) -> Experiment:
    module = import_module(f"{__name__}.{name.replace('-', '.', 1).replace('-', '_')}")
    found: Experiment = module.experiment
    return found


__all__ = ["NAMES", "Claim", "Experiment", "Outcome", "Result", "Results", "Verdict", "find", "nearest"]
