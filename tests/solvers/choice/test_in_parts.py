import numpy as np
import scipy.sparse as sp
from hinge.solvers.choice.in_parts import A_ROW, PART_CELLS, in_parts

from hinge.access.two_way.reader import open_pair
from hinge.access.two_way.writer import write_pair
from hinge.problems import L1Regularized, Regularized
from hinge.solvers import CDN, SDCA, Adaptive, CoCoA, Newton, Pegasos


def of_cells(cells, n=1000):
    """A problem whose rows take as long as so many cells; its values are never read."""
    d = max(1, cells // n - A_ROW)
    return Regularized(np.broadcast_to(np.float32(0.0), (n, d)).copy(), np.resize([1, -1], n), 1e-3)


def test_many_cells_are_shared():
    problem = of_cells(3 * PART_CELLS + 10_000)
    assert in_parts(SDCA("plain", shrinking=False, block_rows=3), problem, 2) == CoCoA(
        2, first_pass="plain", shrinking=False, block_rows=3
    )
    assert in_parts(SDCA(), problem, 8) == CoCoA(3)
    assert in_parts(Newton(width=0.2), problem, 2) == Newton(width=0.2, parts=2)


def test_both_of_two_methods_are_shared():
    found = in_parts(Adaptive(1e-4, "newton"), of_cells(3 * PART_CELLS + 10_000), 2)
    assert found == Adaptive(1e-4, "newton", ascent=CoCoA(2), newton=Newton(parts=2))


def test_few_are_not():
    problem = of_cells(2 * PART_CELLS - 20_000)
    assert in_parts(SDCA(), problem, 8) == SDCA()
    assert in_parts(Newton(), problem, 8) == Newton()


def test_nor_are_those_of_many_features():
    n, d = 30_000, 50_000  # as many cells as before, which would do for two parts if v were shorter
    X = sp.csr_array((np.ones(80 * n, np.float32), np.arange(80 * n) % d, np.arange(n + 1) * 80), shape=(n, d))
    problem = Regularized(X, np.resize([1, -1], n), 1e-3)
    assert X.nnz > 2 * PART_CELLS
    assert in_parts(SDCA(), problem, 2) == SDCA()
    assert in_parts(Newton(), problem, 2) == Newton(parts=2)


def test_one_thread_is_one_part():
    assert in_parts(SDCA(), of_cells(4 * PART_CELLS), 1) == SDCA()


def test_other_methods_and_problems_are_left_alone():
    problem = of_cells(4 * PART_CELLS)
    assert in_parts(Pegasos(), problem, 2) == Pegasos()
    assert in_parts(CDN(), L1Regularized(problem.matrix, problem.y, 0.1), 2) == CDN()


def test_data_that_is_not_in_memory_is_read_by_one(tmp_path):
    write_pair(np.eye(4), tmp_path / "pair")
    problem = Regularized(open_pair(tmp_path / "pair"), np.resize([1, -1], 4), 0.1)
    assert in_parts(SDCA(), problem, 2) == SDCA()
