import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Function, Precomputed

K = np.add.outer(np.arange(6.0), np.arange(6.0)) + 10 * np.eye(6)


@pytest.mark.parametrize(
    ("items", "kernel"),
    [
        (K, Precomputed()),
        (range(6), Function(lambda i, j: K[i, j], on="indices")),
        (list(range(6)), Function(lambda x, z: K[x, z])),
        (list(range(6)), Function(lambda xs, zs: K[np.ix_(xs, zs)], on="blocks")),
    ],
)
def test_values_are_those_that_are_given(items, kernel):
    gram = Gram(as_points(items, kernel))
    np.testing.assert_allclose(gram.rows(np.arange(6)).block(), K)
    np.testing.assert_allclose(gram.diag, np.diag(K))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="a name or a callable, got 3"):
        Function(3)
    for on in ("rows", None, ["pairs"]):
        with pytest.raises(ValueError, match="'pairs', 'blocks' or 'indices'"):
            Function(max, on)
