"""The SVM with an ℓ₁ penalty."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from hinge.access import DenseTable
from hinge.problems import L1Regularized, Solution
from hinge.problems.svm.losses import HINGE

BIASES = ["none", "free", "penalized"]


def test_objective_by_hand():
    problem = L1Regularized([[3.0, 4.0], [0.0, 1.0]], [1, -1], 0.5)
    w = np.array([0.1, -0.2])  # margins -0.5 and 0.2
    assert problem.objective(Solution(w)) == pytest.approx(0.5 * 0.3 + (1.5**2 + 0.8**2) / 2)
    biased = L1Regularized([[3.0, 4.0], [0.0, 1.0]], [1, -1], 0.5, bias="penalized", bias_scale=2.0)
    assert biased.objective(Solution(w, -1.0)) == pytest.approx(0.5 * (0.3 + 0.5) + 2.5**2 / 2)
    assert problem.matrix.reads == biased.matrix.reads == 0


def test_dual_by_hand():
    # α = (2, 2): Σcα = 2, Σcα²/4 = 1 and Σcαyx = (3, 3), so D(sα) = 2s - s² with the best s ≤ λ/3.
    X, y, alpha = [[3.0, 4.0], [0.0, 1.0]], [1, -1], np.full(2, 2.0)
    for lam, s in ((6.0, 1.0), (3.0, 1.0), (1.5, 0.5), (0.3, 0.1)):
        dual = L1Regularized(X, y, lam).dual(Solution(np.zeros(2), alpha=alpha))
        assert dual == pytest.approx(2 * s - s**2)
        assert dual <= 2 * s - s**2
    problem = L1Regularized(X, y, 1.0)
    assert problem.dual(Solution(np.zeros(2), alpha=np.zeros(2))) == 0.0
    assert problem.dual(Solution(np.zeros(2), alpha=np.full(2, -1.0))) == 0.0  # none is below zero
    assert problem.dual(Solution(np.zeros(2))) == -np.inf


def test_the_constant_feature_is_a_constraint_too():
    # Two positive rows: Σcαy = 2 at α = 2, times 10 above λ = 4.
    problem = L1Regularized(np.eye(2), [1, 1], 4.0, bias="penalized", bias_scale=10.0)
    assert problem.dual(Solution(np.zeros(2), alpha=np.full(2, 2.0))) == pytest.approx(2 * 0.2 - 0.2**2)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_dual_is_scaled_to_the_best_factor(tiny, bias, weighted):
    X, y = tiny
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 60) * 1.0 if weighted else np.ones(60)
    problem = L1Regularized(X, y, 0.2, bias=bias, weight=s if weighted else None, bias_scale=0.7)
    c = s / s.sum()
    for size in (0.1, 1.0, 10.0):
        alpha = size * rng.random(60)
        alpha = problem.balanced(alpha) if bias == "free" else alpha
        steep = np.abs((c * alpha * y) @ X).max()
        steep = max(steep, 0.7 * abs((c * alpha) @ y)) if bias == "penalized" else steep

        def negative(f, alpha=alpha):
            return -(f * (c @ alpha) - f * f * (c @ alpha**2) / 4)

        best = minimize_scalar(negative, bounds=(0, 0.2 / steep), method="bounded", options={"xatol": 1e-12})
        assert problem.dual(Solution(np.zeros(7), alpha=alpha)) == pytest.approx(-best.fun, rel=1e-6)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_dual_point_is_below_any_primal_one(tiny, bias, weighted):
    X, y = tiny
    rng = np.random.default_rng(1)
    s = rng.integers(0, 3, 60) * 1.0 if weighted else None
    problem = L1Regularized(X, y, 0.1, bias=bias, weight=s)
    found = []
    for _ in range(40):
        w = rng.standard_normal(7) * rng.random() ** 2
        answer = Solution(w, 0.3 if bias == "penalized" else 0.0, np.maximum(0, rng.normal(1, 1, 60)))
        certificate = problem.certificate(answer)
        assert problem.objective(Solution(w, certificate.b)) == pytest.approx(certificate.objective)
        assert certificate.gap == pytest.approx((certificate.objective - certificate.bound) / certificate.bound)
        found.append(certificate)
    assert max(one.bound for one in found) < min(one.objective for one in found)
    assert min(one.bound for one in found) > 0


@pytest.mark.parametrize("bias", BIASES)
def test_where_zero_is_best_it_has_no_gap(tiny, bias):
    X, y = tiny
    y = np.where(np.arange(60) % 2, 1, -1)  # even, so that a bias of 0 is the best
    problem = L1Regularized(X, y, 100.0, bias=bias)
    certificate = problem.certificate(Solution(np.zeros(7), alpha=np.full(60, 2.0)))
    assert certificate.gap < 1e-12
    assert certificate.objective == pytest.approx(1.0)


@pytest.mark.parametrize("bias", BIASES)
def test_columns_that_cancel_keep_their_digits(bias):
    # Sums of terms of 1e9 that leave 1e-6: in float64 one after the other they would be rounding alone.
    rng = np.random.default_rng(0)
    half = 1e9 * rng.standard_normal((30, 3))
    X = np.vstack([half, half + 1e-3 * rng.standard_normal((30, 3))])
    y = np.repeat([1, -1], 30)
    problem = L1Regularized(X, y, 1e-4, bias=bias)
    alpha = np.tile(1.0 + rng.random(30), 2)
    if bias == "free":
        alpha = problem.balanced(alpha)
    coef = [Fraction(float(a * t * problem.share())) for a, t in zip(alpha, y, strict=True)]
    sums = [abs(sum(c * Fraction(float(x)) for c, x in zip(coef, column, strict=True))) for column in X.T]
    if bias == "penalized":
        sums.append(abs(sum(coef)))
    most = float(Fraction(1e-4) / max(sums))
    mass = float(sum(map(abs, coef)))
    square = float(sum(abs(c) * Fraction(float(a)) for c, a in zip(coef, alpha, strict=True)) / 4)
    best = min(most, mass / 2 / square)
    dual = problem.dual(Solution(np.zeros(3), alpha=alpha))
    assert dual <= best * mass - best**2 * square
    assert dual == pytest.approx(best * mass - best**2 * square, rel=0.2 if bias == "free" else 1e-6)


def test_certificate_finds_the_free_bias_and_is_billed(tiny_csr):
    S, y = tiny_csr
    problem = L1Regularized(S, y, 0.05, bias="free")
    w = np.ones(7) / 7
    certificate = problem.certificate(Solution(w, b=99.0, alpha=(np.arange(60) < 10) * 1.0))
    assert problem.matrix.reads == S.nnz + S.indptr[10]
    for off in (-0.01, 0.01):
        assert certificate.objective < problem.objective(Solution(w, certificate.b + off))


def test_numbers_beyond_all_bounds_prove_nothing():
    huge = L1Regularized(np.array([[1e305, 0.0], [0.0, 1e305]]), [1, -1], 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        assert huge.dual(Solution(np.zeros(2), alpha=np.ones(2))) == 0.0
    small = L1Regularized(np.eye(2), [1, -1], 1.0)
    assert small.dual(Solution(np.zeros(2), alpha=np.full(2, 1e-200))) == 0.0


def test_what_it_is_not_for():
    with pytest.raises(ValueError, match="goes with the squared hinge here, not with the hinge loss"):
        L1Regularized(np.eye(2), [1, -1], 1.0, loss=HINGE)
    with pytest.raises(ValueError, match="asks for whole columns"):
        L1Regularized(DenseTable(np.eye(2), prices=np.ones(2)), [1, -1], 1.0)
    assert L1Regularized(DenseTable(np.eye(2)), [1, -1], 1.0).in_memory
