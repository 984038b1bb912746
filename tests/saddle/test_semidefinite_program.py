import numpy as np
import pytest
import scipy.sparse as sp
from reference import conic, sublinear

from hinge.monitoring import Status
from hinge.problems import Semidefinite
from hinge.saddle.semidefinite_program import maximize_semidefinite
from hinge.solvers import SublinearSDP
from hinge.solvers.papers.sublinear_sdp import project_sparsely


def instance(n, m, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n, n)) / np.sqrt(n)
    A = (A + A.transpose(0, 2, 1)) / 2 + 0.5 * np.diag(np.arange(n) < 2) + shift * np.eye(n)
    C = rng.standard_normal((n, n))
    return C + C.T, A


def check(result, C, A, eps, allowed=0.0):
    """What the answer says of itself, from scratch."""
    exact, norm = conic.largest(C, A), np.abs(np.linalg.eigvalsh(C)).max()
    slack = 1e-7 * norm
    assert result.upper - result.lower <= eps * norm
    assert exact <= result.upper + slack
    assert result.lower <= exact + slack + allowed
    assert np.linalg.eigvalsh(result.X)[0] >= -1e-13 and np.trace(result.X) <= 1 + 1e-12
    assert np.vdot(C, result.X) == pytest.approx(result.lower, abs=1e-12 * norm)
    products = np.einsum("kij,ij", A, result.X)
    norms = np.linalg.norm(A, axis=(1, 2))
    violation = max(0.0, -(products / np.where(norms > 0, norms, 1.0)).min(initial=0.0))
    assert violation == pytest.approx(result.violation, abs=1e-13)
    assert result.y.min(initial=0.0) >= 0
    proved = max(0.0, np.linalg.eigvalsh(C + np.einsum("k,kij", result.y, A))[-1])
    assert result.upper == pytest.approx(proved, abs=1e-10 * norm)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, -0.1, 0.2])
@pytest.mark.parametrize(("n", "m"), [(4, 10), (8, 30), (18, 40), (3, 1)])
def test_the_interval_holds_the_optimum(n, m, shift):
    C, A = instance(n, m, n + m, shift)
    result = maximize_semidefinite(C, A, 1e-3)
    assert result.status is Status.CONVERGED
    assert result.violation == 0.0
    check(result, C, A, 1e-3)


@pytest.mark.parametrize(("C", "A", "best"), [([3.0, 1.0], [[-1.0, 1.0]], 2.0), ([1.0, -1.0], [[-2.0, 1.0]], 0.0)])
def test_algorithm_3_decides_and_its_interval_is_proved(C, A, best):
    result = maximize_semidefinite(np.diag(C), [np.diag(one) for one in A], 0.7, method="sublinear")
    assert result.violation == 0.0
    assert result.lower - 1e-12 <= best <= result.upper + 1e-12
    assert result.status in (Status.CONVERGED, Status.FINISHED)
    assert (result.status is Status.CONVERGED) == (result.upper - result.lower <= 0.7 * max(map(abs, C)))
    assert best - result.lower <= 0.7 * max(map(abs, C))
    assert np.linalg.eigvalsh(result.X)[0] >= -1e-13
    assert np.einsum("kij,ij", [np.diag(one) for one in A], result.X).min() >= 0


def test_a_step_of_algorithm_3_is_literal_with_hazans_projection_to_half_of_its_accuracy(monkeypatch):
    """The X of every step, against the survey's lines with `project_sparsely` for ApproxProject."""
    taken = []
    literal = SublinearSDP.solution

    def kept(self, problem, state):
        taken.append((self, problem, state))
        return literal(self, problem, state)

    monkeypatch.setattr(SublinearSDP, "solution", kept)
    C, A = instance(3, 4, 7)
    maximize_semidefinite(C, A, 0.6, method="sublinear", max_steps=1)
    solver, problem, state = taken[-1]
    T = solver.horizon(problem)
    assert state.t == T
    rows = np.array([problem.matrix_of(row) for row in problem.matrix.gather_dense(np.arange(problem.n))])

    def project(Y):
        return project_sparsely(Y, (solver.epsilon / 2 / problem.scale) ** 2).matrix

    X = sublinear.semidefinite(rows / problem.scale, T, 0, project)
    np.testing.assert_allclose(problem.matrix_of(state.x_sum / T), X, atol=1e-12)


