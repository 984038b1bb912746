"""Kernel problems against quadratic and linear programs, on problems small enough for those."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from hinge.access import Gram, as_points
from hinge.kernels import Function, Gaussian, Linear, Polynomial, Precomputed, Sigmoid
from hinge.monitoring import Stop
from hinge.problems import Expansion, KernelRegularized, KernelSlackConstrained, SlackConstrained, Solution
from hinge.solvers import solve_slack


@st.composite
def cases(draw):
    """A kernel matrix, labels of both classes, and weights or none."""
    n = draw(st.integers(2, 7))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.standard_normal((n, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(2)) if draw(st.booleans()) else X @ X.T
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    weight = rng.integers(0, 3, n) * 1.0 if draw(st.booleans()) else None
    if weight is not None:
        weight[:2] += 1
    return K, y, weight, rng


def shares(n, weight):
    weight = np.ones(n) if weight is None else weight
    return weight / weight.sum()


def least_regularized(K, y, c, lam, bias):
    """The optimum of the dual, Σα − αᵀQα/2λ over 0 ≤ α ≤ c, which is that of the primal."""
    Q = (y[:, None] * y) * K / lam
    constraints = [{"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y.astype(float)}]
    solved = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        0.0 * c,
        jac=lambda a: Q @ a - 1,
        bounds=[(0, ci) for ci in c],
        constraints=constraints if bias == "free" else (),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return -solved.fun


def best_slack_constrained(K, y, c, nu, bias):
    """The least D(p) = ‖Σ p y φ‖ + νt with p ≤ tc, over the simplex; the variables are p and t."""
    n, Q = len(y), (y[:, None] * y) * K
    constraints = [
        {"type": "eq", "fun": lambda v: v[:n].sum() - 1},
        {"type": "ineq", "fun": lambda v: v[n] * c - v[:n]},
    ]
    if bias == "free":
        constraints.append({"type": "eq", "fun": lambda v: v[:n] @ y})
    start = np.append(np.where(y > 0, c / c[y > 0].sum(), c / c[y < 0].sum()) / 2, 0.0)
    start[n] = (start[:n][c > 0] / c[c > 0]).max()
    solved = minimize(
        lambda v: np.sqrt(max(v[:n] @ Q @ v[:n], 0.0) + 1e-16) + nu * v[n],
        start,
        constraints=constraints,
        bounds=[(0, 1)] * n + [(0, None)],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return solved.fun


def answers(K, y, c, lam, rng, bias):
    """Answers good and bad: feasible duals, others, and none."""
    n = len(y)
    for _ in range(6):
        alpha = rng.random(n) * c / lam * rng.choice([0.1, 1.0, 3.0])
        if bias == "free":
            sides = [alpha[y == s].sum() for s in (1, -1)]
            for s, own in zip((1, -1), sides, strict=True):
                alpha[y == s] *= min(sides) / own
        beta = alpha * y
        yield Expansion(beta, 0.0, K @ beta)
    beta = rng.standard_normal(n)
    yield Expansion(beta, 0.3, K @ beta)
    yield Expansion(np.zeros(n), 0.0, np.zeros(n))


@pytest.mark.slow
@settings(max_examples=60)
@given(cases(), st.sampled_from(["none", "free"]), st.sampled_from([0.03, 0.3, 3.0]))
def test_certificates_of_the_regularized_problem_hold(case, bias, lam):
    K, y, weight, rng = case
    c = shares(len(y), weight)
    problem = KernelRegularized(K, y, lam, Precomputed(), weight=weight, bias=bias)
    least = least_regularized(K, y, c, lam, bias)
    for answer in answers(K, y, c, lam, rng, bias):
        certificate = problem.certificate(answer)
        loss = c @ np.maximum(0, 1 - y * (answer.responses + certificate.b))
        assert certificate.objective == pytest.approx(0.5 * lam * answer.sq_norm + loss)
        assert certificate.objective >= least * (1 - 1e-6) - 1e-9
        assert certificate.bound <= least * (1 + 1e-6) + 1e-9
        if certificate.gap < np.inf:
            assert certificate.gap * least >= certificate.objective - least - 1e-6 * least - 1e-9
        assert problem.objective(answer._replace(b=certificate.b)) == pytest.approx(certificate.objective)
        if bias == "free":  # no other bias is better
            for b in rng.normal(certificate.b, 1.0, 20):
                assert problem.objective(answer._replace(b=b)) >= certificate.objective - 1e-12


def test_the_optimum_is_certified():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 2))
    K, y, c = X @ X.T + np.eye(6), np.array([1, -1, 1, -1, 1, 1]), np.full(6, 1 / 6)
    problem = KernelRegularized(K, y, 0.2, Precomputed())
    Q = (y[:, None] * y) * K / 0.2
    solved = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        0 * c,
        jac=lambda a: Q @ a - 1,
        bounds=[(0, 1 / 6)] * 6,
        method="L-BFGS-B",
        options={"ftol": 1e-16, "gtol": 1e-12},
    )
    beta = solved.x * y / 0.2
    assert problem.certificate(Expansion(beta, 0.0, K @ beta)).gap < 1e-9
    assert (np.abs(beta) <= problem.boxes * (1 + 1e-12)).all()


def test_weights_count_like_copies():
    rng = np.random.default_rng(1)
    X, y, s = rng.standard_normal((5, 2)), np.array([1, -1, 1, -1, -1]), np.array([1, 2, 0, 3, 1])
    copies = np.repeat(np.arange(5), s)
    a = KernelRegularized.from_C(X, y, 2.0, Gaussian(0.5), weight=s, bias="free")
    b = KernelRegularized.from_C(X[copies], y[copies], 2.0, Gaussian(0.5), bias="free")
    assert a.lam == b.lam == 1 / (2.0 * 7)
    beta = rng.random(5) * a.boxes * y * 0.3
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2))
    r = K @ beta
    spread = np.array([beta[i] / s[i] for i in copies])
    one, other = a.certificate(Expansion(beta, 0.0, r)), b.certificate(Expansion(spread, 0.0, r[copies]))
    assert one.objective == pytest.approx(other.objective) and one.b == pytest.approx(other.b)
    assert a.best_bias(r) == pytest.approx(b.best_bias(r[copies]))
    assert np.allclose(a.boxes, s / 7 / a.lam)


def test_what_has_no_dual():
    K, y = np.eye(4), np.array([1, 1, -1, -1])
    free = KernelRegularized(K, y, 0.5, Precomputed(), bias="free")
    certificate = free.certificate(Expansion(np.array([-1.0, 0, 0, 1]), 0.0, np.array([-1.0, 0, 0, 1])))
    assert certificate.bound == -np.inf and certificate.gap == np.inf and np.isfinite(certificate.objective)
    # The heavier class is scaled down to ½ each, and all by ½ to fit the box: 0.5 (½·2 - ½·¼·1.5).
    apart = np.array([1.0, 1, -1, 0])
    assert (
        free.certificate(Expansion(apart, 0.0, apart)).bound
        < free.certificate(Expansion(apart * [0.5, 0.5, 1, 0], 0.0, apart * [0.5, 0.5, 1, 0])).bound
        == pytest.approx(0.40625, rel=1e-9)
    )
    zero = free.certificate(Expansion(np.zeros(4), 0.0, np.zeros(4)))
    assert zero.bound == 0.0 and zero.objective == 1.0 and zero.gap == np.inf


# --- the slack-constrained problem ------------------------------------------------------------


def level_by_linear_program(r, y, c, nu, free):
    """max γ with yᵢ(ρrᵢ + b) + ξᵢ ≥ γ, Σcξ ≤ ν, ξ ≥ 0, 0 ≤ ρ ≤ 1; the variables are ξ, b, γ, ρ."""
    n = len(y)
    A = np.hstack([-np.eye(n), -y[:, None], np.ones((n, 1)), -(y * r)[:, None]])
    A = np.vstack([A, [*c, 0, 0, 0]])
    bounds = [(0, None)] * n + [(None, None) if free else (0, 0), (None, None), (0, 1)]
    solved = linprog([0.0] * (n + 1) + [-1.0, 0.0], A, [0.0] * n + [nu], bounds=bounds)
    assert solved.status == 0
    return -solved.fun


@pytest.mark.slow
@settings(max_examples=60)
@given(cases(), st.sampled_from(["none", "free"]), st.sampled_from([0.01, 0.1, 0.5]))
def test_levels_and_bounds_of_the_slack_constrained_problem(case, bias, nu):
    K, y, weight, rng = case
    c = shares(len(y), weight)
    problem = KernelSlackConstrained(K, y, nu, Precomputed(), weight=weight, bias=bias)
    best = best_slack_constrained(K, y, c, nu, bias)
    for answer in answers(K, y, c, 1.0, rng, bias):
        certificate = problem.certificate(answer)
        norm = np.sqrt(max(answer.sq_norm, 0.0)) or 1.0
        level = level_by_linear_program(answer.responses / norm, y, c, nu, bias == "free")
        assert certificate.objective == pytest.approx(level, abs=1e-6)
        assert problem.objective(answer) == certificate.objective
        assert certificate.objective <= best + 1e-5
        assert certificate.bound >= best - 1e-5
        if certificate.gap < np.inf:
            assert certificate.gap * certificate.objective >= best - certificate.objective - 1e-5
        p = rng.random(len(y))
        assert problem.bound(p) >= best - 1e-5
        if weight is None or (weight > 0).all():
            assert problem.bound(p) < np.inf


def test_the_bound_of_a_certificate_is_that_of_its_weights():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((9, 2)), np.array([1, -1, 1, -1, 1, 1, -1, -1, -1])
    for bias in ("none", "free"):
        gram = Gram(as_points(X, Gaussian(0.5), exact=True))
        problem = KernelSlackConstrained(gram, y, 0.1, bias=bias)
        p = rng.random(9)
        for s in (1, -1):
            p[y == s] /= p[y == s].sum()
        beta = p * y
        answer = Expansion(beta, 0.0, gram.pass_over(np.arange(9), beta, np.arange(9)))
        before = problem.kernel_evals
        assert problem.certificate(answer).bound == pytest.approx(problem.bound(p), rel=1e-6)
        assert problem.kernel_evals - before == 81
        assert problem.bound(7 * p) == pytest.approx(problem.bound(p))


def test_answers_that_bound_nothing():
    K, y = np.eye(4), np.array([1, 1, -1, -1])
    problem = KernelSlackConstrained(K, y, 0.1, Precomputed(), bias="free")
    for beta in ([0.0, 0, 0, 0], [1.0, 1, 0, 0], [-1.0, 0, 0, 1]):
        certificate = problem.certificate(Expansion(np.array(beta), 0.0, np.array(beta)))
        assert certificate.bound == certificate.gap == np.inf and np.isfinite(certificate.objective)


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [KernelRegularized, KernelSlackConstrained])
def test_parameters_are_checked(make):
    K, y = np.eye(4), np.array([1, 1, -1, -1])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"must (be a positive number|lie in \[0, 1\]), got"):
            make(K, y, bad, Precomputed())
    with pytest.raises(ValueError, match="bias is 'none' or 'free'"):
        make(K, y, 0.5, Precomputed(), bias="penalized")
    with pytest.raises(TypeError, match="takes a Gram, or points and a kernel"):
        make(K, y, 0.5)
    with pytest.raises(ValueError, match="one label per row"):
        make(K, y[:3], 0.5, Precomputed())
    with pytest.raises(ValueError, match="Weights must be finite"):
        make(K, y, 0.5, Precomputed(), weight=[1, 1, 1, -1])
    make(Gram(as_points(K, Linear())), y, 0.5)


def test_one_class_only():
    with pytest.raises(ValueError, match="one class only"):
        KernelSlackConstrained(np.eye(3), np.ones(3), 0.5, Precomputed(), bias="free")
    with pytest.raises(ValueError, match="one class only"):
        KernelSlackConstrained(np.eye(3), [1, 1, -1], 0.5, Precomputed(), weight=[1, 1, 0], bias="free")
    with pytest.raises(ValueError, match="C must be a positive number"):
        KernelRegularized.from_C(np.eye(3), [1, 1, -1], 0.0, Precomputed())


def test_a_kernel_that_is_not_positive():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    beta = np.array([1.0, -1.0])
    for make in (KernelRegularized, KernelSlackConstrained):
        problem = make(K, [1, -1], 0.5, Precomputed())
        certificate = problem.certificate(Expansion(beta, 0.0, K @ beta))
        assert np.isnan([certificate.gap, certificate.bound]).all() and np.isfinite(certificate.objective)
    X = np.random.default_rng(3).standard_normal((20, 3))
    assert Gram(as_points(X, Sigmoid(1.0, -3.0))).diag.min() < 0
    assert not KernelRegularized(X, np.resize([1, -1], 20), 0.1, Polynomial(3, 1.0, -1.0)).certifiable


def test_a_function_that_is_not_positive_is_found_out():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    problem = KernelRegularized([0, 1], [1, -1], 0.5, Function(lambda i, j: K[i, j]))
    beta = np.array([1.0, -1.0])
    r = problem.gram.combine(np.array([0, 1]), beta)
    assert np.isnan(problem.certificate(Expansion(beta, 0.0, r)).gap) and problem.kernel_evals == 3


def test_an_answer_that_is_not_finite():
    problem = KernelRegularized(np.eye(2), [1, -1], 0.5, Precomputed())
    with pytest.raises(ValueError, match="not finite in the column of row 1"):
        problem.certificate(Expansion(np.array([1.0, -1.0]), 0.0, np.array([1.0, np.inf])))


def test_criteria_and_counts():
    X, y = np.array([[0.0], [1.0], [3.0]]), [1, -1, 1]
    calls = []

    def f(x, z):
        calls.append(1)
        return float(np.exp(-abs(x - z)[0]))

    problem = KernelSlackConstrained(X, y, 0.2, Function(f))
    assert problem.kernel_evals == 0
    problem.bound(np.ones(3))
    assert problem.kernel_evals == len(calls) == 6 + 1  # one pair again, for symmetry
    K = np.exp(-np.abs(X - X.T))
    beta = np.array([0.5, -1.0, 0.1])
    norm, loss = problem.criteria_of(Expansion(beta, 0.1, K @ beta))
    assert norm == pytest.approx(np.sqrt(beta @ K @ beta))
    assert loss == pytest.approx(np.maximum(0, 1 - np.array(y) * (K @ beta + 0.1)).mean())


def test_weights_of_one_class_bound_nothing():
    X = np.array([[0.1], [0.11], [-9.0], [-9.1]])
    problem = KernelSlackConstrained(X, [1, 1, -1, -1], 0.01, Linear(), bias="free")
    beta = np.array([1.0, 0.0, -1.0, 0.0])
    level = problem.objective(Expansion(beta, 0.0, X @ X.T @ beta))
    assert problem.bound(np.array([1.0, 1.0, 0.0, 0.0])) >= level


@pytest.fixture
def both(tiny):
    X, y = tiny
    make = lambda nu, bias: (  # noqa: E731
        KernelSlackConstrained(Gram(as_points(X, Linear(), exact=True)), y, nu, bias=bias),
        SlackConstrained(X, y, nu, bias=bias),
    )
    return X, y, make


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_with_a_linear_kernel_it_is_the_linear_problem(both, bias, nu):
    X, y, make = both
    kernel, linear = make(nu, bias)
    rng = np.random.default_rng(0)
    for _ in range(5):
        beta = y * rng.random(60)
        w = X.T @ beta
        expansion = Expansion(beta, 0.0, X @ w)
        assert kernel.objective(expansion) == pytest.approx(linear.objective(Solution(w)), rel=1e-9)
        ours = kernel.certificate(expansion)
        best = solve_slack(linear, stop=Stop(tol=1e-6)).certificate
        assert ours.objective <= best.bound * (1 + 1e-9)
        assert ours.bound >= best.objective * (1 - 1e-9)
        assert kernel.bound(rng.random(60)) >= best.objective * (1 - 1e-9)


def test_without_slack_it_is_the_margin(both):
    X, y, _ = both
    kernel = KernelSlackConstrained(Gram(as_points(X, Linear(), exact=True)), y, 0.0)
    w = X.T @ (y / 60)
    answer = Expansion(y / 60.0, 0.0, X @ w)
    smallest = (y * (X @ w)).min() / np.linalg.norm(w)
    assert kernel.objective(answer) == pytest.approx(max(0.0, smallest), abs=1e-9)


def test_usable_slack_fills_the_smaller_class(both):
    X, y, make = both
    kernel, linear = make(0.1, "free")
    w = X.T @ (y * 0.1)
    answer = Expansion(y * 0.1, 0.0, X @ w)
    assert kernel.usable(answer) == pytest.approx(linear.usable(Solution(w)), rel=1e-9)
    assert make(0.1, "none")[0].usable(answer) == np.inf
    smaller = min((y == 1).sum(), (y == -1).sum())
    assert f"all {smaller} rows of the smaller class" in kernel.flooded(0.2)


def test_a_p_of_one_class_bounds_nothing_with_a_free_bias(both):
    _, y, make = both
    assert make(0.1, "free")[0].bound((y > 0).astype(float)) == np.inf
    assert np.isfinite(make(0.1, "none")[0].bound((y > 0).astype(float)))


def test_bad_input(tiny):
    X, y = tiny
    gram = Gram(as_points(X, Gaussian(1.0)))
    with pytest.raises(ValueError, match="nu must lie in"):
        KernelSlackConstrained(gram, y, 1.5)
    with pytest.raises(ValueError, match="one class only"):
        KernelSlackConstrained(gram, np.ones(60, int), 0.1, bias="free")
