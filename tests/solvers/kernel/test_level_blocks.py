import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM

import hinge
from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Status, Stop
from hinge.problems import KernelNuClassification, KernelNuRegression, KernelRegularized
from hinge.problems.svm.nu_forms import KernelOneClass
from hinge.solvers import LevelBlocks, solve
from hinge.solvers.kernel.level_blocks import _worst, completed

GAMMA = 0.5


def cloud(n=300, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 2))


def problem_of(X, nu=0.1, **options):
    return KernelOneClass(Gram(as_points(X, Gaussian(GAMMA), exact=True)), nu, **options)


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.02, 0.2, 0.7])
@pytest.mark.parametrize("solver", [LevelBlocks(), LevelBlocks(first=16, block=8), LevelBlocks(first=20, growth=2)])
def test_it_finds_the_level_of_libsvm(nu, solver):
    X = cloud()
    result = solve(problem_of(X, nu), solver, stop=Stop(1e-4))
    assert result.status is Status.CONVERGED
    libsvm = OneClassSVM(gamma=GAMMA, nu=nu, tol=1e-9).fit(X)
    theirs = libsvm.decision_function(X)
    scale = libsvm.dual_coef_.sum() / result.solution.beta.sum()
    np.testing.assert_allclose(scale * (result.solution.responses + result.solution.b), theirs, atol=0.02 * nu * 300)


def test_the_share_outside_is_nu():
    result = solve(problem_of(cloud(), 0.1), LevelBlocks(first=32, block=16), stop=Stop(1e-4))
    outside = (result.solution.responses + result.solution.b < -1e-3).mean()
    assert outside <= 0.1 <= (result.solution.beta > 0).mean()


def test_every_alpha_is_in_its_box_and_their_sum_is_right():
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    problem = problem_of(cloud(), 0.3, weight=weight)
    solver = LevelBlocks(first=16, block=8)
    state = solver.init(problem)
    for _ in range(40):
        state = solver.advance(problem, state, 1)
        beta = solver.solution(problem, state).beta
        assert (beta >= 0).all()
        if state.scored == 300 and np.array_equal(state.alpha[0], state.known):
            assert (beta <= weight * (1 + 1e-9)).all()
            assert beta.sum() == pytest.approx(0.3 * weight.sum(), rel=1e-9)
    assert state.m == 300


def test_the_subset_grows_fourfold():
    problem, solver = problem_of(cloud()), LevelBlocks(first=16, block=8)
    state, sizes = solver.init(problem), []
    while solver.pause(problem, state):
        state = solver.advance(problem, state, 1)
        sizes.append(state.m)
    assert sorted(set(sizes)) == [16, 64, 256, 300]
    assert sizes == sorted(sizes)


def test_the_worst_of_a_mask():
    e = np.array([0.1, -5.0, 3.0, -0.2, 4.0])
    mask = np.array([True, True, True, True, False])
    assert sorted(_worst(mask, e, 2).tolist()) == [1, 2]
    assert _worst(mask, e, 9).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "settings", [{"block": 1}, {"first": 1}, {"growth": 1}, {"most": 1}, {"inner": 1.0}, {"rough": 0}]
)
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        LevelBlocks(**settings)


def test_what_it_cannot_solve():
    X = cloud(20)
    problem = KernelRegularized(Gram(as_points(X, Gaussian(GAMMA))), np.where(X[:, 0] > 0, 1, -1), 0.1)
    with pytest.raises(ValueError, match=r"LevelBlocks solves KernelOneClass, .* problems, not KernelRegularized"):
        solve(problem, LevelBlocks())


