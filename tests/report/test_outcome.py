import pytest

from hinge.report.outcome import JUDGED, Claim, Finding, Outcome, Sentence, Verdict, at_least, merge


@pytest.mark.parametrize(
    ("paper", "ours", "ratio"),
    [(2.0, 3.0, 1.5), ("faster", 3.0, None), (None, 3.0, None), (2.0, None, None), (0.0, 1.0, None)],
)
def test_a_ratio_takes_two_numbers(paper, ours, ratio):
    assert Finding("a set", paper, ours, Verdict.PARTLY, "made up").ratio == ratio


def test_an_outcome_may_be_claims_alone():
    outcome = Outcome(())
    assert not outcome.figures and not outcome.tables and not outcome.notes
    assert len({verdict.value for verdict in Verdict}) == len(Verdict)


YES, PARTLY, NO, UNKNOWN, SILENT, _ = Verdict


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([YES, YES, SILENT, UNKNOWN], YES),
        ([YES, NO], PARTLY),
        ([PARTLY, NO], PARTLY),
        ([NO, NO, SILENT], NO),
        ([NO, NO, YES], NO),
        ([SILENT, UNKNOWN], UNKNOWN),
        ([SILENT], SILENT),
        ([], UNKNOWN),
    ],
    ids=str,
)
def test_the_sets_that_were_judged_decide(rows, verdict):
    made = [Finding("a set", 1.0, 1.0, one, "") for one in rows]
    assert Claim(Sentence("quote", "Table 1", "what", at_least(2, 1)), made).verdict is verdict
    assert Claim(Sentence("", "", "what"), made).verdict is Verdict.OURS
    assert set(JUDGED) == {YES, PARTLY, NO}


def test_rows_of_one_sentence_come_together():
    one, other = (Sentence("quote", "Table 1", what, at_least(2, 1)) for what in ("what", "else"))
    row = Finding("a set", 1.0, 1.0, YES, "")
    merged = merge([Claim(one, [row]), Claim(other, [row]), Claim(one, [row, row])])
    assert [(claim.sentence, len(claim.rows)) for claim in merged] == [(one, 3), (other, 1)]
