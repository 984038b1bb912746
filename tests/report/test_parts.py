"""Parts of the page."""

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures are drawn by matplotlib")
from hinge.report.page import number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0534, "0.0534"),
        (0.05, "0.0500"),
        (1.0, "1.00"),
        (9.999, "10.0"),
        (1234.5, "1,230"),
        (0.0, "0"),
        (999_999.0, "1,000,000"),
        (1.7e7, "1.70×10⁷"),
        (1.2e-7, "1.20×10⁻⁷"),
        (-2.5, "−2.50"),
        (-3, "−3"),
        (781_265, "781,265"),
        (True, "yes"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
        ("text-1", "text-1"),
        (np.float32(0.5), "0.500"),
        (np.int64(1000), "1,000"),
    ],
)
def test_numbers_are_for_readers(value, text):
    assert number(value) == text
