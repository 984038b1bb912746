"""The combination of SGD and DCA on made-up curves: nothing to reproduce, but numbers to get right."""

import pytest
from experiments.made_up import claims_in, number

from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.talk.combination import TARGET, experiment

BETTER = read_sentence("talk-combination", "better")
SAVED = read_sentence("talk-combination", "saved")


def world(sgd, dca, both):
    """Epochs at which each method is at the target, ρ falling as a power of ten an epoch."""

    def curve(cell, arrival):
        return [{"epoch": e, "rho": TARGET * 10.0 ** (arrival - e)} for e in range(1, cell["epochs"] + 1)]

    def made(cell):
        said = {"m": 1000, "label": cell["set"], "note": ""}
        return {**said, **{m: curve(cell, e) for m, e in (("SGD", sgd), ("DCA", dca), ("combined", both))}}

    return made


@pytest.mark.parametrize(
    ("arrivals", "saved", "of_better"),
    [((4.5, 3.25, 2.5), 0.75, 2.5 / 3.25), ((2.5, 4.0, 5.0), -1.0, 2.0), ((2.0, 40.0, 4.0), 12.0, 2.0)],
)
def test_epochs_saved_and_the_better_of_both(arrivals, saved, of_better):
    found = claims_in(experiment, world(*arrivals))
    assert number(found, SAVED) == pytest.approx(saved)
    assert number(found, BETTER) == pytest.approx(of_better)
    assert {row.verdict for rows in found.values() for row in rows.values()} == {Verdict.OURS}


def test_one_that_never_arrives_took_all_epochs():
    found = claims_in(experiment, world(4.0, 5.0, 40.0))
    assert number(found, BETTER) == pytest.approx(16 / 4)
    assert number(found, SAVED) is None
