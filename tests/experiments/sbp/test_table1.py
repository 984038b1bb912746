"""Table 1 of the SBP paper on made-up power laws."""

import numpy as np
import pytest
from experiments.made_up import claims_in, in_both_outcomes, number, printed_in

from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.sbp.table1 import METHODS, NOISE, SMALL_NOISE, _teacher, bound, experiment

BOUNDED = read_sentence("sbp-table1", "bounded")
EXPONENT = read_sentence("sbp-table1", "exponent")
ORDER = read_sentence("sbp-table1", "order")

LEAST = 0.005  # the smallest ε that is looked for


def world(share=0.5, gentler=0.05, of_sbp=1.0):
    """What is needed in shares of the bound: this at the smallest ε, growing gentler than it by a power of 1/ε."""

    def looks(method, noise, name):
        eps = np.geomspace(0.2, 0.8 * LEAST, 300)
        times = share * (of_sbp if method == "SBP" else 1.0) * (eps / LEAST) ** gentler
        return [{"charged": x, "excess": e} for x, e in zip(times * bound(method, eps, noise, name), eps, strict=True)]

    kinds = [(noise, None) for noise in NOISE] + [(noise, "small") for noise in SMALL_NOISE]
    known = {(method, *kind): looks(method, *kind) for method in METHODS for kind in kinds}

    def made(cell):
        return {"looks": known[cell["method"], cell["noise"], cell.get("teacher")], "nu": 0.01, "norm": 10.0}

    return made


def test_both_outcomes_of_every_claim():
    unmeasured = [BOUNDED, ORDER]  # where one label in a thousand is wrong
    held, (bad,) = in_both_outcomes(experiment, world(), world(200.0, -1.0, of_sbp=1e18), unmeasured=unmeasured)
    assert number(held, EXPONENT) == pytest.approx(0.95, rel=0.03)
    assert number(held, BOUNDED) == pytest.approx(0.5 * 30**0.05, rel=0.03)
    ratio = bound("Pegasos", LEAST, 0.0) / bound("SBP", LEAST, 0.0)
    assert number(held, ORDER) == pytest.approx(ratio, rel=0.1)
    assert number(bad, ORDER) == pytest.approx(ratio / 1e18, rel=0.1)


def test_bounds_that_are_far_above_say_nothing_and_labels_that_are_never_wrong_neither():
    rows = claims_in(experiment, world(share=1e-3))[BOUNDED].values()
    assert [row.verdict for row in rows] == [Verdict.SILENT] * 3 + [Verdict.UNKNOWN]
    assert _teacher("small").norm <= 5 < _teacher(None).norm


def test_the_papers_table_has_what_was_needed_and_leaves_out_what_is_not_built():
    sbp, dual, sgd = printed_in(experiment, world(gentler=0.0)).rows
    assert sbp[2] == ("‖u‖⁴/ε", "1/ε^1.00", "0.50 of the bound at ε = 0.0050")
    assert sgd[2][:2] == ("‖u‖⁴/ε³", "1/ε^3.00")
    assert dual[1].ours is None and dual[2].ours is None