def with_nu(kind, n=300, **options):
    X = cloud(n)
    gram = Gram(as_points(X, Gaussian(GAMMA), exact=True))
    if kind == "classes":
        return KernelNuClassification(gram, np.where(X[:, 0] > 1.2, 1, -1), 0.1, **options)
    return KernelNuRegression(gram, np.sin(3 * X[:, 0]) + X[:, 1], 0.3, 5.0, **options)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["classes", "regression"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_either_sign_are_right_all_the_way(kind, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 300) if weighted else None
    problem, solver = with_nu(kind, weight=weight), LevelBlocks(first=16, block=8)
    state = solver.init(problem)
    while solver.pause(problem, state):
        state = solver.advance(problem, state, 1)
        if state.scored < state.m:
            continue
        sign, rows = problem.sign[:, state.order[: state.m]], state.order[: state.m]
        s, alpha = np.broadcast_to(problem.boxes[rows], sign.shape), state.alpha[:, : state.m]
        assert ((alpha >= 0) & (alpha <= s)).all()
        for one, share in zip(problem.signs, problem.shares, strict=True):
            assert alpha[sign == one].sum() == pytest.approx(share * s[sign == one].sum(), rel=1e-9)
    assert state.m == 300 and state.gap < 1e-9
    answer = solver.solution(problem, state)
    beta = np.empty(300)
    beta[state.order] = (problem.sign[:, state.order] * state.alpha).sum(axis=0)
    np.testing.assert_array_equal(answer.beta, beta)


def test_every_beginning_has_both_classes():
    problem = with_nu("classes")
    order = LevelBlocks(first=16).init(problem, 3).order
    rare = problem.y[order] > 0
    assert 0 < rare.mean() < 0.2 and rare[:2].sum() == 1
    for m in (16, 64, 200):
        assert rare[:m].mean() == pytest.approx(rare.mean(), abs=1 / 16)
    assert not np.array_equal(order, LevelBlocks(first=16).init(problem, 4).order)


@pytest.mark.parametrize("kind", ["classes", "regression"])
def test_a_start_is_made_feasible_and_gone_on_from(kind):
    problem = with_nu(kind)
    first = solve(problem, LevelBlocks(), stop=Stop(1e-6))
    again = solve(problem, LevelBlocks(), stop=Stop(1e-6), start=first.solution)
    assert again.n_iter <= 2 and again.certificate.gap <= 1e-6
    alpha = completed(problem, 0.5 * first.solution.beta)
    for one in problem.signs:
        assert alpha[problem.sign == one].sum() == pytest.approx(problem.mass)
    assert ((alpha >= 0) & (alpha <= problem.boxes)).all()
    if kind == "regression":  # what lacks is common to both copies, and moves no response
        np.testing.assert_allclose((problem.sign * alpha).sum(axis=0), 0.5 * first.solution.beta, atol=1e-9)


def test_an_answer_of_a_subset_claims_nothing():
    for kind in ("classes", "regression"):
        problem, solver = with_nu(kind), LevelBlocks(first=16, block=8)
        state = solver.advance(problem, solver.init(problem), 2)
        answer = solver.solution(problem, state)
        assert answer.terms == np.inf and problem.certificate(answer).is_unknown


def test_a_grown_subset_has_no_gap_until_it_is_measured():
    X = np.random.default_rng(0).normal(size=(300, 20))
    problem = KernelNuRegression(X, X @ np.arange(20.0), 0.5, 1e-3, Linear())
    assert solve(problem, LevelBlocks(first=32), stop=Stop(0.01)).status is Status.CONVERGED


def test_a_slow_ascent_ends():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 20)) * 10.0 ** rng.integers(-3, 10, size=20)
    with pytest.warns(ConvergenceWarning):
        model = hinge.OneClassSVM(kernel="poly", nu=0.1).fit(X)
    assert model.n_iter_ < 300


def test_rounding_larger_than_what_is_wrong_is_not_worked_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2)) + 1e4  # kernel values of 1e24, and targets near 1
    with pytest.warns(ConvergenceWarning):
        model = hinge.NuSVR(kernel="poly").fit(X, rng.normal(size=1200))
    assert np.abs(model.predict(X)).max() < 10.0


def test_newton_steps_keep_the_sums_where_the_kernel_has_rank_one():
    """Seven values of one column, cubed: the equations of a step are singular, and what they lose is no step."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((400, 1)))
    y = X[:, 0] * 0.1 + 0.1 * rng.standard_normal(400)
    weight = rng.integers(0, 3, 400).astype(float)
    for nu in (0.3, 0.8):
        model = hinge.NuSVR(nu=nu, kernel="poly", tol=1e-6, solver="levelblocks").fit(X, y, sample_weight=weight)
        assert model.stop_reason_ == "converged"
        beta = np.asarray(model.dual_coef_)
        assert abs(beta.sum()) < 1e-9 and np.abs(beta).sum() <= nu * weight.sum() * (1 + 1e-9)
