"""Theorem 1 and Corollary 1 of the Pegasos paper on made-up objectives."""

import numpy as np
import pytest
from experiments.made_up import claims_in, in_both_outcomes, numbers

from hinge.bounds import pegasos_gap
from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.pegasos.regret import experiment

AVERAGE = read_sentence("pegasos-regret", "average")
REGRET = read_sentence("pegasos-regret", "regret")


def world(regret=0.5, average=0.2, start=0.9):
    """Shares of the bound; w = 0 is so far above the minimum."""

    def made(cell):
        at = [10, 100, 1000, cell["T"]]
        bound = np.asarray(pegasos_gap(np.array(at), cell["lam"], 1.0))
        said = {"label": cell["set"], "note": "", "at": at, "start": start, "R": 1.0}
        return {**said, "regret": (regret * bound).tolist(), "average": (average * bound).tolist()}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(4.0, 5.0))
    assert numbers(held, REGRET) == pytest.approx([0.5] * 4)
    assert numbers(bad, AVERAGE) == pytest.approx([5.0] * 4)


def test_a_bound_that_zero_keeps_says_nothing():
    assert {row.verdict for row in claims_in(experiment, world(start=1e-6))[REGRET].values()} == {Verdict.SILENT}


def test_a_bound_far_above_what_is_needed_says_nothing():
    assert {row.verdict for row in claims_in(experiment, world(average=0.01))[AVERAGE].values()} == {Verdict.SILENT}


def test_the_iterates_begin_with_zero_and_their_average_is_below_their_mean():
    found = experiment.run({"set": "adult", "rows": 60, "lam": 0.1, "T": 20, "seed": 0})
    assert found["at"][-1] == 20 and found["start"] > 0
    assert all(average <= regret + 1e-12 for average, regret in zip(found["average"], found["regret"], strict=True))
