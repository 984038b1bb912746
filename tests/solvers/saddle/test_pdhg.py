import numpy as np
import pytest
import scipy.sparse as sp
from reference import conic
from scipy.optimize import linprog

from hinge.access import DenseTable
from hinge.monitoring import Status, Stop
from hinge.problems.max_min.base import MaxMin, Strategies
from hinge.problems.max_min.linear import LinearMaxMin, onto_simplex
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.problems.max_min.symmetric import Semidefinite
from hinge.solvers import solve
from hinge.solvers.saddle.pdhg import PDHG


class Simplex(LinearMaxMin):
    """A game, with as little as a problem must say."""

    def start(self):
        return np.full(self.d, 1.0 / self.d)

    def project(self, x):
        return onto_simplex(x)

    def support(self, g):
        return float(g.max())


def game(A, **options):
    return Simplex(A, relative=False, **options)


def value_of(A):
    """The value of a game by linear programming."""
    n, d = A.shape
    found = linprog(
        np.r_[np.zeros(d), -1.0],
        np.hstack([-A, np.ones((n, 1))]),
        np.zeros(n),
        np.r_[np.ones(d), 0.0][None],
        [1.0],
        [(0, None)] * d + [(None, None)],
        method="highs",
    )
    return -found.fun


def noise(m, n, seed):
    A = np.random.default_rng(seed).standard_normal((m, n, n)) / np.sqrt(n)
    return (A + A.transpose(0, 2, 1)) / 2


def planted(m, n, seed):
    return noise(m, n, seed) + 0.3 * np.diag(np.arange(n) < 2)


def rank_one(m, n, seed):
    a, b = np.random.default_rng(seed).standard_normal((2, m, n)) / np.sqrt(n)
    a[:, 0] += 1.0
    return np.einsum("ki,kj->kij", a, a) - np.einsum("ki,kj->kij", b, b)


def thin(m, n, seed):
    A = planted(m, n, seed) + 0.2 * np.eye(n)
    keep = np.random.default_rng(seed).random(A.shape) < 0.3
    return np.where(keep & keep.transpose(0, 2, 1) | np.eye(n, dtype=bool), A, 0.0)


FAMILIES = {
    "planted": planted(40, 8, 0),
    "many": planted(150, 6, 1),
    "rank one": rank_one(60, 10, 2),
    "thin": thin(50, 9, 3),
    "two": planted(2, 5, 4),
    "one": planted(1, 6, 5),
    "scalars": planted(7, 1, 6) + 2.0,
    "one of one": np.full((1, 1, 1), 0.7),
    "hundreds": 300.0 * planted(30, 7, 7),
    "more than sixteen": planted(40, 20, 8) + 0.3 * np.diag(np.arange(20) < 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
def test_the_interval_holds_the_exact_value(name, form):
    A = FAMILIES[name]
    if form == "float32":
        A = A.astype(np.float32)
    problem = Semidefinite([sp.csr_array(a) for a in A] if form == "sparse" else A)
    result = solve(problem, PDHG(), stop=Stop(1e-5, max_iter=20_000))
    assert result.status is Status.CONVERGED
    lower, upper = result.certificate[:2]
    exact = conic.feasibility(A)
    slack = (1e-6 if form == "float32" else 1e-8) * float(np.abs(A).max())
    assert lower - slack <= exact <= upper + slack
    assert upper - lower <= 1e-5 * max(upper, 1e-3 * problem.scale)
    X = problem.present(result.solution.x)
    assert np.linalg.eigvalsh(X)[0] >= -1e-13 and np.trace(X) <= 1 + 1e-12
    assert np.einsum("kij,ij", A, X).min() == pytest.approx(lower, abs=slack)
    p = result.solution.p
    assert p.min() >= 0 and p.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "n"), [(40, 6), (200, 20)])
def test_infeasible_matrices_have_a_witness(m, n, dtype):
    A = noise(m, n, 1)
    A -= 0.12 * np.eye(n) + max(0.0, conic.feasibility(A[:40, :6, :6]) if n == 6 else 0.3) * np.eye(n)
    problem = Semidefinite(A.astype(dtype))
    result = solve(problem, PDHG())
    assert result.status is Status.CONVERGED
    assert result.certificate[:3] == (0.0, 0.0, 0.0)
    assert problem.largest_eigenvalue(result.solution.p) < 0
    assert np.linalg.eigvalsh(np.einsum("k,kij", result.solution.p, A))[-1] < 0
    np.testing.assert_array_equal(problem.present(result.solution.x), np.zeros((n, n)))


