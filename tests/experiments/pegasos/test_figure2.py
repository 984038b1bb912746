"""Figure 2 of the Pegasos paper on made-up curves."""

import pytest
from experiments.made_up import in_both_outcomes, number

from hinge.experiments.base import read_sentence
from hinge.experiments.pegasos.figure2 import ETAS, SUGGESTED, experiment

NOT_CONVERGED = read_sentence("pegasos-figure2", "not_converged")
OTHERS = read_sentence("pegasos-figure2", "others")
OUTPERFORMS = read_sentence("pegasos-figure2", "outperforms")
POOR = read_sentence("pegasos-figure2", "poor")
SOME = read_sentence("pegasos-figure2", "some")


def world(norma=20.0, projected=10.0, test=1.5, etas=(50.0, 30.0, 1.5, 8.0, 90.0), suggested=40.0):
    """Excesses at the last iteration in multiples of that of Pegasos, and Norma's test loss."""
    times = {"Pegasos": 1.0, "Norma": norma, "Norma, projected": projected}
    times |= {f"SGD, η = {eta:g}": k for eta, k in zip((SUGGESTED, *ETAS), (suggested, *etas), strict=True)}

    def made(cell):
        k = times[cell["solver"]]
        tested = test if cell["solver"].startswith("Norma") else 1.0
        looks = [{"iteration": t, "excess": k * 10.0 / t, "test": 0.2 * tested} for t in (100, 10_000, 1_000_000)]
        return {"looks": looks, "optimum": 0.3, "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    level = world(1.5, 0.5, 0.9, (2.9, 1.0, 1.0, 1.0, 2.0), 2.0)
    none_as_fast = world(etas=(6.0, 7.0, 8.0, 9.0, 10.0))
    held, (even, _) = in_both_outcomes(experiment, world(), level, none_as_fast)
    assert number(held, NOT_CONVERGED) == pytest.approx(20)
    assert number(held, SOME) == pytest.approx(1.5)
    assert number(held, OTHERS) == pytest.approx(90)
    assert number(held, POOR) == pytest.approx(40)
    assert number(even, OUTPERFORMS) == pytest.approx(0.9)
