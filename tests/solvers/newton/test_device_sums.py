"""Sums of all tasks where torch computes, on the CPU where there is no GPU: those of NumPy, row by row."""

import importlib

import numpy as np
import pytest

from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.solvers.newton.device_newton import dual_sums, trial_sums

has_torch = importlib.util.find_spec("torch") is not None
torch = importlib.import_module("torch") if has_torch else None
needs_torch = pytest.mark.skipif(not has_torch, reason="torch is not installed")
needs_gpu = pytest.mark.skipif(not has_torch or not torch.cuda.is_available(), reason="torch finds no GPU")
DEVICES = [pytest.param("cpu", marks=needs_torch), pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])]
N = 2500  # more than two blocks of a pass, and no whole number of them


def drawn(loss, tasks, even):
    """Margins, centres, labels, shares and widths of some tasks; shares of one line where they are `even`."""
    rng = np.random.default_rng(tasks)
    M, center = rng.normal(1.0, 1.0, (N, tasks)), rng.random((N, tasks))
    y = rng.choice([-1.0, 1.0], (N, tasks))
    share = rng.random((1, tasks)) if even else rng.random((N, tasks)) * (rng.random((N, tasks)) < 0.9)
    mu = np.zeros(tasks) if loss.curvature else rng.uniform(0.1, 1.0, tasks)
    return mu, M, center, y, share


def there(where, mu, *columns):
    """The same on a device, one number a row and task."""
    return [torch.from_numpy(a).to(where) for a in (mu, *columns[:-1])] + [
        torch.from_numpy(columns[-1]).to(where).expand(N, -1)
    ]


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("even", [True, False], ids=["even", "weighted"])
@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
def test_sums_are_those_of_numpy(loss, tasks, even, where):
    mu, M, center, y, share = drawn(loss, tasks, even)
    alpha = torch.zeros((N, tasks), dtype=torch.float64, device=where)
    signed, sums = dual_sums(loss, *there(where, mu, M, center, y, share), alpha)
    e, q = 1.0 - M, loss.curvature
    a = np.clip((e + mu * center) / (mu + q), loss.low, loss.high)
    losses = np.maximum(e, 0.0) ** (2 if q else 1)
    up, mass, square = y > 0, share * a, share * a * a * bool(q)
    rows = [
        share * losses,
        share * (losses - a * e + 0.5 * q * a * a),
        mass * up,
        mass * ~up,
        square * up,
        square * ~up,
    ]
    np.testing.assert_allclose(alpha.cpu(), a, rtol=1e-15, atol=1e-15)  # a card rounds e + μα̂ once
    np.testing.assert_allclose(signed.cpu(), mass * y, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(sums.cpu(), [*(row.sum(0) for row in rows), a.max(0)], rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("even", [True, False], ids=["even", "weighted"])
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE], ids=lambda loss: loss.name)
def test_trials_are_slope_and_curvature_of_the_losses(loss, even, where):
    mu, M, center, _, share = drawn(loss, 3, even)
    q, tau = np.random.default_rng(1).standard_normal((N, 3)), np.array([0.0, 0.5, 1.0])
    along = (torch.from_numpy(a).to(where) for a in (q, tau))
    sums = trial_sums(loss, *there(where, mu, M, center, share), *along)
    a = (1.0 - M - tau * q + mu * center) / (mu + loss.curvature)
    slope = -(share * q * np.clip(a, loss.low, loss.high)).sum(0)
    bends = (share * q * q * ((a > loss.low) & (a < loss.high))).sum(0) / (mu + loss.curvature)
    np.testing.assert_allclose(sums.cpu(), [slope, bends], rtol=1e-11)


@pytest.mark.parametrize("where", DEVICES)
def test_what_is_no_number_stays_none(where):
    mu, M, center, y, share = drawn(HINGE, 2, True)
    M[1700, 1] = np.nan
    alpha = torch.zeros((N, 2), dtype=torch.float64, device=where)
    _, sums = dual_sums(HINGE, *there(where, mu, M, center, y, share), alpha)
    assert np.isfinite(sums.cpu().numpy()[:, 0]).all()
    assert np.isnan(sums.cpu().numpy()[:2, 1]).all()  # a loss that is a number would be certified
