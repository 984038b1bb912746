import numpy as np
import pytest
import scipy.sparse as sp

from hinge import LinearSVC, LinearSVR, Regularized, Stop, solve
from hinge.access import as_matrix
from hinge.monitoring import Status
from hinge.problems.batch import Batch
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import SDCA, CentralPath, choose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 6)) * [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0] + 0.5
F = (X / np.abs(X).max(0) - 0.3) @ RNG.normal(size=(6, 3)) + 0.3 * RNG.normal(size=(150, 3))
WEIGHT = RNG.uniform(0.5, 2.0, 150) * (np.arange(150) % 5 > 0)
TUBE = epsilon_insensitive(0.2)


def made(C, loss=HINGE, bias="penalized", rows=X, column=0, weight=WEIGHT):
    y = F[:, column] if loss.two_sided else np.where(F[:, column] > 0, 1, -1)
    return Regularized.from_C(rows, y, C, weight=weight, bias=bias, bias_scale=0.7, loss=loss)


@pytest.mark.parametrize("loss", [HINGE, TUBE], ids=["labels", "targets"])
@pytest.mark.parametrize("bias", ["none", "penalized"])
def test_a_dozen_steps_reach_the_optimum_whatever_C_and_the_scales(loss, bias):
    for C in (1e-4, 1.0, 1e4):
        problem = made(C, loss, bias)
        result = solve(problem, CentralPath(1e-8), stop=Stop(1e-8))
        assert result.status is Status.CONVERGED and result.certificate.gap <= 1e-8 and result.n_iter <= 25
        assert (result.solution.alpha[::5] == 0.0).all()  # rows without a weight


def test_the_answer_is_that_of_dual_ascent():
    problem = made(0.1, rows=X / np.abs(X).max(0))
    ours, theirs = (solve(problem, solver, stop=Stop(1e-9)) for solver in (CentralPath(1e-9), SDCA()))
    np.testing.assert_allclose(ours.solution.w, theirs.solution.w, atol=1e-4)
    np.testing.assert_allclose(ours.certificate.objective, theirs.certificate.objective, rtol=1e-8)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["even", "weighted"])
def test_a_batch_equals_its_members(weight):
    matrix = as_matrix(X)
    members = [made(C, rows=matrix, column=k, weight=weight) for k, C in enumerate((0.01, 1.0, 100.0))]
    together = solve(Batch(members), CentralPath(1e-8), stop=Stop(1e-8))
    assert together.status is Status.CONVERGED and together.certificate.gap <= 1e-8
    for member, answer in zip(members, together.solution.members, strict=True):
        alone = solve(member, CentralPath(1e-8), stop=Stop(1e-8))
        np.testing.assert_array_equal(answer.w, alone.solution.w)


@pytest.mark.parametrize("kind", ["float32", "csr"])
def test_other_storage_gives_the_same_answer(kind):
    rows = X.astype(np.float32)
    stored = rows if kind == "float32" else sp.csr_array(rows.astype(float))
    ours, plain = (solve(made(1.0, rows=one), CentralPath(), stop=Stop(1e-8)) for one in (stored, rows.astype(float)))
    np.testing.assert_array_equal(ours.solution.w, plain.solution.w)


@pytest.mark.parametrize("n", [2, 20])
def test_rows_that_say_nothing_are_no_obstacle(n):
    y = np.where(np.arange(n) % 2 > 0, 1, -1)
    for loss in (HINGE, epsilon_insensitive(0.0)):
        result = solve(Regularized(np.zeros((n, 3)), y, 0.1, loss=loss), CentralPath(1e-6), stop=Stop(1e-6))
        assert result.status is Status.CONVERGED and not result.solution.w.any()


def test_a_plane_that_separates_the_rows_is_found_for_any_C():
    rows = RNG.normal(size=(60, 30))
    for C in (1.0, 1e3, 1e6):
        problem = Regularized.from_C(rows, np.where(rows[:, 0] > 0, 1, -1), C)
        assert solve(problem, CentralPath(1e-6), stop=Stop(1e-6)).certificate.gap <= 1e-6


def test_most_dual_weights_are_at_their_bounds():
    for loss in (HINGE, TUBE):
        alpha = np.abs(solve(made(1.0, loss), CentralPath(1e-4), stop=Stop(1e-4)).solution.alpha)
        assert np.count_nonzero((alpha > 0.0) & (alpha < 1.0)) <= 7 + 3  # about as many as there are weights
        assert 0 < np.count_nonzero(alpha) < 140


def test_a_start_is_used():
    problem = made(1.0)
    best = solve(problem, CentralPath(1e-4), stop=Stop(1e-4))
    again = solve(problem, CentralPath(1e-4), stop=Stop(1e-4), start=best.solution)
    assert again.n_iter < best.n_iter and again.certificate.gap <= 1e-4


def test_rounding_ends_a_run_that_wants_more():
    result = solve(made(1.0), CentralPath(), stop=Stop(1e-300))
    assert result.status is Status.STALLED and result.certificate.gap < 1e-10
    matrix = as_matrix(X)
    batch = Batch([made(C, rows=matrix) for C in (1e-6, 1.0)])  # the first is done, or has stalled, long before
    both = solve(batch, CentralPath(1e-300), stop=Stop(1e-300), callbacks=[lambda *_: None])
    assert both.status is Status.STALLED and max(one.gap for one in both.certificate.members) < 1e-10


def test_it_says_what_it_is_not_for():
    with pytest.raises(ValueError, match="hinge loss, not the squared_hinge loss"):
        solve(made(1.0, SQUARED_HINGE), CentralPath())
    assert "no free bias" in CentralPath().rejects(made(1.0, bias="free"))
    assert "d = 300 are many" in CentralPath().rejects(Regularized(np.ones((2, 300)), [1, -1], 1.0))
    with pytest.raises(ValueError, match="tol must be a number of at least 0"):
        CentralPath(-1.0)


def test_small_fits_are_one_run_of_it():
    labels = np.argmax(F - F.mean(0), axis=1)
    model = LinearSVC(loss="hinge").fit(X, labels)
    assert isinstance(model.solver_, CentralPath) and model.gap_ <= 1e-4 and model.n_iter_ <= 25
    assert isinstance(LinearSVR().fit(X, F[:, 0]).solver_, CentralPath)
    narrow = Regularized.from_C(1e3 * X, np.where(labels > 0, 1, -1), 1e6)  # rounding would end its steps
    assert isinstance(choose(made(1.0), tol=1e-6).solver, CentralPath)
    assert not isinstance(choose(narrow, tol=1e-6).solver, CentralPath)
