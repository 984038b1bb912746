"""The talk's table T(m, B, ε) on made-up power laws."""

import pytest
from experiments.made_up import in_both_outcomes, number

from hinge.experiments.talk.runtimes import EPS, LAMS, SIZES, experiment


def world(smo=3.0, perf=2.5, sgd=1.5, constant=1.0, dca=1.6):
    """Work ε^-p at one m and one λ, and twice as much elsewhere."""
    exponents = {"SMO": smo, "SVM-Perf": perf, "SGD": sgd, "DCA": dca}

    def made(cell):
        best = cell["lam"] == LAMS["full"][1] and cell["m"] in (
            *[sizes[3] for sizes in SIZES["full"].values()],
            100_000,
        )
        times = (1 if best else 2) * (constant if cell["solver"] == "SGD" else 1.0)
        reached = [{"work": times * eps ** -exponents[cell["solver"]], "test": eps} for eps in cell["eps"]]
        return {"reached": reached, "B": 10.0, "best": 0.2}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(5.0, 5.5, 6.0, dca=7.0))
    assert [number(held, "Work of", k) for k in range(5)] == pytest.approx([3.0, 2.5, 1.5, 1.6, 1.6])
    assert number(held, "SGD has the smallest") == pytest.approx(1.0)
    assert number(held, "SGD needs the least") == pytest.approx(EPS["full"][-1] ** -1.0)
    assert number(held, "SGD and DCA") == pytest.approx(EPS["full"][-1] ** -0.1)
    assert number(bad, "SGD has the smallest") == pytest.approx(-1.0)
