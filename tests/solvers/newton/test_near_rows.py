"""The small problem of near rows and of means of the others, in pass_sums."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.monitoring import Stop
from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE, epsilon_insensitive
from hinge.solvers import Newton, solve
from hinge.solvers.newton.pass_sums import merge, no_split, small_answer, small_problem, split, squares_of

RNG = np.random.default_rng(0)
X = np.round(RNG.standard_normal((400, 5)) * (RNG.random((400, 5)) < [0.02, 0.1, 0.5, 1.0, 1.0]), 3)
WEIGHT = RNG.integers(0, 3, 400).astype(float)
U = 0.3 * RNG.standard_normal(6)
LOSSES = [HINGE, epsilon_insensitive(0.1)]


def made(loss, rows=slice(None), storage=np.asarray, bias="free"):
    response = X @ np.arange(5.0) + np.random.default_rng(1).standard_normal(400)
    y = response if loss.two_sided else np.where(response > 0, 1, -1)
    return Regularized(storage(X[rows]), y[rows], 1e-3, weight=WEIGHT[rows], loss=loss, bias=bias, bias_scale=0.7)


def short_of(problem, u=U):
    return problem.short_of(problem.responses(u[:5]), u[5])


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_all_rows_are_near_or_in_a_group(loss):
    problem = made(loss)
    squares = squares_of(problem)
    np.testing.assert_allclose(squares, WEIGHT @ X**2)
    found = split(problem, short_of(problem), 0.2, squares)
    assert len(found.near.y) == 80 and found.far.shape == (20, 7)
    target = np.broadcast_to(problem.target, 400)
    near = sp.csr_array((found.near.values, found.near.columns, np.append(0, np.cumsum(found.near.lengths))), (80, 5))
    np.testing.assert_allclose(found.far[:, :5].sum(axis=0) + near.T @ found.near.weight, WEIGHT @ X)
    np.testing.assert_allclose(found.far[:, 5].sum() + found.near.target @ found.near.weight, WEIGHT @ target)
    np.testing.assert_allclose(found.far[:, 6].sum() + found.near.weight.sum(), WEIGHT.sum())
    pieces = [(slice(0, 150), np.asarray), (slice(150, 400), sp.csr_array)]
    parts = [made(loss, *piece) for piece in pieces]
    total = merge(no_split(5), merge(*(split(part, short_of(part), 1 / 3, squares) for part in parts)))
    assert (
        len(total.near.y) == 50 + 84
        and len(split(problem, short_of(problem), 1.0, squares).near.y) == (WEIGHT > 0).sum()
    )
    np.testing.assert_allclose(total.far[:, 6].sum() + total.near.weight.sum(), WEIGHT.sum())


@pytest.mark.sampled
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
def test_the_small_problem_is_below_the_whole_one_and_meets_it_where_no_row_changes_sides(loss, bias, share):
    problem, u = made(loss, bias=bias), U * np.append(np.ones(5), bias != "none")
    found = split(problem, short_of(problem, u), share, squares_of(problem))
    small = small_problem(problem, loss, found.near, found.far)
    assert small.mean_loss(u[:5], u[5]) == pytest.approx(problem.mean_loss(u[:5], u[5]), rel=1e-12)
    for _ in range(20):
        w, other = U[:5] + RNG.standard_normal(5), 0.0 if bias == "none" else RNG.standard_normal()
        assert small.mean_loss(w, other) <= problem.mean_loss(w, other) * (1 + 1e-12)
    best = solve(problem, Newton(), stop=Stop(1e-8)).certificate
    to, bound = small_answer(problem, loss, found, u, 1e-3, 400)
    assert bound <= best.objective and to.shape == (6,)
    if share == 1.0:
        assert bound == pytest.approx(best.objective, rel=1e-4)


def test_of_rows_as_far_from_their_kink_those_with_uncommon_features_are_near():
    problem, used = made(HINGE), WEIGHT > 0
    found = split(problem, np.ones(400), 0.1, squares_of(problem))
    near = sp.csr_array((found.near.values, found.near.columns, np.append(0, np.cumsum(found.near.lengths))), (40, 5))
    uncommon = X**2 @ (1 / (WEIGHT @ X**2))
    np.testing.assert_allclose(near.toarray(), X[used & (uncommon >= np.sort(uncommon[used])[-40])])
