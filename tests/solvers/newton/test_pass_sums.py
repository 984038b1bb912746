import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import Regularized, Solution
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive, squared_epsilon_insensitive
from hinge.solvers.newton import pass_sums
from hinge.solvers.newton.pass_sums import PassQuery, add_sums, dual_bound, no_sums, sums_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 5)) + 0.3
Y = np.where(X[:, 0] + RNG.standard_normal(300) > 0, 1, -1)
WEIGHT = RNG.integers(0, 3, 300).astype(float)
U, P = 0.3 * RNG.standard_normal(6), RNG.standard_normal(6)
LOSSES = [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1), squared_epsilon_insensitive(0.1)]


def made(loss, rows=slice(None), storage=np.asarray, **options):
    y = X @ np.arange(5.0) if loss.two_sided else Y
    problem = Regularized(storage(X[rows]), y[rows], 0.01, weight=WEIGHT[rows], loss=loss, **options)
    problem.total = float(WEIGHT.sum())
    return problem


def assert_same(one, other):
    for name in ("along", "z", "H"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-14)
    for name in ("up", "down", "costs"):
        numbers = [getattr(sums, name).tolist() for sums in (one, other)]
        np.testing.assert_allclose(*([n[:4] for n in numbers]), rtol=1e-12, atol=1e-14)


@pytest.mark.sampled
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_sums_are_those_of_the_formulas(loss):
    problem, mu = made(loss), 0.0 if loss.curvature else 0.2
    question = PassQuery(U, P, np.array([0.0, -0.5]), mu, mu)
    found = sums_of(problem, question)
    center, c = (0.0 if loss.two_sided or loss.curvature else 0.5), WEIGHT / WEIGHT.sum()
    lifted = np.column_stack([X, np.ones(300)])
    target = problem.target if loss.two_sided else np.ones(300)

    def dual(e):  # the maximiser of a e - ℓ*(a) - μ/2 (a - centre)², on a grid that no formula made
        grid = np.linspace(max(loss.low, -400), min(loss.high, 400), 80_001) if loss.curvature else None
        grid = np.linspace(loss.low, loss.high, 4001) if grid is None else grid
        conjugate = loss.epsilon * abs(grid) + 0.5 * loss.curvature * grid**2 + 0.5 * mu * (grid - center) ** 2
        values = e[:, None] * grid - conjugate
        return grid[values.argmax(axis=1)], values.max(axis=1)

    for k, offset in enumerate(question.offsets):
        e = target - problem.y * (lifted @ (U + offset * P))
        alpha, smoothed = dual(e)
        assert found.along[k] == pytest.approx(c @ smoothed, rel=1e-4)
    e = target - problem.y * (lifted @ U)
    alpha, _ = dual(e)
    np.testing.assert_allclose(found.z.sum(axis=0), (c * alpha * problem.y) @ lifted, rtol=1e-2, atol=2e-3)
    inside = (alpha > loss.low) & (alpha < loss.high) & (abs(alpha) > 1e-9)
    H = (lifted * (c * inside)[:, None]).T @ lifted
    np.testing.assert_allclose(np.tril(found.H), np.tril(H), rtol=1e-9, atol=3e-2 * abs(H).max())
    assert found.costs.loss == pytest.approx(problem.mean_loss(U[:5], U[5]), rel=1e-12)
    assert found.costs.loss >= problem.mean_loss(U[:5], U[5])
    assert found.costs.unit == pytest.approx(problem.unit, rel=1e-12)
    assert found.costs.gap >= 0.0


@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_parts_make_the_dual_of_the_whole(loss, bias):
    options, mu = {"bias": bias, "bias_scale": 0.7}, 0.0 if loss.curvature else 0.2
    whole, question = made(loss, **options), PassQuery(U, P, np.zeros(2), mu, mu)
    pieces = [slice(0, 40), slice(40, 250), slice(250, 300)]
    parts = [made(loss, rows, sp.csr_array if k == 1 else np.asarray, **options) for k, rows in enumerate(pieces)]
    found = add_sums(*(sums_of(part, question) for part in parts))
    assert_same(found, sums_of(whole, question))
    e = whole.short_of(whole.responses(U[:5]), U[5])
    center = 0.0 if loss.two_sided or loss.curvature else 0.5
    alpha = e + mu * center
    alpha = np.clip(
        np.sign(alpha) * np.maximum(abs(alpha) - loss.epsilon, 0) / (mu + loss.curvature), loss.low, loss.high
    )
    exact = whole.dual(Solution(U[:5], U[5], alpha))
    bound = dual_bound(found, 0.01, loss, whole.constant_sq, bias == "free")
    assert bound == pytest.approx(exact, rel=1e-9, abs=1e-11)


def test_rows_that_weigh_nothing_and_no_rows_add_nothing():
    nothing = no_sums(5, 2)
    assert dual_bound(nothing, 0.01, HINGE, 0.0, True) == 0.0
    question = PassQuery(U, P, np.zeros(2), 0.1, 0.1)
    problem = made(HINGE)
    used = WEIGHT > 0
    fewer = Regularized(X[used], Y[used], 0.01, weight=WEIGHT[used])
    assert_same(sums_of(problem, question), sums_of(fewer, question))


@pytest.mark.parametrize("weighted", [False, True])
def test_thin_curvature_is_that_of_all_rows_nearly(weighted, monkeypatch):
    """One of several rows stands for the others; that of few rows, and all else, is exact."""
    rng = np.random.default_rng(1)
    rows, labels = rng.standard_normal((20_000, 5)), np.where(rng.random(20_000) < 0.5, 1, -1)
    weight = rng.random(20_000) if weighted else None
    problem = Regularized(rows, labels, 0.01, weight=weight, loss=SQUARED_HINGE)
    exact, question = sums_of(problem, PassQuery(U, P, np.zeros(2), 0.0, 0.0)), PassQuery(U, P, np.zeros(2), 0.0, 0.0)
    assert_same(sums_of(problem, question._replace(thin=True)), exact)
    monkeypatch.setattr(pass_sums, "THIN", 256)
    thin = sums_of(problem, question._replace(thin=True))
    assert not np.array_equal(thin.H, exact.H)
    np.testing.assert_allclose(np.tril(thin.H), np.tril(exact.H), atol=0.15 * abs(exact.H).max())
    assert_same(thin._replace(H=exact.H), exact)
