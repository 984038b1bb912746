import math
from itertools import islice, pairwise

import numpy as np
import pytest

from hinge.datasets import make_known_optimum
from hinge.experiments.base import CellResult, CellResults
from hinge.experiments.measure import (
    band,
    error,
    evaluate_at,
    first_below,
    growing,
    last,
    late_rate,
    line_of,
    log_spaced,
    margin_after_slack,
    mean_hinge,
    minimum,
    power_law,
    ratio,
    slope,
    spread,
    value_at,
)
from hinge.problems import Regularized, Solution
from hinge.solvers import Newton, Pegasos


def test_numbers_are_spaced_evenly_in_their_logarithm():
    assert log_spaced(1, 1000, 1) == [1, 10, 100, 1000]
    assert log_spaced(5, 5) == [5]
    assert log_spaced(1, 4, 50) == [1, 2, 3, 4]


def test_numbers_grow_by_a_share_of_themselves():
    found = list(islice(growing(), 60))
    assert found[:3] == [1, 2, 3]
    assert [b - a for a, b in pairwise(found)] == [max(1, a // 20) for a in found[:-1]]


def test_looks_bill_the_solver_alone():
    known = make_known_optimum(50, 6, 0.05, seed=0)
    problem = Regularized(known.X_train, known.y_train, 0.05)

    def looked(solution):
        return {"objective": problem.certificate(solution).objective}  # which reads, on the bill

    looks = evaluate_at(problem, Pegasos(batch_size=2), [1, 5, 20], looked, seed=3)
    assert [look["iteration"] for look in looks] == [1, 5, 20]
    assert [look["reads"] for look in looks] == [12, 60, 240]  # two rows of six cells an iteration
    assert 0 < looks[0]["seconds"] < looks[2]["seconds"]
    straight = Pegasos(batch_size=2)
    state = straight.advance(problem, straight.init(problem, 3), 20)
    objective = problem.objective(straight.solution(problem, state))
    assert looks[2]["objective"] == pytest.approx(objective, rel=1e-12)


def test_errors_and_losses():
    X, y = np.array([[1.0], [-1.0], [0.25], [2.0]]), np.array([1, -1, 1, -1])
    solution = Solution(np.array([2.0]), 0.0)
    assert error(solution, X, y) == 0.25
    assert mean_hinge(solution, X, y) == pytest.approx((0 + 0 + 0.5 + 5) / 4)


@pytest.mark.slow
def test_the_minimum_is_a_bound_from_below(monkeypatch, tmp_path):
    monkeypatch.setenv("HINGE_DATA", str(tmp_path))
    from hinge.experiments.sets import choose
    from hinge.monitoring import Stop
    from hinge.solvers import solve

    X, y, _, _ = choose("adult", 400).parts
    problem = Regularized(X, y, 1e-2)
    exact = solve(problem, Newton(), stop=Stop(1e-7, max_time=20)).certificate.objective
    found = minimum("adult", 400, 1e-2)
    assert exact * (1 - 2e-5) <= found <= exact


def test_bands_are_medians_and_ranges():
    seeds = [[{"x": 1, "y": a}, {"x": 10, "y": 2 * a}] for a in (1.0, 3.0, 8.0)]
    found = band("b", seeds, "x", "y")
    assert (found.y, found.low, found.high) == ([3.0, 6.0], [1.0, 2.0], [8.0, 16.0])
    assert band("one", seeds[:1], "x", "y").low is None


def test_curves_with_different_x_meet_where_all_are_known():
    one = [{"x": x, "y": np.log(x)} for x in (1.0, 10.0, 100.0)]
    other = [{"x": x, "y": np.log(x) + 1} for x in (2.0, 20.0, 50.0)]
    found = band("b", [one, other], "x", "y")
    assert (found.x[0], found.x[-1]) == (pytest.approx(2), pytest.approx(50))
    np.testing.assert_allclose(found.y, np.log(found.x) + 0.5)
    np.testing.assert_allclose(found.low, np.log(found.x))


def test_spreads_crossings_and_slopes():
    results = CellResults(
        CellResult({"k": k, "seed": seed}, {"v": k + seed}, 0.0, "") for k in (1, 2) for seed in (0, 10, 30)
    )
    found = spread("s", results, "k", "v")
    assert (found.x, found.y, found.low, found.high) == ([1, 2], [11, 12], [1, 2], [31, 32])
    looks = [{"x": 1, "y": 5.0}, {"x": 2, "y": 3.0}, {"x": 3, "y": 1.0}]
    assert first_below(looks, "x", "y", 3.0) == 2
    assert first_below(looks, "x", "y", 0.5) == math.inf
    assert slope([0.005, 0.01, 0.03, 0.1], [180.0] * 4) == 0.0
    assert slope([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)
    assert np.isnan(slope([2], [3.0])) and np.isnan(slope([], []))
    assert np.isnan(slope([1, 2], [3.0, 12.0], least=3))


def test_what_is_unknown_is_not_a_number():
    line, empty = line_of("l", {1: 4.0, 2: math.inf, 3: math.nan, 4: 2.0}), band("e", [], "x", "y")
    assert (line.x, line.y) == ([1, 4], [4.0, 2.0])
    assert (empty.x, empty.y) == ([], [])
    assert (last(line), value_at(line, 1)) == (2.0, 4.0)
    assert np.isnan([last(empty), value_at(line, 2), ratio(None, 1.0), ratio(1.0, None), ratio(1.0, 0.0)]).all()
    assert ratio(0.0, 2.0) == 0.0


def test_laws_through_a_point_of_a_line_and_rates_at_its_end():
    line = line_of("l", {1: 1.0, 10: 5.0, 100: 0.5, 1000: 0.05})
    assert power_law("law", line, 2).y == pytest.approx([1.0, 1e2, 1e4, 1e6])
    assert power_law("law", line, 1, point=-1).y == pytest.approx([5e-5, 5e-4, 5e-3, 0.05])
    assert late_rate(line, 10) == pytest.approx(1.0)
    assert np.isnan(late_rate(line, 10, least=4)) and np.isnan(late_rate(band("e", [], "x", "y"), 1))


def test_the_margin_after_slack_is_a_water_level():
    c, nu = np.array([-0.5, 0.3, 0.9, 0.2]), 0.1
    level = margin_after_slack(c, nu)
    assert np.maximum(level - c, 0.0).sum() == pytest.approx(nu * len(c))
    assert margin_after_slack(c, 0.0) == -0.5
