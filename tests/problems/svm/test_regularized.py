from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from hinge.datasets import make_known_optimum
from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.problems.svm.regularized import best_multiple
from hinge.solvers import SDCA, Newton, solve

BIASES = ["none", "free", "penalized"]


def test_objective_by_hand():
    problem = Regularized([[3.0, 4.0], [0.0, 1.0]], [1, -1], 0.5)
    w = np.array([0.1, 0.2])
    assert problem.objective(Solution(w)) == pytest.approx(0.25 * 0.05 + 0.6)
    assert problem.objective(Solution(w, b=-1.0)) == pytest.approx(0.25 * 0.05 + 0.55)
    assert problem.matrix.reads == 0


def test_dual_by_hand():
    # α = (1, 1): Σcα = 1 and Σcαyx = (3, 3)/2, so D(sα) = s - s²·4.5/(2·5) with the best s ≤ 1.
    problem = Regularized([[3.0, 4.0], [0.0, 1.0]], [1, -1], 5.0)
    assert problem.dual(Solution(np.zeros(2), alpha=np.ones(2))) == pytest.approx(1 - 0.45)
    assert problem.dual(Solution(np.zeros(2), alpha=np.zeros(2))) == 0.0
    assert problem.dual(Solution(np.zeros(2))) == -np.inf
    small = Regularized([[3.0, 4.0], [0.0, 1.0]], [1, -1], 0.5)  # s = 1/9
    assert small.dual(Solution(np.zeros(2), alpha=np.ones(2))) == pytest.approx(1 / 18)


def test_dual_with_a_penalised_bias_by_hand():
    # Two positive rows: Σcαy = 1, and the constant feature adds 0.7² to the norm.
    problem = Regularized(np.eye(2), [1, 1], 2.0, bias="penalized", bias_scale=0.7)
    assert problem.dual(Solution(np.zeros(2), alpha=np.ones(2))) == pytest.approx(1 - (0.5 + 0.49) / 4)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_dual_is_scaled_to_the_best_factor(tiny, bias, weighted):
    X, y = tiny
    rng = np.random.default_rng(0)
    s = rng.random(60) if weighted else np.ones(60)
    problem = Regularized(X, y, 0.3, bias=bias, weight=s if weighted else None)
    c = s / s.sum()
    for _ in range(5):
        alpha = problem.balanced(rng.random(60) * 0.6)
        z = (c * alpha * y) @ X
        sq = z @ z + (((c * alpha) @ y) ** 2 if bias == "penalized" else 0.0)

        def negative(f, alpha=alpha, sq=sq):
            return -(f * (c @ alpha) - f * f * sq / 0.6)

        best = minimize_scalar(negative, bounds=(0, 1 / alpha.max()), method="bounded", options={"xatol": 1e-12})
        assert problem.dual(Solution(np.zeros(7), alpha=alpha)) == pytest.approx(-best.fun, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_dual_point_is_below_any_primal_one(tiny, bias, weighted):
    X, y = tiny
    rng = np.random.default_rng(1)
    s = rng.integers(0, 3, 60) * 1.0 if weighted else None
    problem = Regularized(X, y, 0.05, bias=bias, weight=s)
    duals, primals = [], []
    for _ in range(40):
        w = rng.standard_normal(7) * rng.random()
        alpha = np.clip(rng.normal(0.5, 1, 60), 0, 1)
        certificate = problem.certificate(Solution(w, 0.3 if bias == "penalized" else 0.0, alpha))
        duals.append(certificate.bound)
        primals.append(certificate.objective)
        assert certificate.gap >= 0
        assert certificate.gap == pytest.approx((certificate.objective - certificate.bound) / certificate.bound)
        assert problem.objective(Solution(w, certificate.b)) == pytest.approx(certificate.objective)
    assert max(duals) < min(primals)
    assert min(duals) > 0


def test_certificate_finds_the_free_bias(tiny):
    X, y = tiny
    problem = Regularized(X, y, 0.05, bias="free")
    w = np.ones(7) / 7
    certificate = problem.certificate(Solution(w, b=99.0))
    assert certificate.b == problem.best_bias(X @ w)
    assert certificate.objective == pytest.approx(problem.objective(Solution(w, certificate.b)))
    assert certificate.objective < problem.objective(Solution(w, certificate.b + 0.3))
    assert certificate.objective < problem.objective(Solution(w, certificate.b - 0.3))
    assert certificate.gap == np.inf


@pytest.mark.parametrize("density", [1.0, 0.5])
def test_known_optimum_has_no_gap(density):
    for seed in range(5):
        known = make_known_optimum(100, 8, 0.01, density=density, seed=seed)
        X = known.X_train if density == 1 else known.X_train.toarray()
        problem = Regularized(X, known.y_train, known.lam)
        certificate = problem.certificate(Solution(known.w_star, alpha=known.alpha_star))
        assert certificate.gap <= 1e-12
        assert certificate.objective == pytest.approx(known.objective, rel=1e-12)


def test_certificate_is_billed_and_objective_is_not(tiny_csr):
    S, y = tiny_csr
    problem = Regularized(S, y, 0.1)
    alpha = (np.arange(60) < 10) * 0.5
    problem.objective(Solution(np.ones(7), alpha=alpha))
    assert problem.matrix.reads == 0
    problem.certificate(Solution(np.ones(7), alpha=alpha))
    assert problem.matrix.reads == S.nnz + S.indptr[10]


@pytest.mark.slow
@given(st.floats(1e-3, 1e3), st.lists(st.floats(0.1, 5), min_size=3, max_size=3))
def test_C_is_liblinears(C, weight):
    X, y, w = np.array([[1.0, 2], [0, 1], [1, 0]]), np.array([1, -1, 1]), np.array([0.3, -0.2])
    problem = Regularized.from_C(X, y, C, weight=weight)
    theirs = 0.5 * w @ w + C * np.array(weight) @ np.maximum(0, 1 - y * (X @ w))
    assert problem.objective(Solution(w)) * C * sum(weight) == pytest.approx(theirs)


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf])
def test_parameters_are_positive(bad):
    with pytest.raises(ValueError, match="lam must be a positive number, got"):
        Regularized(np.eye(2), [1, -1], bad)
    with pytest.raises(ValueError, match="C must be a positive number, got"):
        Regularized.from_C(np.eye(2), [1, -1], bad)


