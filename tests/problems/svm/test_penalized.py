import numpy as np
import pytest

from hinge.problems import L1Regularized, Regularized, Solution
from hinge.problems.svm.losses import SQUARED_HINGE
from hinge.problems.svm.penalized import FAR, Penalized, checked_lam, lam_of

KINDS = pytest.mark.parametrize("kind", [Regularized, L1Regularized])


@KINDS
def test_the_objective_is_the_penalty_and_the_mean_loss(kind, tiny):
    X, y = tiny
    s = np.random.default_rng(0).random(60)
    problem = kind(X, y, 0.3, weight=s, bias="penalized", bias_scale=0.5, loss=SQUARED_HINGE)
    w, b = np.linspace(-1, 1, 7), 0.2
    loss = np.average(np.maximum(0, 1 - y * (X @ w + b)) ** 2, weights=s)
    paid = 0.5 * (w @ w + (b / 0.5) ** 2) if kind is Regularized else np.abs(w).sum() + b / 0.5
    assert problem.penalty(w, b) == pytest.approx(paid)
    assert problem.objective(Solution(w, b)) == pytest.approx(0.3 * paid + loss)
    assert isinstance(problem, Penalized)


@KINDS
def test_C_gives_the_lam_of_the_same_problem(kind, tiny):
    X, y = tiny
    s = np.random.default_rng(0).random(60)
    problem = kind.from_C(X, y, 0.25, weight=s)
    assert type(problem) is kind
    assert problem.lam == lam_of(0.25, s.sum()) == pytest.approx(1 / (0.25 * s.sum()))


def test_a_lam_whose_products_would_not_be_finite_is_refused():
    assert checked_lam(np.float32(0.5)) == 0.5
    for bad, words in ((0.0, "positive number"), ("1", "positive number"), (2 * FAR, "must lie between")):
        with pytest.raises(ValueError, match=words):
            checked_lam(bad)
    with pytest.raises(ValueError, match="C times the sum of the weights"):
        lam_of(1.0, 2 * FAR)
