"""The kernel one-class SVM."""

import numpy as np
import pytest
from scipy.optimize import minimize

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.problems import Expansion
from hinge.problems.svm.nu_forms import KernelOneClass


@pytest.fixture(scope="module")
def small():
    X = np.random.default_rng(0).standard_normal((24, 2))
    K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(2))
    return X, K


def problem_of(X, nu=0.25, **options):
    return KernelOneClass(Gram(as_points(X, Gaussian(0.4), exact=True)), nu, **options)


def best_alpha(K, s, mass):
    n = len(K)
    found = minimize(
        lambda a: 0.5 * a @ K @ a,
        np.full(n, mass / n),
        jac=lambda a: K @ a,
        bounds=[(0, c) for c in s],
        constraints=[{"type": "eq", "fun": lambda a: a.sum() - mass, "jac": np.ones_like}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 3000},
    )
    return found.x


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_bounds_the_distance_from_the_best(small, weighted):
    X, K = small
    rng = np.random.default_rng(1)
    s = rng.uniform(0.5, 1.5, 24) if weighted else np.ones(24)
    problem = problem_of(X, weight=s if weighted else None)
    star = best_alpha(K, s, problem.mass)
    for mix in (0.0, 0.3, 0.9, 0.999):
        alpha = mix * star + (1 - mix) * s * problem.nu
        certificate = problem.certificate(Expansion(alpha, 0.0, K @ alpha))
        off = alpha - star
        assert np.sqrt(off @ K @ off) <= certificate.gap * np.sqrt(alpha @ K @ alpha) * (1 + 1e-6) + 1e-6
        assert certificate.gap <= 1.0
        assert certificate.objective >= -0.5 * star @ K @ star - 1e-9
        assert certificate.bound <= -0.5 * star @ K @ star + 1e-9
    assert certificate.gap < 0.2


def test_the_level_is_the_quantile(small):
    X, _ = small
    problem, r = problem_of(X, 0.25), np.random.default_rng(2).random(24)
    (rho,) = problem.levels(r[None], np.zeros((1, 24)))
    assert (r < rho).sum() <= 6 <= (r <= rho + 1e-12).sum()
    grid = np.linspace(0, 1, 4001)
    cost = [-6 * g + np.maximum(0, g - r).sum() for g in grid]
    assert -6 * rho + np.maximum(0, rho - r).sum() <= min(cost) + 1e-9


def test_slack_is_primal_less_dual(small):
    X, K = small
    problem = problem_of(X)
    alpha = np.full(24, 0.25)
    r = K @ alpha
    for rho in (0.0, float(np.median(r)), 9.0):
        P = 0.5 * alpha @ r - problem.mass * rho + np.maximum(0, rho - r).sum()
        assert problem.slack(r - rho, alpha) == pytest.approx(P + 0.5 * alpha @ r)


def test_the_radius_is_that_of_the_ball(small):
    X, K = small
    problem = problem_of(X)
    alpha = np.full(24, 0.25)
    (rho,) = problem.levels((K @ alpha)[None], alpha[None])
    radius = problem.radius(Expansion(alpha, -rho, K @ alpha))
    centre = alpha / problem.mass
    away = 1 - 2 * K @ centre + centre @ K @ centre
    apart = np.abs(K @ alpha - rho) > 1e-9
    np.testing.assert_array_equal((away > radius**2)[apart], (K @ alpha < rho)[apart])  # outside, below
    assert apart.sum() >= 22 and 0 < (K @ alpha < rho).sum() < 24
    linear = KernelOneClass(Gram(as_points(X, Linear(), exact=True)), 0.25)
    assert np.isnan(linear.radius(Expansion(alpha, 0.0, X @ (X.T @ alpha))))


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1])
def test_settings_are_checked(small, nu):
    with pytest.raises(ValueError, match="nu must lie in"):
        problem_of(small[0], nu)
