"""Figure 3 of the Pegasos paper on made-up excesses."""

import pytest
from experiments.made_up import in_both_outcomes, number, numbers

from hinge.experiments.base import read_sentence
from hinge.experiments.pegasos.figure3 import experiment

CONSTANT = read_sentence("pegasos-figure3", "constant")
IMPROVES = read_sentence("pegasos-figure3", "improves")


def world(gain=1.0, loss=0.05):
    """Excess k^-gain at fixed T and k^loss at fixed kT."""

    def made(cell):
        excess = cell["k"] ** (-gain if cell["held"] == "T" else loss)
        return {"objective": 1 + excess, "excess": excess, "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(0.1, 0.5))
    assert number(held, IMPROVES) == pytest.approx(1.0)
    assert number(bad, IMPROVES) == pytest.approx(0.1)
    assert numbers(held, CONSTANT)[:2] == pytest.approx([64**0.05, 1024**0.05])
