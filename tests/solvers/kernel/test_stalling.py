import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC, NuSVC
from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Status, Stop
from hinge.problems import KernelNuClassification
from hinge.solvers import LevelBlocks, solve
from hinge.solvers.kernel.stalling import NO_MARGIN, gains, lacks_margin


def overlapping(n):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)), rng.choice([-1, 1], n)


def test_a_gain_must_be_more_than_rounding():
    assert gains(1.0 + 1e-12, 1.0, 1.0, 0.0, 1.0)
    assert not gains(1.0 + 1e-15, 1.0, 1.0, 0.0, 1.0)


def test_a_gain_must_lead_to_the_primal():
    assert gains(1.0 + 1e-4, 1.0, 1.0, 1.0, 1.0)
    assert not gains(1.0 + 1e-6, 1.0, 1.0, 1.0, 1.0)
    assert gains(1.0 + 1e-6, 1.0, 1.0, 1.0, 0.01)  # a hundredth of a pass
    assert gains(1.0 + 1e-6, 1.0, 1.0, 0.01, 1.0)  # there is less to gain


def test_a_dual_above_the_primal_is_rounding():
    assert not gains(1e13, 1.0, 1e13, 1.0 - 1e13, 1.0)


def test_no_margin_is_one_that_the_gap_leaves_open():
    small = 0.5 * NO_MARGIN
    assert lacks_margin(small, small, 1.0, 1.0)
    assert not lacks_margin(small, 0.1 * small, 1.0, 1.0)  # the hulls are known not to meet
    assert not lacks_margin(4.0 * small, small, 1.0, 1.0)
    assert not lacks_margin(small, small, 1.0, 0.0)


def test_nu_that_is_too_small_for_the_overlap_ends():
    X, y = overlapping(400)
    problem = KernelNuClassification(Gram(as_points(X, Gaussian(0.5), exact=True)), y, 0.1)
    result = solve(problem, LevelBlocks(), stop=Stop(1e-3, max_iter=100))
    assert result.status is Status.STALLED
    assert result.certificate.gap == np.inf


def test_the_same_of_few_points():
    with pytest.warns(ConvergenceWarning, match="larger nu"):
        model = NuSVC(nu=0.1, max_time=60).fit(*overlapping(300))
    assert model.stop_reason_ == "stalled"
    assert model.gap_ == np.inf


def test_a_small_margin_that_is_there_is_found():
    x = np.linspace(-1.0, 1.0, 600)[:, None]
    x[300:] += 2e-4
    problem = KernelNuClassification(x, np.where(x[:, 0] > 0, 1, -1), 0.004, Linear())
    assert solve(problem, LevelBlocks(), stop=Stop(1e-3, max_iter=100)).status is Status.CONVERGED


@pytest.mark.parametrize(("seed", "scales"), [(2, [1e9, 1e-3, 1e9, 1e9, 1e9]), (10, [1.0, 1e-3, 1e-3, 1e9, 1e-3])])
def test_columns_whose_sums_cancel_end(seed, scales):
    rng = np.random.default_rng(seed)
    noise = rng.choice([0.0, 0.1, 1.0])
    X = rng.normal(size=(300, 5))
    y = X @ rng.normal(size=5) + noise * rng.normal(size=300) > 0
    with pytest.warns(ConvergenceWarning, match="Scale the features"):
        model = SVC(kernel="linear", max_time=60).fit(X * scales, y)
    assert model.stop_reason_ == "stalled"
