"""The sublinear semidefinite solver on made-up losses and seconds."""

import math

import pytest
from experiments.made_up import in_both_outcomes, number, numbers

from hinge.experiments.base import read_sentence
from hinge.experiments.survey.sdp import experiment

HELD = read_sentence("survey-all", "held")
HIGH = read_sentence("survey-sdp", "high")
ROOT = read_sentence("survey-sdp", "root")
SQUARE = read_sentence("survey-sdp", "square")


def world(loss=1.0, rate=1.0, sparse=2.0, constant=1e-3, held=True):
    """Loss after T = ratio² log m; milliseconds of Hazan's projection as a power of the order, others as n³."""

    def made(cell):
        if cell["part"] == "seconds":
            n = cell["n"]
            return {"milliseconds": constant * n**sparse if cell["projection"] == "sparse" else 1e-3 * n**3}
        if cell["part"] == "sparse":
            return {"T": 1000, "loss": 0.05 * loss, "gap": 0.1, "held": held, "value": 0.2, "by": "made up"}
        looks = [
            {"ratio": r, "T": math.ceil(r * r * math.log(cell["m"])), "loss": loss * r**-rate, "gap": 1.0, "held": held}
            for r in cell["ratios"]
        ]
        return {"looks": looks, "value": 0.1, "by": "made up"}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(300.0, 0.2, 3.5, 1.0, False))
    assert numbers(held, HIGH) == [1.0, 1.0]
    assert numbers(bad, HIGH) == [0.0, 0.0]
    assert number(held, ROOT) == pytest.approx(0.5, abs=1e-2)
    assert number(held, SQUARE) == pytest.approx(2)
    assert number(bad, SQUARE) == pytest.approx(3.5)
    assert number(bad, HELD) == 0
