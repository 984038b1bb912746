"""Table 1 of the SBP paper on made-up power laws."""

import numpy as np
import pytest
from experiments.made_up import claims_in, in_both_outcomes, number

from hinge.experiments import Verdict
from hinge.experiments.sbp.table1 import METHODS, NOISE, SMALL_NOISE, _teacher, bound, experiment

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
    held, (bad,) = in_both_outcomes(experiment, world(), world(200.0, -1.0, of_sbp=1e18))
    assert number(held, "Evaluations of SBP grow") == pytest.approx(0.95, rel=0.03)
    assert number(bad, "Evaluations of SMO grow") == pytest.approx(3, rel=0.03)
    assert number(held, "No method needs more") == pytest.approx(0.5 * 30**0.05, rel=0.03)
    ratio = bound("Pegasos", LEAST, 0.0) / bound("SBP", LEAST, 0.0)
    assert number(held, "The SBP needs fewer evaluations than Pegasos") == pytest.approx(ratio, rel=0.1)
    assert number(bad, "The SBP needs fewer evaluations than Pegasos") == pytest.approx(ratio / 1e18, rel=0.1)


def test_a_slope_far_below_the_bound_is_not_judged():
    found = claims_in(experiment, world(share=1e-3, gentler=-1.0))
    slopes = [claim for (what, _), claim in found.items() if what.startswith("Evaluations of")]
    assert {(c.verdict, c.earlier.verdict) for c in slopes} == {(Verdict.UNKNOWN, Verdict.NOT)}


def test_one_teacher_has_a_norm_of_five_and_bounds_that_are_not_sure():
    assert _teacher("small").norm <= 5 < _teacher(None).norm
    held = [claim for (what, _), claim in claims_in(experiment, world()).items() if what.startswith("No method needs")]
    assert [claim.verdict for claim in held] == [Verdict.SURE] * 2 + [Verdict.REPRODUCED] * 2
