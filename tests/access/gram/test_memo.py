"""The table of single kernel values that were computed."""

import pickle

import numpy as np

from hinge.access.gram.row_cache import PairMemo

K = np.add.outer(np.arange(6.0), np.arange(6.0)) + np.eye(6)


def learn(memo, rows, columns):
    rows, columns = np.array(rows), np.array(columns)
    memo.learn(rows, columns, K[np.ix_(rows, columns)])


def test_a_value_is_known_in_both_orders():
    memo = PairMemo(6)
    learn(memo, [1, 3], [0, 4])
    found = memo.known(np.array([0, 4]), np.array([1, 3, 5]))
    np.testing.assert_array_equal(found[:, :2], K[np.ix_([0, 4], [1, 3])])
    assert np.isnan(found[:, 2]).all()
    learn(memo, [4], [3])  # a row that is there already is told too
    assert memo.known(np.array([3]), np.array([4]))[0, 0] == K[3, 4]


def test_what_is_unknown_does_not_erase_what_is_known():
    memo = PairMemo(6)
    learn(memo, [1], [2])
    learn(memo, [2], [1])
    memo.learn(np.array([2]), np.array([0, 1]), np.array([[np.nan, K[2, 1]]]))
    assert memo.known(np.array([1]), np.array([2]))[0, 0] == K[1, 2]


def test_the_diagonal_and_what_is_complete():
    memo = PairMemo(6)
    learn(memo, [2], [0, 2])
    assert memo.diagonal()[2] == K[2, 2] and np.isnan(np.delete(memo.diagonal(), 2)).all()
    slots = memo.claim(np.array([2, 5]))
    assert [rows.tolist() for _, rows in memo.unfilled(slots)] == [[2, 5]]
    memo.complete(slots)
    assert not list(memo.unfilled(slots))
    assert memo.where is None
    memo.lay(np.array([4, 1]))
    assert [rows.tolist() for _, rows in memo.unfilled(slots)] == [[2, 5]]  # other columns, to be seen anew
    assert memo.where.tolist() == [4, 1]
    assert memo.places(np.array([1, 2])).tolist() == [1, -1]


def test_a_pickle_carries_what_was_begun():
    memo = PairMemo(6)
    learn(memo, [1, 3], list(range(6)))
    copy = pickle.loads(pickle.dumps(memo))
    np.testing.assert_array_equal(copy.known(np.array([1, 3]), np.arange(6)), K[[1, 3]])
    assert np.isnan(copy.known(np.array([5]), np.array([0]))).all()
    assert copy.known(np.array([5]), np.array([3]))[0, 0] == K[5, 3]
