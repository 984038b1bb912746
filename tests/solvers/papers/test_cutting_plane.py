import numpy as np
import pytest
from reference.cutting_plane import cutting_plane
from scipy.optimize import minimize

from hinge.datasets import make_known_optimum
from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized
from hinge.solvers import SDCA, CuttingPlane, solve
from hinge.solvers.papers.cutting_plane import FIRST, FOLDED, simplex_minimum

BIASES = ["none", "penalized"]


def weights(n, seed=5):
    return np.random.default_rng(seed).integers(0, 4, n) / 2.0


def states(solver, problem, T):
    state = solver.init(problem)
    for _ in range(T):
        state = solver.advance(problem, state, 1)
        yield state


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_algorithm_1(tiny, bias, weighted):
    X, y = tiny
    s = weights(60) if weighted else None
    wide = X if bias == "none" else np.column_stack([X, np.full(60, 0.7)])
    problem = Regularized(X, y, 0.05, weight=s, bias=bias, bias_scale=0.7)
    w, alpha, bounds = cutting_plane(wide, y, 0.05, 8, weight=s)
    solver = CuttingPlane(output="last")
    ours = [state.dual for state in states(solver, problem, 8)]
    np.testing.assert_allclose(ours, bounds, rtol=1e-13)
    state = solver.advance(problem, solver.init(problem), 8)
    answer = solver.solution(problem, state)
    np.testing.assert_allclose(answer.w, w[:7], rtol=0, atol=5e-12)
    np.testing.assert_allclose(answer.alpha, alpha, rtol=0, atol=5e-12)
    if bias == "penalized":
        assert answer.b == pytest.approx(0.7 * w[-1], abs=5e-12)


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("output", ["best", "last"])
def test_it_agrees_with_sdca(adult, bias, weighted, output):
    X, y = adult
    s = weights(len(y)) if weighted else None
    problem = Regularized(X, y, 1e-2, bias=bias, weight=s, bias_scale=0.5)
    ours = solve(problem, CuttingPlane(output=output), stop=Stop(1e-4, max_time=20))
    best = solve(problem, SDCA(), stop=Stop(1e-7, max_time=20)).certificate.objective
    assert ours.status is Status.CONVERGED
    assert best * (1 - 2e-7) <= problem.objective(ours.solution) <= best * (1 + 1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_it_reaches_a_known_optimum(weighted):
    for seed in range(4):
        known = make_known_optimum(80, 6, 0.02, noise=0.1, seed=seed)
        weight = np.full(80, 2.5) if weighted else None
        problem = Regularized(known.X_train, known.y_train, 0.02, weight=weight)
        result = solve(problem, CuttingPlane(), stop=Stop(1e-7, max_time=10))
        assert result.status is Status.CONVERGED
        assert problem.objective(result.solution) == pytest.approx(known.objective, rel=2e-7)


def test_the_gap_is_never_below_the_suboptimality_and_never_grows():
    known = make_known_optimum(80, 6, 0.01, noise=0.1, seed=1)
    problem, solver = Regularized(known.X_train, known.y_train, 0.01), CuttingPlane()
    gaps = [np.inf]
    for state in states(solver, problem, 60):
        answer = solver.solution(problem, state)
        certificate = problem.certificate(answer)
        assert answer.alpha.min() >= 0
        assert answer.alpha.max() <= 1
        assert certificate.gap >= (problem.objective(answer) / known.objective - 1) * (1 - 1e-9) - 1e-12
        assert certificate.bound <= known.objective * (1 + 1e-12)
        gaps.append(certificate.gap)
    assert np.all(np.diff(gaps) <= 1e-12)
    assert gaps[-1] < 1e-6


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("capacity", [3, 500])
def test_the_estimate_is_the_gap_and_lambda_w_the_combination(tiny, bias, capacity):
    problem = Regularized(*tiny, 0.05, bias=bias, weight=weights(60))
    solver = CuttingPlane(capacity)
    for state in states(solver, problem, 15):
        answer = solver.solution(problem, state)
        kept = problem.lam * state.w[: problem.d]
        np.testing.assert_allclose(kept, problem.combination(answer.alpha), atol=1e-13)
        certificate = problem.certificate(answer)
        assert certificate.objective == pytest.approx(state.primal, rel=1e-12)
        # The certificate scales α as a whole as far as that helps.
        assert certificate.bound >= state.dual * (1 - 1e-11)
        assert solver.estimate(problem, state) >= certificate.gap * (1 - 1e-11) - 1e-12


@pytest.mark.slow
def test_few_places_are_enough_and_the_bound_does_not_fall(adult):
    problem, solver = Regularized(*adult, 1e-2), CuttingPlane(3)
    bounds = []
    for state in states(solver, problem, 400):
        bounds.append(state.dual)
        assert state.beta.sum() == pytest.approx(1.0, abs=1e-12)
        assert state.used <= FIRST + 3
    assert state.beta[FOLDED] > 0  # some were folded
    assert np.min(np.diff(bounds)) > -1e-10
    best = solve(problem, SDCA(), stop=Stop(1e-7)).certificate.objective
    assert best * 0.99 < bounds[-1] <= best
    roomy = solve(problem, CuttingPlane(), stop=Stop(1e-3))
    tight = solve(problem, CuttingPlane(20), stop=Stop(1e-3, max_iter=2000))
    assert tight.status is roomy.status is Status.CONVERGED
    assert tight.n_iter >= roomy.n_iter


def test_dense_and_compressed_rows_agree(tiny, tiny_csr):
    for bias in BIASES:
        a, b = (
            solve(Regularized(X, y, 0.05, bias=bias), CuttingPlane(), stop=Stop(0, max_iter=12))
            for X, y in (tiny, tiny_csr)
        )
        np.testing.assert_allclose(a.solution.w, b.solution.w, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(a.solution.alpha, b.solution.alpha, rtol=1e-9, atol=1e-9)


def same(one, other):
    assert all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(one, other, strict=True))


def test_pieces_equal_the_whole_while_planes_are_folded(tiny):
    problem, solver = Regularized(*tiny, 0.01), CuttingPlane(3)
    whole = solver.advance(problem, solver.init(problem), 40)
    cut = solver.init(problem)
    for n in (1, 0, 7, 20, 12):
        cut = solver.advance(problem, cut, n)
    same(whole, cut)


def test_a_weight_is_as_many_rows(tiny):
    X, y = tiny
    s = np.random.default_rng(0).integers(0, 3, 60)
    a = solve(Regularized(X, y, 0.05, weight=s), CuttingPlane(), stop=Stop(1e-6))
    b = solve(Regularized(np.repeat(X, s, 0), np.repeat(y, s), 0.05), CuttingPlane(), stop=Stop(1e-6))
    assert a.certificate.objective == pytest.approx(b.certificate.objective, rel=1e-6)


def test_an_iteration_is_a_pass_over_the_rows_with_a_weight(tiny):
    X, y = tiny
    s = weights(60)
    problem, solver = Regularized(X, y, 0.05, weight=s), CuttingPlane()
    solver.advance(problem, solver.init(problem), 5)
    assert problem.matrix.reads == 5 * 7 * np.count_nonzero(s)


@pytest.mark.parametrize("bias", BIASES)
def test_warm_start(adult, bias):
    problem = Regularized(*adult, 1e-2, bias=bias)
    cold = solve(problem, SDCA(), stop=Stop(1e-6))
    again = solve(problem, CuttingPlane(), start=cold.solution, stop=Stop(1e-4))
    assert again.n_iter == 1
    assert again.certificate.objective == pytest.approx(cold.certificate.objective, rel=1e-4)


def test_at_the_optimum_nothing_moves():
    # Two rows, one direction: the first plane is the whole loss as soon as w is known.
    problem, solver = Regularized(np.array([[1.0], [-1.0]]), [1, -1], 2.0), CuttingPlane()
    first, last = (solver.advance(problem, solver.init(problem), n) for n in (2, 30))
    assert solver.solution(problem, last).w == pytest.approx([0.5])
    same(first._replace(t=0), last._replace(t=0))


@pytest.mark.parametrize("bias", BIASES)
def test_degenerate_data(tiny, bias):
    X, y = tiny
    cases = [
        np.column_stack([X, X, X]),
        np.where(np.arange(60)[:, None] % 3 == 0, 0.0, X),
        X[:, :1],
        X * np.array([1, 1, 1, 1, 1, 1, 1e3]),
    ]
    for A in cases:
        result = solve(Regularized(A, y, 0.05, bias=bias), CuttingPlane(), stop=Stop(1e-4, max_iter=5000))
        assert result.status is Status.CONVERGED
    flat = solve(Regularized(np.zeros((60, 2)), y, 0.05), CuttingPlane(), stop=Stop(1e-6))
    assert flat.certificate.objective == pytest.approx(1.0, abs=1e-13)
    assert not flat.solution.w.any()


def test_the_quadratic_program_is_solved_to_rounding():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        m, rank = rng.integers(1, 40), rng.integers(1, 10)
        A = rng.standard_normal((m, rank)) * 10.0 ** rng.integers(-2, 3)
        K, b = A @ A.T, rng.random(m)
        beta, e = np.zeros(m), np.empty(m)
        beta[rng.integers(m)] = 1.0
        simplex_minimum(K, b, beta, e)
        assert beta.min() >= 0
        assert beta.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(e, K @ beta - b, atol=1e-10 * (1 + K.max()))
        assert beta @ e - e.min() <= 1e-11 * (1 + K.diagonal().max())  # a bound on the suboptimality


@pytest.mark.parametrize("capacity", [1, 0, -3])
def test_there_is_room_for_planes(capacity):
    with pytest.raises(ValueError, match="capacity must be a whole number of at least 2"):
        CuttingPlane(capacity)


def test_bad_output():
    with pytest.raises(ValueError, match="output must be one of 'best', 'last', got 'mean'"):
        CuttingPlane(output="mean")


def test_what_it_cannot_solve(tiny):
    with pytest.raises(ValueError, match="CuttingPlane solves Regularized problems, not NormConstrained"):
        solve(NormConstrained(*tiny, 1.0), CuttingPlane())
    with pytest.raises(ValueError, match="no free bias; use bias='penalized', or SDCA"):
        solve(Regularized(*tiny, 0.1, bias="free"), CuttingPlane())


def best(K, b):
    n = len(b)
    found = minimize(
        lambda x: 0.5 * x @ K @ x - b @ x,
        np.full(n, 1 / n),
        jac=lambda x: K @ x - b,
        bounds=[(0, 1)] * n,
        constraints=[{"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return found.fun


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rank", [2, 5, 30])
def test_it_is_the_minimum(seed, rank):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((12, rank)), rng.standard_normal(12)
    K = A @ A.T
    beta, e = np.zeros(12), np.zeros(12)
    beta[seed] = 1.0
    simplex_minimum(K, b, beta, e)
    assert (beta >= 0).all() and beta.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(e, K @ beta - b, atol=1e-10)
    # nobody outside has a smaller gradient than those inside: this proves it
    assert e.min() >= e[beta > 0].max() - 1e-9 * (np.diag(K).max() + np.abs(b).max())
    assert 0.5 * beta @ K @ beta - b @ beta <= best(K, b) + 1e-9


def test_from_the_minimum_it_stays():
    K, b = np.diag([1.0, 2.0, 4.0]), np.zeros(3)
    beta, e = np.array([4.0, 2.0, 1.0]) / 7, np.zeros(3)
    simplex_minimum(K, b, beta, e)
    np.testing.assert_allclose(beta, np.array([4.0, 2.0, 1.0]) / 7, rtol=1e-12)


def test_a_vertex_and_a_single_weight():
    beta, e = np.array([0.5, 0.5]), np.zeros(2)
    simplex_minimum(np.eye(2), np.array([10.0, 0.0]), beta, e)
    assert beta.tolist() == [1.0, 0.0]
    beta, e = np.ones(1), np.zeros(1)
    simplex_minimum(np.array([[3.0]]), np.array([1.0]), beta, e)
    assert beta.tolist() == [1.0] and e.tolist() == [2.0]
