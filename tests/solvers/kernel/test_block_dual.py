import numpy as np
import pytest
from sklearn.svm import SVC

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.monitoring import Status, Stop
from hinge.problems import Expansion, KernelRegularized, NormConstrained
from hinge.solvers import SMO, BlockDual, solve
from hinge.solvers.kernel.block_dual import at_answer

GAMMA, LAM = 0.5, 0.004


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(400) > 0, 1, -1)
    return X, y


def problem_of(points, bias="free", n=400, exact=False, **options):
    X, y = points
    return KernelRegularized(Gram(as_points(X[:n], Gaussian(GAMMA), exact=exact), **options), y[:n], LAM, bias=bias)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize("solver", [BlockDual(), BlockDual(block=8, first=1), BlockDual(block=6, most=16)])
def test_it_finds_the_answer_of_libsvm(points, n, solver):
    X, y = points
    problem = problem_of(points, n=n)
    result = solve(problem, solver, stop=Stop(1e-4))
    assert result.status is Status.CONVERGED
    libsvm = SVC(C=1 / (LAM * n), gamma=GAMMA, tol=1e-8).fit(X[:n], y[:n])
    theirs = libsvm.decision_function(X[:n])
    np.testing.assert_allclose(result.solution.responses + result.solution.b, theirs, atol=0.02)
    loss = np.maximum(0, 1 - y[:n] * theirs).mean()
    w_sq = libsvm.dual_coef_[0] @ (theirs - libsvm.intercept_)[libsvm.support_]
    assert result.certificate.objective <= (LAM / 2 * w_sq + loss) * (1 + 1.1e-4)


@pytest.mark.slow
def test_without_a_bias_it_agrees_with_smo(points):
    ours = solve(problem_of(points, "none", exact=True), BlockDual(block=16), stop=Stop(1e-6)).solution
    smo = solve(problem_of(points, "none", exact=True), SMO(), stop=Stop(1e-8, max_iter=10**6)).solution
    np.testing.assert_allclose(ours.responses, smo.responses, atol=0.01)


def test_the_answer_is_feasible_and_its_responses_are_its_own(points):
    X, y = points
    problem = problem_of(points, exact=True)
    solution = solve(problem, BlockDual(block=16), stop=Stop(1e-3)).solution
    assert (solution.beta * y >= 0).all()
    assert (solution.beta * y <= 1 / (400 * LAM) * (1 + 1e-12)).all()
    assert abs(solution.beta.sum()) < 1e-9 * np.abs(solution.beta).sum()
    K = np.exp(-GAMMA * ((X[:, None] - X) ** 2).sum(2))
    np.testing.assert_allclose(solution.responses, K @ solution.beta, atol=1e-8)


def test_the_dual_never_falls(points):
    problem, solver = problem_of(points), BlockDual(block=16, first=1)
    state, duals = solver.init(problem), []
    for _ in range(30):
        state = solver.advance(problem, state, 1)
        duals.append(state.dual)
    assert (np.diff(duals) >= -1e-12).all()
    assert duals[-1] > duals[0]


def test_it_begins_with_a_subset_and_ends_with_all_it_needs(points):
    problem, solver = problem_of(points), BlockDual(block=8, first=8)
    state = solver.init(problem)
    assert state.rough and state.m == 50  # 400/8, since 400 ≥ 16 · 8
    result = solve(problem, solver, stop=Stop(1e-3))
    assert not result.state.rough
    outside = result.state.order[result.state.m :]
    margins = problem.y * (result.solution.responses + result.solution.b)
    assert (margins[outside] > 1).all()  # those left out have no loss
    assert (result.solution.beta[outside] == 0).all()


def test_a_start_saves_rounds(points):
    problem = problem_of(points)
    cold = solve(problem, BlockDual(block=16), stop=Stop(1e-3))
    warm = solve(problem_of(points), BlockDual(block=16), stop=Stop(1e-3), start=cold.solution)
    assert warm.status is Status.CONVERGED
    assert warm.n_iter < cold.n_iter / 2


