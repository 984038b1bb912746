"""Problems of known optimum, and what a certificate may claim of them."""

from functools import cache

import numpy as np
import pytest
from certificates import references

from hinge.access import Gram, as_points
from hinge.datasets import make_known_optimum
from hinge.kernels import Gaussian, Polynomial
from hinge.monitoring import Stop
from hinge.problems import KernelRegularized, L1Regularized, Multiclass, NormConstrained, Regularized, Solution
from hinge.solvers import SMO, ActiveSet, solve


def known(seed, ball=False):
    """A problem without bias and the minimum that its maker knows; in the ball of the same answer."""
    lam = (0.003, 0.02)[seed % 2]
    made = make_known_optimum(80, 6, lam, noise=0.1, seed=seed)
    if not ball:
        return Regularized(made.X_train, made.y_train, lam), made.objective
    B = float(np.linalg.norm(made.w_star))  # Lemma 2.1
    return NormConstrained(made.X_train, made.y_train, B), made.objective - lam / 2 * B**2


@cache
def noisy(seed, bias, weighted):
    """A noisy problem and its minimum: by LIBSVM or LIBLINEAR, made exact, and proved by the dual."""
    from sklearn.svm import SVC, LinearSVC

    rng = np.random.default_rng(seed)
    n, lam = 40, (0.02, 0.1)[seed % 2]
    X = rng.standard_normal((n, 4)) + 0.5
    y = np.where(X @ [1.0, -1, 0.5, 0] + rng.standard_normal(n) > 0.3, 1, -1)
    s = rng.integers(0, 4, n) / 2.0 if weighted else np.ones(n)
    problem = Regularized(X, y, lam, bias=bias, weight=s if weighted else None, bias_scale=0.7)
    c = s / s.sum()
    Z = y[:, None] * (np.column_stack([X, np.full(n, 0.7)]) if bias == "penalized" else X)
    C = 1 / (lam * s.sum())
    if bias == "free":
        model = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y, s)
        w, b = model.coef_.ravel(), float(model.intercept_[0])
    else:
        options = {"fit_intercept": bias == "penalized", "intercept_scaling": 0.7}
        model = LinearSVC(loss="hinge", C=C, tol=1e-11, max_iter=10**7, random_state=0, **options)
        model.fit(X, y, s)
        w, b = model.coef_.ravel(), 0.0
        w = np.append(w, model.intercept_ / 0.7) if bias == "penalized" else w
    # Which rows lie on the margin is beyond doubt; how heavy they are is a linear system.
    on, inside = (np.abs(1 - Z @ w - y * b) < 1e-6) & (s > 0), 1 - Z @ w - y * b >= 1e-6
    A = Z[on] @ (c * Z.T / lam)[:, on]
    right = 1 - Z[on] @ ((c * inside) @ Z) / lam
    if bias == "free":
        A = np.block([[A, y[on][:, None]], [c[on] * y[on], np.zeros(1)]])
        right = np.append(right, -(c * inside) @ y)
    solved = np.linalg.solve(A, right)
    alpha = inside.astype(float)
    alpha[on] = solved[: on.sum()]
    w, b = (c * alpha) @ Z / lam, solved[-1] if bias == "free" else 0.0
    primal = lam / 2 * w @ w + c @ np.maximum(0, 1 - Z @ w - y * b)
    dual = c @ alpha - lam / 2 * w @ w
    assert (alpha > -1e-12).all()
    assert (alpha < 1 + 1e-12).all()
    assert primal == pytest.approx(dual, rel=1e-11)
    return problem, primal


@cache
def of_loss(seed, bias, weighted, loss):
    """A noisy problem with another loss, and its minimum by Clarabel, to its tenth digit."""
    rng = np.random.default_rng(seed)
    n, lam = 40, (0.02, 0.1)[seed % 2]
    X = rng.standard_normal((n, 4)) + 0.5
    t = 2.0 * X @ [1.0, -1, 0.5, 0] + rng.standard_normal(n) + 1.0
    y = t if loss.two_sided else np.where(t > 1.3, 1, -1)
    s = rng.integers(0, 4, n) / 2.0 if weighted else np.ones(n)
    problem = Regularized(X, y, lam, bias=bias, weight=s if weighted else None, bias_scale=0.7, loss=loss)
    kind = {"none": None, "free": "free", "penalized": 0.7}[bias]
    w, b = references.of_loss(X, y, s / s.sum(), lam, kind, loss)
    return problem, problem.objective(Solution(w, b))


@cache
def multiclass(seed, k, scale, weighted):
    """A noisy problem of k classes, and its minimum by Clarabel, to its tenth digit."""
    rng = np.random.default_rng(seed)
    n, lam = 40, (0.02, 0.1)[seed % 2]
    X = rng.standard_normal((n, 4)) + 0.5
    y = np.argmax(X @ rng.standard_normal((4, k)) + rng.standard_normal((n, k)), axis=1)
    s = rng.integers(0, 4, n) / 2.0 if weighted else np.ones(n)
    problem = Multiclass(X, y, lam, n_classes=k, weight=s if weighted else None, bias_scale=scale)
    return problem, problem.objective(Solution(references.multiclass(X, y, s / s.sum(), lam, k, scale)))


