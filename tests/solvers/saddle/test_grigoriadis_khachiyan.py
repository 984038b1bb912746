import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from hinge.access import DenseTable
from hinge.monitoring import Status, Stop
from hinge.problems.max_min.linear import MatrixGame
from hinge.solvers.driver import solve
from hinge.solvers.saddle.grigoriadis_khachiyan import GrigoriadisKhachiyan


def value_of(A):
    """The value by linear programming: max v with Ax ≥ v, x on the simplex."""
    n, d = A.shape
    found = linprog(
        np.r_[np.zeros(d), -1.0],
        A_ub=np.c_[-A, np.ones(n)],
        b_ub=np.zeros(n),
        A_eq=np.r_[np.ones(d), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * d + [(None, None)],
    )
    return -found.fun


GAMES = {
    "random": np.random.default_rng(0).uniform(-1, 1, (40, 30)),
    "low rank": np.random.default_rng(1).uniform(-1, 1, (30, 2)) @ np.random.default_rng(2).uniform(-1, 1, (2, 50)),
    "pure": np.add.outer(np.linspace(-1, 1, 20), np.linspace(-0.5, 0.5, 25)),
    "payoffs of a hundred": 100.0 + np.random.default_rng(3).integers(-100, 100, (25, 25)).astype(float),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_the_interval_holds_the_value_in_every_run(name):
    A = GAMES[name]
    value = value_of(A)
    for seed in range(5):
        result = solve(MatrixGame(A), GrigoriadisKhachiyan(), stop=Stop(0.1), seed=seed)
        assert result.status is Status.CONVERGED
        lower, upper = result.certificate.objective, result.certificate.bound
        assert lower - 1e-9 <= value <= upper + 1e-9
        assert upper - lower <= 0.1 * np.abs(A).max()
        assert (A @ result.solution.x).min() == pytest.approx(lower)
        assert (result.solution.p @ A).max() == pytest.approx(upper)


def test_certificates_read_nothing():
    game = MatrixGame(GAMES["random"])
    result = solve(game, GrigoriadisKhachiyan(), stop=Stop(0, max_iter=100))
    assert game.reads == 100 * (40 + 30)
    assert np.isfinite(result.certificate.gap)


def test_pieces_make_the_whole():
    solver, game = GrigoriadisKhachiyan(), MatrixGame(GAMES["random"])
    whole = solver.advance(game, solver.init(game, 1), 90)
    pieces = solver.init(game, 1)
    for size in (1, 30, 59):
        pieces = solver.advance(game, pieces, size)
    for a, b in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(a, b)


def test_compressed_and_dense_agree():
    A = GAMES["random"] * (np.random.default_rng(5).random((40, 30)) < 0.3)
    dense = solve(MatrixGame(A), GrigoriadisKhachiyan(), stop=Stop(0, max_iter=200))
    compressed = solve(MatrixGame(sp.csr_array(A)), GrigoriadisKhachiyan(), stop=Stop(0, max_iter=200))
    np.testing.assert_array_equal(dense.solution.x, compressed.solution.x)


def test_a_read_limit_is_kept():
    game = MatrixGame(GAMES["random"])
    result = solve(game, GrigoriadisKhachiyan(), stop=Stop(1e-6, max_reads=1000))
    assert result.status is Status.MAX_READS
    assert 900 < game.reads <= 1000


def test_bad_input():
    A = GAMES["random"].copy()
    A[2, 3] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        solve(MatrixGame(DenseTable(A), largest=1.0), GrigoriadisKhachiyan(), stop=Stop(0, max_iter=2000))
    with pytest.raises(ValueError, match="rate must be"):
        GrigoriadisKhachiyan(rate=0)
    with pytest.raises(ValueError, match="largest must be"):
        MatrixGame(A, largest=-1.0)
    from hinge.problems.max_min.max_margin import MaxMargin

    with pytest.raises(ValueError, match="solves MatrixGame"):
        solve(MaxMargin(A), GrigoriadisKhachiyan())
