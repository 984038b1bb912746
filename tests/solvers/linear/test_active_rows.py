import numpy as np

from hinge.sampling import draw_index, key_of
from hinge.solvers.linear.active_rows import SHRUNK, fill, shuffle, unmarked


def test_all_rows_with_a_weight_are_listed():
    active = np.zeros(6, np.uint32)
    assert fill(active, np.ones(1)) == 6
    assert active.tolist() == list(range(6))
    assert fill(active, np.array([0.0, 2.0, 0.0, 1.0, 1.0, 0.0])) == 3
    assert active[:3].tolist() == [1, 3, 4]


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


def test_every_order_is_as_likely():
    counts = {}
    order = np.zeros(3, np.uint32)
    for draws in range(0, 12_000, 2):
        shuffle(order, 3, key_of(0), draws)
        counts[tuple(order.tolist())] = counts.get(tuple(order.tolist()), 0) + 1
    assert len(counts) == 6
    assert min(counts.values()) > 850 and max(counts.values()) < 1150  # of 1000, at 5 standard deviations


def test_what_shrinking_marked_leaves_the_list():
    active = np.array([2, 3 | SHRUNK, 5, 7 | SHRUNK, 9, 11], np.uint32)
    assert unmarked(active, 5) == 3
    assert active[:3].tolist() == [2, 5, 9]
