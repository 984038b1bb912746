import math
from types import SimpleNamespace

import numpy as np
import pytest

from hinge.problems.max_min.base import MOST_BOUNDS, Fraction, MaxMin, Strategies, offers
from hinge.problems.max_min.linear import MatrixGame


class Segment(MaxMin):
    """max over x in [-1, 1] of min(x, 0.5 - x): σ = 1/4 at x = 1/4."""

    n = 2
    relative = False
    linear = False

    def start(self):
        return np.zeros(1)

    def values(self, x):
        return np.array([x[0], 0.5 - x[0]])

    def values_at(self, rows, x):
        return self.values(x)[rows]

    def dual_bound(self, p, combined=None):
        ends = [p @ self.values(np.array([x])) for x in (-1.0, 1.0)]
        return float(max(ends))


def test_any_x_and_any_p_bound_sigma():
    problem = Segment()
    for x in np.linspace(-1, 1, 9):
        for q in np.linspace(0, 1, 9):
            lower, upper = problem.bounds(Strategies(np.array([x]), np.array([q, 1 - q])))
            assert lower <= 0.25 <= upper + 1e-12
    best = problem.certificate(Strategies(np.array([0.25]), np.array([0.5, 0.5])))
    assert best.objective == best.bound == pytest.approx(0.25)
    assert best.gap == pytest.approx(0.0, abs=1e-15)


def test_without_p_there_is_no_upper_bound():
    certificate = Segment().certificate(Strategies(np.zeros(1)))
    assert certificate.bound == certificate.gap == np.inf


def test_gaps_are_absolute_or_in_the_unit_of_the_problem():
    problem = Segment()
    assert problem.gap(1.0, 1.5) == 0.5
    problem.relative = True
    assert problem.gap(1.0, 1.5) == pytest.approx(0.5 / 1.5)
    assert problem.gap(-2.0, 1.0) == pytest.approx(1.5)
    assert problem.gap(1.5, 1.0) == 0.0
    assert problem.gap(np.nan, 1.0) == problem.gap(-np.inf, 1.0) == np.inf


def test_bounds_that_contradict_each_other_are_an_error():
    with pytest.raises(ValueError, match="contradict each other"):
        Segment().certified(1.0, 0.5)
    with pytest.raises(ValueError, match="not a number"):
        Segment().certified(np.nan, 0.5)
    assert Segment().certified(1.0 + 1e-8, 1.0).gap == 0.0  # rounding


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("combine", [None]),
        ("project", [None]),
        ("support", [None]),
        ("grad_at", [0, None]),
        ("estimate_values", [None, 0.5]),
    ],
)
def test_what_is_lacking_is_named(name, arguments):
    with pytest.raises(NotImplementedError, match=rf"Segment does not supply {name}\(\)"):
        getattr(Segment(), name)(*arguments)


def test_what_a_problem_offers():
    assert offers(Segment(), "values", "dual_bound")
    assert not offers(Segment(), "values", "support")
    assert offers(MatrixGame(np.eye(3)), "values", "combine", "project", "support", "estimate_values")


def problem_of(values):
    return SimpleNamespace(n=len(values), sample_of=lambda rows: lambda x: x * values[rows])


def test_the_size_makes_the_chance_to_be_wrong_small():
    fraction = Fraction(0.05, 0.01)
    assert MOST_BOUNDS * (1 - 0.05) ** fraction.size <= 0.01
    assert MOST_BOUNDS * (1 - 0.05) ** (fraction.size - 1) > 0.01
    assert fraction.size == math.ceil(math.log(0.01 / MOST_BOUNDS) / math.log(0.95))


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
    for _ in range(MOST_BOUNDS):
        assert fraction.lower(problem, 1.0) == 1.0
    assert fraction.lower(problem, 1.0) == -np.inf
    assert fraction.delta <= 0.2


def test_it_is_wrong_no_more_often_than_it_says():
    # exactly one in ten functions is low: bounds above the low ones claim that at most a tenth is below
    values = np.where(np.arange(1000) < 101, 0.0, 1.0)
    wrong = sum(Fraction(0.1, 0.5, seed).lower(problem_of(values), 1.0) > 0.0 for seed in range(400))
    assert wrong <= 0.5 * 400 / MOST_BOUNDS + 12


@pytest.mark.parametrize("settings", [(0, 0.1), (1, 0.1), (0.1, 0), (0.1, 1)])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match="rho and delta"):
        Fraction(*settings)
