"""The short form of ``python -m tests.certificates``: a few cases of every family."""

import numpy as np
import pytest

from tests.certificates.engine import Claim, check, names

pytestmark = pytest.mark.slow

CASES = 10


@pytest.mark.parametrize("name", names())
def test_no_certificate_is_false(name):
    tally = check(name, range(CASES), seed=1)
    assert tally.violated == 0, "\n".join(tally.failures)
    assert tally.claims > CASES // 2, f"{tally.refused} of {tally.cases} cases were refused"


def test_a_false_claim_is_seen():
    assert Claim("", 2.0, 1.0, gap=True).violated
    assert Claim("", 2.0, 1.0, gap=True).ratio == 2.0
    assert not Claim("", 2.0, 1.0, slack=1.0).violated
    assert not Claim("", 2.0, np.inf).violated and not Claim("", 2.0, np.nan).violated
