"""Iterations of the SBP by arrays, and the compiled ones of single points: the same answers, and the same bill."""

import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.problems import KernelSlackConstrained
from hinge.solvers import SBP
from hinge.solvers.papers import sbp


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
        monkeypatch.setattr(sbp, "serves", lambda problem, compiled=compiled: compiled)
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
    assert sbp.serves(problem())
    assert not sbp.serves(problem(bias="free"))
    assert not sbp.serves(problem(weight=np.arange(150) % 2))


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
