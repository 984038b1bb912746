"""Every experiment, one a line, in the order of the papers.

A new experiment is a file of its own, which ends with ``experiment = ...``, and a line here: `find`, ``hinge
reproduce``, its report, the tests and the documentation's list then have it. None is imported before it is
asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hinge.experiments.base import Experiment

BY_NAME: dict[str, str] = {
    "pegasos-table1": "hinge.experiments.pegasos.table1",
    "pegasos-covertype": "hinge.experiments.pegasos.covertype",
    "pegasos-figure2": "hinge.experiments.pegasos.figure2",
    "pegasos-figure3": "hinge.experiments.pegasos.figure3",
    "pegasos-projection": "hinge.experiments.pegasos.projection",
    "pegasos-bias": "hinge.experiments.pegasos.bias",
    "pegasos-scaling": "hinge.experiments.pegasos.scaling",
    "pegasos-confidence": "hinge.experiments.pegasos.confidence",
    "pegasos-kernel": "hinge.experiments.pegasos.kernel",
    "talk-more-data": "hinge.experiments.talk.more_data",
    "talk-sgd-dca": "hinge.experiments.talk.sgd_dca",
    "talk-combination": "hinge.experiments.talk.combination",
    "talk-runtimes": "hinge.experiments.talk.runtimes",
    "simba-figure1": "hinge.experiments.simba.figure1",
    "simba-runtime": "hinge.experiments.simba.runtime",
    "simba-rates": "hinge.experiments.simba.rates",
    "simba-regime": "hinge.experiments.simba.regime",
    "simba-noise": "hinge.experiments.simba.noise",
    "sbp-table1": "hinge.experiments.sbp.table1",
    "sbp-table2": "hinge.experiments.sbp.table2",
    "sbp-figure2": "hinge.experiments.sbp.figure2",
    "sbp-runtimes": "hinge.experiments.sbp.runtimes",
    "sbp-rate": "hinge.experiments.sbp.rate",
    "sbp-sparsity": "hinge.experiments.sbp.sparsity",
    "survey-perceptron": "hinge.experiments.survey.perceptron",
    "survey-primal-dual": "hinge.experiments.survey.primal_dual",
    "survey-sdp": "hinge.experiments.survey.sdp",
    "survey-bisection": "hinge.experiments.survey.bisection",
}
"""All of them: what to type, and the file; the name begins with the paper."""


def names() -> tuple[str, ...]:
    """What ``hinge reproduce`` understands, besides "all" and the names of papers."""
    return tuple(BY_NAME)


def load(name: str) -> "Experiment":
    """An experiment by its name."""
    found: Experiment = import_module(BY_NAME[name]).experiment
    return found
