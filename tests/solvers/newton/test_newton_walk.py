"""The walk of BlockNewton from pass to pass, on sums over all rows."""

import numpy as np
import pytest

from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.solvers.newton.block_newton import (
    STEPS,
    TRIAL,
    Outline,
    certificate_of,
    initial_walk,
    next_query,
    update_walk,
)
from hinge.solvers.newton.pass_sums import sums_of

RNG = np.random.default_rng(1)
X = RNG.standard_normal((2000, 4))
Y = np.where(X[:, 0] + RNG.standard_normal(2000) > 0.5, 1, -1)


def outline(loss, bias="free", lam=1e-3):
    return Outline(4, lam, loss, bias, 1.0)


def test_a_beginning_is_wide_where_nothing_is_known():
    assert initial_walk(outline(HINGE), 3.0).place.mu == 3.0 * 2.5
    assert initial_walk(outline(HINGE), 3.0, np.ones(5)).place.mu == pytest.approx(3.0 * 0.1)
    assert initial_walk(outline(SQUARED_HINGE), 3.0).place.mu == 0.0


@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
def test_some_passes_make_four_digits_from_nothing(loss, bias):
    form = outline(loss, bias)
    problem, walk = Regularized(X, Y, 1e-3, bias=bias, loss=loss), initial_walk(form, 1.0)
    assert certificate_of(walk).is_unknown
    for _ in range(15):
        update_walk(walk, form, sums_of(problem, next_query(walk)))
    certificate = certificate_of(walk)
    assert certificate.gap <= 1e-4
    again = problem.lam * 0.5 * problem.norm(walk.best, certificate.b) ** 2 + problem.mean_loss(
        walk.best, certificate.b
    )
    assert again <= certificate.objective == pytest.approx(again, rel=1e-12)
    assert bias != "none" or certificate.b == 0.0


@pytest.mark.parametrize("wrong", [40.0, 0.02, -3.0])
def test_a_step_of_a_bad_length_is_tried_again_at_another(wrong):
    """A direction that is too long or too short by far; one that goes up is cut until nothing is left of it."""
    form = outline(SQUARED_HINGE)
    problem, walk = Regularized(X, Y, 1e-3, bias="free", loss=SQUARED_HINGE), initial_walk(form, 1.0)
    update_walk(walk, form, sums_of(problem, next_query(walk)))
    step = walk.p.copy()
    walk.p[:] = wrong * step
    question = next_query(walk)
    assert question.offsets[TRIAL] == 0.0 and len(question.offsets) == len(STEPS)
    update_walk(walk, form, sums_of(problem, question))
    assert (walk.place.tau == 1.0) == (abs(wrong) < 1.0)  # short ones are taken: the next is better
    for _ in range(14):
        update_walk(walk, form, sums_of(problem, next_query(walk)))
    assert certificate_of(walk).gap <= 1e-3


def test_progress_that_ends_is_counted():
    form = outline(SQUARED_HINGE)
    problem, walk = Regularized(X, Y, 1e-3, bias="free", loss=SQUARED_HINGE), initial_walk(form, 1.0)
    for _ in range(24):
        update_walk(walk, form, sums_of(problem, next_query(walk)))
    assert walk.place.still >= 12 and certificate_of(walk).gap < 1e-10


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
def test_after_a_step_far_too_long_rows_are_asked_for_if_the_loss_has_a_kink(loss):
    form = outline(loss)._replace(keep=0.25)
    problem, walk = Regularized(X, Y, 1e-3, bias="free", loss=loss), initial_walk(form, 1.0)
    update_walk(walk, form, sums_of(problem, next_query(walk)))
    if loss == HINGE:
        np.testing.assert_allclose(walk.squares, (X**2).sum(axis=0))
    assert next_query(walk).share == 0.0
    walk.p[:] *= 40.0
    update_walk(walk, form, sums_of(problem, next_query(walk)))
    assert next_query(walk).share == (0.25 if loss == HINGE else 0.0)
    for _ in range(8):
        update_walk(walk, form, sums_of(problem, next_query(walk)))
    assert certificate_of(walk).gap <= 1e-3


def test_curvature_is_that_of_some_rows_until_a_step_is_too_long_or_brings_little():
    form = outline(SQUARED_HINGE)
    problem, walk = Regularized(X, Y, 1e-3, bias="free", loss=SQUARED_HINGE), initial_walk(form, 1.0)
    assert next_query(walk).thin
    update_walk(walk, form, sums_of(problem, next_query(walk)))
    assert next_query(walk).thin
    walk.p[:] *= 40.0
    update_walk(walk, form, sums_of(problem, next_query(walk)))
    assert not next_query(walk).thin
    walk = initial_walk(form, 1.0)
    while next_query(walk).thin:
        before = walk.place.least
        update_walk(walk, form, sums_of(problem, next_query(walk)))
    assert walk.place.least > 0.1 * before
