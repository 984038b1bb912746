"""The lemmas of the survey on made-up shares, and on a run."""

import numpy as np
import pytest
from experiments.made_up import claims_in, in_both_outcomes, numbers

from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.survey.lemmas import LEMMAS, experiment, shares_of_bounds
from hinge.experiments.survey.perceptron import rows_of
from hinge.problems import MaxMargin
from hinge.solvers import SublinearPerceptron

HOLD = read_sentence("survey-lemmas", "hold")


def world(share=0.5):
    def made(cell):
        worse = 0.9 if cell["family"] == "rare" and cell["seed"] == 1 else 1.0
        return {"T": 1000, **dict.fromkeys(LEMMAS, worse * share)}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(4.0))
    assert numbers(held, HOLD) == pytest.approx([0.5] * 7)
    assert numbers(bad, HOLD) == pytest.approx([4.0] * 7)


def test_a_bound_far_above_what_is_needed_says_nothing():
    assert {row.verdict for row in claims_in(experiment, world(0.01))[HOLD].values()} == {Verdict.SILENT}


def test_a_run_keeps_the_bounds_and_another_step_breaks_them():
    A, _ = rows_of("separable")
    problem = MaxMargin(A, relative=False)
    found = shares_of_bounds(problem, A / problem.scale, SublinearPerceptron("fixed", problem.scale, 3.0), 0)
    assert found["T"] == int(np.ceil(9 * np.log(300)))
    assert all(0 <= found[lemma] <= 1 for lemma in LEMMAS if lemma not in ("2.2", "2.4", "2.7"))
    assert all(found[lemma] <= 1 for lemma in LEMMAS)
    longer = shares_of_bounds(problem, 20 * A / problem.scale, SublinearPerceptron("fixed", problem.scale, 3.0), 0)
    assert longer["2.7"] == pytest.approx(20 * found["2.7"]) and longer["2.7"] > 1  # not rows of the unit ball
