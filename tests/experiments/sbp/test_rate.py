"""The rate of the SBP on made-up losses."""

import pytest
from experiments.made_up import in_both_outcomes, numbers

from hinge.experiments.base import read_sentence
from hinge.experiments.measure import log_spaced
from hinge.experiments.sbp.rate import FIRST, experiment

APART = read_sentence("sbp-rate", "apart")
ROOT = read_sentence("sbp-rate", "root")


def world(rate=0.6, apart=1.5):
    """Loss T^-rate, `apart` times as much for the first seed."""

    def made(cell):
        times = apart if cell["seed"] == 0 else 1.0
        looks = [{"iteration": t, "loss": times * t**-rate} for t in log_spaced(FIRST, cell["T"], 6)]
        nu = 0.01 if cell["set"] == "adult" else 0.0
        return {"looks": looks, "nu": nu, "best": 0.1, "n": cell["rows"], "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(0.2, 6.0))
    assert numbers(held, ROOT) == pytest.approx([0.6] * 2)
    assert numbers(bad, ROOT) == pytest.approx([0.2] * 2)
    assert numbers(held, APART) == pytest.approx([1.5] * 2)
