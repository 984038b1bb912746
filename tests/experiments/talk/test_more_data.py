"""More data, less work: on made-up runs."""

import pytest
from experiments.made_up import claims_in, in_both_outcomes, number, numbers

from hinge.experiments.base import read_sentence
from hinge.experiments.talk.more_data import SIZES, experiment

FALLS = read_sentence("talk-more-data", "falls")

SMALLEST, LARGEST = SIZES["full"][0], SIZES["full"][-1]


def world(fall=0.3, reached_from=0, best=3e-4):
    """Iterations and seconds as m^-fall, from some size on, at one λ; other λ take twice as many."""

    def made(cell):
        m = cell["m"]
        T = 1e6 * (m / 1e4) ** -fall * (1 if cell["lam"] == best else 2)
        reached = {"iteration": T, "seconds": 1e-6 * T, "test": 0.05} if m >= reached_from else None
        said = {"m": m, "target": 0.05, "pool": LARGEST, "label": "made up", "note": "", "n_test": 10, "n_val": 10}
        return {**said, "test": reached, "validation": reached}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(-0.5))
    gain = (LARGEST / SMALLEST) ** 0.3
    assert numbers(held, FALLS) == pytest.approx([gain] * 6)
    assert numbers(bad, FALLS) == pytest.approx([(SMALLEST / LARGEST) ** 0.5] * 6)


def test_sizes_that_never_arrive_are_left_out():
    found = claims_in(experiment, world(reached_from=80_000))
    assert number(found, FALLS) == pytest.approx((LARGEST / 80_000) ** 0.3)
