import numpy as np
import pytest
import scipy.sparse as sp

from hinge.compiled import scalars
from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive, squared_epsilon_insensitive
from hinge.solvers.ascent.sdca import first_dual
from hinge.solvers.ascent.subspace_step import subspace_step

LOSSES = [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1), squared_epsilon_insensitive(0.2)]


def made(loss, rng):
    X = sp.random(120, 30, 0.3, random_state=1, format="csr")
    f = X @ rng.normal(size=30) + 0.3 * rng.normal(size=120)
    y = f if loss.two_sided else np.where(f > 0, 1, -1)
    weight = rng.uniform(0.5, 2.0, 120)
    weight[::5] = 0.0
    return Regularized.from_C(X, y, 3.0, weight=weight, loss=loss)


def sums(problem, alpha):
    positive, negative = problem.class_mass(alpha)
    return problem.combination(alpha) * problem.total, (positive - negative) * problem.total


def dual(problem, alpha, v, u, c, beta):
    """What is maximised, by its formula."""
    s, t, loss = problem.weight, problem.target, problem.loss
    own = t * alpha - loss.epsilon * np.abs(alpha) - 0.5 * loss.curvature * alpha**2
    return s @ own - beta * u - (v @ v + c * u**2) / (2 * problem.lam * problem.total)


@pytest.mark.sampled
@pytest.mark.parametrize("c, beta", [(0.0, 0.0), (2.0, 0.0), (0.3, -0.7)], ids=["no bias", "penalized", "free"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_dual_never_falls_and_sums_follow(loss, c, beta):
    rng = np.random.default_rng(0)
    problem, numbers, rose = made(loss, rng), first_dual(), 0
    full, low, high = problem.lam * problem.total, max(loss.low, -1.0), min(loss.high, 1.0)
    for _ in range(30):
        alpha, p, last = (np.clip(rng.normal(0.3, 0.5, problem.n), low, high) * (problem.weight > 0) for _ in "abc")
        q = 0.1 * (last - alpha)
        (v, numbers.u), (v_p, u_before), (v_q, u_step) = (sums(problem, a) for a in (alpha, p, q))
        walk, before = scalars(u_before=u_before, u_step=u_step, rows=0), dual(problem, alpha, v, numbers.u, c, beta)
        old = alpha.copy()
        data = problem.matrix.rows, problem.y, problem.target, problem.weight, loss, full, c, beta
        subspace_step(*data, alpha, v, numbers, walk, p, v_p, q, v_q)
        assert (alpha >= loss.low).all() and (alpha <= loss.high).all()
        np.testing.assert_allclose(v, sums(problem, alpha)[0], atol=1e-9)
        assert numbers.u == pytest.approx(sums(problem, alpha)[1])
        np.testing.assert_allclose(q, alpha - old, atol=1e-12)  # the step, which is the next q
        np.testing.assert_array_equal(p, alpha)  # from where the next p is counted
        after = dual(problem, alpha, v, numbers.u, c, beta)
        assert after >= before - 1e-12 * abs(before)
        rose += after > before
    assert rose > 5  # what leaves the bounds can take all that a random step would gain


def test_without_bounds_it_is_the_maximum_of_the_plane():
    rng = np.random.default_rng(2)
    square = squared_epsilon_insensitive(0.0)
    problem, numbers = made(square, rng), first_dual()
    alpha, p, q = rng.normal(size=(3, problem.n))
    full = problem.lam * problem.total
    here, along = alpha.copy(), [alpha - p, q.copy()]
    (v, numbers.u), (v_p, u_before), (v_q, u_step) = (sums(problem, a) for a in (alpha, p, q))
    walk = scalars(u_before=u_before, u_step=u_step, rows=0)
    data = problem.matrix.rows, problem.y, problem.target, problem.weight, square, full, 0.0, 0.0
    subspace_step(*data, alpha, v, numbers, walk, p, v_p, q, v_q)
    assert not np.allclose(alpha, here)
    for direction in along:  # nothing is higher nearby
        values = []
        for tau in (-1e-3, 0.0, 1e-3):
            a = alpha + tau * direction
            values.append(dual(problem, a, *sums(problem, a), 0.0, 0.0))
        assert values[1] >= max(values[0], values[2])
