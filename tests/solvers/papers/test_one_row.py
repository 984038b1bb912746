import numpy as np
import pytest

from hinge.problems import KernelRegularized, NormConstrained, Regularized
from hinge.sampling import draw_index, key_of
from hinge.solvers import SGD, Norma, solve
from hinge.solvers.papers import scaled_vector as scaled
from hinge.solvers.papers.one_row import subgradient_steps


def literal(X, y, lam, eta_1, power, radius, T, seed):
    """The steps as they are written down."""
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for t in range(1, T + 1):
        i, eta = int(draw_index(key_of(seed), t, len(y))), eta_1 / t**power
        hit = y[i] * (X[i] @ w) < 1
        w = (1 - eta * lam) * w + (eta * y[i] * X[i] if hit else 0)
        w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
        total += w
    return w, total / T


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("radius", [np.inf, 0.8])
@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_steps_are_those_of_the_formula(tiny, power, radius, lam):
    X, y = tiny
    problem = Regularized(X, y, 0.1)
    z = scaled.zeros(60, 7)
    subgradient_steps(problem.matrix.rows, problem.y, lam, 0.3, power, radius, True, 90, z, 0, key_of(4))
    last, mean = literal(X, y, lam, 0.3, power, radius, 90, 4)
    np.testing.assert_allclose(scaled.last(z)[0], last, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.average(z)[0], mean, rtol=1e-9, atol=1e-12)


def test_the_dual_weights_make_w(tiny):
    X, y = tiny
    problem, solver = Regularized(X, y, 0.1), Norma()
    solution = solver.solution(problem, solver.advance(problem, solver.init(problem), 200))
    assert ((solution.alpha >= 0) & (solution.alpha <= 1)).all()
    if solution.alpha.max() < 1:
        np.testing.assert_allclose(solution.w, (y * solution.alpha) @ X / (0.1 * 60), rtol=1e-9)


def test_a_ball_has_a_dual_of_free_scale(tiny):
    X, y = tiny
    problem, solver = NormConstrained(X, y, 1.0), SGD()
    alpha = solver.solution(problem, solver.advance(problem, solver.init(problem), 100)).alpha
    used = alpha[alpha > 0]
    assert len(used) and np.median(used[used < 1]) <= 1.0 and alpha.max() == 1.0


def test_what_they_cannot_solve(tiny):
    X, y = tiny
    with pytest.raises(ValueError, match="has no bias"):
        solve(Regularized(X, y, 0.1, bias="free"), Norma())
    with pytest.raises(ValueError, match="takes no weights"):
        solve(Regularized(X, y, 0.1, weight=np.arange(60.0)), SGD())
    from hinge.access import Gram, as_points
    from hinge.kernels import Linear

    with pytest.raises(ValueError, match="linear SVM problems, not KernelRegularized"):
        solve(KernelRegularized(Gram(as_points(X, Linear())), y, 0.1), SGD())


def test_one_row_an_iteration_is_read(tiny_csr):
    S, y = tiny_csr
    problem, solver = Regularized(S, y, 0.1), Norma()
    solver.advance(problem, solver.init(problem, 5), 40)
    drawn = [int(draw_index(key_of(5), t, 60)) for t in range(1, 41)]
    assert problem.reads == np.diff(S.indptr)[drawn].sum()
