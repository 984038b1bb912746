"""The generic primal-dual method on made-up losses."""

import math

import pytest
from experiments.made_up import claims_in, in_both_outcomes, number, numbers

from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.survey.primal_dual import experiment

HELD = read_sentence("survey-all", "held")
LARGER = read_sentence("survey-primal-dual", "larger")
PRINTED = read_sentence("survey-primal-dual", "printed")
RATE = read_sentence("survey-primal-dual", "rate")


def world(loss=1.0, rate=1.0, theorem=0.5, printed=0.5, held=True, start=1.0):
    """Loss after T = ratio² log n; losses at the theorem's T in multiples of ε, for odd seeds; that of the start."""

    def made(cell):
        def look(ratio, lost):
            return {"ratio": ratio, "T": math.ceil(ratio**2 * 5), "loss": lost, "gap": 1.0, "held": held}

        odd = cell["seed"] % 2
        at = [{"eps": eps, **look(10.0, eps * (theorem if odd else 1.5 * theorem))} for eps in cell["eps"]]
        other = [{"eps": eps, **look(10.0, eps * printed)} for eps in cell["eps"]]
        looks = [look(r, loss * r**-rate) for r in cell["ratios"]]
        said = {"n": cell["n"], "label": cell["problem"], "value": 0.5, "start": start}
        return {**said, "looks": looks, "theorem": at, "printed": other}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(300.0, 0.2, 1.2, 2.0, False))
    assert numbers(held, PRINTED) == numbers(held, LARGER) == [1.0] * 6
    assert number(held, RATE) == pytest.approx(0.5, abs=1e-2)
    assert numbers(bad, PRINTED) == numbers(bad, LARGER) == [0.0] * 6
    assert number(bad, HELD) == 0
    half = claims_in(experiment, world(theorem=0.8))  # of which the even seeds lose 1.2 ε
    assert number(half, LARGER) == 0.5


def test_a_problem_whose_start_is_within_eps_is_told_apart():
    found = claims_in(experiment, world(start=0.05))
    assert {row.verdict for row in found[PRINTED].values()} == {Verdict.SILENT}
    failed = claims_in(experiment, world(start=0.05, printed=2.0))  # which no start excuses
    assert {row.verdict for row in failed[PRINTED].values()} == {Verdict.NOT}
