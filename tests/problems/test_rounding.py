from fractions import Fraction

import numpy as np
import pytest

from hinge.problems.rounding import gap_of, rounding


def exact_dot(a, b):
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)), Fraction(0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 10, 1000])
def test_sums_of_products_are_off_by_no_more(seed, n):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n)
    b = rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n)
    size = float(np.abs(a) @ np.abs(b))
    for computed in (float(a @ b), float(sum((a * b).tolist())), float((a * b)[::-1].sum())):
        assert abs(Fraction(computed) - exact_dot(a, b)) <= Fraction(rounding(n, size))


def test_products_that_underflow_are_counted():
    a = np.full(100, 1e-170)
    assert float(a @ a) == 0.0
    assert exact_dot(a, a) <= Fraction(rounding(100, float(np.finfo(float).tiny)))
    assert rounding(100, 0.0) == 0.0


def test_more_terms_or_larger_ones_are_off_by_more():
    assert rounding(10, 1.0) < rounding(11, 1.0) < rounding(11, 1.1)
    assert 1e-16 < rounding(0, 1.0) < 1e-13


def test_gaps_are_rounded_up():
    rng = np.random.default_rng(0)
    for upper, lower, unit in rng.random((200, 3)) + np.array([1.0, 0.0, 0.1]):
        assert Fraction(gap_of(upper, lower, unit)) >= (Fraction(upper) - Fraction(lower)) / Fraction(unit)


def test_gaps_without_a_unit_or_a_number_are_infinite():
    assert gap_of(1.0, 0.5, 0.0) == gap_of(1.0, 0.5, -1.0) == np.inf
    assert gap_of(np.nan, 0.5, 1.0) == gap_of(np.inf, 0.5, 1.0) == np.inf
    assert gap_of(1.0, np.nan, 1.0) == gap_of(1.0, 0.5, np.nan) == np.inf
    assert gap_of(0.5, 1.0, 1.0) == 0.0