def test_the_gap_in_its_unit():
    problem = Regularized(np.eye(2), [1, -1], 1.0)
    assert problem.relative(1.1, 1.0) == pytest.approx(0.1)
    assert problem.relative(1.0, 1.0 + 1e-15) == problem.relative(0.0, 0.0) == 0.0
    assert problem.relative(1.0, 0.0) == problem.relative(1.0, -1.0) == np.inf


@pytest.mark.slow
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
@given(
    m=st.lists(st.floats(-2.0, 3.0), min_size=1, max_size=8), sq=st.floats(1e-3, 10.0), c=st.lists(st.floats(0.01, 1.0))
)
def test_the_best_multiple_is_a_minimum(loss, m, sq, c):
    m, c = np.array(m), np.resize([1.0, *c], len(m)) / len(m)

    def cost(s):
        return 0.5 * s * s * sq + float(loss.values(1.0 - s * m) @ c)

    s = best_multiple(m, c, sq, loss)
    assert s >= 0.0
    for other in (0.0, 0.5 * s, s * (1 - 1e-6), s * (1 + 1e-6), 2.0 * s, 1.0):
        assert cost(s) <= cost(other) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("bias", BIASES)
def test_a_multiple_of_an_answer_is_certified_where_the_answer_itself_is_short_of_a_margin(loss, bias):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((20, 60)), np.resize([1, -1], 20)  # orthogonal enough to be separable
    problem = Regularized(X, y, 1e-9, bias=bias, loss=loss)
    best = solve(problem, SDCA(), stop=Stop(tol=1e-6)).solution
    short = Solution(0.99 * best.w, 0.99 * best.b, best.alpha)
    plain = problem.certificate(short)
    assert plain.gap > 1e3
    sharp = problem.sharpened(short, plain, 1e-3)
    assert sharp.gap <= 1e-3 and sharp.bound == plain.bound
    given_out = problem.final_answer(short, sharp)
    np.testing.assert_allclose(given_out.w, best.w, rtol=1e-3, atol=1e-6)
    assert problem.objective(given_out) <= sharp.objective
    assert problem.sharpened(short, plain, 0.0) is plain  # nothing is that good
    assert problem.sharpened(short, plain, 1e9) is plain  # it is good enough as it is


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_the_rounding_of_a_sum_that_a_solver_has_updated_is_bounded(weighted, started):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)) + 3.0, np.where(rng.random(40) < 0.5, 1, -1)
    s = rng.uniform(0.1, 3.0, 40) if weighted else None
    problem, solver = Regularized(X, y, 1e-3, weight=s), SDCA()
    start = Solution(np.zeros(3), alpha=rng.random(40)) if started else None
    state = solver.advance(problem, solver.init(problem, start=start), 4000)
    answer = solver.solution(problem, state)
    shares = [Fraction(1)] * 40 if s is None else [*map(Fraction, s)]
    coef = [share * Fraction(a) * int(k) for share, a, k in zip(shares, answer.alpha, y, strict=True)]
    z = [sum(c * Fraction(x) for c, x in zip(coef, column, strict=True)) / sum(shares) for column in X.T]
    off = [Fraction(one) - Fraction(problem.lam) * Fraction(w) for one, w in zip(z, answer.w, strict=True)]
    bound = problem.combination_error(answer.mass, chain=answer.chain)
    assert 0.0 < float(sum(o * o for o in off)) ** 0.5 < bound < 1e-6 * float(sum(o * o for o in z)) ** 0.5