def test_neither_feasible_nor_strictly_infeasible():
    A = np.stack([np.diag([1.0, -1.0]), np.diag([-1.0, 1.0])])
    result = solve(Semidefinite(A), PDHG(), stop=Stop(1e-3, max_iter=2000))
    assert result.certificate.objective == 0.0
    assert result.certificate.bound <= 1e-6


def test_the_yes_comes_soon():
    problem = Semidefinite(planted(300, 20, 0) + 0.5 * np.eye(20))
    result = solve(problem, PDHG(), stop=Stop(0.5))
    assert result.certificate.objective > 0
    assert result.n_iter <= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "A",
    [
        np.random.default_rng(0).uniform(-1, 1, (40, 30)),
        np.random.default_rng(1).uniform(-1, 1, (30, 50)).astype(np.float32),
        np.random.default_rng(2).standard_normal((40, 3)) @ np.random.default_rng(3).standard_normal((3, 40)),
        np.add.outer(np.linspace(-1, 1, 20), np.linspace(-1, 1, 15)),
        np.array([[0.0, 1, -1], [-1, 0, 1], [1, -1, 0]]),
        np.random.default_rng(4).uniform(-1, 1, (1, 9)),
        np.random.default_rng(5).uniform(-1, 1, (9, 1)),
        np.array([[0.3]]),
        np.eye(12),
    ],
    ids=["wide", "float32", "low rank", "pure", "rock", "one row", "one column", "one", "diagonal"],
)
def test_games_have_the_value_of_the_linear_program(A):
    result = solve(game(A), PDHG(), stop=Stop(1e-6, max_iter=50_000))
    assert result.status is Status.CONVERGED
    lower, upper = result.certificate[:2]
    assert lower - 1e-7 <= value_of(A.astype(float)) <= upper + 1e-7
    assert upper - lower <= 1e-6


def test_margins_are_the_same_problem_on_a_ball():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 10)) + np.r_[3.0, np.zeros(9)]
    result = solve(MaxMargin(A), PDHG(), stop=Stop(1e-6, max_iter=50_000))
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 1e-6


@pytest.mark.parametrize("A", [np.zeros((4, 3, 3)), np.zeros((1, 1, 1))])
def test_nothing_but_zeros(A):
    result = solve(Semidefinite(A), PDHG())
    assert result.status is Status.CONVERGED
    assert result.certificate[:3] == (0.0, 0.0, 0.0)


def test_a_first_slope_of_zero():
    A = np.array([[1.0, -1.0], [-1.0, 1.0], [2.0, -2.0], [-2.0, 2.0]])
    result = solve(game(A), PDHG(), stop=Stop(1e-9, max_iter=1000))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective == pytest.approx(0.0, abs=1e-9)


# --- the state --------------------------------------------------------------------------


def same(a, b):
    for left, right in zip(a, b, strict=True):
        if isinstance(left, tuple):
            same(left, right)
        else:
            np.testing.assert_array_equal(left, right)


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        lambda: Semidefinite(planted(60, 9, 0).astype(np.float32)),
        lambda: Semidefinite([sp.csr_array(a) for a in thin(50, 9, 3)]),
        lambda: game(np.random.default_rng(0).uniform(-1, 1, (60, 45)).astype(np.float32)),
    ],
    ids=["matrices", "sparse", "game"],
)
def test_pieces_are_the_whole_bit_for_bit(problem):
    solver, whole, parts = PDHG(), problem(), problem()
    a = solver.advance(whole, solver.init(whole), 150)
    b = solver.init(parts)
    for size in (0, 1, 2, 3, 7, 0, 37, 100):
        b = solver.advance(parts, b, size)
    same(a, b)
    assert a.t == b.t == 150
    assert whole.reads == parts.reads


