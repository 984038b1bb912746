import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import Regularized
from hinge.solvers.choice.newton_costs import factor_price, rows_price, squares_price


def problem(n, d, cells=None):
    X = np.ones((n, d), np.float32)
    if cells:
        X = sp.csr_array(
            (np.ones(n * cells, np.float32), np.tile(np.arange(cells), n), np.arange(n + 1) * cells), (n, d)
        )
    return Regularized(X, np.resize([1, -1], n), 1e-3)


def test_sums_grow_with_the_rows_and_factors_with_the_features():
    small, more, wide = problem(100, 20), problem(400, 20), problem(100, 40)
    assert rows_price(more) == pytest.approx(4 * rows_price(small))
    assert factor_price(more) == factor_price(small) and factor_price(wide) == 8 * factor_price(small)


def test_squares_of_few_cells_are_those_of_the_cells():
    assert squares_price(problem(200, 100)) == pytest.approx(2 * squares_price(problem(100, 100)))
    assert squares_price(problem(100, 200, 10)) == pytest.approx(squares_price(problem(100, 800, 10)))
    assert squares_price(problem(100, 200, 10)) < squares_price(problem(100, 200))
