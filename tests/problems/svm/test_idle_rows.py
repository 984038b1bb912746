import numpy as np
import pytest
from scipy.optimize import minimize

from hinge.problems.svm.idle_rows import CertifiedAnswer, idle_margins
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive

LOSSES = [HINGE, SQUARED_HINGE, epsilon_insensitive(0.3)]


def best_bias(loss, y, r, c):
    def paid(b):
        return float(c @ loss.values(y - r - b if loss.two_sided else 1.0 - y * (r + b)))

    found = min((minimize(paid, [b], method="Nelder-Mead", tol=1e-10) for b in (-3.0, 0.0, 3.0)), key=lambda f: f.fun)
    return float(found.x[0])


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("seed", range(5))
def test_no_optimal_bias_of_responses_within_their_errors_moves_a_row_further(loss, seed):
    rng = np.random.default_rng(seed)
    n, radius = 30, 0.2
    y = rng.standard_normal(n) if loss.two_sided else np.where(rng.random(n) < 0.5, 1.0, -1.0)
    r, c, norms = y + 0.5 * rng.standard_normal(n), rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 1.0, n)
    b = best_bias(loss, y, r, c)
    slack, change = idle_margins(CertifiedAnswer(y, r, b, c, norms, radius, 0.0, loss, True))
    assert np.isfinite(change).all()
    for _ in range(20):
        other = r + norms * radius * rng.choice((-1.0, 1.0), n)
        f = other + best_bias(loss, y, other, c)
        there = loss.epsilon - np.abs(y - f) if loss.two_sided else y * f - 1.0
        assert (there >= slack - change - 1e-6).all()


def test_without_a_certificate_nothing_is_proven():
    y, one = np.array([1.0, -1.0]), np.ones(2)
    for free in (False, True):
        slack, change = idle_margins(CertifiedAnswer(y, 9.0 * y, 0.0, one, one, np.inf, 0.0, HINGE, free))
        assert not (slack > change).any()


def test_a_bias_that_nothing_holds_is_not_bounded():
    one = np.ones(3)  # all labels are positive: any larger bias is as good
    slack, change = idle_margins(CertifiedAnswer(one, 3.0 * one, 0.0, one, one, 0.1, 0.0, HINGE, True))
    assert (slack == 2.0).all() and np.isfinite(change).all()  # from below it is held
    slack, change = idle_margins(CertifiedAnswer(-one, -3.0 * one, 0.0, one, one, 0.1, 0.0, HINGE, True))
    assert np.isfinite(change).all()
