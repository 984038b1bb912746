import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Stop
from hinge.problems import Certificate, Expansion, KernelNuClassification, KernelNuRegression, OneClass, Solution
from hinge.problems.svm.nu_forms import KernelOneClass, check_feasible
from hinge.solvers import SDCA, SGD, Frugal, Newton, Pegasos, StaleSDCA, UniformDCA, choose, solve


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 3)) + np.array([2.0, 0.0, 1.0]), rng.uniform(0.5, 1.5, 40)


def beside(X, nu, s, alpha):
    """The certificate of α as kernel values have it."""
    problem = KernelOneClass(Gram(as_points(X, Linear(), exact=True)), nu, weight=s)
    beta = s * alpha
    return problem.certificate(Expansion(beta, 0.0, X @ (beta @ X), np.abs(beta), 1))


@pytest.mark.parametrize("lam", [None, 1.0, 1e-3])
@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_the_certificate_is_that_of_kernel_values(rows, nu, lam):
    X, s = rows
    problem = OneClass(X, nu, weight=s, lam=lam)
    alpha, w = problem.restored(np.random.default_rng(1).random(40))
    found, other = problem.certificate(Solution(w, 0.0, alpha)), beside(X, nu, s, alpha)
    assert found.objective == pytest.approx(other.objective, rel=1e-9)
    assert found.bound == pytest.approx(other.bound, rel=1e-9)
    assert found.gap == pytest.approx(other.gap, rel=1e-6, abs=1e-6)  # each has its own bound on rounding
    assert found.unrounded == pytest.approx(other.unrounded, rel=1e-6, abs=1e-7)
    assert found.b * problem.scale == pytest.approx(other.b, rel=1e-9)
    given = problem.final_answer(Solution(w * 2.0, 7.0, alpha), found)
    np.testing.assert_allclose(given.w, w)
    assert problem.objective(given) == pytest.approx(found.objective, rel=1e-10)
    assert problem.dual(given) == pytest.approx(-0.5 * (w @ w) * problem.scale**2, rel=1e-9)


@pytest.mark.parametrize("start", [0.0, 0.05, 0.9, 1.0])
def test_any_dual_point_is_made_feasible(rows, start):
    X, s = rows
    s = np.where(np.arange(40) % 4, s, 0.0)
    problem = OneClass(X, 0.3, weight=s)
    given = np.clip(start + np.random.default_rng(2).uniform(-0.2, 0.2, 40), 0.0, 1.0)
    given[::3] = start
    alpha, w = problem.restored(given)
    assert problem.share() @ alpha == pytest.approx(0.3, rel=1e-14)
    assert alpha.min() >= 0.0 and alpha.max() <= 1.0 and not alpha[s == 0].any()
    np.testing.assert_allclose(w * problem.scale, (alpha * s) @ X, rtol=1e-12)


def test_rows_at_a_bound_stay_there_where_others_have_room(rows):
    X, _ = rows
    alpha = np.zeros(40)
    alpha[:12] = 1.0
    alpha[12:14] = 0.5
    for nu in (0.31, 0.33):
        moved = OneClass(X, nu).restored(alpha)[0]
        assert (moved[:12] == 1.0).all() and not moved[14:].any()
        assert moved.sum() == pytest.approx(nu * 40)


def test_the_best_bias_is_a_quantile(rows):
    X, s = rows
    problem, r = OneClass(X, 0.25, weight=s), np.random.default_rng(3).random(40)
    rho = -problem.best_bias(r)
    grid = np.linspace(0, 1, 2001)
    costs = [s @ np.maximum(g - r, 0) - 0.25 * s.sum() * g for g in grid]
    assert s @ np.maximum(rho - r, 0) - 0.25 * s.sum() * rho <= min(costs) + 1e-12


