"""Figure 1 of the SBP: the basin of a run, and times that are made up."""

import numpy as np
import pytest
from experiments.made_up import in_both_outcomes, numbers, results_of

from hinge.experiments.base import read_sentence
from hinge.experiments.sbp.figure1 import experiment

LINEAR = read_sentence("sbp-figure1", "linear")


def world(power=1.0):
    def made(cell):
        if cell["part"] == "run":
            return {"c": [-1.0, 0.0, 0.5, 2.0], "gamma": 1.0, "wet": 3, "label": "made up", "note": ""}
        return {"milliseconds": 1e-5 * cell["n"] ** power}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(1.5))
    assert numbers(held, LINEAR) == pytest.approx([1.0])
    assert numbers(bad, LINEAR) == pytest.approx([1.5])


def test_the_basin_is_drawn():
    (figure,) = experiment.outcome(results_of(experiment, world()), "full").figures
    basin, chances, _ = figure.panels
    responses, water = basin.series
    assert (responses.x, responses.y) == ([1, 2, 3, 4], [-1.0, 0.0, 0.5, 2.0])
    assert (water.x, water.y) == ([1, 3], [1.0, 1.0])
    assert chances.series[0].y == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0])


def test_a_run_fills_its_basin():
    found = experiment.run({"part": "run", "rows": 80, "T": 40, "nu": 0.05, "seed": 0})
    c = np.array(found["c"])
    assert (np.diff(c) >= 0).all() and len(c) == 80
    assert np.maximum(found["gamma"] - c, 0).sum() == pytest.approx(0.05 * 80)
    assert found["wet"] == (c <= found["gamma"]).sum()
    assert experiment.run({"part": "seconds", "n": 1000, "seed": 0})["milliseconds"] > 0
