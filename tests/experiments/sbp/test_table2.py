"""Table 2 of the SBP paper on made-up optima."""

import pytest
from experiments.made_up import claims_in, in_both_outcomes, number, printed_in

from hinge.display.figure import Beside
from hinge.experiments import Verdict
from hinge.experiments.base import read_sentence
from hinge.experiments.sbp.table2 import LINES, experiment

SLACK = read_sentence("sbp-table2", "slack")


def world(times=1.0, note="", hinge=0.1):
    """The paper's ν times a factor, on its own rows unless there is a note; the mean hinge loss there."""

    def made(cell):
        paper = next(line["paper"] for line in LINES if (line["set"], line["bias"]) == (cell["set"], cell["bias"]))
        nu = times * paper
        said = {"label": cell["set"], "note": note, "gap": 1e-5, "support": 10, "n": 1000, "error": 0.1}
        return {**said, "nu": nu, "norm": 100.0, "hinge": hinge}

    return made


def test_both_outcomes_of_every_claim():
    held, (bad,) = in_both_outcomes(experiment, world(), world(1.5))
    assert number(held, SLACK, 1) == pytest.approx(1.10e-2)
    assert number(bad, SLACK, 1) == pytest.approx(1.65e-2)


def test_a_stand_in_says_nothing_of_the_papers_rows():
    rows = claims_in(experiment, world(note="another set"))[SLACK].values()
    assert {row.verdict for row in rows} == {Verdict.UNKNOWN}


def test_two_tolerances_are_not_compared():
    rows = claims_in(experiment, world(hinge=1e-7))[SLACK].values()
    assert {row.verdict for row in rows} == {Verdict.SILENT}


def test_the_papers_table_has_both_sides_and_forest_without_ours():
    adult, forest = printed_in(experiment, world(2.0)).rows[1::2]
    assert adult[1:3] == [Beside(31_562, 1000), Beside(16_282, None)]
    assert adult[3:] == ["10", "1/n", Beside(1.10e-2, 2.20e-2), "100", "1/100n", Beside(5.79e-4, 2 * 5.79e-4)]
    assert forest[3:] == ["", "", "", "5000", "1/10000n", Beside(7.62e-10, None)]
