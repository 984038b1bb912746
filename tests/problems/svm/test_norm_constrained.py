"""The norm-constrained problem."""

import numpy as np
import pytest

from hinge.datasets import make_known_optimum
from hinge.problems import NormConstrained, Solution


def test_objective_by_hand():
    problem = NormConstrained([[3.0, 4.0], [0.0, 1.0]], [1, -1], 0.5)
    inside, outside = np.array([0.1, 0.2]), np.array([6.0, 8.0])
    assert problem.objective(Solution(inside)) == pytest.approx(0.6)
    np.testing.assert_allclose(problem.project(outside), [0.3, 0.4])
    assert problem.project(inside) is inside
    assert problem.objective(Solution(outside)) == pytest.approx((0 + 1.4) / 2)
    assert problem.matrix.reads == 0


def test_bound_by_hand():
    # α = (1, 1)/2 and as far as the box allows: Σcα - B‖Σcαyx‖ at α = (1, 1).
    problem = NormConstrained([[3.0, 4.0], [0.0, 1.0]], [1, -1], 0.1)
    certificate = problem.certificate(Solution(np.zeros(2), alpha=np.full(2, 0.5)))
    assert certificate.bound == pytest.approx(1 - 0.1 * np.sqrt(4.5))
    assert certificate.objective == pytest.approx(1.0)
    assert certificate.gap == pytest.approx(0.1 * np.sqrt(4.5))
    wide = NormConstrained([[3.0, 4.0], [0.0, 1.0]], [1, -1], 10.0)
    assert wide.certificate(Solution(np.zeros(2), alpha=np.ones(2))).bound == 0  # the loss is not negative
    assert wide.certificate(Solution(np.zeros(2), alpha=np.zeros(2))).bound == 0
    assert wide.certificate(Solution(np.zeros(2))).gap == np.inf


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_dual_point_is_below_any_primal_one(tiny, bias, weighted):
    X, y = tiny
    rng = np.random.default_rng(1)
    s = rng.integers(0, 3, 60) * 1.0 if weighted else None
    problem = NormConstrained(X, y, 0.8, bias=bias, weight=s)
    duals, primals = [], []
    for _ in range(60):
        w = rng.standard_normal(7)
        alpha = np.clip(rng.normal(0.5, 1, 60), 0, 1)
        certificate = problem.certificate(Solution(w, 0.0, alpha))
        duals.append(certificate.bound)
        primals.append(certificate.objective)
        assert certificate.gap == pytest.approx(max(0, certificate.objective - certificate.bound))
        assert problem.objective(Solution(w, certificate.b)) == pytest.approx(certificate.objective)
    assert 0 < max(duals) < min(primals)


def test_known_optimum_has_no_gap():
    for seed in range(5):
        known = make_known_optimum(100, 8, 0.01, seed=seed)
        B = float(np.linalg.norm(known.w_star))
        problem = NormConstrained(known.X_train, known.y_train, B)
        certificate = problem.certificate(Solution(known.w_star, alpha=known.alpha_star))
        assert certificate.gap <= 1e-12
        assert certificate.objective == pytest.approx(known.objective - known.lam / 2 * B**2)


def test_certificate_finds_the_free_bias(tiny):
    X, y = tiny
    problem = NormConstrained(X, y, 2.0, bias="free")
    w = np.ones(7) / 7
    certificate = problem.certificate(Solution(w, b=99.0))
    assert certificate.b == problem.best_bias(X @ w)
    assert certificate.objective == pytest.approx(problem.objective(Solution(w, certificate.b)))


@pytest.mark.parametrize("B", [0, -1.0, np.nan, np.inf])
def test_the_ball_has_a_radius(B):
    with pytest.raises(ValueError, match="B must be a positive number, got"):
        NormConstrained(np.eye(2), [1, -1], B)


def test_a_penalised_bias_is_refused():
    with pytest.raises(ValueError, match="add a constant feature"):
        NormConstrained(np.eye(2), [1, -1], 1.0, bias="penalized")
