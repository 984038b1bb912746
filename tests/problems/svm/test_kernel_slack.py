import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Stop
from hinge.problems import Expansion, KernelSlackConstrained, SlackConstrained, Solution
from hinge.solvers import solve_slack


@pytest.fixture
def both(tiny):
    X, y = tiny
    make = lambda nu, bias: (  # noqa: E731
        KernelSlackConstrained(Gram(as_points(X, Linear(), exact=True)), y, nu, bias=bias),
        SlackConstrained(X, y, nu, bias=bias),
    )
    return X, y, make


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_with_a_linear_kernel_it_is_the_linear_problem(both, bias, nu):
    X, y, make = both
    kernel, linear = make(nu, bias)
    rng = np.random.default_rng(0)
    for _ in range(5):
        beta = y * rng.random(60)
        w = X.T @ beta
        expansion = Expansion(beta, 0.0, X @ w)
        assert kernel.objective(expansion) == pytest.approx(linear.objective(Solution(w)), rel=1e-9)
        ours = kernel.certificate(expansion)
        best = solve_slack(linear, stop=Stop(tol=1e-6)).certificate
        assert ours.objective <= best.bound * (1 + 1e-9)
        assert ours.bound >= best.objective * (1 - 1e-9)
        assert kernel.bound(rng.random(60)) >= best.objective * (1 - 1e-9)


def test_without_slack_it_is_the_margin(both):
    X, y, _ = both
    kernel = KernelSlackConstrained(Gram(as_points(X, Linear(), exact=True)), y, 0.0)
    w = X.T @ (y / 60)
    answer = Expansion(y / 60.0, 0.0, X @ w)
    smallest = (y * (X @ w)).min() / np.linalg.norm(w)
    assert kernel.objective(answer) == pytest.approx(max(0.0, smallest), abs=1e-9)


def test_usable_slack_fills_the_smaller_class(both):
    X, y, make = both
    kernel, linear = make(0.1, "free")
    w = X.T @ (y * 0.1)
    answer = Expansion(y * 0.1, 0.0, X @ w)
    assert kernel.usable(answer) == pytest.approx(linear.usable(Solution(w)), rel=1e-9)
    assert make(0.1, "none")[0].usable(answer) == np.inf
    smaller = min((y == 1).sum(), (y == -1).sum())
    assert f"all {smaller} rows of the smaller class" in kernel.flooded(0.2)


def test_a_p_of_one_class_bounds_nothing_with_a_free_bias(both):
    _, y, make = both
    assert make(0.1, "free")[0].bound((y > 0).astype(float)) == np.inf
    assert np.isfinite(make(0.1, "none")[0].bound((y > 0).astype(float)))


def test_bad_input(tiny):
    X, y = tiny
    gram = Gram(as_points(X, Gaussian(1.0)))
    with pytest.raises(ValueError, match="nu must lie in"):
        KernelSlackConstrained(gram, y, 1.5)
    with pytest.raises(ValueError, match="one class only"):
        KernelSlackConstrained(gram, np.ones(60, int), 0.1, bias="free")
