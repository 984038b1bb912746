"""Sums of all tasks where torch computes, on the CPU where there is no GPU: those of NumPy, row by row."""

import importlib

import numpy as np
import pytest

from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive, squared_epsilon_insensitive
from hinge.solvers.newton.device_newton import dual_sums, trial_sums

has_torch = importlib.util.find_spec("torch") is not None
torch = importlib.import_module("torch") if has_torch else None
needs_torch = pytest.mark.skipif(not has_torch, reason="torch is not installed")
needs_gpu = pytest.mark.skipif(not has_torch or not torch.cuda.is_available(), reason="torch finds no GPU")
DEVICES = [pytest.param("cpu", marks=needs_torch), pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])]
N = 2500  # more than two blocks of a pass, and no whole number of them
LOSSES = [HINGE, SQUARED_HINGE, epsilon_insensitive(0.3), squared_epsilon_insensitive(0.3)]


def drawn(loss, tasks, even):
    """Widths, margins, centres, labels, targets and shares of some tasks; shares of one line where they are `even`."""
    rng = np.random.default_rng(tasks)
    M, center = rng.normal(1.0, 1.0, (N, tasks)), rng.random((N, tasks))
    y = np.ones((N, tasks)) if loss.two_sided else rng.choice([-1.0, 1.0], (N, tasks))
    target = rng.normal(1.0, 1.0, (N, tasks)) if loss.two_sided else np.ones((1, tasks))
    share = rng.random((1, tasks)) if even else rng.random((N, tasks)) * (rng.random((N, tasks)) < 0.9)
    mu = np.zeros(tasks) if loss.curvature else rng.uniform(0.1, 1.0, tasks)
    return mu, M, center, y, target, share


def there(where, mu, *columns):
    """The same on a device, one number a row and task."""
    return [torch.from_numpy(mu).to(where), *(torch.from_numpy(a).to(where).expand(N, -1) for a in columns)]


def slopes(loss, e, mu, center):
    """The slopes of the smoothed loss, before they are clipped."""
    z = e + mu * center
    return np.sign(z) * np.maximum(np.abs(z) - loss.epsilon, 0.0) / (mu + loss.curvature)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("even", [True, False], ids=["even", "weighted"])
@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_sums_are_those_of_numpy(loss, tasks, even, where):
    mu, M, center, y, target, share = drawn(loss, tasks, even)
    alpha = torch.zeros((N, tasks), dtype=torch.float64, device=where)
    signed, sums = dual_sums(loss, *there(where, mu, M, center, y, target, share), alpha)
    e, q, epsilon = target - M, loss.curvature, loss.epsilon
    a = np.clip(slopes(loss, e, mu, center), loss.low, loss.high)
    losses = np.maximum((np.abs(e) if loss.two_sided else e) - epsilon, 0.0) ** (2 if q else 1)
    mass, rows = share * np.abs(a), [share * losses, share * (losses - a * e + epsilon * np.abs(a) + 0.5 * q * a * a)]
    for side in (a * y > 0, a * y < 0):
        linear, extent = share * a * target - epsilon * mass, mass * (np.abs(target) + epsilon)
        rows += [mass * side, linear * side, extent * side, share * a * a * bool(q) * side]
    np.testing.assert_allclose(alpha.cpu(), a, rtol=1e-13, atol=1e-14)  # a card rounds e + μα̂ once
    np.testing.assert_allclose(signed.cpu(), share * a * y, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(sums.cpu(), [*(row.sum(0) for row in rows), np.abs(a).max(0)], rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("even", [True, False], ids=["even", "weighted"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_trials_are_slope_and_curvature_of_the_losses(loss, even, where):
    mu, M, center, _, target, share = drawn(loss, 3, even)
    q, tau = np.random.default_rng(1).standard_normal((N, 3)), np.array([0.0, 0.5, 1.0])
    along = (torch.from_numpy(a).to(where) for a in (q, tau))
    sums = trial_sums(loss, *there(where, mu, M, center, target, share), *along)
    a = slopes(loss, target - M - tau * q, mu, center)
    slope = -(share * q * np.clip(a, loss.low, loss.high)).sum(0)
    bends = (share * q * q * ((a > loss.low) & (a < loss.high) & (a != 0))).sum(0) / (mu + loss.curvature)
    np.testing.assert_allclose(sums.cpu(), [slope, bends], rtol=1e-11)


@pytest.mark.parametrize("where", DEVICES)
def test_what_is_no_number_stays_none(where):
    mu, M, center, y, target, share = drawn(HINGE, 2, True)
    M[1700, 1] = np.nan
    alpha = torch.zeros((N, 2), dtype=torch.float64, device=where)
    _, sums = dual_sums(HINGE, *there(where, mu, M, center, y, target, share), alpha)
    assert np.isfinite(sums.cpu().numpy()[:, 0]).all()
    assert np.isnan(sums.cpu().numpy()[:2, 1]).all()  # a loss that is a number would be certified