def test_a_run_goes_on_where_it_ended():
    whole, parts = (Semidefinite(planted(60, 9, 0)) for _ in range(2))
    a = solve(whole, PDHG(), stop=Stop(0, max_iter=60))
    first = solve(parts, PDHG(), stop=Stop(0, max_iter=25))
    b = solve(parts, PDHG(), stop=Stop(0, max_iter=60), state=first.state)
    same(a.state, b.state)
    assert a.certificate == b.certificate
    with pytest.raises(ValueError, match="not one of PDHG"):
        solve(Semidefinite(planted(61, 9, 0)), PDHG(), state=first.state)


def test_an_answer_is_a_good_start():
    problem = Semidefinite(planted(60, 9, 0))
    cold = solve(problem, PDHG(), stop=Stop(1e-6, max_iter=20_000))
    warm = solve(problem, PDHG(), stop=Stop(1e-6, max_iter=20_000), start=cold.solution)
    assert warm.status is Status.CONVERGED
    assert warm.n_iter <= cold.n_iter // 4
    solve(problem, PDHG(), start=Strategies(cold.solution.x))


def test_bounds_only_get_better_and_belong_to_the_answer():
    problem, solver = Semidefinite(planted(60, 9, 0)), PDHG()
    state, last = solver.init(problem), (-np.inf, np.inf)
    for _ in range(12):
        state = solver.advance(problem, state, 4)
        now = (state.s.lower, state.s.upper)
        assert last[0] <= now[0] <= now[1] + 1e-12 and now[1] <= last[1]
        certificate = problem.certificate(solver.solution(problem, state))
        assert certificate.objective >= now[0] - 1e-12
        assert certificate.bound == pytest.approx(now[1], abs=1e-12)
        last = now


@pytest.mark.slow
def test_float32_reaches_what_only_float64_can():
    A = np.random.default_rng(0).uniform(-1, 1, (40, 30)).astype(np.float32)
    result = solve(game(A), PDHG(), stop=Stop(1e-10, max_iter=50_000))
    assert result.status is Status.CONVERGED
    assert result.state.s.exact
    few = sum(np.isfinite(record.gap) for record in result.history)
    assert few <= 12  # no certificate after another


def test_rounding_that_flatters_is_found_out():
    class Flattering(Simplex):
        def quick_values(self, x):
            return (super().quick_values(x) + 1e-3).astype(np.float32)

    A = np.random.default_rng(0).uniform(-1, 1, (40, 30))
    result = solve(Flattering(A, relative=False), PDHG(), stop=Stop(1e-4, max_iter=50_000))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective <= value_of(A) <= result.certificate.bound


@pytest.mark.slow
def test_a_gap_out_of_reach_ends_the_run():
    A = np.random.default_rng(0).uniform(-1, 1, (6, 5))
    result = solve(game(A), PDHG(), stop=Stop(1e-30, max_time=120))
    assert result.status in (Status.STALLED, Status.CONVERGED)
    assert result.certificate.gap <= 1e-12


def test_limits_on_reads_are_kept():
    A = np.random.default_rng(0).uniform(-1, 1, (40, 30))
    problem = game(A)
    result = solve(problem, PDHG(), stop=Stop(1e-9, max_reads=60 * A.size))
    assert result.status is Status.MAX_READS
    assert 30 * A.size <= problem.reads <= 60 * A.size
    assert np.isfinite(result.certificate.gap)


def test_few_functions_are_read_alone():
    problem = Semidefinite(planted(400, 6, 0) + 1.2 * np.eye(6))
    result = solve(problem, PDHG(), stop=Stop(0, max_iter=200))
    assert np.count_nonzero(result.state.now.p) < 80
    assert problem.reads < 1.6 * 200 * problem.pass_cells


def test_tables_are_read_too():
    A = np.random.default_rng(0).uniform(-1, 1, (20, 15))
    result = solve(Simplex(DenseTable(A), relative=False), PDHG(), stop=Stop(1e-4, max_iter=5000))
    assert result.status is Status.CONVERGED


def test_what_is_rejected():
    class Curved(MaxMin):
        linear = False

    assert "linear functions, and those of Curved are not" in PDHG().rejects(Curved())
    assert "solves MaxMin problems, not int" in PDHG().rejects(3)
    assert PDHG().rejects(game(np.eye(2))) is None
