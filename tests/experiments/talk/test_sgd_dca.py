"""SGD against dual coordinate ascent, on made-up curves."""

import pytest
from experiments.made_up import claims_in, in_both_outcomes, number, numbers

from hinge.bounds import dca_gap, dca_over_sgd
from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.talk.sgd_dca import EPOCHS, LAM_M, experiment

AHEAD = read_sentence("talk-sgd-dca", "ahead")
BOUND = read_sentence("talk-sgd-dca", "bound")
LEVEL = read_sentence("talk-sgd-dca", "level")
REFINED = read_sentence("talk-sgd-dca", "refined")

M = 10_000


def world(as_told=True, test=1.0, flat=False):
    """ρ of DCA over that of SGD as the bounds have it, or turned over; DCA's test error over SGD's."""

    def made(cell):
        ratios = [float(dca_over_sgd(e * M, M, cell["lam_m"] / M)) for e in EPOCHS]
        common = [{"iteration": e * M, "epoch": e, "validation": 0.1} for e in EPOCHS]
        sgd = [{**look, "rho": 0.001 / look["epoch"], "test": 0.1} for look in common]
        dca = [
            {**look, "rho": look["rho"] * (r if as_told else 1 / r), "test": 0.1 * test}
            for look, r in zip(sgd, ratios, strict=True)
        ]
        dca = [{**look, "rho": 0.5} for look in dca] if flat else dca
        return {"m": M, "label": cell["set"], "note": "", "SGD": sgd, "DCA": dca}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad, flat) = in_both_outcomes(experiment, world(), world(as_told=False, test=1.3), world(flat=True))
    assert numbers(held, AHEAD) == [1.0] * 6
    assert numbers(bad, AHEAD) == [0.0] * 6
    assert [row.verdict for row in bad[AHEAD].values()] == [Verdict.NOT, Verdict.SILENT] * 3  # T < m says nothing
    bounds = [dca_gap(e * M, M, lam_m / M, 0.1) for e in EPOCHS for lam_m in LAM_M["full"]]
    of_bound = number(claims_in(experiment, world(flat=True)), BOUND)
    assert of_bound == pytest.approx(0.5 / min(bounds))
    assert number(bad, LEVEL) == pytest.approx(1.3)
    assert number(flat, REFINED) == pytest.approx(0.5 * (EPOCHS[-1] - 1) * LAM_M["full"][-1])
