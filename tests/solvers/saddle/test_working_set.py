import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from hinge.monitoring import Status, Stop
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.solvers.driver import solve
from hinge.solvers.saddle.working_set import WorkingSet


def planted(n, d, margin, seed=0, spread=0.3):
    """Rows whose first coordinate is at least the margin."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    A[:, 0] = margin + spread * rng.random(n)
    return A


def sigma_of(A):
    """The widest margin by LIBSVM's one-class machine: its dual is the least norm of a mixture."""
    from sklearn.svm import OneClassSVM

    machine = OneClassSVM(kernel="linear", nu=0.999999 / len(A), tol=1e-10).fit(A)
    p = machine.dual_coef_[0] / machine.dual_coef_.sum()
    return float(np.linalg.norm(p @ machine.support_vectors_))


@pytest.mark.slow
@pytest.mark.parametrize("n, d", [(40, 5), (500, 30), (3000, 10), (30, 200)])
@pytest.mark.parametrize("relative", [True, False])
def test_it_finds_the_widest_margin(n, d, relative):
    A = planted(n, d, 0.5, seed=n)
    result = solve(MaxMargin(A, relative=relative), WorkingSet(first=16), stop=Stop(1e-6))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective == pytest.approx(sigma_of(A), rel=1e-4)
    x, p = result.solution.x, result.solution.p
    assert (A @ x).min() / np.linalg.norm(x) == pytest.approx(result.certificate.objective)
    assert np.linalg.norm(A.T @ p) == pytest.approx(result.certificate.bound)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_interval_holds_sigma_whenever_it_stops(seed):
    A = planted(400, 12, 0.05, seed)
    sigma = sigma_of(A)
    for limit in (1, 2, 5, 20):
        result = solve(MaxMargin(A), WorkingSet(first=8), stop=Stop(0, max_iter=limit), seed=seed)
        assert result.certificate.objective <= sigma * (1 + 1e-6)
        assert result.certificate.bound >= sigma * (1 - 1e-6)


def test_labels_and_compressed_rows():
    rng = np.random.default_rng(1)
    A = planted(300, 40, 0.4) * (rng.random((300, 40)) < 0.3)
    A[:, 0] = 0.4
    y = np.where(rng.random(300) < 0.5, 1, -1)
    dense = solve(MaxMargin(A * y[:, None], y), WorkingSet(), stop=Stop(1e-4))
    compressed = solve(MaxMargin(sp.csr_array(A * y[:, None]), y), WorkingSet(), stop=Stop(1e-4))
    np.testing.assert_allclose(dense.solution.x, compressed.solution.x, atol=1e-3)
    assert compressed.certificate.gap <= 1e-4


@pytest.mark.slow
def test_single_precision_is_certified_in_double():
    A = planted(2000, 50, 0.5).astype(np.float32)
    result = solve(MaxMargin(A), WorkingSet(), stop=Stop(1e-5))
    assert result.status is Status.CONVERGED
    wide = A.astype(np.float64)
    x = result.solution.x / np.linalg.norm(result.solution.x)
    assert (wide @ x).min() == pytest.approx(result.certificate.objective, abs=1e-12)
    assert np.linalg.norm(result.solution.p @ wide) == pytest.approx(result.certificate.bound, abs=1e-12)


def test_what_no_hyperplane_separates_gets_a_witness():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((200, 6))
    separable = linprog(np.zeros(6), A_ub=-A, b_ub=-np.ones(200), bounds=(None, None)).status == 0
    assert not separable
    result = solve(MaxMargin(A), WorkingSet(), stop=Stop(0.1))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective == 0.0
    typical = np.median(np.linalg.norm(A, axis=1))
    assert np.linalg.norm(A.T @ result.solution.p) <= 0.12 * 1e-3 * typical


@pytest.mark.parametrize("row", [0, 5])
def test_a_row_of_zeros_has_no_margin(row):
    A = planted(20, 4, 0.5)
    A[row] = 0.0
    result = solve(MaxMargin(A), WorkingSet(), stop=Stop(1e-3))
    assert result.status is Status.CONVERGED
    assert result.certificate.bound == 0.0
    assert result.solution.p[row] == 1.0


def test_one_row():
    result = solve(MaxMargin([[3.0, 4.0]]), WorkingSet(), stop=Stop(1e-9))
    np.testing.assert_allclose(result.solution.x, [0.6, 0.8])
    assert result.certificate.objective == pytest.approx(5.0)


def test_repeated_rows():
    A = np.repeat(planted(30, 5, 0.5), 20, axis=0)
    result = solve(MaxMargin(A), WorkingSet(first=10), stop=Stop(1e-5))
    assert result.status is Status.CONVERGED


def test_pieces_make_the_whole():
    solver, problem = WorkingSet(first=16), MaxMargin(planted(500, 20, 0.3))
    whole = solver.advance(problem, solver.init(problem, 1), 30)
    pieces = solver.init(problem, 1)
    for size in (1, 4, 10, 15):
        pieces = solver.advance(problem, pieces, size)
    for a, b in zip(whole[:-1], pieces[:-1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_few_passes_are_read():
    A = planted(20000, 30, 0.5)
    problem = MaxMargin(A)
    result = solve(problem, WorkingSet(), stop=Stop(1e-2))
    assert result.status is Status.CONVERGED
    assert problem.reads < 12 * A.size


def test_bad_settings_and_problems():
    with pytest.raises(ValueError, match="at least 1"):
        WorkingSet(first=0)
    from hinge.problems.max_min.linear import MatrixGame

    with pytest.raises(ValueError, match="WorkingSet solves MaxMargin"):
        solve(MatrixGame(np.eye(3)), WorkingSet())


@pytest.mark.parametrize(
    "X, y, words",
    [
        (np.zeros((0, 3)), None, "nothing to solve"),
        (np.ones((3, 2)), [1, 1], "3 labels"),
        (np.ones((3, 2)), [1, 2, 1], "each -1 or"),
        (np.array([[1.0, np.inf]]), None, "NaN or infinite"),
    ],
)
def test_bad_input(X, y, words):
    with pytest.raises(ValueError, match=words):
        solve(MaxMargin(X, y), WorkingSet())
