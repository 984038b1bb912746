"""The runtime of SIMBA for learning, on made-up power laws."""

import math

import pytest
from experiments.made_up import in_both_outcomes, number, numbers

from hinge.bounds import online_runtime, simba_learning_runtime
from hinge.experiments.base import read_sentence
from hinge.experiments.simba.runtime import MARGIN, SHARE, experiment

COROLLARY = read_sentence("simba-runtime", "corollary")
ITERATION = read_sentence("simba-runtime", "iteration")
NO_DELTA = read_sentence("simba-runtime", "no_delta")
ONLINE = read_sentence("simba-runtime", "online")


def world(size=1.0, norm=2.0, online=1.0, fewer=1e-2, more=1.0):
    """Accesses of the theory to these powers; `fewer` and `more` are the constants of SIMBA and of the others."""

    def made(cell):
        n, d, B, delta = cell["n"], cell["d"], 1 / (MARGIN * cell["shrink"]), SHARE * cell["r"]
        if cell["sweep"] == "δ":
            simba = float(simba_learning_runtime(d, B, delta, 0.0)) ** size
            iterations = delta ** -(size - 1)
            rows = float(online_runtime(d, B, delta, 0.0)) ** online
        else:
            simba, iterations, rows = (n + d) ** size, math.log(n) * B**norm, d**online * B ** (norm * online)
        found = {"SIMBA": [more * iterations, fewer * simba], "Perceptron": [1.0, more * rows]}
        return {
            "found": {**found, "Pegasos 0.01": None, "Pegasos 0.001": [1.0, 2 * more * rows], "Pegasos 0.0001": None}
        }

    return made


def test_both_outcomes_of_every_claim():
    few_reads, flat = world(size=2.0, norm=4.0, online=1.6, fewer=1e9), world(online=0.3, fewer=1.0, more=1e7)
    held, (bad, _) = in_both_outcomes(experiment, world(), few_reads, flat)
    assert number(held, ITERATION) == pytest.approx(1)
    assert number(held, COROLLARY) == pytest.approx(2)
    assert numbers(held, ONLINE) == pytest.approx([1, 2, 1])
    assert number(held, NO_DELTA) == pytest.approx(0, abs=1e-9)
    assert number(bad, COROLLARY) == pytest.approx(4)
    assert number(bad, NO_DELTA) == pytest.approx(1)
