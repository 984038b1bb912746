"""Figure 3 of the Pegasos paper on made-up excesses."""

import pytest
from experiments.made_up import in_both_outcomes, number

from hinge.experiments.pegasos.figure3 import experiment


def world(gain=1.0, loss=0.05):
    """Excess k^-gain at fixed T and k^loss at fixed kT."""

    def made(cell):
        excess = cell["k"] ** (-gain if cell["held"] == "T" else loss)
        return {"objective": 1 + excess, "excess": excess, "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(0.1, 0.5))
    assert number(held, "Larger batches help") == pytest.approx(1.0)
    assert number(bad, "Larger batches help") == pytest.approx(0.1)
    (claim, *_) = [claim for (what, _), claim in held.items() if what.startswith("At a fixed number of rows")]
    assert claim.earlier.ours == pytest.approx(1024**0.05)
    assert number(held, "At a fixed number of rows") == pytest.approx(64**0.05)
