"""The largest eigenvalue, and the projection onto the spectrahedron."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from hinge.problems.max_min.linear import onto_cap, onto_simplex
from hinge.problems.max_min.symmetric import few_threads, onto_bounded_cone, top_eigenvalue


def symmetric(n, seed=0, shift=0.0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / 2 + shift * np.eye(n)


@pytest.mark.parametrize("n", [1, 5, 16, 17, 60])
def test_the_largest_eigenvalue(n):
    M = symmetric(n)
    assert top_eigenvalue(M) == pytest.approx(np.linalg.eigvalsh(M)[-1], rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 16, 40])
@pytest.mark.parametrize("shift", [-30.0, -3.0, 0.0, 3.0])
@pytest.mark.parametrize("unit_trace", [False, True])
def test_the_projection_projects_the_eigenvalues(n, shift, unit_trace):
    M = symmetric(n, shift=shift)
    X = onto_bounded_cone(M, unit_trace=unit_trace)
    values, vectors = np.linalg.eigh(M)
    kept = (onto_simplex if unit_trace else onto_cap)(values)
    np.testing.assert_allclose(X, (vectors * kept) @ vectors.T, atol=1e-10)
    assert np.linalg.eigvalsh(X)[0] > -1e-12
    assert np.trace(X) == pytest.approx(1.0) if unit_trace else np.trace(X) <= 1 + 1e-12


def test_no_point_of_the_set_is_nearer():
    M, rng = symmetric(20, 3), np.random.default_rng(0)
    X = onto_bounded_cone(M)
    for _ in range(50):
        V = rng.standard_normal((20, 3))
        other = V @ V.T
        other *= rng.random() / np.trace(other)
        assert np.vdot(M - X, other - X) <= 1e-9  # the angle that makes X the nearest


def test_small_matrices_have_one_thread():
    def most():
        return max((lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"), default=1)

    with threadpool_limits(2, user_api="blas"):
        before = most()
        with few_threads(10):
            assert most() == 1
        assert most() == before
        with few_threads(10_000):
            assert most() == before