def of_1_norm(seed, bias, weighted):
    """A noisy problem with the 1-norm, and its minimum by Clarabel, to its tenth digit."""
    rng = np.random.default_rng(seed)
    n, lam = 40, (0.02, 0.1)[seed % 2]
    X = rng.standard_normal((n, 9)) + 0.5
    y = np.where(X[:, :4] @ [1.0, -1, 0.5, 0] + rng.standard_normal(n) > 0.3, 1, -1)
    s = rng.integers(0, 4, n) / 2.0 if weighted else np.ones(n)
    problem = L1Regularized(X, y, lam, bias=bias, weight=s if weighted else None, bias_scale=0.7)
    kind = {"none": None, "free": "free", "penalized": 0.7}[bias]
    w, b = references.of_1_norm(X, y, s / s.sum(), lam, kind)
    return problem, problem.objective(Solution(w, b))


@cache
def kernelized(seed, bias, weighted):
    """A noisy problem in float64, its kernel matrix, its optimum, and the minimum proved by the dual."""
    rng = np.random.default_rng(seed)
    n, lam = 40, (0.003, 0.05)[seed % 2]
    X = rng.standard_normal((n, 4)) + 0.5
    y = np.where(X @ [1.0, -1, 0.5, 0] + rng.standard_normal(n) > 0.3, 1, -1)
    s = rng.integers(0, 4, n) / 2.0 if weighted else np.ones(n)
    kernel = (Gaussian(0.3), Polynomial(2, 0.5, 1.0))[seed % 2]
    points = as_points(X, kernel, exact=True)
    K = np.empty((n, n))
    points.fill(np.arange(n), np.arange(n), K)
    problem = KernelRegularized(Gram(points), y, lam, bias=bias, weight=s if weighted else None)
    best = solve(problem, SMO(), stop=Stop(tol=1e-10, max_iter=10**6)).solution
    c, beta = s / s.sum(), best.beta
    assert (beta * y >= 0).all()
    assert (beta * y <= c / lam * (1 + 1e-12)).all()
    assert bias == "none" or abs(beta.sum()) < 1e-12 * np.abs(beta).sum()
    primal = lam / 2 * beta @ K @ beta + c @ np.maximum(0, 1 - y * (K @ beta + best.b))
    dual = lam * (beta @ y - beta @ K @ beta / 2)
    assert primal == pytest.approx(dual, rel=1e-9)
    return problem, K, best, dual


@cache
def kernel_tube(seed, bias, weighted, loss):
    """A noisy regression in float64, its kernel matrix, and the minimum proved by the dual."""
    rng = np.random.default_rng(seed)
    n, lam = 40, (0.003, 0.05)[seed % 2]
    X = rng.standard_normal((n, 4)) + 0.5
    t = 2.0 * np.sin(X @ [1.0, -1, 0.5, 0]) + 0.5 * rng.standard_normal(n) + 1.0
    s = rng.integers(0, 4, n) / 2.0 if weighted else np.ones(n)
    kernel = (Gaussian(0.3), Polynomial(2, 0.5, 1.0))[seed % 2]
    points = as_points(X, kernel, exact=True)
    K = np.empty((n, n))
    points.fill(np.arange(n), np.arange(n), K)
    problem = KernelRegularized(Gram(points), t, lam, bias=bias, weight=s if weighted else None, loss=loss)
    best = solve(problem, ActiveSet(), stop=Stop(tol=1e-10, max_iter=1000)).solution
    c, beta = s / s.sum(), best.beta
    assert (np.abs(beta) <= c / lam * (1 + 1e-12)).all()
    assert bias == "none" or abs(beta.sum()) < 1e-12 * np.abs(beta).sum()
    primal = lam / 2 * beta @ K @ beta + c @ np.maximum(0, np.abs(t - K @ beta - best.b) - loss.epsilon)
    dual = lam * (beta @ t - loss.epsilon * np.abs(beta).sum() - beta @ K @ beta / 2)
    assert primal == pytest.approx(dual, rel=1e-9)
    return problem, K, dual


def assert_covers(certificate, best, unit, slack=1e-9):
    """`best` is the minimum, or off by a rounding error: the certificate may not claim more."""
    assert certificate.objective >= best - slack * abs(best)
    assert certificate.bound <= best + slack * abs(best)
    assert certificate.gap >= (certificate.objective - best) / unit * (1 - slack) - slack


def assert_holds(certificate, best, slack=1e-9):
    """The same where `best` is the maximum, of which the certificate is an interval."""
    size = max(1.0, abs(best))
    assert certificate.objective <= best + slack * size
    assert certificate.bound >= best - slack * size
