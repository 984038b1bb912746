import numpy as np
import pytest

from hinge.problems.svm.kernel_batch import Blocks
from hinge.solvers.kernel.conjugate_steps import pair_steps, pair_steps_of
from hinge.solvers.kernel.member_rows import copy_all, member_rows, row_of

X = np.random.default_rng(0).normal(size=(30, 3))
K = X @ X.T + np.eye(30)


def cut_at(half):
    """The values as those of two bundles, or of one."""
    if half == len(K):
        return Blocks(K, K, K)
    return Blocks(K[:half, :half].copy(), K[:half, half:].copy(), K[half:, half:].copy())


@pytest.mark.parametrize("half", [12, 30])
@pytest.mark.parametrize("places", [np.arange(30), np.arange(8, 17), np.array([29, 3, 4, 5, 11, 12, 13, 2, 2])])
def test_rows_are_copied_when_they_are_needed(half, places):
    rows, own = member_rows(cut_at(half), places), K[np.ix_(places, places)]
    np.testing.assert_array_equal(rows.diag, np.diagonal(own))
    if rows.K is not K:
        assert rows.made[0] == 0
        np.testing.assert_array_equal(row_of(rows, 3), own[3])
        np.testing.assert_array_equal(row_of(rows, 3), own[3])
        assert rows.made[0] == 1
    copy_all(rows)
    np.testing.assert_array_equal(rows.K[rows.lines], own)


def test_pair_steps_copy_the_rows_of_points_that_move():
    places = np.concatenate([np.arange(10), np.arange(20, 30)])
    y = np.repeat([1.0, -1.0], 10)
    lo, hi = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
    rows = member_rows(cut_at(12), places)
    (beta, e), (other, e_other) = ((np.zeros(20), -y) for _ in range(2))
    steps = pair_steps_of(rows, beta, e, lo, hi, 0.1, 1000, 0.0, 20, True)
    assert steps == pair_steps(K[np.ix_(places, places)], other, e_other, lo, hi, 0.1, 1000, 0.0, 20, True)
    np.testing.assert_array_equal(beta, other)
    np.testing.assert_array_equal(e, e_other)
    assert np.count_nonzero(beta) <= rows.made[0] < 20
