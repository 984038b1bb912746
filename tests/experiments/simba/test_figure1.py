"""Figure 1 of the SIMBA paper on made-up curves."""

import numpy as np
import pytest
from experiments.made_up import claims_in, in_both_outcomes, number, numbers

from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.simba.figure1 import experiment

GUESSED = read_sentence("simba-figure1", "guessed")
HUNDRED = read_sentence("simba-figure1", "hundred")
VALIDATED = read_sentence("simba-figure1", "validated")


def curve(scale, floor=0.05):
    """Errors that fall from a half to the floor over four decades of accesses, and stay there."""
    at = scale * np.geomspace(1e2, 1e7, 60)
    errors = np.interp(np.log(at / scale), np.log([1e2, 1e6]), [0.5, floor])
    return [
        {"cells": x, "nonzeros": x / 10, "val": e, "test": e} for x, e in zip(at.tolist(), errors.tolist(), strict=True)
    ]


def world(gain=100.0, floor=0.05):
    """SIMBA with so many times fewer accesses, and a floor of its own; a second ν is a little worse."""

    def made(cell):
        simba = cell["method"] in ("SIMBA", "capped")
        looks = curve(1 / gain, floor + cell["setting"] / 100) if simba else curve(1.0)
        return {"looks": looks, "n": 1000, "d": 5000, "nonzeros": 10_000, "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(1.0))
    assert numbers(held, HUNDRED) == pytest.approx([100] * 4, rel=0.15)  # looks: 21% apart
    assert numbers(held, VALIDATED) == pytest.approx([100] * 4, rel=0.15)
    assert number(held, GUESSED) == pytest.approx(1000, rel=0.15)  # a tenth are nonzeros
    assert {row.verdict for one in (VALIDATED, GUESSED) for row in bad[one].values()} == {Verdict.OURS}
    assert numbers(bad, HUNDRED) == pytest.approx([1] * 4, rel=0.15)


def test_what_never_arrives_gives_an_upper_bound_only_where_that_decides():
    assert number(claims_in(experiment, world(1.0, floor=0.2)), HUNDRED) < 1
    assert number(claims_in(experiment, world(100.0, floor=0.2)), HUNDRED) is None
