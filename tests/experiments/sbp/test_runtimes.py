"""Seconds against LIBSVM, made up."""

import pytest
from experiments.made_up import in_both_outcomes, number

from hinge.experiments.sbp.runtimes import experiment


def world(arrives=10.0, late=0.0):
    """LIBSVM takes 100 s to an error of 10%; the SBP is there after some seconds, or stays above by `late`."""

    def made(cell):
        said = {"n": 1000, "label": cell["set"], "note": "", "support": 10}
        if cell["solver"] != "SBP":
            return {**said, "seconds": 100.0, "error": 0.10}
        looks = [
            {"seconds": float(s), "error": (0.10 if s >= arrives else 0.2) + late, "support": 10} for s in range(1, 201)
        ]
        return {**said, "looks": looks, "nu": 0.01, "seconds": 200.0, "error": looks[-1]["error"]}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad, _) = in_both_outcomes(experiment, world(), world(150.0), world(late=0.01))
    assert number(held, "SBP's error after a quarter") == pytest.approx(0, abs=1e-9)
    assert number(held, "LIBSVM's seconds over those") == pytest.approx(10)
    assert number(bad, "SBP's error after a quarter") == pytest.approx(10)
    assert number(bad, "LIBSVM's seconds over those") == pytest.approx(100 / 150)
