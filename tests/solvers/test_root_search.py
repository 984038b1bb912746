"""The root of an increasing function: few places for a smooth one, and the bracket for one that jumps."""

import math

import pytest

from hinge.solvers.root_search import FURTHEST, next_place


@pytest.mark.parametrize(
    ("f", "most"), [(lambda x: x**0.3, 8), (lambda x: x / (1.0 + x), 8), (lambda x: 0.5 if x < 3.0 else 2.0, 40)]
)
def test_it_closes_in_on_the_root(f, most):
    low, high, place, points = 1e-13, 1e13, 100.0, []
    wanted = f(2.0) if most == 8 else 1.0
    for _ in range(most):
        value = f(place)
        low, high = (place, high) if value < wanted else (low, place)
        points.append((math.log(place), math.log(value / wanted)))
        place = next_place(points, low, high)
        assert low <= place * (1 + 1e-12) and place <= high * (1 + 1e-12)
        assert abs(math.log(place) - points[-1][0]) <= FURTHEST * (1 + 1e-12)
    assert f(place) == pytest.approx(wanted, rel=1e-3) if most == 8 else high / low < 1.01
