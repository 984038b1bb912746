"""What wrong labels cost SIMBA, on made-up counts."""

import pytest
from experiments.made_up import in_both_outcomes, numbers

from hinge.experiments.base import read_sentence
from hinge.experiments.simba.noise import B, _enough, experiment

ALONE = read_sentence("simba-noise", "alone")
SQUARE = read_sentence("simba-noise", "square")


def world(power=2.0, dearer=1.5):
    """100 r^power iterations, `dearer` times as many where labels are wrong."""

    def made(cell):
        times = dearer if cell["noise"] else 1.0
        wanted = cell["factors"] if cell["noise"] else [1.0]
        found = {f"{r:g}": [100 * times * max(1.0, r / 2) ** power, 1e6] for r in wanted}
        return {"found": found, "loss": 2 * cell["noise"], "level": 0.4}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(3.5, 5.0))
    assert numbers(held, SQUARE) == pytest.approx([2.0, 2.0])
    assert numbers(bad, SQUARE) == pytest.approx([3.5, 3.5])
    assert numbers(held, ALONE) == pytest.approx([1.5, 1.5])


def test_twice_the_norm_is_all_that_a_small_r_asks_for():
    assert _enough(1.0) == _enough(2.0) == pytest.approx(1 / (2 * B))
    assert _enough(5.0) == pytest.approx(0.8 / B)  # Lemma 2.1: ν over the level is R* + δ = 1.25 R*
