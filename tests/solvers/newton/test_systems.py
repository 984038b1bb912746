import numpy as np
import pytest

from hinge.solvers.newton.systems import conjugate_gradient, solved


def positive(seed, n=15):
    A = np.random.default_rng(seed).standard_normal((n, 2 * n))
    return A @ A.T


@pytest.mark.parametrize("seed", range(3))
def test_the_lower_triangle_is_enough(seed):
    H, g = positive(seed), np.random.default_rng(9).standard_normal(15)
    np.testing.assert_allclose(solved(np.tril(H), g), np.linalg.solve(H, g), rtol=1e-9)


def test_a_singular_system_gets_a_ridge():
    H = np.diag([2.0, 3.0, 0.0])
    x = solved(H, np.array([4.0, 3.0, 0.0]))
    np.testing.assert_allclose(x, [2.0, 1.0, 0.0], atol=1e-9)
    H[2, 2] = -1e-14  # as rounding leaves it
    np.testing.assert_allclose(solved(H, np.array([4.0, 3.0, 0.0])), [2.0, 1.0, 0.0], atol=1e-9)


def test_a_ridge_leaves_columns_of_all_scales_as_they_are():
    scales = 10.0 ** np.array([-3.0, 6.0, 6.0, 0.0])
    H = np.array([[2.0, 0.5, 0.5, 0.0], [0.5, 1.0, 1.0, 0.0], [0.5, 1.0, 1.0 - 1e-15, 0.0], [0.0, 0.0, 0.0, 1.0]])
    expected = np.array([1.0, 2.0, 2.0, 3.0])  # columns 1 and 2 are one, and rounding has made the factor fail
    x = solved(H * np.outer(scales, scales), H @ expected * scales) * scales
    np.testing.assert_allclose([x[0], x[1] + x[2], x[3]], [1.0, 4.0, 3.0], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_conjugate_gradients_come_to_a_tenth(seed):
    H, g = positive(seed), np.random.default_rng(9).standard_normal(15)
    products = []
    x, converged = conjugate_gradient(lambda p: products.append(p) or H @ p, g, 100)
    assert converged
    assert np.linalg.norm(g - H @ x) <= 0.1 * np.linalg.norm(g)
    assert 0 < len(products) <= 15
    assert (x @ H @ x) / 2 - g @ x < 0  # and gain on the way


def test_they_stop_at_the_given_number():
    H, g = positive(0), np.ones(15)
    products = []
    assert not conjugate_gradient(lambda p: products.append(p) or H @ p, g, 2)[1]
    assert len(products) == 2
    # one step is that of steepest descent
    np.testing.assert_allclose(conjugate_gradient(H.__matmul__, g, 1)[0], (g @ g) / (g @ H @ g) * g)


def test_nothing_is_solved_at_once():
    assert not conjugate_gradient(lambda p: p, np.zeros(4), 5)[0].any()


@pytest.mark.parametrize("H", [np.zeros((3, 3)), -np.eye(3), np.diag([1.0, -1e30, 1.0])], ids=["zero", "less", "wild"])
def test_a_matrix_that_is_no_use_gives_an_answer_all_the_same(H):
    x = solved(H, np.ones(3))
    assert np.isfinite(x).all() and (x * np.ones(3)).sum() > 0


def test_columns_of_any_scale_take_as_many_products_as_equal_ones():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(40, 8))
    scale = 10.0 ** rng.uniform(-3, 3, 8)
    H, g = B.T @ B + np.eye(8), rng.normal(size=8)
    plain, _ = conjugate_gradient(H.__matmul__, g, 4, np.diagonal(H))
    scaled, _ = conjugate_gradient(
        (H * np.outer(scale, scale)).__matmul__, g * scale, 4, np.diagonal(H * np.outer(scale, scale))
    )
    np.testing.assert_allclose(scaled * scale, plain, rtol=1e-6)
