"""The talk's table T(m, B, ε) on made-up power laws."""

import pytest
from experiments.made_up import claims_in, in_both_outcomes, number, numbers, printed_in

from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.talk.runtimes import EPS, LAMS, SIZES, experiment

MUCH_BETTER = read_sentence("talk-runtimes", "much_better")
SAME = read_sentence("talk-runtimes", "same")
TABLE = read_sentence("talk-runtimes", "table")


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
    assert numbers(held, TABLE) == pytest.approx([3.0, 2.5, 1.5, 1.6])
    assert number(held, MUCH_BETTER) == pytest.approx(EPS["full"][-1] ** -1.0)
    assert number(held, SAME) == pytest.approx(EPS["full"][-1] ** -0.1)
    assert number(bad, MUCH_BETTER) == pytest.approx(EPS["full"][-1])


def test_an_exponent_is_judged_near_its_bound_alone():
    verdicts = [row.verdict for row in claims_in(experiment, world(sgd=2.7))[TABLE].values()]
    assert verdicts == [Verdict.SILENT, Verdict.SILENT, Verdict.PARTLY, Verdict.SILENT]


def test_the_talks_table_has_our_exponents():
    rows = printed_in(experiment, world()).rows
    assert [row[2] for row in rows] == [
        ("(B/ε)⁴", "p = 3.00", ""),
        ("(B/ε)⁴", "p = 2.50", ""),
        ("(B/ε)²", "p = 1.50", ""),
    ]
