"""Compiled iterations of the SBP: those of arrays, and the same bill."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.problems import KernelSlackConstrained
from hinge.solvers import SBP
from hinge.solvers.papers import sbp_steps
from hinge.solvers.papers.sbp_steps import _below, _below_by_arrays, newton_level, one_basin, two_basins


def problem(cache_bytes=10**8, bias="none", weight=None, scale=1.0):
    rng = np.random.default_rng(0)
    X = scale * np.round(16 * rng.standard_normal((150, 3))) / 16
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(150) > 0, 1, -1)
    gram = Gram(as_points(X, Gaussian(0.5), exact=True), cache_bytes)
    return KernelSlackConstrained(gram, y, 0.05, bias=bias, weight=weight)


@pytest.mark.parametrize("output", ["average", "uniform", "last"])
def test_they_are_those_of_arrays_and_ask_for_the_same_rows(monkeypatch, output):
    solver, answers, grams = SBP(output=output), [], []
    for compiled in (True, False):
        monkeypatch.setattr(sbp_steps, "serves", lambda problem, compiled=compiled: compiled)
        p = problem()
        state = solver.advance(p, solver.advance(p, solver.init(p, 3), 70), 130)
        answers.append(solver.solution(p, state))
        grams.append(p.gram)
        assert (state.t, state.drawn) == (200, 200)
    np.testing.assert_allclose(answers[0].beta, answers[1].beta, atol=1e-12)
    np.testing.assert_allclose(answers[0].responses, answers[1].responses, atol=1e-10)
    assert grams[0].asked == grams[1].asked == 200 * 150
    assert grams[0].evals == grams[1].evals < 150 * 150


def test_they_serve_where_every_point_can_be_drawn():
    assert sbp_steps.serves(problem())
    assert not sbp_steps.serves(problem(bias="free"))
    assert not sbp_steps.serves(problem(weight=np.arange(150) % 2))


def test_rows_that_were_given_up_are_asked_for_again():
    many, few = problem(), problem(cache_bytes=0)
    assert few.gram.capacity < 150
    answers = [SBP().solution(p, SBP().advance(p, SBP().init(p, 1), 400)).beta for p in (many, few)]
    np.testing.assert_array_equal(*answers)
    assert few.gram.asked == many.gram.asked == 400 * 150
    assert few.gram.evals > many.gram.evals


def test_a_norm_that_overflows_ends_them():
    p = problem()
    state = SBP().init(p, 0)
    with pytest.raises(ValueError, match="overflows"):
        SBP(eta=1e150).advance(p, state, 50)


values = st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=30)


def level_by_sorting(c, volume):
    low = np.sort(c)
    counts = np.arange(1, len(c) + 1)
    m = int((counts * low - np.cumsum(low) <= volume).sum())
    return (volume + low[:m].sum()) / m


@pytest.mark.slow
@settings(max_examples=200)
@given(values, st.floats(0, 20), st.floats(-10, 10) | st.just(np.inf))
def test_newton_finds_the_level_from_any_guess(c, volume, guess):
    c = np.array(c)
    gamma = newton_level(c, volume, guess)
    assert gamma == pytest.approx(level_by_sorting(c, volume), abs=1e-9)
    assert np.maximum(gamma - c, 0).sum() == pytest.approx(volume, abs=1e-8)


def test_a_compiled_pass_is_one_by_arrays():
    c = np.array([3.0, -1.0, 2.0, -1.0, 0.5])
    for gamma in (-2.0, -1.0, 0.5, 2.5, np.inf):
        assert _below(c, gamma) == pytest.approx(_below_by_arrays(c, gamma))


def test_no_slack_is_the_lowest_response():
    c = np.array([3.0, -1.0, 2.0, -1.0])
    level = one_basin(c, np.arange(4), 0.0)
    assert level.gamma == -1.0
    assert level.wet[0].tolist() == [1, 3]


def test_one_basin_of_some_points():
    c = np.array([-9.0, 1.0, 2.0, 3.0])
    level = one_basin(c, np.array([1, 2, 3]), 1.0)
    assert level.gamma == pytest.approx(2.0)
    assert level.wet[0].tolist() == [1, 2]


def mean_level_by_lp(c, y, volume):
    """max γ over γ, b, ξ ≥ 0 with Σξ ≤ V and cᵢ + yᵢb + ξᵢ ≥ γ."""
    n = len(c)
    cost = np.r_[-1.0, 0.0, np.zeros(n)]
    A = np.column_stack([np.ones(n), -y, -np.eye(n)])
    A = np.vstack([A, np.r_[0.0, 0.0, np.ones(n)]])
    found = linprog(cost, A, np.r_[c, volume], bounds=[(None, None)] * 2 + [(0, None)] * n)
    assert found.success
    return found.x[0]


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 10_000), st.floats(0, 6))
def test_two_basins_are_the_linear_program(seed, volume):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    c = np.round(rng.standard_normal(n), int(rng.integers(0, 4)))  # ties among them
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    level = two_basins(c, positive, negative, volume)
    assert level.gamma == pytest.approx(mean_level_by_lp(c, y, volume), abs=1e-6)
    assert np.maximum(level.gamma - c - y * level.b, 0).sum() <= volume + 1e-9  # the bias has that level
    assert len(level.wet[0]) == len(level.wet[1])
    for wet, side in zip(level.wet, (positive, negative), strict=True):
        dry = np.setdiff1d(side, wet)
        assert len(np.unique(wet)) == len(wet)
        assert len(dry) == 0 or c[wet].max() <= c[dry].min()


def test_a_class_that_is_all_wet_floods():
    c = np.array([0.0, 0.0, 1.0, 2.0, 3.0])
    sides = np.array([0, 1]), np.array([2, 3, 4])
    assert not two_basins(c, *sides, 0.5).floods
    assert two_basins(c, *sides, 50.0).floods


def test_a_batch_gets_as_many_points_as_it_asks_for():
    c = np.arange(20.0)
    level = two_basins(c, np.arange(0, 20, 2), np.arange(1, 20, 2), 0.0, least=4)
    assert [part.tolist() for part in level.wet] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert level.gamma == pytest.approx(0.5)
