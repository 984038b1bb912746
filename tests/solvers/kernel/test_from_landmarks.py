"""Exact runs that begin with landmarks: every answer on the way is certified, and the better of both is given."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from hinge import SVC, Stop, solve
from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Status
from hinge.problems import KernelRegularized
from hinge.problems.svm.losses import epsilon_insensitive
from hinge.solvers import ActiveSet, BlockDual, FromLandmarks, choose
from hinge.solvers.kernel import from_landmarks


def moons(n=900, kernel=None, tube=False, cache=200_000_000, **options):
    X, y = make_moons(n, noise=0.3, random_state=0)
    y = np.sin(3.0 * X[:, 0]) if tube else 2.0 * y - 1.0
    loss = {"loss": epsilon_insensitive(0.1)} if tube else {}
    gram = Gram(as_points(X, kernel or Gaussian(2.0)), cache)
    return KernelRegularized(gram, y, 1.0 / n, **{"bias": "free", **loss, **options})


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(from_landmarks, "CHUNK", 64)


SOLVER = FromLandmarks(BlockDual(block=16))  # whose first subset is a part


@pytest.mark.parametrize("options", [{}, {"bias": "none"}, {"tube": True}, {"weight": 1.0 + np.arange(900) % 3}])
def test_every_answer_on_the_way_is_certified_truly(options, small_pieces):
    best = solve(moons(**options), ActiveSet(), stop=Stop(1e-9)).certificate.objective
    problem, solver = moons(**options), SOLVER
    state, kinds, bounds = solver.init(problem), set(), []
    for _ in range(400):
        state = solver.advance(problem, state, 1)
        answer = solver.solution(problem, state)
        found = problem.certificate(answer)
        assert found.bound <= best * (1 + 1e-9) and best <= found.objective * (1 + 1e-9)
        kinds.add((answer.dual is None, state.waiting > 0, state.exact.rough))
        bounds.append(found.bound)
        if found.gap <= 1e-3:
            break
        if solver.estimate(problem, state) <= 1e-3:  # as the driver does
            state = solver.refresh(problem, state)
    assert found.gap <= 1e-3 and bounds[0] > 0.0
    assert {(False, True, True), (True, False, False)} <= kinds


def test_a_run_that_is_cut_off_has_a_finite_gap(small_pieces):
    gaps = [solve(moons(), SOLVER, stop=Stop(1e-3, max_iter=k)).certificate.gap for k in (1, 4, 12)]
    assert np.isfinite(gaps).all() and gaps[0] > gaps[1] >= gaps[2]
    assert np.isfinite(solve(moons(), SOLVER, stop=Stop(1e-3, max_time=1e-6)).certificate.gap)


def test_a_cut_off_run_has_the_bound_of_the_exact_run_and_the_answer_of_the_landmarks(small_pieces):
    problem = moons()
    result = solve(problem, SOLVER, stop=Stop(1e-3, max_iter=3))
    assert result.status is Status.MAX_ITER and np.count_nonzero(result.solution.beta) <= 32
    assert result.certificate.objective == pytest.approx(result.state.primal, rel=1e-3)
    dual = np.zeros(problem.n)
    inside = result.state.exact.order[: result.state.exact.m]
    dual[inside] = result.state.landmarks.dual[inside]
    assert np.array_equal(result.solution.dual, dual) and abs(dual.sum()) <= 2.0 * problem.boxes.max()


def test_a_start_replaces_the_landmarks(small_pieces):
    problem = moons()
    first = solve(problem, SOLVER, stop=Stop(1e-3)).solution
    again = solve(moons(), SOLVER, stop=Stop(1e-3), start=first)
    assert again.state.landmarks.t == 0 and again.n_iter <= 5


def test_a_large_gap_is_that_of_landmarks():
    result = solve(moons(), SOLVER, stop=Stop(0.5))
    assert result.status is Status.CONVERGED and result.state.exact.t <= 1


def test_it_is_chosen_where_rows_exceed_the_cache():
    assert isinstance(choose(moons(6000, cache=20_000_000)).solver, FromLandmarks)
    assert isinstance(choose(moons(6000)).solver, BlockDual)
    assert isinstance(choose(moons(6000, Linear(), cache=20_000_000)).solver, BlockDual)  # rows are short


def test_a_fit_that_is_cut_off_says_what_its_coefficients_are():
    X, y = make_moons(6000, noise=0.3, random_state=0)
    small = dict(gamma=2.0, cache_size=20)
    with pytest.warns(match="max_iter"):
        model = SVC(**small, max_iter=1).fit(X, y)
    assert isinstance(model.solver_, FromLandmarks) and np.isfinite(model.gap_) and len(model.support_) <= 77
    with pytest.raises(ValueError, match="coefficients of landmarks"):
        model.calibrate(X, y)
    with pytest.warns(match="max_iter"):
        model = SVC(**small, max_iter=2, probability=True).fit(X, y)
    assert isinstance(model.solver_, BlockDual)  # whose coefficients are dual weights at any time


@pytest.mark.parametrize("most", [64, 512])
def test_on_a_device_the_landmarks_are_one_step_if_a_block_does_not_hold_all_points(most):
    pytest.importorskip("torch")
    from hinge.access.gram.device import DeviceGram
    from hinge.solvers import DeviceBlock

    X, y = make_moons(600, noise=0.3, random_state=0)
    gram = DeviceGram(X, Gaussian(2.0), "cpu", "float64")
    problem = KernelRegularized(gram, 2.0 * y - 1.0, 1.0 / 600, bias="free")
    solver = FromLandmarks(DeviceBlock(block=32, most=most))
    first = solve(problem, solver, stop=Stop(1e-3, max_iter=1))
    assert np.isfinite(first.certificate.gap) and first.state.waiting == 0
    assert (first.state.landmarks.t == 1) == (most == 64)
    assert (first.solution.dual is not None) == (most == 64)
    assert solve(problem, solver, stop=Stop(1e-3)).status is Status.CONVERGED


def test_on_a_device_a_dual_point_that_is_too_long_is_shortened():
    pytest.importorskip("torch")
    from hinge.access.gram.device import DeviceGram
    from hinge.solvers import DeviceBlock

    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 8)).astype(np.float32)
    y = X[:, 0] + 0.3 * rng.standard_normal(1000)
    gram = DeviceGram(X, Gaussian(0.1), "cpu")
    problem = KernelRegularized.from_C(gram, y, 10.0, bias="free", loss=epsilon_insensitive(0.1))
    solver = FromLandmarks(DeviceBlock(block=32, most=64))
    state = solver.advance(problem, solver.init(problem), 1)
    dual = problem.feasible(state.landmarks.dual)
    r = gram.pass_over(np.flatnonzero(dual), dual[dual != 0.0], np.arange(1000)).numpy()
    assert y @ dual - 0.1 * np.abs(dual).sum() < 0.5 * dual @ r  # a negative dual objective
    assert state.exact.dual > 0.0 and solver.estimate(problem, state) < 1e3
    start = solve(problem, DeviceBlock(), stop=Stop(1e-2)).solution
    # Any other start is left as it is, so that points at their bounds stay there.
    assert np.array_equal(gram.host(DeviceBlock().init(problem, 0, start).lines.beta[0]), problem.dual_point(start))
    assert (np.abs(problem.dual_point(start)) == problem.boxes).any()
