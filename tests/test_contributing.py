"""What CONTRIBUTING.md promises of a new loss: the logistic loss, added in this file, gets certified fits."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hinge import Regularized, Stop, solve
from hinge.problems.svm.losses import Loss
from hinge.solvers import SDCA, FiniteNewton, Newton
from hinge.solvers.base import reason_against
from hinge.solvers.choice.auto import choose

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 6))
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=300) > 0, 1, -1)
LAM = 0.01


class Logistic(Loss):
    """ln(1 + exp(g - 1)), with the conjugate α + α ln α + (1 - α) ln(1 - α)."""

    __slots__ = ()
    name = "logistic"
    piecewise = False

    def values(self, g, error=0.0):
        return np.logaddexp(0.0, g + (error - 1.0)) * (1.0 + 1e-15)

    def slope(self, g):
        return np.exp(-np.logaddexp(0.0, 1.0 - g))

    def second(self, alpha):
        return alpha * (1.0 - alpha)

    def conjugates(self, alpha):
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = alpha * np.log(alpha), (1.0 - alpha) * np.log1p(-alpha)
        return alpha + sum(np.nan_to_num(part) for part in entropy)

    @staticmethod
    def conjugate(loss, a):
        return a if a <= 0.0 or a >= 1.0 else a + a * math.log(a) + (1.0 - a) * math.log1p(-a)

    @staticmethod
    def gap_share(loss, g, a):
        u = g - 1.0
        value = u + math.log1p(math.exp(-u)) if u > 0.0 else math.log1p(math.exp(u))
        inner = a * math.log(a) + (1.0 - a) * math.log1p(-a) if 0.0 < a < 1.0 else 0.0
        return value + a + inner - a * g

    @staticmethod
    def ascents(loss, a, g):
        if a <= 0.0:
            return np.inf, np.inf
        if a >= 1.0:
            return -np.inf, -np.inf
        slope = g - 1.0 - math.log(a / (1.0 - a))
        return slope, slope

    @staticmethod
    def best_weight(loss, a, g, h):
        # The zero of g - 1 - h(x - a) - ln(x/(1 - x)), which falls in x: Newton steps, kept within a bracket.
        low, high, x = 0.0, 1.0, min(max(a, 1e-3), 1.0 - 1e-3)
        for _ in range(60):
            slope = g - 1.0 - h * (x - a) - math.log(x / (1.0 - x))
            if slope > 0.0:
                low = x
            else:
                high = x
            new = x + slope / (h + 1.0 / (x * (1.0 - x)))
            new = new if low < new < high else 0.5 * (low + high)
            if abs(new - x) <= 1e-15:
                break
            x = new
        return x


LOGISTIC = Logistic(0.0, 1.0, 0.0, 4.0)


@pytest.mark.parametrize("bias", ["none", "penalized"])
@pytest.mark.parametrize("solver", [SDCA(), SDCA(tol=1e-6), FiniteNewton(1e-6)], ids=repr)
def test_a_loss_in_one_file_gets_certified_fits(solver, bias):
    weight = RNG.integers(1, 4, size=len(Y)).astype(float)
    for s in (None, weight):
        problem = Regularized(X, Y, LAM, loss=LOGISTIC, bias=bias, weight=s)
        result = solve(problem, solver, stop=Stop(1e-6, max_iter=10**6))
        assert result.status.name == "CONVERGED" and result.certificate.gap <= 1e-6
        B = X if bias == "none" else np.hstack([X, np.ones((len(X), 1))])
        C = 1.0 / (LAM * problem.total)
        peer = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(B, Y, sample_weight=s)
        ours = result.solution.w if bias == "none" else np.append(result.solution.w, result.solution.b)
        np.testing.assert_allclose(ours, peer.coef_[0], atol=3e-3)
        margins = Y * (B @ peer.coef_[0])
        best = 0.5 * LAM * peer.coef_[0] @ peer.coef_[0] + np.average(np.logaddexp(0.0, -margins), weights=s)
        assert result.certificate.bound <= best * (1.0 + 1e-9)
        assert best <= result.certificate.objective * (1.0 + 1e-9)


def test_a_new_loss_is_refused_where_it_is_not_known_and_solved_by_default():
    problem = Regularized(X, Y, LAM, loss=LOGISTIC)
    assert "Newton needs a piecewise quadratic loss" in reason_against(Newton(), problem)
    assert "Subspace steps" in SDCA(acceleration="subspace").rejects(problem)
    choice = choose(problem)
    assert isinstance(choice.solver, FiniteNewton) and choice.reason == "the logistic loss is not piecewise quadratic"
    assert solve(problem, choice.solver, stop=Stop(1e-3)).certificate.gap <= 1e-3
