"""Iterations against m, ε and λ, on made-up power laws."""

import numpy as np
import pytest
from experiments.made_up import in_both_outcomes, number

from hinge.bounds import pegasos_iterations
from hinge.experiments.base import read_sentence
from hinge.experiments.pegasos.scaling import ACCURACIES, LAMS, experiment

BOUND = read_sentence("pegasos-scaling", "bound")
OF_EPS = read_sentence("pegasos-scaling", "of_eps")
OF_LAM = read_sentence("pegasos-scaling", "of_lam")
OF_M = read_sentence("pegasos-scaling", "of_m")


def world(of_m=0.0, of_eps=1.0, of_lam=1.0, constant=1.0):
    """T = constant · m^of_m · λ^-of_lam · ε^-of_eps, which power laws between looks meet exactly."""

    def made(cell):
        size = constant * cell["rows"] ** of_m * cell["lam"] ** -of_lam
        looks = [{"iteration": float(t), "excess": (size / t) ** (1 / of_eps)} for t in np.geomspace(1, 1e25, 60)]
        return {"looks": looks, "R": 1.0, "label": cell["set"], "note": ""}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(-0.4, 2.0, 2.0, 1e4))
    assert number(held, OF_M) == pytest.approx(0, abs=1e-9)
    assert number(held, OF_EPS) == pytest.approx(1)
    assert number(held, OF_LAM) == pytest.approx(1)
    places = [(lam, 0.01) for lam in LAMS["full"]] + [(1e-4, eps) for eps in ACCURACIES["full"]]
    shares = [1 / (lam * eps) / pegasos_iterations(lam, eps) for lam, eps in places]
    assert number(held, BOUND) == pytest.approx(max(shares), rel=1e-6)
    assert number(bad, OF_M) == pytest.approx(0.4)  # a fall counts as a rise does
    assert number(bad, OF_LAM) == pytest.approx(2)
    assert number(bad, BOUND) > 3
