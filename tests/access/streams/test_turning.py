import numpy as np
import pytest

from hinge.access.streams.turning import column_at, turn


@pytest.mark.parametrize("shape", [(1, 1), (300, 3), (257, 9), (128, 4)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_columns_become_rows(shape, kind):
    X = np.random.default_rng(0).standard_normal(shape).astype(kind)
    room = np.zeros((shape[0], shape[1] + 2), kind)
    turn([column.copy() for column in X.T], room[:, 1:-1])
    np.testing.assert_array_equal(room[:, 1:-1], X)
    assert not room[:, [0, -1]].any()  # what is beside them stays


def test_other_numbers_and_columns_with_gaps_between_them_are_copied_first():
    out = np.empty((3, 3), np.float32)
    turn([np.arange(6)[::2], np.array([True, False, True]), np.arange(3.0)], out)
    np.testing.assert_array_equal(out, [[0, 1, 0], [2, 0, 1], [4, 1, 2]])


def test_columns_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"2 columns, of .2, 3. rows"):
        turn([np.zeros(3), np.zeros(2)], np.empty((3, 2)))
    with pytest.raises(ValueError, match="1 columns"):
        turn([np.zeros(3)], np.empty((3, 2)))


def test_numbers_at_a_place_are_those_of_their_owner():
    owner = np.arange(4.0)
    np.testing.assert_array_equal(column_at(owner.ctypes.data, 4, owner), owner)
