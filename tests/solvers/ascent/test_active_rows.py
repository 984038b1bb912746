import numpy as np
import pytest

from hinge.problems import Regularized
from hinge.sampling import draw_index, key_of
from hinge.solvers.ascent.active_rows import (
    SHRUNK,
    begin,
    ends_epoch,
    first_epoch,
    next_rows,
    rows_to_look,
    shuffle,
    unmarked,
)


def visited(n, block_rows, most, epochs, weight):
    """The rows in the order of some epochs, never more than `most` at a time."""
    epoch, active, rows = first_epoch(), np.zeros(n, np.uint32), [[]]
    order = np.zeros(-(-n // block_rows), np.uint32)
    while len(rows) <= epochs:
        if epoch.visited == 0:
            begin(epoch, active, order, weight, block_rows, key_of(3))
        first, stop, last = next_rows(epoch, order[epoch.block], block_rows, most)
        assert 0 < stop - first <= most
        rows[-1] += active[first:stop].tolist()
        if ends_epoch(epoch, stop - first, stop == last):
            assert epoch.rows == len(rows[-1])
            rows.append([])
    assert epoch.t == sum(len(some) for some in rows)
    return rows[:-1]


@pytest.mark.parametrize("block_rows", [1, 3, 7, 30])
def test_every_row_with_a_weight_is_visited_once_an_epoch(block_rows):
    weight = np.arange(20) % 4 / 2.0
    epochs = visited(20, block_rows, 5, 3, weight)
    for rows in epochs:
        assert sorted(rows) == np.flatnonzero(weight).tolist()
    assert block_rows > 7 or epochs[0] != epochs[1]


def test_the_order_is_the_same_however_it_is_cut():
    weight = np.ones(1)
    assert visited(20, 3, 1, 3, weight) == visited(20, 3, 2, 3, weight) == visited(20, 3, 100, 3, weight)


def test_marked_rows_leave_the_list():
    active = np.arange(6, dtype=np.uint32)
    active[[1, 4]] |= SHRUNK
    assert unmarked(active, 5) == 3
    assert active[:3].tolist() == [0, 2, 3]


def test_rows_come_back_when_they_are_called():
    epoch, active, order = first_epoch(), np.zeros(4, np.uint32), np.zeros(4, np.uint32)
    rest = active, order, np.ones(1), 1, key_of(0)
    assert begin(epoch, *rest) and epoch.active == 4
    assert not begin(epoch, *rest)
    epoch.active, epoch.stale = 2, True
    assert begin(epoch, *rest) and epoch.active == 4


def test_blocks_are_shuffled_by_fisher_and_yates():
    order, key = np.zeros(10, np.uint32), key_of(3)
    expected, draw = list(range(7)), 11
    for k in range(6, 0, -1):
        j = int(draw_index(key, draw, k + 1))
        expected[k], expected[j] = expected[j], expected[k]
        draw += 1
    assert shuffle(order, 7, key, 11) == draw
    assert order[:7].tolist() == expected
    assert sorted(expected) == list(range(7))


@pytest.mark.slow
def test_every_order_is_as_likely():
    counts = {}
    order = np.zeros(3, np.uint32)
    for draws in range(0, 12_000, 2):
        shuffle(order, 3, key_of(0), draws)
        counts[tuple(order.tolist())] = counts.get(tuple(order.tolist()), 0) + 1
    assert len(counts) == 6
    assert min(counts.values()) > 850 and max(counts.values()) < 1150  # of 1000, at 5 standard deviations


def test_looks_grow_rarer_where_epochs_are_short_and_lie_on_one_grid():
    problem = Regularized(np.eye(40, 5), np.where(np.arange(40) % 2, 1, -1), 0.1)
    epoch, looks = first_epoch(), [rows_to_look(problem, first_epoch())]
    assert looks == [40]
    epoch.active, epoch.stale = 40, False
    while looks[-1] < 100_000:
        epoch.t = looks[-1]
        looks.append(looks[-1] + rows_to_look(problem, epoch))
    assert max(np.diff(looks) / looks[1:]) < 0.9 and len(looks) < 60
    for t in range(40, 5_000, 37):  # wherever it is asked, the next look is one of them
        epoch.t = t
        assert t + rows_to_look(problem, epoch) in looks


def test_a_run_that_ends_itself_is_looked_at_after_four_times_as_long_each_time():
    problem = Regularized(np.eye(40, 5), np.where(np.arange(40) % 2, 1, -1), 0.1)
    epoch, looks = first_epoch(), [rows_to_look(problem, first_epoch(), ends_itself=True)]
    epoch.active, epoch.stale = 40, False
    while len(looks) < 4:
        epoch.t = looks[-1]
        looks.append(looks[-1] + rows_to_look(problem, epoch, ends_itself=True))
    assert looks == [40, 160, 640, 2560]
