import numpy as np
import pytest

from hinge.access import as_points
from hinge.kernels import Gaussian, Linear, Sigmoid
from hinge.monitoring import Status, Stop
from hinge.problems import KernelRegularized
from hinge.problems.svm.kernel_batch import KernelBatch, NuClassificationBatch, NuRegressionBatch, OneClassBatch
from hinge.problems.svm.losses import epsilon_insensitive
from hinge.solvers import SMO, ActiveSet, LevelBlocks, solve
from hinge.solvers.kernel import active_batch
from hinge.solvers.kernel.active_batch import (
    _improve_by_rank,
    begin_batch,
    certify_batch,
    is_done,
    solution_of,
    unsolved,
)
from hinge.solvers.kernel.conjugate_steps import pair_steps

X = np.random.default_rng(0).standard_normal((60, 3))
POINTS = as_points(X, Gaussian(0.3), exact=True)


def three(points=POINTS, **options):
    """Three problems over one Gram matrix, on points that overlap."""
    rng = np.random.default_rng(1)
    parts = [np.arange(0, 40), np.arange(20, 60), np.arange(0, 60, 2)]
    labels = [np.where(X[p, k] + 0.5 * rng.standard_normal(len(p)) > 0, 1, -1) for k, p in enumerate(parts)]
    y, cuts = np.concatenate(labels).astype(np.int8), np.cumsum([0, *map(len, parts)])
    weight = rng.integers(1, 3, len(y)).astype(float)
    return KernelBatch(points, np.concatenate(parts), cuts, y, weight, 2.0, **options)


def regression(**options):
    t = 50.0 + X[:, 0] ** 2
    loss = epsilon_insensitive(0.1)
    return KernelBatch(POINTS, np.arange(60), np.array([0, 60]), t, np.ones(60), 2.0, loss=loss, **options)


def nu_pairs():
    order = np.argsort(X[:, 0] < 0.2, kind="stable")
    y = np.where(X[order, 0] < 0.2, -1, 1).astype(np.int8)
    first, other = np.arange(60), np.arange(10, 50)
    rows, cuts = np.concatenate([first, other]), np.array([0, 60, 100])
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 100)
    return NuClassificationBatch(as_points(X[order], Gaussian(0.3), exact=True), rows, cuts, y[rows], weight, 0.3)


def nu_regression():
    return NuRegressionBatch(POINTS, 50.0 + X[:, 0] ** 2, np.random.default_rng(2).uniform(0.5, 2.0, 60), 0.3)