def test_few_values_are_computed_twice(points):
    problem = problem_of(points)
    result = solve(problem, BlockDual(), stop=Stop(1e-3))
    support = np.count_nonzero(result.solution.beta)
    assert support * 400 <= problem.kernel_evals <= 400 * 400 + 400


@pytest.mark.parametrize(
    "settings", [{"block": 1}, {"first": 0}, {"most": 1}, {"inner": 0.0}, {"inner": 1.0}, {"margin": 1.0}]
)
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        BlockDual(**settings)


def test_what_it_cannot_solve(tiny):
    with pytest.raises(ValueError, match="BlockDual solves KernelRegularized problems, not NormConstrained"):
        solve(NormConstrained(*tiny, 1.0), BlockDual())


@pytest.mark.parametrize("bias", ["free", "none"])
def test_it_goes_on_from_an_answer_for_another_lam(points, bias):
    """No kernel value is computed again, the certificate at the start is the problem's, and the end is the optimum."""
    weight = np.where(np.arange(300) % 5, 1.0, 0.0)
    gram = problem_of(points, bias, 300).gram
    before, after = (KernelRegularized.from_C(gram, points[1][:300], C, weight=weight, bias=bias) for C in (0.2, 1.0))
    answer = solve(before, BlockDual(), stop=Stop(1e-4)).solution
    start = Expansion(2 * answer.beta, answer.b, 2 * answer.responses, 2 * answer.path, answer.terms + 1)
    evals, state = gram.evals, at_answer(after, BlockDual(), start)
    assert gram.evals == evals
    best = solve(after, BlockDual(), stop=Stop(1e-6)).certificate
    begun = BlockDual().solution(after, state)
    np.testing.assert_array_equal(begun.beta, start.beta)
    certificate = after.certificate(begun)
    assert certificate.bound <= best.objective <= certificate.objective + 1e-9
    result = solve(after, BlockDual(), stop=Stop(1e-4), state=state)
    assert result.certificate.gap <= 1e-4
    assert result.certificate.objective == pytest.approx(best.objective, rel=2e-4)
    np.testing.assert_allclose(result.solution.responses, start_sums(gram, result.solution.beta), atol=1e-4)


def start_sums(gram, beta):
    used = np.flatnonzero(beta)
    return gram.pass_over(used, beta[used], np.arange(gram.n))


@pytest.mark.slow
def test_the_answer_is_the_best_multiple_and_its_certificate_says_so(points):
    """Where C is large, long before the end."""
    X, y = points
    y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    problem = KernelRegularized.from_C(Gram(as_points(X, Gaussian(GAMMA), exact=True)), y, 1e4, bias="free")
    best = solve(problem, BlockDual(first=1), stop=Stop(1e-7)).certificate
    solver, scaled = BlockDual(block=24, first=1), 0
    state = solver.init(problem, 0)
    for _ in range(60):
        state = solver.advance(problem, state, 1)
        answer = solver.solution(problem, state)
        found = problem.certificate(answer)
        assert found.unrounded <= state.gap * (1 + 1e-3) + 1e-9
        assert found.objective - best.objective <= found.gap * max(found.bound, 0.0) * (1 + 1e-9) or found.gap == np.inf
        if state.scale != 1.0:
            scaled += 1
            plain = problem.certificate(answer._replace(beta=state.beta, responses=state.r))
            assert found.gap < plain.gap
    assert scaled > 0


