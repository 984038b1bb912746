import numpy as np
import pytest
from sklearn import svm

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.problems import Expansion, KernelNuClassification, KernelNuRegression
from hinge.problems.svm.nu_forms import check_feasible

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
