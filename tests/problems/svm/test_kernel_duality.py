import numpy as np
import pytest

from hinge.problems.svm.kernel_duality import ONE_SIDED, certificate_at, duality_gap, longer, stationary_bias


def some(seed, n=25):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 6))
    K = A @ A.T
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    box = rng.random(n)
    beta = y * box * rng.random(n)
    return K, y, box, beta


def primal(K, y, box, lam, beta, b):
    return lam / 2 * beta @ K @ beta + lam * box @ np.maximum(0, 1 - y * (K @ beta + b))


def dual(K, y, lam, beta):
    return lam * (beta @ y - beta @ K @ beta / 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_without_a_bias_it_is_primal_less_dual_of_the_best_multiple(seed):
    K, y, box, beta = some(seed)
    lam, r, zero = 0.1, K @ beta, np.zeros(25)
    extra = np.empty(25)
    P, gap, most, least = duality_gap(y, box, lam, beta, r, zero, np.sqrt(np.diag(K)), 0.0, False, extra, ONE_SIDED)
    assert pytest.approx(primal(K, y, box, lam, beta, 0.0)) == P
    largest = (np.abs(beta) / box).max()
    multiples = np.linspace(0, 1 / largest, 20001)
    best = max(dual(K, y, lam, m * beta) for m in multiples)
    assert P - gap == pytest.approx(best, rel=1e-6)
    assert gap <= most * (1 + 1e-12) and least <= best * (1 + 1e-6)
    assert (extra >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_with_a_bias_the_dual_point_is_made_feasible(seed):
    K, y, box, beta = some(seed)
    lam, b = 0.1, 0.2
    extra = np.empty(25)
    P, _, most, _ = duality_gap(
        y, box, lam, beta, K @ beta, np.zeros(25), np.sqrt(np.diag(K)), b, True, extra, ONE_SIDED
    )
    assert pytest.approx(primal(K, y, box, lam, beta, b)) == P
    # any feasible point bounds the optimum: the gap is no smaller than to the balanced multiple
    up, down = np.abs(beta)[y > 0].sum(), np.abs(beta)[y < 0].sum()
    heavy = y == (1 if up > down else -1)
    even = np.where(heavy, beta * min(up, down) / max(up, down), beta)
    assert abs(even.sum()) < 1e-12
    assert (
        P - most <= max(dual(K, y, lam, m * even) for m in np.linspace(0, 1 / (np.abs(even) / box).max(), 5001)) + 1e-9
    )


def test_errors_of_responses_only_add():
    K, y, box, beta = some(0)
    e, extra = np.full(25, 1e-3), np.empty(25)
    arguments = y, box, 0.1, beta, K @ beta
    sharp = duality_gap(*arguments, np.zeros(25), np.ones(25), 0.0, False, extra, ONE_SIDED)
    blurred = duality_gap(*arguments, e, np.ones(25), 0.0, False, extra, ONE_SIDED)
    assert blurred[2] > sharp[2]
    assert blurred[3] < sharp[3]
    off = 1e-3 * np.random.default_rng(1).uniform(-1, 1, 25)
    moved = duality_gap(y, box, 0.1, beta, K @ beta + off, np.zeros(25), np.ones(25), 0.0, False, extra, ONE_SIDED)
    assert moved[1] <= blurred[2] * (1 + 1e-9)


def test_a_point_outside_of_the_box_has_no_gap():
    K, y, box, beta = some(1)
    beta[3] = -y[3] * 0.1
    _, gap, most, least = duality_gap(
        y, box, 0.1, beta, K @ beta, np.zeros(25), np.ones(25), 0.0, False, np.empty(25), ONE_SIDED
    )
    assert gap == most == np.inf and least == -np.inf


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_with_targets_it_is_primal_less_dual_of_the_best_multiple(seed, epsilon):
    K, _, box, beta = some(seed)
    rng = np.random.default_rng(seed)
    t, lam = K @ beta * rng.uniform(0, 2) + rng.standard_normal(25), 0.1
    beta[::2] -= beta[::2].sum() / 13 + beta[1::2].sum() / 13  # which sums to zero
    box = np.maximum(box, np.abs(beta))
    r, zero, extra = K @ beta, np.zeros(25), np.empty(25)

    m = np.linspace(0, 1 / (np.abs(beta) / box).max(), 20001)
    best = (lam * (m * (t @ beta - epsilon * np.abs(beta).sum()) - m**2 * (beta @ K @ beta / 2))).max()
    for b, free in ((0.0, False), (0.4, True)):
        P, gap, most, least = duality_gap(t, box, lam, beta, r, zero, np.ones(25), b, free, extra, epsilon)
        assert pytest.approx(lam / 2 * beta @ r + lam * box @ np.maximum(0, np.abs(t - r - b) - epsilon)) == P
        assert P - gap == pytest.approx(best, rel=1e-6, abs=1e-9)
        assert gap <= most * (1 + 1e-12) and least <= best + 1e-6 * abs(best)
        e = np.full(25, 1e-3)
        blurred = duality_gap(t, box, lam, beta, r, e, np.ones(25), b, free, extra, epsilon)
        assert blurred[2] >= gap + extra.sum() * 0.999
        moved = duality_gap(
            t, box, lam, beta, r + e * rng.choice([-1, 1], 25), zero, np.ones(25), b, free, extra, epsilon
        )
        assert moved[1] <= blurred[2]


def test_the_stationary_bias_with_epsilon_has_zero_for_a_bound():
    e, hi = np.array([0.3, -0.2, 0.1, -0.9]), np.ones(4)
    assert stationary_bias(np.array([0.5, -0.5, 0.0, 1.0]), e, -hi, hi, 0.25) == pytest.approx(-(0.55 - 0.45) / 2)
    # points at zero or at a bound allow an interval: from -(0.1 + 0.25) to -(-0.9 + 0.25), and so on
    assert stationary_bias(np.array([0.0, 0.0, 0.0, 0.0]), e, -hi, hi, 0.7) == pytest.approx(-0.5 * (-0.2 + -0.4))


def test_the_stationary_bias_is_libsvms():
    lo, hi = np.zeros(4), np.ones(4)
    e = np.array([0.3, 0.5, -1.0, 2.0])
    assert stationary_bias(np.array([0.5, 0.5, 0.0, 1.0]), e, lo, hi, ONE_SIDED) == pytest.approx(-0.4)
    assert stationary_bias(np.array([0.0, 1.0, 0.0, 1.0]), e, lo, hi, ONE_SIDED) == pytest.approx(-0.5 * (-1.0 + 2.0))
    assert stationary_bias(np.zeros(4), e, lo, hi, ONE_SIDED) == 1.0
    assert stationary_bias(np.ones(4), e, lo, hi, ONE_SIDED) == -2.0


@pytest.mark.parametrize("free", [False, True])
def test_a_longer_w_has_no_loss_by_rounding(free):
    """All margins are 1 but for 1e-9, and C is so large that these cost a million times what w does."""
    rng = np.random.default_rng(1)
    K = 1e12 * (np.eye(8) + 0.01)
    y = np.where(np.arange(8) < 4, 1.0, -1.0)
    beta, box, off = np.linalg.solve(K, y), np.full(8, 1e12), np.full(8, 1e-9)
    r = K @ beta + 1e-9 * rng.uniform(-1, 1, 8)
    own, lam = np.sqrt(np.diag(K)), 1.0
    as_it_is = certificate_at(y, box, lam, 0.0, beta, r, off, own, 0.0, free, None)
    s, b = longer(y, lam * box, lam * float(beta @ r), r, off, free)
    multiple = certificate_at(y, box, lam, 0.0, s * beta, s * r, s * off, own, b, free, None)
    assert as_it_is.gap > 1e6 and multiple.gap < 1e-6
    assert 1.0 < s < 1.0 + 1e-7