@pytest.fixture
def dear():
    """C is large, so that single precision spoils a small gap: Σ|β| is a million times the responses."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 12))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(300) > 0, 1, -1)
    return X, y, Gaussian(0.005)


def test_single_precision_reaches_gaps_below_its_own_rounding(dear):
    """By the responses that the certificate has summed anew: what β still moves is little."""
    X, y, kernel = dear
    problem = KernelRegularized.from_C(Gram(as_points(X, kernel)), y, 1e4, bias="free")
    result = solve(problem, BlockDual(first=1), stop=Stop(2e-5))
    assert problem.gram.dtype == np.float32 and result.status is Status.CONVERGED
    assert result.state.sharp < np.inf  # which it would not have reached otherwise
    exact = KernelRegularized.from_C(Gram(as_points(X, kernel, exact=True)), y, 1e4, bias="free")
    beta = result.solution.beta
    truth = exact.gram.combine(np.arange(300), beta)
    found = exact.certificate(Expansion(beta, result.solution.b, truth, None, 300))
    assert found.gap <= 2e-5 * (1 + 1e-3)
    off = np.abs(result.solution.responses - truth)
    assert (off <= problem.off(result.solution)).all()


def test_only_responses_of_the_same_answer_are_taken(dear):
    X, y, kernel = dear
    problem = KernelRegularized.from_C(Gram(as_points(X, kernel)), y, 1e4, bias="free")
    solver = BlockDual(first=1)
    state = solver.advance(problem, solver.init(problem, 0), 12)
    answer = solver.solution(problem, state)
    found = problem.certificate(answer)
    assert found.gap > 1.01 * found.unrounded
    problem.sharpened(answer, found, 1.01 * found.unrounded)
    assert problem.again is not None
    taken = solver.refresh(problem, state)
    assert not taken.path.any() and taken.sharp == taken.gap
    truth = Gram(as_points(X, kernel, exact=True)).combine(np.arange(300), taken.beta)
    assert (np.abs(taken.r - truth) <= taken.known).all()
    assert (taken.known <= problem.off(answer) / state.scale * (1 + 1e-9)).all()
    assert solver.refresh(problem, taken) is taken  # once is enough
    later = solver.advance(problem, taken, 1)
    assert solver.refresh(problem, later) is later


def test_it_goes_on_from_an_answer_whose_responses_were_summed_anew(dear):
    X, y, kernel = dear
    problem = KernelRegularized.from_C(Gram(as_points(X, kernel)), y, 1e4, bias="free")
    answer = solve(problem, BlockDual(first=1), stop=Stop(2e-5)).solution
    assert answer.known is not None
    state = at_answer(problem, BlockDual(), answer)
    again = BlockDual().solution(problem, state)
    assert (again.known == answer.known).all() and (again.path == answer.path).all()


def test_rounds_take_more_new_points_where_nearly_all_keep_a_weight(points):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1600, 3)), np.resize([1, -1], 1600)
    local = KernelRegularized(Gram(as_points(X, Gaussian(500.0))), y, LAM, bias="free")  # each stands for itself
    first = BlockDual().advance(local, BlockDual().init(local), 1)
    second = BlockDual().advance(local, first, 1)
    assert second.fresh == first.fresh == 400
    assert np.count_nonzero(second.work >= 0) > 512  # the usual size
    assert solve(local, BlockDual(), stop=Stop(1e-4)).status is Status.CONVERGED
    own = BlockDual(block=16, first=1)  # who asks for a size gets no more
    assert own.advance(local, own.init(local), 3).fresh == 0
    shared = KernelRegularized(Gram(as_points(X, Gaussian(0.01))), np.where(X[:, 0] > 0, 1, -1), LAM, bias="free")
    assert BlockDual().advance(shared, BlockDual().init(shared), 2).fresh < 256  # few keep a weight


def test_working_sets_may_be_larger_than_the_cache():
    """Sets of no more points than the cache has rows took 157 rounds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 3))
    y = np.where(np.sin(3 * X[:, 0]) + X[:, 1] > 0, 1, -1)
    problem = KernelRegularized(Gram(as_points(X, Gaussian(1.0)), 2_000_000), y, 1 / 6000)
    result = solve(problem, BlockDual(), stop=Stop(1e-3, max_iter=60))
    assert result.status is Status.CONVERGED and problem.gram.capacity < 100
    for limit in (9_000_000, 12_000_000, 16_000_000):
        few = KernelRegularized(Gram(as_points(X, Gaussian(1.0)), 2_000_000), y, 1 / 6000)
        assert solve(few, BlockDual(), stop=Stop(1e-3, max_kernel_evals=limit)).status is not Status.CONVERGED
        assert 0 < few.gram.evals <= limit
