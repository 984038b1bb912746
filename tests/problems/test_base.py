import numpy as np
import pytest

from hinge.access import Gram, as_points
from hinge.kernels import Linear
from hinge.problems import Certificate, KernelRegularized, NormConstrained, Regularized, SlackConstrained, Solution


def problems(X, y):
    gram = Gram(as_points(X, Linear(), exact=True))
    return [
        Regularized(X, y, 0.1),
        NormConstrained(X, y, 1.0),
        SlackConstrained(X, y, 0.1),
        KernelRegularized(gram, y, 0.1),
    ]


def test_the_defaults_of_an_answer_and_of_a_certificate():
    answer = Solution(np.ones(2))
    assert answer.b == 0.0 and answer.alpha is None
    certificate = Certificate(1.0, 0.5, 0.1)
    assert certificate.b == 0.0 and np.isnan(certificate.unrounded)


def test_an_objective_is_exact_and_not_billed_and_a_certificate_is(tiny):
    X, y = tiny
    w = np.linspace(-0.1, 0.2, 7)
    for problem in problems(X, y)[:2]:
        value = problem.objective(Solution(w))
        assert problem.reads == 0
        hinge = np.maximum(0, 1 - y * (X @ w)).mean()
        assert value == pytest.approx(hinge + (0.05 * w @ w if isinstance(problem, Regularized) else 0))
        problem.certificate(Solution(w, 0.0, np.full(60, 0.5)))
        assert 0 < problem.reads <= 2 * X.size


def test_the_objective_and_the_bound_are_on_either_side_of_the_optimum(tiny):
    X, y = tiny
    alpha = np.random.default_rng(0).random(60)
    for problem in problems(X, y)[:2]:
        certificate = problem.certificate(Solution(np.zeros(7), 0.0, alpha))
        assert certificate.bound <= certificate.objective
        assert certificate.gap >= 0
