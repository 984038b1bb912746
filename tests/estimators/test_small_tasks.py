import numpy as np
import pytest

from hinge import SVC
from hinge.estimators.small_tasks import are_small
from hinge.kernels import Function, Gaussian
from hinge.solvers.kernel.active_set import MOST


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_together_they_are_what_they_are_one_by_one(shape, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = np.digitize(X[:, 0] + 0.4 * rng.standard_normal(90), [-0.5, 0.5])
    weight = rng.integers(0, 3, 90) + (np.arange(90) % 5 == 0) if weighted else None
    options = dict(gamma=0.4, C=2.0, tol=1e-6, decision_function_shape=shape, random_state=0)
    together = SVC(**options).fit(X, y, weight)
    alone = SVC(**options, solver="blockdual").fit(X, y, weight)
    np.testing.assert_allclose(together.decision_function(X), alone.decision_function(X), atol=2e-2)
    np.testing.assert_allclose(together.intercept_, alone.intercept_, atol=2e-2)
    assert (together.predict(X) == alone.predict(X)).mean() > 0.98
    assert together.gap_ <= 1e-6


def small(sizes, memory=1e9, one_vs_one=True, kernel=None):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return are_small(kernel or Gaussian(1.0), codes, len(sizes), memory, one_vs_one=one_vs_one)


def test_what_counts_as_small():
    half = MOST // 2
    assert small([half, half, 10])
    assert not small([half, half + 1, 10])  # the two largest meet
    assert small([half, half]) and not small([half, half, 10], one_vs_one=False)
    assert not small([half, half], memory=8.0 * MOST**2 - 1)
    assert not small([5, 5], kernel=Function(lambda x, z: 1.0))
    assert small([MOST, MOST, 10, 10, 10])  # of many classes pairs may be larger
    assert not small([MOST, MOST + 1, 10, 10, 10]) and not small([MOST, MOST, 10, 10])
