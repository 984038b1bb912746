"""What `Frugal` keeps: a sample, the present batch, and what to expect of unread columns."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.solvers.cells.frugal import empty_state, enqueue, tails_behind


def test_an_empty_state_knows_nothing():
    u, order = np.linspace(0, 1, 9), np.arange(9)[::-1].copy()
    state = empty_state(4, u, order, 3)
    assert state.t == 0
    assert state.w.shape == state.before.shape == state.ranked.shape == (4,)
    assert state.cuts.shape == (4,) and state.tails.shape == (2, 4, 2)
    assert state.u is u and state.order is order
    assert not any(part.any() for part in (state.w, state.alpha, state.pi, state.random, state.queue))
    assert not state.s.over and not state.s.exact


def test_a_batch_is_put_in_the_queue():
    state = empty_state(4, np.zeros(9), np.arange(9), 3)
    state.s.done = 5
    enqueue(state, np.array([7, 2, 4]), 2)
    assert state.queue[:3].tolist() == [7, 2, 4]
    assert (state.s.queued, state.s.done, state.s.whole) == (3, 0, 2)
    enqueue(state, np.array([], int), 0)
    assert state.s.queued == 0


RNG = np.random.default_rng(0)
M, D = 40, 12
X = np.round(8 * RNG.standard_normal((M, D))) / 8
Y = np.where(RNG.random(M) < 0.4, 1, -1)
W = RNG.standard_normal(D)
RANKED = RNG.permutation(D)
CUTS = np.array([0, 1, 3, 8, 10])


def margins_behind(X, y, w, cut):
    """The part of the margins that is in columns from `cut` to the last cut, one row after the other."""
    unread = RANKED[cut : CUTS[-1]]
    return np.array([y[i] * sum(X[i, j] * w[j] for j in unread) for i in range(len(y))])


def tails(y=Y, own=None, w=W, X=X):
    return tails_behind(sp.csr_array(X), y, np.zeros(len(y)) if own is None else own, w, RANKED, CUTS)


def mixed(rows, all_rows):
    """Mean and deviation of a class, leaning on those of all rows."""
    share = len(rows) / (len(rows) + 4.0)
    mean = share * rows.mean() + (1 - share) * all_rows.mean()
    return mean, np.sqrt(share * rows.var() + (1 - share) * all_rows.var())


def test_tails_are_mean_and_deviation_of_what_is_unread():
    found = tails()
    assert found.shape == (2, len(CUTS), 2)
    for level, cut in enumerate(CUTS):
        unread = margins_behind(X, Y, W, cut)
        for side in (0, 1):
            np.testing.assert_allclose(
                found[side, level], mixed(unread[(Y > 0) == side], unread), rtol=1e-10, atol=1e-12
            )


def test_nothing_is_behind_the_last_level():
    np.testing.assert_array_equal(tails()[:, -1], 0.0)


def test_a_rows_own_part_in_w_is_left_out():
    own = np.where(np.arange(M) % 3 == 0, 0.7, 0.0)
    unread = np.array([margins_behind(X[i : i + 1], Y[i : i + 1], W - own[i] * Y[i] * X[i], 0)[0] for i in range(M)])
    found = tails(own=own)
    for side in (0, 1):
        np.testing.assert_allclose(found[side, 0], mixed(unread[(Y > 0) == side], unread), rtol=1e-10)
    assert (found[:, 0, 0] < tails()[:, 0, 0]).all()


def test_a_class_of_no_rows_has_the_tails_of_all():
    unread = margins_behind(X, np.ones(M), W, 0)
    found = tails(y=np.ones(M))
    np.testing.assert_allclose(found[0, 0], (unread.mean(), unread.std()), rtol=1e-12)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-15)


def test_a_class_of_one_row_does_not_claim_to_be_certain():
    y = -np.ones(M)
    y[5] = 1
    found = tails(y=y)
    assert found[1, 0, 1] > 0.5 * margins_behind(X, y, W, 0).std()


@pytest.mark.parametrize("rows", [1, 2])
def test_few_rows_give_numbers(rows):
    found = tails(y=Y[:rows], own=np.zeros(rows), X=X[:rows])
    assert np.isfinite(found).all()
    assert (found[:, :, 1] >= 0).all()
