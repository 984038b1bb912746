import math
from types import SimpleNamespace

import numpy as np
import pytest

from hinge.problems.max_min.sampled_bound import MOST_LOOKS, Fraction


def problem_of(values):
    return SimpleNamespace(n=len(values), sample_of=lambda rows: lambda x: x * values[rows])


def test_the_size_makes_the_chance_to_be_wrong_small():
    fraction = Fraction(0.05, 0.01)
    assert MOST_LOOKS * (1 - 0.05) ** fraction.size <= 0.01
    assert MOST_LOOKS * (1 - 0.05) ** (fraction.size - 1) > 0.01
    assert fraction.size == math.ceil(math.log(0.01 / MOST_LOOKS) / math.log(0.95))


def test_the_bound_is_the_smallest_of_the_sample():
    values = np.random.default_rng(0).random(1000)
    fraction = Fraction(0.1, 0.1)
    rows = fraction.rows(1000)
    assert (np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < 1000
    assert fraction.lower(problem_of(values), 1.0) == values[rows].min()
    assert fraction.lower(problem_of(values), 2.0) == 2 * values[rows].min()
    assert fraction.looks == 2
    assert fraction.delta == pytest.approx(2 * 0.9**fraction.size)
    assert (values < values[rows].min()).mean() < 0.1


def test_after_the_last_look_it_says_nothing():
    fraction, problem = Fraction(0.2, 0.2), problem_of(np.ones(50))
    for _ in range(MOST_LOOKS):
        assert fraction.lower(problem, 1.0) == 1.0
    assert fraction.lower(problem, 1.0) == -np.inf
    assert fraction.delta <= 0.2


def test_it_is_wrong_no_more_often_than_it_says():
    # exactly one in ten functions is low: bounds above the low ones claim that at most a tenth is below
    values = np.where(np.arange(1000) < 101, 0.0, 1.0)
    wrong = sum(Fraction(0.1, 0.5, seed).lower(problem_of(values), 1.0) > 0.0 for seed in range(400))
    assert wrong <= 0.5 * 400 / MOST_LOOKS + 12


@pytest.mark.parametrize("settings", [(0, 0.1), (1, 0.1), (0.1, 0), (0.1, 1)])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match="rho and delta"):
        Fraction(*settings)