@pytest.mark.parametrize("solver", [SDCA(), Newton()], ids=["SDCA", "Newton"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix, np.float32])
def test_both_solvers_find_the_same(rows, solver, layout):
    X, s = rows
    best = solve(OneClass(X, 0.3, weight=s), SDCA(), stop=Stop(1e-6))
    problem = OneClass(layout(X), 0.3, weight=s)
    result = solve(problem, solver, stop=Stop(1e-5))
    assert result.certificate.gap <= 1e-5
    scale = np.linalg.norm(best.solution.w) * (1e-5 if layout is not np.float32 else 1e-4)
    np.testing.assert_allclose(
        result.solution.w * problem.lam, best.solution.w * OneClass(X, 0.3, weight=s).lam, atol=scale
    )


@pytest.mark.parametrize("solver", [SDCA(), Newton()], ids=["SDCA", "Newton"])
def test_rows_about_zero_end_a_run(solver):
    X = np.random.default_rng(0).standard_normal((200, 3))
    result = solve(OneClass(X, 0.8), solver, stop=Stop(1e-3, max_iter=10**6))
    assert result.status.name == "STALLED" and result.n_iter < 10**5
    assert result.certificate.gap >= 1.0 and result.certificate.unrounded == 0.0


@pytest.mark.parametrize(
    "solver", [Pegasos(), SGD(), StaleSDCA(), UniformDCA(), Frugal()], ids=lambda s: type(s).__name__
)
def test_others_say_who_can(rows, solver):
    with pytest.raises(ValueError, match="use SDCA"):
        solve(OneClass(rows[0], 0.3), solver)


def test_what_is_chosen(rows):
    X, _ = rows
    assert isinstance(choose(OneClass(X, 0.3), few_reads=True).solver, SDCA)
    assert isinstance(choose(OneClass(X, 0.3)).solver, SDCA | Newton)


def test_what_is_no_problem(rows):
    with pytest.raises(ValueError, match="nu must lie"):
        OneClass(rows[0], 0.0)
    problem = OneClass(rows[0], 0.3)
    assert problem.certificate(Solution(np.zeros(3))).gap == np.inf
    assert problem.dual(Solution(np.zeros(3))) == -np.inf
    answer = Solution(np.ones(3), 1.0, np.ones(40))
    assert problem.final_answer(answer, Certificate.unknown()) is answer


RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 2))
K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(2))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(40) > 0.3, 1, -1)
T = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(40) + 3.0
S = RNG.uniform(0.5, 2.0, 40)


def gram():
    return Gram(as_points(X, Gaussian(0.4), exact=True))


def best_classes(nu, s):
    """LIBSVM's β, of which the weights of either class sum to νS/2."""
    model = svm.NuSVC(kernel="precomputed", nu=nu, tol=1e-12).fit(K, Y, s)
    beta = np.zeros(40)
    beta[model.support_] = model.dual_coef_[0]
    return model, beta * nu * s.sum() / np.abs(beta).sum()


@pytest.mark.parametrize("nu", [0.1, 0.37, 0.6])
@pytest.mark.parametrize("s", [np.ones(40), S], ids=["plain", "weighted"])
def test_the_certificate_bounds_the_distance_from_the_best(nu, s):
    problem = KernelNuClassification(gram(), Y, nu, weight=s)
    _, star = best_classes(nu, s)
    for mix in (0.0, 0.3, 0.9, 0.999, 1.0):
        beta = mix * star + (1 - mix) * Y * s * np.where(Y > 0, *problem.shares)
        for sign in (1, -1):
            beta[sign == Y] *= problem.mass / np.abs(beta[sign == Y]).sum()
        beta = Y * np.minimum(np.abs(beta), s)
        found = problem.certificate(Expansion(beta, 0.0, K @ beta))
        far, norm = (np.sqrt(b @ K @ b) for b in (beta - star, beta))
        optimum = 0.5 * star @ K @ star
        if found.gap < np.inf:
            assert far**2 <= 0.5 * found.gap * norm**2 * (1 + 1e-6) + 1e-6
            assert found.objective + optimum <= found.gap * optimum * (1 + 1e-6) + 1e-9
        assert found.bound <= -0.5 * star @ K @ star * (1 - 1e-7)
        assert found.objective >= -0.5 * star @ K @ star * (1 + 1e-7)
    assert found.gap < 0.01  # LIBSVM keeps kernel values in single precision


