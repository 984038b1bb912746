"""How sure a run of Pegasos is, on made-up excesses."""

import pytest
from experiments.made_up import claims_in, in_both_outcomes, number

from hinge.bounds import pegasos_gap
from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.pegasos.confidence import T, experiment

EQUATION_9 = read_sentence("pegasos-confidence", "equation_9")
NEEDLESS = read_sentence("pegasos-confidence", "needless")
SURER = read_sentence("pegasos-confidence", "surer")
THEOREM_3 = read_sentence("pegasos-confidence", "theorem_3")

MEAN = float(pegasos_gap(T["full"], experiment.lam))


def world(random=1.0, best=0.5, last=0.25, at_zero=10.0):
    """Excesses in units of the mean's bound; one seed of a hundred is three times as bad."""

    def made(cell):
        def each(size):
            return [3 * size * MEAN if k == 0 and cell["seed"] % 5 == 0 else size * MEAN for k in range(cell["each"])]

        excess = {"random": each(random), "best": each(best), "last": each(last)}
        return {"excess": excess, "best": 1.0 - at_zero, "R": 1.0, "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(30.0, 60.0, 120.0))
    assert number(held, SURER) == pytest.approx(2.0)  # one of a hundred is rarer than δ
    assert number(held, NEEDLESS) == pytest.approx(2.0)
    assert number(bad, THEOREM_3) == number(bad, EQUATION_9) == 0.0


def test_a_bound_that_zero_meets_counts_for_nothing():
    found = claims_in(experiment, world(0.1, 0.1, 0.1, at_zero=MEAN))
    assert {row.verdict for one in (THEOREM_3, EQUATION_9) for row in found[one].values()} == {Verdict.SILENT}
