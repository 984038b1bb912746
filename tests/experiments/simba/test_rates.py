"""SIMBA's rates on made-up losses."""

import pytest
from experiments.made_up import claims_in, in_both_outcomes, number

from hinge.experiments.base import read_sentence
from hinge.experiments.simba.rates import experiment

EQUIVALENT = read_sentence("simba-rates", "equivalent")
MAIN = read_sentence("simba-rates", "main")
RATE = read_sentence("simba-rates", "rate")


def world(loss=1.0, rate=1.0, gain=1.5):
    """Loss `loss` · (c/ε)^-rate with the theorem's rates, less by `gain` with those that fall."""

    def made(cell):
        lost = loss * cell["ratio"] ** -rate / (gain if cell["steps"] == "adaptive" else 1.0)
        return {"T": 100, "loss": lost, "margin": 0.4}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(gain=1.2), world(30.0, 0.2, 3.0))
    assert number(held, MAIN) == 1.0
    assert number(bad, MAIN) == 0.0
    assert number(held, RATE) == pytest.approx(0.5)
    assert number(bad, RATE) == pytest.approx(0.1)
    assert number(claims_in(experiment, world(gain=0.7)), EQUIVALENT) == pytest.approx(0.7)