def test_a_certificate_does_not_add_up_the_rows_again_where_the_solver_knows_their_sum(tiny_csr):
    X, y = tiny_csr
    problem = Regularized(X, y, 0.01)
    answer = solve(problem, SDCA(), stop=Stop(tol=1e-3)).solution
    solver = SDCA()
    state = solver.advance(problem, solver.init(problem), 5 * problem.n)
    known = solver.solution(problem, state)
    plain = Solution(*known)
    spent = []
    for one in (known, plain, known._replace(b=0.0)):  # nobody can tell what was replaced
        before = problem.matrix.reads
        spent.append((problem.certificate(one), problem.matrix.reads - before))
    (with_sum, once), (without, twice), (again, as_much) = spent
    assert once == problem.matrix.n_cells < twice == as_much
    assert again == without and with_sum.bound <= without.bound
    assert with_sum.bound == pytest.approx(without.bound, rel=1e-10)
    known.mass = 1e9  # as after very many updates
    assert problem.certificate(known).bound == without.bound
    assert type(answer) is Solution  # what is returned may be changed by anyone


@pytest.mark.parametrize("bias", ["none", "penalized"])
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
def test_sums_in_twice_the_precision_are_a_bound_where_plain_ones_prove_nothing(loss, bias):
    rng = np.random.default_rng(0)
    X = 1e4 * rng.standard_normal((2000, 3))
    y = np.where(X[:, 0] + 1e4 * rng.standard_normal(2000) > 0, 1, -1)
    problem = Regularized(X, y, 1e-14, loss=loss, bias=bias)
    answer = solve(problem, Newton(), stop=Stop(tol=1e-6, max_iter=300)).solution
    plain = problem.certificate(answer)
    fine = problem.sharpened(answer, plain, 1e-9)
    assert fine.gap < 0.5 * plain.gap and fine.objective == plain.objective
    # D at the best multiple of α, which the rounded products define, in rational arithmetic
    coef = [Fraction(c) for c in answer.alpha * problem.y * problem.share()]
    z = [sum(c * Fraction(x) for c, x in zip(coef, column, strict=True)) for column in X.T]
    pull = sum(coef) ** 2 * Fraction(problem.constant_sq)
    quadratic = (sum(v * v for v in z) + pull) / Fraction(problem.lam)
    quadratic += Fraction(loss.curvature) * sum(c * c for c in coef) * problem.n
    linear, largest = sum(abs(c) for c in coef), max(abs(c) for c in coef) * problem.n
    scale = linear / quadratic if loss.curvature else min(linear / quadratic, 1 / largest)
    exact = scale * linear - scale * scale * quadratic / 2
    assert fine.bound <= exact and float(exact) == pytest.approx(fine.bound, rel=1e-6)


def test_sums_are_not_made_again_where_their_rounding_is_not_the_gap(tiny):
    problem = Regularized(*tiny, 0.1)
    answer = solve(problem, SDCA(), stop=Stop(tol=0.1, max_iter=10**5)).solution
    found, before = problem.certificate(answer), problem.reads
    assert problem.sharpened(answer, found, 0.9 * found.gap) == found and problem.reads == before
