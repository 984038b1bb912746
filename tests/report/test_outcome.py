import pytest

from hinge.report.outcome import Claim, Outcome, Verdict


@pytest.mark.parametrize(
    ("paper", "ours", "ratio"),
    [(2.0, 3.0, 1.5), ("faster", 3.0, None), (None, 3.0, None), (2.0, None, None), (0.0, 1.0, None)],
)
def test_a_ratio_takes_two_numbers(paper, ours, ratio):
    assert Claim("it is so", paper, ours, Verdict.PARTLY, "within 2", "made up").ratio == ratio


def test_an_outcome_may_be_claims_alone():
    outcome = Outcome(())
    assert not outcome.figures and not outcome.tables and not outcome.notes
    assert len({verdict.value for verdict in Verdict}) == len(Verdict)
