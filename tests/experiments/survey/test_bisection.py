"""Bisection over Algorithm 3 on made-up shortfalls."""

import pytest
from experiments.made_up import claims_in, in_both_outcomes, numbers

from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.survey.bisection import experiment

OPTIMUM = read_sentence("survey-bisection", "optimum")
RIGHT = read_sentence("survey-bisection", "right")


def world(short=1.0, right=6, excess=0.0, optimum=0.5):
    """A shortfall in multiples of ε, and right decisions of six."""

    def made(cell):
        return {
            "shortfall": short * cell["eps"] * (1.0 if cell["seed"] else 1.5),
            "excess": excess,
            "right": right,
            "told": 6,
            "iterations": 1000,
            "optimum": [optimum, optimum + 0.001],
        }

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(0.5), world(10.0, 3))
    assert numbers(held, OPTIMUM) == pytest.approx([0.75] * 4)
    assert numbers(bad, OPTIMUM) == pytest.approx([15.0] * 4)
    assert numbers(bad, RIGHT) == pytest.approx([0.5] * 4)


def test_an_optimum_near_zero_proves_nothing():
    found = claims_in(experiment, world(0.5, optimum=0.05))
    assert {row.verdict for row in found[OPTIMUM].values()} == {Verdict.SILENT}
