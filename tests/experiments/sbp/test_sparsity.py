"""Support vectors of the SBP on made-up curves."""

import pytest
from experiments.made_up import claims_in, in_both_outcomes, number

from hinge.experiments.base import read_sentence
from hinge.experiments.sbp.sparsity import experiment

SPARSER = read_sentence("sbp-sparsity", "sparser")


def world(on_arrival=500.0, arrives=True):
    """The error falls to the SVM's, 10%, when so many points are support vectors."""

    def made(cell):
        reached = 0.1 if arrives else 0.2
        looks = [
            {"iteration": 100, "support": 100.0, "error": 0.3},
            {"iteration": 1000, "support": on_arrival, "error": reached},
            {"iteration": 2000, "support": 2 * on_arrival, "error": reached},
        ]
        return {"looks": looks, "n": 4000, "svm": 0.1, "support": 1000, "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(300.0), world(1200.0))
    assert number(held, SPARSER) == pytest.approx(0.6)  # at the end
    assert all("0.30 on arrival" in row.conditions for row in held[SPARSER].values())
    assert number(bad, SPARSER) == pytest.approx(2.4)
    assert number(claims_in(experiment, world(arrives=False)), SPARSER) is None
