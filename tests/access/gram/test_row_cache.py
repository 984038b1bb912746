import pickle

import numpy as np
import pytest
from ctrl_c import interrupted

from hinge.access.gram import row_cache
from hinge.access.gram.row_cache import RowCache

N = 10
K = np.add.outer(100 * np.arange(N), np.arange(N)).astype(float)
K = (K + K.T) / 2


@pytest.fixture
def small(monkeypatch):
    """A cache of three rows of ten columns."""
    monkeypatch.setattr(row_cache, "LEAST_ROWS", 1)
    return RowCache(N, np.float64, 3 * N * 8)


def fill(cache, rows):
    slots = cache.claim(np.array(rows))
    for first, some in cache.unfilled(slots):
        for slot in some:
            cache.slab[slot, first:] = K[cache.row_of[slot]][cache.columns[first:]]
        cache.complete(some)
    return slots


def held(cache, rows):
    slots = fill(cache, rows)
    return cache.slab[slots]


def test_rows_are_kept_and_the_one_used_longest_ago_goes(small):
    assert small.capacity == 3
    np.testing.assert_array_equal(held(small, [4, 7, 1]), K[[4, 7, 1]])
    fill(small, [4])
    fill(small, [9])  # 7 was used longest ago, with 1; one of them goes
    kept = set(small.row_of.tolist())
    assert {4, 9} < kept and len(kept) == 3
    np.testing.assert_array_equal(held(small, [4, 9]), K[[4, 9]])
    with pytest.raises(ValueError, match="4 rows were asked for at once; the cache holds 3"):
        small.claim(np.arange(4))


def test_what_is_there_is_not_asked_for_again(small):
    slots = fill(small, [2, 5])
    assert not list(small.unfilled(slots))
    again = small.claim(np.array([5, 2, 5]))
    assert again.tolist() == [slots[1], slots[0], slots[1]]
    small.drop(slots[:1])
    assert -1 in small.row_of and list(small.unfilled(small.claim(np.array([2]))))


def test_more_columns_go_on_where_the_old_ones_end(small):
    small.lay(np.array([3, 1, 8]))
    assert small.capacity == 10  # short rows take little
    fill(small, [6, 2])
    small.lay(np.array([3, 1, 8, 0, 5]))
    slots = small.claim(np.array([6, 2]))
    assert [(first, len(some)) for first, some in small.unfilled(slots)] == [(3, 2)]
    np.testing.assert_array_equal(held(small, [6, 2]), K[np.ix_([6, 2], [3, 1, 8, 0, 5])])
    assert small.places(fill(small, [3, 6])).tolist() == [0, -1]
    small.lay(np.array([1, 3]))  # others: all anew
    assert (small.row_of == -1).all()


def test_values_are_known_in_either_order(small):
    small.lay(np.array([0, 1, 2, 3]))
    fill(small, [1, 7])
    found = small.known(np.array([7, 3, 5]), np.array([1, 7, 2]))
    expected = np.array([[K[7, 1], np.nan, K[7, 2]], [K[3, 1], K[3, 7], np.nan], [np.nan] * 3])
    np.testing.assert_array_equal(found, expected)
    diagonal = small.diagonal()
    assert diagonal[1] == K[1, 1] and np.isnan(np.delete(diagonal, 1)).all()


def test_a_copy_begins_without_rows(small):
    fill(small, [1, 2])
    copy = pickle.loads(pickle.dumps(small))
    assert copy.capacity == small.capacity and (copy.row_of == -1).all()
    np.testing.assert_array_equal(copy.columns, small.columns)


def test_some_rows_are_always_kept():
    assert RowCache(100, np.float32, 0).capacity == row_cache.LEAST_ROWS
    assert RowCache(10, np.float32, 0).capacity == 10


def test_an_interrupted_claim_costs_no_row_of_a_later_one(small):
    """A row that was given two slots is still found when the first of them is used for another row."""
    for line in range(1, 30):
        fill(small, [4, 7, 1])
        interrupted(lambda: small.claim(np.array([9])), line, "row_cache.py")
        for rows in ([9], [9, 2, 3], [3, 9, 1]):
            np.testing.assert_array_equal(held(small, rows), K[rows])