def test_many_digits_take_few_more_steps():
    C, A = instance(8, 30, 0)
    result = maximize_semidefinite(C, A, 1e-7)
    assert result.status is Status.CONVERGED
    check(result, C, A, 1e-7)
    assert result.steps <= 40


@pytest.mark.slow
@pytest.mark.parametrize("form", ["float32", "sparse", "problem"])
def test_other_forms(form):
    C, A = instance(6, 20, 3)
    forms = {
        "float32": lambda: A.astype(np.float32),
        "sparse": lambda: [sp.csr_array(a) for a in A],
        "problem": lambda: Semidefinite(A),
    }
    result = maximize_semidefinite(C, forms[form](), 1e-3)
    exact = conic.largest(C, A)
    assert result.status is Status.CONVERGED
    assert result.lower - 1e-5 <= exact <= result.upper + 1e-5


def test_equations_have_no_inside():
    C, _ = instance(6, 1, 1)
    E = np.diag([1.0, -1.0, 0, 0, 0, 0])
    A = np.stack([E, -E])
    result = maximize_semidefinite(C, A, 1e-3)
    assert result.status is Status.FINISHED
    assert 0 < result.violation <= 1e-3
    check(result, C, A, 1e-3, allowed=1e-3 * np.linalg.norm(C))


def test_only_zero_is_feasible():
    C, A = instance(5, 30, 2, -2.0)
    result = maximize_semidefinite(C, A, 1e-3)
    assert result.status is Status.CONVERGED
    assert result.lower == 0.0 and result.upper <= 1e-3 * np.abs(np.linalg.eigvalsh(C)).max()
    check(result, C, A, 1e-3)


def test_constraints_that_do_not_bind():
    C, A = instance(5, 3, 4)
    for others in (np.zeros((2, 5, 5)), np.eye(5)[None]):
        result = maximize_semidefinite(C, others)
        assert result.steps == 0
        assert result.status is Status.CONVERGED
        check(result, C, others, 1e-9)
    A[1] = 0.0
    result = maximize_semidefinite(C, A)
    assert result.y[1] == 0.0
    check(result, C, A, 1e-3)


@pytest.mark.parametrize("C", [np.zeros((5, 5)), -np.eye(5)])
def test_an_objective_that_is_never_positive(C):
    result = maximize_semidefinite(C, instance(5, 8, 0)[1])
    assert result.lower == 0.0 and result.upper <= 1e-12
    assert result.status is Status.CONVERGED


def test_numbers_instead_of_matrices():
    result = maximize_semidefinite([[2.0]], np.array([[[1.0]], [[0.5]]]))
    assert (result.lower, result.upper) == (pytest.approx(2.0, rel=1e-13), pytest.approx(2.0))
    result = maximize_semidefinite([[2.0]], np.array([[[1.0]], [[-0.5]]]))
    assert result.lower == 0.0 and result.upper <= 2e-3


def test_steps_that_run_out():
    C, A = instance(8, 30, 0)
    result = maximize_semidefinite(C, A, 1e-6, max_steps=2)
    assert result.status is Status.MAX_ITER
    assert result.steps == 2
    assert result.lower <= conic.largest(C, A) <= result.upper


def test_what_is_refused():
    C, A = instance(4, 3, 0)
    with pytest.raises(ValueError, match="eps must be a number greater than 0"):
        maximize_semidefinite(C, A, 0.0)
    for bad in (C[:3, :3], np.full((4, 4), np.nan), C[0]):
        with pytest.raises(ValueError, match="C must be a finite matrix of order 4"):
            maximize_semidefinite(bad, A)
