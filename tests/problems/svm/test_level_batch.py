"""Batches of ν-SVMs."""

import numpy as np
import pytest

from hinge import Stop, solve
from hinge.access import as_points
from hinge.kernels import Gaussian, Linear
from hinge.problems import KernelNuClassification, KernelNuRegression
from hinge.problems.svm.kernel_batch import BatchExpansion, NuClassificationBatch, NuRegressionBatch
from hinge.solvers import ActiveSet, LevelBlocks

X = np.random.default_rng(0).standard_normal((40, 3))
POINTS = as_points(X, Gaussian(0.5), exact=True)
WEIGHT = np.random.default_rng(1).uniform(0.5, 2.0, 70)


def test_pairs_have_the_sums_of_their_members():
    y = np.where(np.arange(40) < 25, 1, -1).astype(np.int8)
    rows, cuts = np.concatenate([np.arange(40), np.arange(5, 35)]), np.array([0, 40, 70])
    batch = NuClassificationBatch(POINTS, rows, cuts, y[rows], WEIGHT, 0.3)
    assert batch.positive.tolist() == [25, 20] and (batch.lo <= batch.start).all() and (batch.start <= batch.hi).all()
    for k, (member, part) in enumerate(zip(batch.members, batch.parts, strict=True)):
        alone = KernelNuClassification(X[rows[part]], y[rows[part]], 0.3, kernel=Gaussian(0.5), weight=WEIGHT[part])
        assert member.mass == pytest.approx(alone.mass) == batch.mass[k]
        start = batch.start[part]
        assert start[start > 0].sum() == pytest.approx(alone.mass) == -start[start < 0].sum()
        np.testing.assert_allclose(batch.boxes[part], alone.boxes)


def test_a_regression_has_both_copies_of_its_points():
    t = 10.0 + X[:, 0] ** 2
    batch = NuRegressionBatch(POINTS, t, 2.0 * WEIGHT[:40], 0.3)
    alone = KernelNuRegression(X, t, 0.3, 2.0, Gaussian(0.5), weight=WEIGHT[:40])
    assert (batch.mass[0], batch.centre, batch.unit[0]) == (pytest.approx(alone.mass), alone.centre, alone.faint)
    np.testing.assert_allclose(batch.aims, np.tile(alone.linear, 2))
    np.testing.assert_allclose(batch.members[0].boxes, alone.boxes)
    assert batch.start[:40].sum() == pytest.approx(alone.mass)
    mine = batch.expansion(BatchExpansion(batch.start, np.zeros(80), np.zeros(1)), 0)
    assert not mine.beta.any() and len(mine.responses) == 40


@pytest.mark.parametrize("seed", range(5))
def test_an_objective_is_no_further_above_the_bound_than_the_gap(seed):
    """Features of 1e5 and targets that they explain: what was reported was rounded up by more than the gap."""
    rng = np.random.default_rng(seed)
    rows = np.round(1e5 * rng.standard_normal((8, 2)))
    t = rows @ [1.0, -2.0] + 1e-4 * rng.standard_normal(8)
    alone = KernelNuRegression(rows, t, 0.5, 1e-6, Linear())
    batch = NuRegressionBatch(as_points(rows, Linear(), exact=True), t, np.full(8, 1e-6), 0.5)
    for problem, solver in ((alone, LevelBlocks()), (batch, ActiveSet(tol=1e-4))):
        found = solve(problem, solver, stop=Stop(tol=1e-3, max_iter=3000)).certificate
        assert found.gap < 1e-3
        assert found.objective <= (found.bound + found.gap * max(found.bound, alone.faint)) * (1 + 1e-15)
