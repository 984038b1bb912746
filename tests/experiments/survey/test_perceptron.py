"""The sublinear perceptron on made-up losses and reads."""

import math

import pytest
from experiments.made_up import in_both_outcomes, number, numbers

from hinge.experiments.base import read_sentence
from hinge.experiments.survey.perceptron import experiment

HELD = read_sentence("survey-all", "held")
AT_LEAST = read_sentence("survey-perceptron", "at_least")
FEWER = read_sentence("survey-perceptron", "fewer")
HALF = read_sentence("survey-perceptron", "half")
READS = read_sentence("survey-perceptron", "reads")


def world(loss=1.0, rate=1.0, sublinear=1.0, classical=2.0, constant=1e-3, held=True):
    """Loss `loss` · ratio^-rate after T = ratio² log n; reads as powers of n = d."""

    def made(cell):
        if cell["part"] == "guarantee":
            looks = [
                {
                    "ratio": r,
                    "T": math.ceil(r * r * math.log(300)),
                    "loss": loss * r**-rate,
                    "gap": 1.0,
                    "held": held or cell["seed"] > 0,
                }
                for r in cell["ratios"]
            ]
            return {"looks": looks, "n": 300, "margin": 0.2}
        n = cell["n"]
        reads = constant * n**sublinear if cell["method"] == "sublinear" else n**classical
        return {"reads": reads, "most": 1e12, "margin": 0.2}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad, _) = in_both_outcomes(
        experiment, world(), world(300.0, 0.2, 2.0, 0.9, 1.0, False), world(sublinear=3.2, constant=10.0, classical=3.5)
    )
    assert numbers(held, READS) == pytest.approx([1, 2])
    assert number(held, AT_LEAST) == pytest.approx(0.5, abs=1e-3)
    assert number(bad, AT_LEAST) == pytest.approx(0.1, abs=1e-3)
    assert number(held, FEWER) == pytest.approx(2000**2 / (1e-3 * 2000))
    assert number(bad, HELD) == pytest.approx(19 / 20)
    assert number(bad, HALF) == 0
