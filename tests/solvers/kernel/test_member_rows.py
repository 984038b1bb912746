import numpy as np
import pytest

from hinge.problems.svm.kernel_batch import Blocks
from hinge.solvers.kernel.conjugate_steps import pair_steps, pair_steps_of
from hinge.solvers.kernel.member_rows import copy_all, member_values

X = np.random.default_rng(0).normal(size=(30, 3))
K = X @ X.T + np.eye(30)


def cut_at(half):
    """The values as those of two bundles, or of one."""
    room = np.full(900, np.nan)
    if half == len(K):
        return Blocks(K, K, K, room)
    return Blocks(K[:half, :half].copy(), K[:half, half:].copy(), K[half:, half:].copy(), room)


PLACES = [np.arange(30), np.arange(8, 17), np.array([29, 3, 4, 5, 11, 12, 13, 2, 2])]


@pytest.mark.parametrize("half", [12, 30])
@pytest.mark.parametrize("places", PLACES)
def test_rows_of_coefficients_are_copied_and_others_when_they_are_needed(half, places):
    blocks, true, beta = cut_at(half), K[np.ix_(places, places)], np.zeros(len(places))
    beta[3] = 0.5
    own, norms, source = member_values(blocks.first, blocks, places, beta)
    np.testing.assert_array_equal(source.diag, np.diagonal(true))
    np.testing.assert_array_equal(norms, np.sqrt(np.diagonal(true)))
    np.testing.assert_array_equal(own[3], true[3])
    assert (np.flatnonzero(source.lines >= 0) == 3).all() and np.isnan(np.delete(own, 3, axis=0)).all()
    copy_all(source, own)
    np.testing.assert_array_equal(own, true)


@pytest.mark.parametrize("places", PLACES)
def test_one_matrix_is_copied_whole(places):
    own, norms, source = member_values(K, None, places, np.zeros(len(places)))
    np.testing.assert_array_equal(own, K[np.ix_(places, places)])
    np.testing.assert_array_equal(norms, np.sqrt(np.diagonal(own)))
    assert source is None


def test_pair_steps_copy_the_rows_of_points_that_move():
    places = np.concatenate([np.arange(10), np.arange(20, 30)])
    y = np.repeat([1.0, -1.0], 10)
    lo, hi = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
    blocks, (beta, e), (other, e_other) = cut_at(12), *((np.zeros(20), -y) for _ in range(2))
    own, _, source = member_values(blocks.first, blocks, places, beta)
    steps = pair_steps_of(own, source, beta, e, lo, hi, 0.1, 1000, 0.0, 20, True)
    assert steps == pair_steps(K[np.ix_(places, places)], other, e_other, lo, hi, 0.1, 1000, 0.0, 20, True)
    np.testing.assert_array_equal(beta, other)
    np.testing.assert_array_equal(e, e_other)
    copied = source.lines >= 0
    assert copied[beta != 0.0].all() and not copied.all()
