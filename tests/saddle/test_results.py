import numpy as np
import pytest

from hinge.monitoring import History, Status
from hinge.saddle.results import Ball, Feasibility, Game, Guarantee, Interval, Margin


def result(kind, x, lower, upper, guarantee="exact", **options):
    return kind(
        np.asarray(x, float),
        np.ones(2) / 2,
        lower,
        upper,
        upper - lower,
        Guarantee(guarantee),
        10,
        1.0,
        History(),
        Status.CONVERGED,
        3,
        "PDHG",
        **options,
    )


def test_a_direction_has_unit_norm_where_it_separates():
    found = result(Margin, [3.0, 4.0], 0.5, 0.6)
    np.testing.assert_allclose(found.direction, [0.6, 0.8])
    assert found.margin == (0.5, 0.6) and found.separable is True
    assert not result(Margin, [3.0, 4.0], 0.0, 0.6).direction.any()


@pytest.mark.parametrize(
    ("lower", "upper", "guarantee", "answer"),
    [(0.1, 0.2, "exact", True), (0.1, 0.2, "fraction", None), (0.0, 0.2, "exact", None), (0.0, 1e-5, "exact", False)],
)
def test_whether_rows_are_separable(lower, upper, guarantee, answer):
    assert result(Margin, [1.0, 0.0], lower, upper, guarantee, negligible=1e-4).separable is answer


def test_a_ball_has_an_interval_of_radii():
    found = result(Ball, [1.0, 2.0], -4.0, -1.0)
    assert found.radius == (1.0, 2.0)
    assert found.center.tolist() == [1.0, 2.0]
    assert result(Ball, [0.0], np.nan, np.nan).radius == (0.0, np.inf)
    assert result(Ball, [0.0], -1e-20, 1e-20).radius[0] == 0.0


def test_a_game_and_matrices():
    assert result(Game, [1.0], 0.2, 0.4).value == (0.2, 0.4)
    assert result(Game, [1.0], 0.2, 0.4).value.middle == pytest.approx(0.3)
    intervals = {(0.1, 1): True, (-1, -0.1): False, (-1, 1): None, (0, 0): False}
    for ends, feasible in intervals.items():
        assert result(Feasibility, [1.0], *ends).feasible is feasible


def test_guarantees_in_words():
    assert str(Guarantee("exact")) == "the value lies in the interval"
    assert str(Guarantee("none")) == "nothing is certified"
    words = str(Guarantee("fraction", 0.01, 0.05))
    assert "fraction 0.01" in words and "probability 0.95" in words


@pytest.mark.parametrize(("kind", "what"), [(Margin, "margin"), (Ball, "radius"), (Game, "value")])
def test_each_has_an_interval_of_its_own_name_and_a_short_repr(kind, what):
    found = result(kind, np.zeros(10**5), -4.0, -1.0)
    interval = getattr(found, what)
    assert isinstance(interval, Interval) and interval.lower <= interval.upper
    assert repr(found).startswith(f"{kind.__name__}({what} in [{interval.lower:g}, {interval.upper:g}], gap=3, ")
    assert len(repr(found)) < 200
