"""Kernel evaluations of Pegasos on made-up counts."""

import pytest
from experiments.made_up import in_both_outcomes, number, numbers

from hinge.experiments.base import read_sentence
from hinge.experiments.measure import log_spaced
from hinge.experiments.pegasos.kernel import experiment

ACCURATE = read_sentence("pegasos-kernel", "accurate")
EVALUATIONS = read_sentence("pegasos-kernel", "evaluations")
INNER = read_sentence("pegasos-kernel", "inner")


def world(growth=1.0, of_m=0.0, evaluations=1.0, share=0.8):
    """Excess 100 (m/1000)^of_m T^-1/growth; T^evaluations evaluations; a share of the rows are support vectors."""

    def made(cell):
        m = cell["rows"]
        looks = [
            {
                "iteration": t,
                "excess": (100 * (m / 1000) ** of_m / t) ** (1 / growth),
                "support": share * min(m, t),
                "evaluations": float(t) ** evaluations,
            }
            for t in log_spaced(10, 10**6, 400)
        ]
        return {"looks": looks, "m": m, "label": "made up", "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(2.0, 0.5, 1.5, 1.1))
    assert numbers(held, ACCURATE) == pytest.approx([1.0, 0.0], abs=0.02)
    assert numbers(bad, ACCURATE) == pytest.approx([2.0, 0.5], abs=0.02)
    assert number(bad, EVALUATIONS) == pytest.approx(3.0, abs=0.05)
    assert number(held, INNER) == pytest.approx(0.8)
