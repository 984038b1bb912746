import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge.access import as_matrix, dot, read_row, sq_norm
from hinge.problems import KernelRegularized, NormConstrained, Regularized
from hinge.sampling import draw_index, key_of
from hinge.solvers import SGD, Norma, solve
from hinge.solvers.papers import scaled_vector as scaled
from hinge.solvers.papers.scaled_vector import accumulate, add, keep, project, shrink, subgradient_steps, zeros

X = np.round(np.random.default_rng(0).standard_normal((12, 5)) * 8) / 8
Y = np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
CONSTANT = 0.5


class Plain:
    """The same operations on plain vectors: the constant feature last, then the coordinates."""

    def __init__(self):
        self.w, self.coords = np.zeros(6), np.zeros(12)
        self.w_sum, self.coords_sum, self.total = np.zeros(6), np.zeros(12), 0.0

    def shrink(self, factor):
        self.w, self.coords = factor * self.w, factor * self.coords

    def add(self, i, step):
        self.w = self.w + step * Y[i] * np.append(X[i], CONSTANT)
        self.coords[i] += step

    def project(self, radius):
        self.shrink(min(1.0, radius / max(np.linalg.norm(self.w), 1e-300)))

    def accumulate(self, rho):
        self.w_sum, self.coords_sum = self.w_sum + rho * self.w, self.coords_sum + rho * self.coords
        self.total += rho

    def keep(self):
        self.w_sum, self.coords_sum, self.total = self.w.copy(), self.coords.copy(), 1.0


def apply(operation, argument, z, plain, A):
    if operation == "add":
        i, step = argument
        row = read_row(A, i)
        response = z.s.a * (dot(A, row, z.v) + CONSTANT * z.s.v0)
        add(A, row, z, i, step, Y[i], CONSTANT, response, sq_norm(A, row) + CONSTANT**2)
        plain.add(i, step)
    elif operation == "keep":
        keep(z)
        plain.keep()
    else:
        {"shrink": shrink, "project": project, "accumulate": accumulate}[operation](z, argument)
        getattr(plain, operation)(argument)


def check(z, plain, tol):
    scale = 1 + np.abs(plain.w).max()
    w, w0, coords, _ = scaled.last(z)
    np.testing.assert_allclose(np.append(w, w0), plain.w, atol=tol * scale, rtol=tol)
    np.testing.assert_allclose(coords, plain.coords, atol=tol * scale, rtol=tol)
    np.testing.assert_allclose(np.append((coords * Y) @ X, CONSTANT * coords @ Y), plain.w, atol=tol * scale)
    assert z.s.sq == pytest.approx(plain.w @ plain.w, rel=tol, abs=tol * scale**2)
    if plain.total:
        w, w0, coords, _ = scaled.average(z)
        scale = 1 + np.abs(plain.w_sum).max() / plain.total
        np.testing.assert_allclose(np.append(w, w0), plain.w_sum / plain.total, atol=tol * scale, rtol=tol)
        np.testing.assert_allclose(coords, plain.coords_sum / plain.total, atol=tol * scale, rtol=tol)


operations = st.one_of(
    st.tuples(st.just("shrink"), st.sampled_from([0.0, -0.5, 0.3, 0.9, 0.999])),
    st.tuples(st.just("add"), st.tuples(st.integers(0, 11), st.sampled_from([0.1, 1.0, 5.0]))),
    st.tuples(st.just("project"), st.sampled_from([0.5, 2.0])),
    st.tuples(st.just("accumulate"), st.sampled_from([1.0, 7.0])),
    st.tuples(st.just("keep"), st.none()),
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(operations, max_size=30))
def test_all_operations_are_those_of_plain_vectors(todo):
    z, plain, A = zeros(12, 5), Plain(), as_matrix(X).rows
    for operation, argument in todo:
        apply(operation, argument, z, plain, A)
    check(z, plain, 1e-9)


@pytest.mark.slow
def test_a_scale_is_folded_in_before_digits_are_lost():
    z, plain, A = zeros(12, 5), Plain(), as_matrix(X).rows
    folds = 0
    for t in range(200):
        apply("add", (t % 12, 1.0), z, plain, A)
        before = z.s.a
        apply("shrink", 0.5, z, plain, A)
        folds += z.s.a > before
        apply("accumulate", 1.0, z, plain, A)
        assert 1e-9 <= z.s.a <= 1.0
        check(z, plain, 1e-6)
    assert folds >= 5
    assert z.s.averaged < 2.5


def test_the_bias_is_averaged_beside():
    z = zeros(3, 2)
    for b, rho in ((1.0, 1.0), (4.0, 2.0)):
        z.s.b = b
        accumulate(z, rho)
    assert scaled.last(z)[3] == 4.0
    assert scaled.average(z)[3] == pytest.approx(3.0)


def test_before_the_first_step():
    z = zeros(3, 2)
    for read in (scaled.last, scaled.average):
        w, w0, coords, b = read(z)
        assert (w.tolist(), w0, coords.tolist(), b) == ([0, 0], 0, [0, 0, 0], 0)


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
