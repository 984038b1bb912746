import numpy as np
import pytest
import scipy.sparse as sp

from hinge import Regularized, Stop, solve
from hinge.access import as_matrix
from hinge.monitoring import Status
from hinge.problems.batch import Batch
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, squared_epsilon_insensitive
from hinge.solvers import FiniteNewton, Newton
from hinge.solvers.newton import finite_newton

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 6)) + 0.5
F = X @ RNG.normal(size=(6, 3)) + 0.5 * RNG.normal(size=(150, 3))
WEIGHT = RNG.uniform(0.5, 2.0, 150) * (np.arange(150) % 5 > 0)


def made(C, loss=SQUARED_HINGE, bias="penalized", rows=X, column=0, weight=WEIGHT):
    y = F[:, column] if loss.two_sided else np.where(F[:, column] > 0, 1, -1)
    return Regularized.from_C(rows, y, C, weight=weight, bias=bias, bias_scale=0.7, loss=loss)


@pytest.mark.parametrize("loss", [SQUARED_HINGE, squared_epsilon_insensitive(0.2)], ids=["labels", "targets"])
@pytest.mark.parametrize("bias", ["none", "penalized"])
def test_restarts_along_C_reach_the_optimum(loss, bias):
    solver = FiniteNewton(1e-9)
    state = solver.init(made(1e-3, loss, bias))
    for C in (1e-3, 0.1, 10.0, 1e3):
        problem = made(C, loss, bias)
        state = solver.advance(problem, solver.restart(problem, state), 100)
        answer = solver.solution(problem, state)
        assert solver.estimate(problem, state) <= 1e-9 and problem.certificate(answer).gap <= 1.1e-9
        assert (answer.alpha[::5] == 0).all() and answer.alpha.any()  # rows without a weight
        np.testing.assert_allclose(answer.w, solve(problem, Newton(), stop=Stop(1e-10)).solution.w, atol=1e-4)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["even", "weighted"])
@pytest.mark.parametrize("small", [True, False])
def test_a_batch_equals_its_members(weight, small, monkeypatch):
    if not small:  # Hessians one by one, updated by the rows that come and go
        monkeypatch.setattr(finite_newton, "SMALL", 0)
        monkeypatch.setattr(finite_newton, "FEW", 0)
    matrix = as_matrix(X)
    members = [made(C, rows=matrix, column=k, weight=weight) for k, C in enumerate((0.01, 1.0, 100.0))]
    together = solve(Batch(members), FiniteNewton(1e-8), stop=Stop(1e-8))
    assert together.status is Status.CONVERGED and together.certificate.gap <= 1e-8
    assert together.certificate.gap == max(one.gap for one in together.certificate.members)
    for member, answer, certificate in zip(
        members, together.solution.members, together.certificate.members, strict=True
    ):
        alone = solve(member, FiniteNewton(1e-8), stop=Stop(1e-8))
        assert certificate.objective == pytest.approx(alone.certificate.objective, rel=2e-8)
        np.testing.assert_allclose(answer.w, alone.solution.w, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["float32", "csr"])
def test_other_storage_gives_the_same_answer(kind):
    rows = X.astype(np.float32)
    stored = rows if kind == "float32" else sp.csr_array(rows.astype(float))
    ours, plain = (solve(made(1.0, rows=one), FiniteNewton(), stop=Stop(1e-10)) for one in (stored, rows.astype(float)))
    np.testing.assert_allclose(ours.solution.w, plain.solution.w, rtol=1e-8)


def test_a_start_at_the_optimum_needs_no_step():
    problem = made(1.0)
    best = solve(problem, FiniteNewton(), stop=Stop(1e-10))
    again = solve(made(1.0), FiniteNewton(1e-9), stop=Stop(1e-9), start=best.solution)
    assert best.n_iter > 1 and again.n_iter == 0 and again.certificate.gap <= 1e-9


def test_rounding_ends_a_run_that_wants_more():
    result = solve(made(1.0), FiniteNewton(), stop=Stop(1e-300))
    assert result.status is Status.STALLED and result.certificate.gap < 1e-12


def test_it_says_what_it_is_not_for():
    assert "smooth losses" in FiniteNewton().rejects(made(1.0, HINGE))
    assert "without a free bias" in FiniteNewton().rejects(made(1.0, bias="free"))
    with pytest.raises(ValueError, match="tol must be a number of at least 0"):
        FiniteNewton(-1.0)


@pytest.mark.parametrize("seed", [1, 4])
def test_separable_rows_are_solved_though_the_gap_stays_as_it_is_for_many_steps(seed):
    rng = np.random.default_rng(seed)
    rows, at = np.zeros((300, 90)), (90 * rng.random((300, 45)) ** 2.6).astype(int)
    np.add.at(rows, (np.arange(300)[:, None], at), rng.exponential(size=at.shape))
    score = rows @ rng.standard_normal(90)
    problem = Regularized(rows, np.where(score > np.median(score), 1, -1), 1e-6, loss=SQUARED_HINGE)
    result = solve(problem, FiniteNewton(1e-3), stop=Stop(1e-3))
    assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-3
