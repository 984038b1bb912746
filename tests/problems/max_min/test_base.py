import numpy as np
import pytest

from hinge.problems.max_min.base import MaxMin, Strategies, offers
from hinge.problems.max_min.matrix_game import MatrixGame


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
