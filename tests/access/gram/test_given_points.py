import numpy as np
import pytest

from hinge.access.gram.given_points import FunctionPoints
from hinge.kernels import Function


def failing(x, z):
    raise ZeroDivisionError("of the kernel's own")


@pytest.mark.parametrize("on", ["pairs", "blocks", "indices"])
def test_errors_of_a_kernel_are_its_own_and_say_where(on):
    points = FunctionPoints(np.eye(4), Function(failing, on))
    with pytest.raises(ZeroDivisionError, match="of the kernel's own") as caught:
        points.fill(np.array([2]), np.array([3]), np.empty((1, 1)))
    (note,) = caught.value.__notes__
    assert "row" in note and "2" in note and "3" in note


def test_values_that_came_before_an_error_are_kept():
    points = FunctionPoints([1.0, 2.0, None], Function(lambda x, z: x * z))
    out = np.full((1, 3), np.nan)
    with pytest.raises(TypeError, match="unsupported operand"):
        points.fill(np.array([0]), np.arange(3), out)
    np.testing.assert_array_equal(out, [[1.0, 2.0, np.nan]])
