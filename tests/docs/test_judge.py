"""The stored measurements, judged by the present rules, give the stored claims."""

import pytest

from docs import claims
from docs.judge import judged


@pytest.mark.slow
def test_the_stored_verdicts_are_those_of_the_present_rules():
    found = [
        (section.name, claim.sentence.what, row.on, row.verdict.value)
        for section in judged()
        for claim in section.outcome.claims
        for row in claim.rows
    ]
    keys = ("experiment", "what", "on", "verdict")
    assert found == [tuple(row[key] for key in keys) for row in claims.stored("claims")], "run python -m docs.judge"
