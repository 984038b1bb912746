"""The projection step on made-up curves."""

import pytest
from experiments.made_up import in_both_outcomes, number

from hinge.experiments.base import read_sentence
from hinge.experiments.measure import log_spaced
from hinge.experiments.pegasos.projection import experiment

IMPORTANT = read_sentence("pegasos-projection", "important")
IMPROVES = read_sentence("pegasos-projection", "improves")


def world(early=2.0, late=1.0, norma=1.3):
    """What leaving the projection out costs: Pegasos early and late, and Norma."""

    def made(cell):
        def cost(t):
            return 1.0 if cell["projection"] else norma if cell["solver"] == "Norma" else early if t <= 1000 else late

        looks = [{"iteration": t, "excess": cost(t) / t} for t in log_spaced(10, cell["T"])]
        return {"looks": looks, "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(1.05, 2.0, 0.9))
    assert number(held, IMPORTANT, 1) == pytest.approx(2.0)
    assert all("after 1,000,000 iterations 1.00" in row.conditions for row in held[IMPORTANT].values())
    assert number(bad, IMPROVES) == pytest.approx(0.9)