@pytest.mark.parametrize("nu", [0.13, 0.37])
def test_divided_by_its_margin_it_is_the_machine_with_C(nu):
    model, star = best_classes(nu, S)
    problem = KernelNuClassification(gram(), Y, nu, weight=S)
    found = problem.certificate(Expansion(star, 0.0, K @ star))
    answer, lam = problem.in_margins(Expansion(star, found.b, K @ star))
    np.testing.assert_allclose(answer.responses + answer.b, model.decision_function(K), atol=1e-5)
    C = 1.0 / (lam * S.sum())
    with_C = svm.SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, Y, S)
    np.testing.assert_allclose(answer.responses + answer.b, with_C.decision_function(K), atol=1e-4)
    part, _ = problem.in_margins(Expansion(star, found.b, K @ star, None, np.inf))
    np.testing.assert_allclose(part.beta, answer.beta, rtol=1e-3)


def test_where_there_is_no_margin_nothing_is_divided():
    flat = np.array([[0.0], [1.0], [0.0], [1.0]])
    problem = KernelNuClassification(Gram(as_points(flat, Gaussian(1.0), exact=True)), [1, 1, -1, -1], 1.0)
    beta = np.array([1.0, 1.0, -1.0, -1.0])
    answer, lam = problem.in_margins(Expansion(beta, 0.0, np.zeros(4)))
    assert lam == 0.0 and answer.beta is beta
    assert problem.certificate(Expansion(beta, 0.0, np.zeros(4))).gap == np.inf


def test_a_nu_of_more_than_twice_the_lighter_class_is_refused():
    check_feasible(0.5, np.array([1.0, 3.0]))
    for nu in (0.51, 1.0):
        with pytest.raises(ValueError, match=r"specified nu is infeasible: .* more than 0\.5, twice the fraction"):
            check_feasible(nu, np.array([1.0, 3.0]))
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        KernelNuClassification(gram(), Y, 1.0)
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        KernelNuClassification(gram(), np.ones(40), 0.1)


@pytest.mark.sampled
@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_the_gap_of_a_regression_covers_the_optimum(nu, C):
    problem = KernelNuRegression(gram(), T, nu, C, weight=S)
    model = svm.NuSVR(kernel="precomputed", nu=nu, C=C, tol=1e-12).fit(K, T, S)
    star = np.zeros(40)
    star[model.support_] = model.dual_coef_[0]
    best = problem.objective(Expansion(star, float(model.intercept_[0]), K @ star))
    losses = [
        C * (nu * S.sum() * e + S @ np.maximum(0, np.abs(T - K @ star - model.intercept_[0]) - e))
        for e in np.r_[0.0, np.abs(T - K @ star - model.intercept_[0])]
    ]
    assert best == pytest.approx(0.5 * star @ K @ star + min(losses), rel=1e-9)
    for mix in (0.0, 0.5, 0.99, 1.0):
        beta = np.clip(mix * star, -C * S, C * S)
        found = problem.certificate(Expansion(beta, 0.0, K @ beta))
        assert found.objective - best <= found.gap * best * (1 + 1e-9) + 1e-9
        assert found.objective >= best * (1 - 1e-5) and found.bound <= best * (1 + 1e-7)  # best in float32
    assert found.gap < 1e-4


def test_targets_that_are_all_the_same_need_no_w():
    zero = Expansion(np.zeros(40), 0.0, np.zeros(40))
    for value in (0.0, 5.0):
        found = KernelNuRegression(gram(), np.full(40, value), 0.5).certificate(zero)
        assert (found.b, found.objective) == (value, 0.0) and found.gap <= 1e-5
