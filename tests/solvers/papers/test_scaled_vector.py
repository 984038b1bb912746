import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge.access import as_matrix, dot, read_row, sq_norm
from hinge.solvers.papers import scaled_vector as scaled
from hinge.solvers.papers.scaled_vector import accumulate, add, keep, project, shrink, zeros

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