BATCHES = {
    "free": three,
    "unbiased": lambda: three(bias="none"),
    "linear": lambda: three(as_points(X, Linear(), exact=True)),
    "regression": regression,
    "regression-unbiased": lambda: regression(bias="none"),
    "nu-pairs": nu_pairs,
    "nu-regression": nu_regression,
    "one-class": lambda: OneClassBatch(POINTS, np.random.default_rng(2).uniform(0.5, 2.0, 60), 0.3),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_equals_its_members_one_by_one(name):
    batch, tol = BATCHES[name](), 1e-6 if name == "one-class" else 1e-8  # the gap of one class is the root of P - D
    result = solve(batch, ActiveSet(tol=tol), stop=Stop(tol))
    assert result.status is Status.CONVERGED and len(result.history) == 1
    assert result.n_iter == result.state.found["rounds"].sum() == result.history[-1].iteration
    for k, member in enumerate(batch.members):
        other = ActiveSet() if isinstance(member, KernelRegularized) else LevelBlocks()
        alone = solve(member, other, stop=Stop(tol, max_iter=1000))
        mine, own = batch.expansion(result.solution, k), result.certificate.members[k]
        np.testing.assert_allclose(mine.beta, alone.solution.beta, atol=1e-2)
        rows = batch.rows[batch.parts[k]]
        f, theirs = (one.responses[rows] + one.b for one in (mine, alone.solution))
        np.testing.assert_allclose(f, theirs, atol=1e-3)
        assert own.objective == pytest.approx(alone.certificate.objective, rel=1e-7)
        assert own.bound <= alone.certificate.objective + 1e-12 * abs(own.bound)
        again = member.certificate(mine)
        assert own.gap <= tol and again.objective == pytest.approx(own.objective, rel=1e-9)
    assert batch.objective(result.solution) == pytest.approx(result.certificate.objective, rel=1e-7)


@pytest.mark.parametrize("name", BATCHES)
def test_pieces_of_a_run_change_no_bit_of_it(name):
    batch, solver = BATCHES[name](), ActiveSet(tol=1e-6)
    whole, state, calls = solver.advance(batch, solver.init(batch), 10**6), solver.init(batch), 0
    while solver.pause(batch, state):
        state, calls = solver.advance(batch, state, 1), calls + 1
    assert calls == state.t == whole.t and is_done(state, 1e-6).all()
    for one, other in zip(state[:-1], whole[:-1], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["free", "none"])
def test_each_is_what_pairs_of_points_find(bias):
    batch = three(bias=bias)
    result = solve(batch, ActiveSet(tol=1e-6), stop=Stop(1e-6))
    for k, member in enumerate(batch.members):
        alone = solve(member, SMO(), stop=Stop(1e-9, max_iter=10**6))
        assert result.certificate.members[k].objective == pytest.approx(alone.certificate.objective, rel=2e-6)


@pytest.mark.slow
def test_sets_of_points_of_large_problems_are_exchanged(monkeypatch):
    batch, solver = hard_for_pairs(), ActiveSet(tol=1e-6)
    small = solve(batch, solver, stop=Stop(1e-6))
    calls, exchange = [], active_batch._exchange
    monkeypatch.setattr(active_batch, "MOST", 35)
    monkeypatch.setattr(active_batch, "_exchange", lambda *args: calls.append(args) or exchange(*args))
    large = solve(batch, solver, stop=Stop(1e-6))
    assert calls and large.status is Status.CONVERGED
    assert large.certificate.objective == pytest.approx(small.certificate.objective, rel=2e-6)


def hard_for_pairs():
    """One problem for which steps of pairs alone are slow."""
    Z = np.random.default_rng(2).standard_normal((150, 2))
    y = np.where(Z[:, 0] * Z[:, 1] > 0, 1, -1).astype(np.int8)
    points = as_points(Z, Gaussian(0.001), exact=True)
    return KernelBatch(points, np.arange(150), np.array([0, 150]), y, np.ones(150), 1e6)


def test_newton_steps_end_what_pairs_are_slow_to_end(monkeypatch):
    calls, move = [], active_batch._move_on_face
    monkeypatch.setattr(active_batch, "_move_on_face", lambda *args: calls.append(args) or move(*args))
    batch = hard_for_pairs()
    y, result = batch.aims, solve(batch, ActiveSet(tol=1e-6), stop=Stop(1e-6))
    assert calls and result.certificate.gap <= 1e-6
    beta, e = result.solution.beta.copy(), result.solution.responses - y
    assert pair_steps(batch.K, beta, e, batch.lo, batch.hi, 1e-4, 3, 0.0, 80, True) == 0


@pytest.mark.parametrize("name", ["free", "linear", "nu-pairs", "nu-regression", "one-class"])
def test_a_run_that_is_cut_off_has_certificates_of_the_answers_so_far(name):
    batch = BATCHES[name]()
    for rounds in (0, 3):
        result = solve(batch, ActiveSet(tol=1e-9), stop=Stop(1e-9, max_iter=rounds))
        assert result.status is Status.MAX_ITER and result.n_iter == rounds
        for k, (member, own) in enumerate(zip(batch.members, result.certificate.members, strict=True)):
            assert np.isfinite(own.objective)
            mine = batch.expansion(result.solution, k)
            again = member.certificate(mine._replace(responses=mine.beta @ batch.K))
            assert own.objective == pytest.approx(again.objective, rel=1e-9, abs=1e-12)
            assert own.gap == pytest.approx(again.gap, rel=1e-6)


def test_an_earlier_answer_is_taken_up():
    batch, solver = three(), ActiveSet(tol=1e-6)
    first = solve(batch, solver, stop=Stop(1e-6))
    again = solve(batch, solver, stop=Stop(1e-6), start=first.solution)
    assert again.n_iter == 3 < first.n_iter
    outside = first.solution._replace(beta=10.0 * first.solution.beta)
    assert solve(batch, solver, stop=Stop(1e-6), start=outside).n_iter == first.n_iter


def test_a_kernel_that_is_not_positive_has_no_certificates():
    batch = three(as_points(X, Sigmoid(0.5, 0.0), exact=True))
    result = solve(batch, ActiveSet(tol=1e-3), stop=Stop(1e-3))
    assert result.status is Status.STATIONARY and np.isnan(result.certificate.gap)
    assert (result.state.found["gap"] <= 1e-3).all() and np.isfinite(result.solution.biases).all()
    assert "use LevelBlocks" in ActiveSet().rejects(
        NuRegressionBatch(as_points(X, Sigmoid(0.5, 0.0), exact=True), X[:, 0], np.ones(60), 0.3)
    )


def test_rounding_that_hides_an_answer_is_reduced():
    """Values of 1e6 beside margins of 1: sums in float64 certify less than their members can be certified for."""
    rng = np.random.default_rng(0)
    Z = 3e4 + rng.standard_normal((40, 2))
    y = np.where(Z[:, 0] > 3e4, 1, -1).astype(np.int8)
    batch = KernelBatch(as_points(Z, Linear(), exact=True), np.arange(40), np.array([0, 40]), y, np.ones(40), 10.0)
    solver = ActiveSet(tol=1e-6)
    state = solver.advance(batch, solver.init(batch), 200)
    found = certify_batch(batch, state, 1e-6)
    member = batch.members[0]
    answer = batch.expansion(solver.solution(batch, state), 0)
    sharp = member.sharpened(answer, member.certificate(answer), 1e-6)
    assert found.gap == pytest.approx(sharp.gap, rel=1e-6)


def test_unsolved_members_say_so():
    found = unsolved(2)
    assert found.shape == (2,)
    assert np.isinf(found["gap"]).all() and np.isnan(found["primal"]).all()


@pytest.mark.parametrize("known", [1e3, 1e-300])
def test_a_stalled_member_keeps_the_certificate_of_its_own_coefficients(known):
    y, cuts = np.where(X[:, 0] > 0.2, 1, -1).astype(np.int8), np.array([0, 60])
    batch = KernelBatch(POINTS, np.arange(60), cuts, y, np.ones(60), 10.0)
    state = begin_batch(batch)
    state.found["gap"], state.found["work"] = known, np.inf
    _improve_by_rank(batch, state, 0, 0.0)
    if known < 1.0:  # a certificate that cannot be had again
        assert state.found["gap"][0] == known and not state.beta.any()
    else:
        answer = batch.expansion(solution_of(batch, state), 0)
        found = batch.members[0].certificate(answer._replace(responses=answer.beta @ batch.K))
        assert state.found["gap"][0] == pytest.approx(found.gap, rel=0.5) and found.gap <= 1e-6
