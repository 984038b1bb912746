import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian
from hinge.problems import Expansion, KernelNuClassification, KernelNuRegression
from hinge.problems.svm.levels import quantile, summing_to
from hinge.problems.svm.nu_forms import KernelOneClass

N = 30
X = np.random.default_rng(0).standard_normal((N, 2))
K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(2))
Y = np.where(X[:, 0] > 0.3, 1, -1)
T = X[:, 0] - np.cos(X[:, 1]) + 7.0
KINDS = ("one class", "classes", "regression")


def problem_of(kind, weight=None, exact=True):
    gram = Gram(as_points(X, Gaussian(0.4), exact=exact))
    if kind == "one class":
        return KernelOneClass(gram, 0.3, weight=weight)
    if kind == "classes":
        return KernelNuClassification(gram, Y, 0.3, weight=weight)
    return KernelNuRegression(gram, T, 0.3, 2.0, weight=weight)


def feasible(problem, rng):
    """Random α of the right sums."""
    alpha = rng.uniform(0, 1, problem.sign.shape) * problem.boxes
    for sign in problem.signs:
        own = problem.sign == sign
        alpha[own] = summing_to(alpha[own], np.broadcast_to(problem.boxes, own.shape)[own], problem.mass)
    return alpha


@pytest.mark.parametrize("total", [0.5, 2.0, 3.9])
def test_a_lack_is_shared_out_within_the_bounds(total):
    s = np.array([1.0, 2.0, 0.5, 0.5])
    alpha = summing_to(np.array([0.9, 0.3, 0.5, 0.0]), s, total)
    assert alpha.sum() == pytest.approx(total)
    assert ((alpha >= 0) & (alpha <= s)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_slack_is_primal_less_dual_at_any_level(kind, weighted):
    rng = np.random.default_rng(1)
    problem = problem_of(kind, rng.uniform(0.5, 2.0, N) if weighted else None)
    alpha = feasible(problem, rng)
    beta = (problem.sign * alpha).sum(axis=0)
    m = problem.margins(K @ beta)
    sq, gain = beta @ K @ beta, problem.linear @ beta
    for levels in (problem.levels(m, alpha), rng.standard_normal(len(problem.signs))):
        P = 0.5 * sq - problem.mass * levels.sum()
        for sign, level in zip(problem.signs, levels, strict=True):
            own = problem.sign == sign
            P += (np.broadcast_to(problem.boxes, own.shape)[own] * np.maximum(0, level - m[own])).sum()
        assert problem.slack(problem.over(m, levels), alpha) == pytest.approx(P - gain + 0.5 * sq)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_levels_are_best(kind):
    rng = np.random.default_rng(2)
    problem = problem_of(kind, rng.uniform(0.5, 2.0, N))
    alpha = feasible(problem, rng)
    m = problem.margins(K @ (problem.sign * alpha).sum(axis=0))
    best = problem.levels(m, alpha)
    least = problem.slack(problem.over(m, best), alpha)
    for step in (-1.0, -1e-3, 1e-3, 1.0):
        for which in range(len(best)):
            moved = best.copy()
            moved[which] += step
            assert problem.slack(problem.over(m, moved), alpha) >= least - 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_is_that_of_the_weights_and_rounding_only_widens_it(kind):
    rng = np.random.default_rng(3)
    problem = problem_of(kind)
    alpha = feasible(problem, rng)
    beta = (problem.sign * alpha).sum(axis=0)
    answer = Expansion(beta, 0.0, K @ beta, None, 30.0)
    found = problem.certificate(answer)
    m = problem.margins(K @ beta)
    slack = problem.slack(problem.over(m, problem.levels(m, alpha)), alpha)
    assert found.unrounded <= problem.error(slack, beta @ K @ beta, problem.linear @ beta) * (1 + 1e-9)
    assert found.gap >= found.unrounded
    assert found.bound <= found.objective
    exact = problem.objective(answer._replace(b=found.b))
    assert found.objective == pytest.approx(exact, rel=1e-9)
    single = problem_of(kind, exact=False).certificate(answer)
    assert single.gap >= found.gap and single.bound < found.bound


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_not_feasible_have_no_certificate(kind):
    problem = problem_of(kind)
    beta = (problem.sign * feasible(problem, np.random.default_rng(4))).sum(axis=0)
    for wrong in (beta * 1.01 + 0.01, beta + 10.0 * np.eye(N)[0]):
        assert problem.certificate(Expansion(wrong, 0.0, K @ wrong)).gap == np.inf


@pytest.mark.parametrize("nu", [0.0, 1.1])
def test_nu_is_a_share(nu):
    with pytest.raises(ValueError, match="nu must lie in"):
        KernelNuRegression(Gram(as_points(X, Gaussian(0.4))), T, nu)


@pytest.mark.parametrize("seed", range(20))
def test_the_mass_up_to_it_is_the_target(seed):
    rng = np.random.default_rng(seed)
    values, mass = rng.standard_normal(37), rng.uniform(0.1, 2.0, 37)
    target = float(rng.uniform(0, mass.sum()))
    low, high = quantile(values.copy(), mass.copy(), target)
    assert low == high
    assert mass[values < low].sum() < target <= mass[values <= low].sum()


def test_between_two_values_both_are_given():
    values, mass = np.array([3.0, 1.0, 2.0, 9.0]), np.array([0.5, 1.0, 1.0, 4.0])
    assert quantile(values.copy(), mass.copy(), 2.0) == (2.0, 3.0)
    assert quantile(values.copy(), mass.copy(), 2.1) == (3.0, 3.0)
    assert quantile(values, mass, 100.0) == (9.0, 9.0)
    np.testing.assert_array_equal(values, [1.0, 2.0, 3.0, 9.0])
    np.testing.assert_array_equal(mass, [1.0, 1.0, 0.5, 4.0])
