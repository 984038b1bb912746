"""What passes, factors and Hessians cost."""

import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import Regularized
from hinge.solvers.newton.systems import factor_cost, hessian_cost, pass_cost


def problem(n, d, cells=None):
    X = np.ones((n, d), np.float32)
    if cells is not None:
        X = sp.csr_array(
            (np.ones(n * cells, np.float32), np.tile(np.arange(cells), n), np.arange(n + 1) * cells), (n, d)
        )
    return Regularized(X, np.resize([1, -1], n), 1e-3)


def test_passes_grow_with_the_rows_and_factors_with_the_features():
    assert pass_cost(problem(400, 20)) == pytest.approx(4 * pass_cost(problem(100, 20)))
    assert factor_cost(40) == 8 * factor_cost(20)


def test_a_pass_costs_more_where_rows_are_long_or_sparse():
    assert pass_cost(problem(200, 20)) < pass_cost(problem(200, 20, 20)) < pass_cost(problem(200, 200))


def test_the_hessian_of_few_cells_is_made_of_the_cells():
    assert hessian_cost(problem(200, 100)) == pytest.approx(2 * hessian_cost(problem(100, 100)))
    assert hessian_cost(problem(100, 200, 10)) == pytest.approx(hessian_cost(problem(100, 800, 10)))
    assert hessian_cost(problem(100, 200, 10)) < hessian_cost(problem(100, 200))
