"""Three ways to a bias on made-up curves."""

import pytest
from experiments.made_up import in_both_outcomes, number

from hinge.experiments.base import read_sentence
from hinge.experiments.measure import log_spaced
from hinge.experiments.pegasos.bias import OPTIMA, experiment

BOTH = read_sentence("pegasos-bias", "both")
CRUCIAL = read_sentence("pegasos-bias", "crucial")
DIFFERENT = read_sentence("pegasos-bias", "different")
ETA = read_sentence("pegasos-bias", "eta")
LARGE_K = read_sentence("pegasos-bias", "large_k")
ROOT = read_sentence("pegasos-bias", "root")
SLOWER = read_sentence("pegasos-bias", "slower")

FREE = 1.0  # the least objective (11)


def world(without=2.0, constant=0.005, rate=0.6, slower=2.0, exact=1.0, small=5.0):
    """At the end the sub-gradient's excess is 0.01; the rest follows from the ratios that the claims are about."""
    optima = {"no bias": 0.1 * without, "constant feature": 0.1, "free bias": 0.1}

    def made(cell):
        said = {"label": cell["set"], "note": "", "positive": 0.1}
        if "optimum" in cell:
            above = constant if cell["optimum"] == "constant feature" else 0.0
            own = {"objective": FREE + above, "own": FREE, "bound": FREE, "error": optima[cell["optimum"]]}
            return {**said, **own}
        way, last = cell["way"], cell["budget"]
        end = {"sub-gradient": 0.01, "constant feature": 0.02, "exact, k = 1000": 0.01 * exact}
        end = {**end, "exact, k = 10": 0.01 * exact * small}.get(way, 0.02)
        own = 0.01 / slower  # of the constant feature, above the optimum of its own problem
        looks = [
            {
                "rows": rows,
                "objective": FREE + end * (last / rows) ** rate,
                "own": FREE + own * (last / rows) ** rate,
                "error": 0.1,
            }
            for rows in log_spaced(1000, last)
        ]
        return {**said, "looks": looks}

    return made


def test_both_outcomes_of_every_claim():
    assert list(OPTIMA) == ["no bias", "constant feature", "free bias"]
    held, (bad,) = in_both_outcomes(experiment, world(), world(1.0, 0.1, 0.2, 0.5, 4.0, 1.0))
    expected = {CRUCIAL: 2.0, DIFFERENT: 0.005, ROOT: 0.6, ETA: 0.6, SLOWER: 2.0, BOTH: 1.0, LARGE_K: 5.0}
    assert {one.what: number(held, one) for one in expected} == pytest.approx({o.what: v for o, v in expected.items()})
    assert number(bad, ETA) == pytest.approx(0.2)
