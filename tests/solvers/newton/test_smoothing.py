"""The compiled functions of row_sums, one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge.access import as_matrix
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE
from hinge.solvers.newton.row_sums import add_outers, along, copy_rows, even_slope_at, product, search, slope_at, slopes

N, D, MU = 30, 4, 0.4
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
Y = np.where(RNG.random(N) > 0.4, 1, -1).astype(np.int8)
ROWS = RNG.permutation(N).astype(np.uint32)[:25]  # a sample, in an order of its own
CENTER = RNG.random(N).astype(np.float32)
ONES, WEIGHT = np.ones(1), RNG.random(N) + 0.1
PENALTY = np.array([0.1, 0.1, 0.1, 0.1, 0.03])


def loss(e, center, mu=MU):
    """The function whose slope is center + e/μ, clipped to [0, 1]."""
    a = center + e / mu
    return np.where(a <= 0, 0.0, np.where(a >= 1, mu * (a - 0.5), mu * a**2 / 2))


def shares(weight):
    c = weight[ROWS] if len(weight) > 1 else np.ones(len(ROWS))
    return c / c.sum()


def objective(x, weight):
    e = 1 - Y[ROWS] * (X[ROWS] @ x[:D] + x[D])
    return PENALTY @ x**2 / 2 + shares(weight) @ loss(e, CENTER[: len(ROWS)])


def look(x, weight, alpha=None, z=None):
    """Gradient and Hessian, and what else `slopes` gives at x."""
    A = as_matrix(X).rows
    m = np.empty(len(ROWS))
    along(A, ROWS, Y, x, 0, len(ROWS), m)
    alpha = np.zeros(N) if alpha is None else alpha
    z, H = np.zeros(D + 1) if z is None else z, np.zeros((D + 1, D + 1))
    curved = np.zeros(len(ROWS), bool)
    mass, gap, linear = slopes(A, ROWS, Y, ONES, weight, HINGE, m, CENTER, MU, alpha, z, curved)
    np.testing.assert_array_equal(curved, (alpha[ROWS] > 0) & (alpha[ROWS] < 1))
    add_outers(A, ROWS[curved], weight, 1.0, H)
    H = np.tril(H) + np.tril(H, -1).T
    return PENALTY * x - z / mass, H / (MU * mass) + np.diag(PENALTY), alpha, z, mass, gap, linear


@pytest.mark.slow
@pytest.mark.parametrize("weight", [ONES, WEIGHT], ids=["even", "weighted"])
def test_gradient_and_hessian_by_finite_differences(weight):
    h = 1e-6
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal(D + 1) * 0.5
        g, H = look(x, weight)[:2]
        for j, unit in enumerate(np.eye(D + 1)):
            slope = (objective(x + h * unit, weight) - objective(x - h * unit, weight)) / (2 * h)
            assert g[j] == pytest.approx(slope, abs=1e-8)
            column = (look(x + h * unit, weight)[0] - look(x - h * unit, weight)[0]) / (2 * h)
            np.testing.assert_allclose(H[:, j], column, atol=1e-6)


@pytest.mark.parametrize("weight", [ONES, WEIGHT], ids=["even", "weighted"])
def test_the_slopes_are_a_dual_whose_gap_splits_in_two(weight):
    c = shares(weight)
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal(D + 1) * 0.5
        g, _, alpha, z, mass, gap, linear = look(x, weight)
        e = 1 - Y[ROWS] * (X[ROWS] @ x[:D] + x[D])
        np.testing.assert_allclose(alpha[ROWS], np.clip(CENTER[:25] + e / MU, 0, 1), rtol=1e-9, atol=1e-12)
        wide = np.column_stack([X, np.ones(N)])[ROWS]
        np.testing.assert_allclose(z / mass, (c * alpha[ROWS] * Y[ROWS]) @ wide, atol=1e-12)
        assert mass == pytest.approx(weight[ROWS].sum() if len(weight) > 1 else 25)
        primal = PENALTY @ x**2 / 2 + c @ np.maximum(0, e)
        dual = linear / mass - ((z / mass) ** 2 / PENALTY).sum() / 2
        assert gap / mass + (g**2 / PENALTY).sum() / 2 == pytest.approx(primal - dual, rel=1e-9)


def test_z_follows_the_dual():
    # From one point to the next only the rows whose α changed are touched, and z comes out the same.
    a, b = RNG.standard_normal(D + 1), RNG.standard_normal(D + 1)
    _, _, alpha, z, *_ = look(a, WEIGHT)
    moved = look(b, WEIGHT, alpha, z)
    afresh = look(b, WEIGHT)
    for here, there in zip(moved, afresh, strict=True):
        np.testing.assert_allclose(here, there, atol=1e-12)


def test_rows_that_stay_at_a_bound_are_not_read_again():
    matrix = as_matrix(np.array([[1.0], [1.0], [1.0]]))
    rows, y = np.arange(3, dtype=np.uint32), np.ones(3, np.int8)
    m = np.array([5.0, 1.0, -5.0])  # beyond, on the margin, within
    alpha, z, center = np.zeros(3), np.zeros(2), np.full(3, 0.5, np.float32)
    curved = np.zeros(3, bool)
    for _ in range(2):
        slopes(matrix.rows, rows, y, ONES, ONES, HINGE, m, center, 0.1, alpha, z, curved)
        assert alpha.tolist() == [0, 0.5, 1]
        assert curved.tolist() == [False, True, False]
        assert matrix.reads == 2


@pytest.mark.slow
@pytest.mark.parametrize("weight", [ONES, WEIGHT], ids=["even", "weighted"])
def test_product_and_along(weight):
    A, p = as_matrix(X).rows, RNG.standard_normal(D + 1)
    wide, s = np.column_stack([X, np.ones(N)]), weight if len(weight) > 1 else np.ones(N)
    out, q = np.full(D + 1, 7.0), np.full(25, 7.0)
    product(A, ROWS, weight, p, out)
    np.testing.assert_allclose(out, (wide[ROWS].T * s[ROWS]) @ (wide[ROWS] @ p), atol=1e-12)
    along(A, ROWS, Y, p, 5, 20, q)
    np.testing.assert_allclose(q[5:20], Y[ROWS][5:20] * (wide[ROWS][5:20] @ p), atol=1e-12)
    assert (q[:5] == 7).all()
    assert (q[20:] == 7).all()


@pytest.mark.slow
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    mu=st.sampled_from([1e-6, 1e-2, 1.0, 5.0]),
    size=st.sampled_from([1e-6, 1.0, 1e6]),
    weighted=st.booleans(),
)
def test_the_line_search_ends_near_the_minimum(seed, mu, size, weighted):
    rng = np.random.default_rng(seed)
    weight = WEIGHT if weighted else ONES
    c, center = shares(weight), rng.random(25).astype(np.float32)
    m, q = rng.standard_normal(25), size * rng.standard_normal(25)
    x, p = rng.standard_normal(5), size * rng.standard_normal(5)
    first, second = 0.1 * x @ p, 0.1 * p @ p

    def value(tau):
        return first * tau + second * tau**2 / 2 + c @ loss(1 - m - tau * q, center, mu)

    def slope(tau):
        return first + second * tau - (c * np.clip(center + (1 - m - tau * q) / mu, 0, 1)) @ q

    if slope(0.0) > 0:  # only ever asked about a way downhill
        m, q, first, p = m, -q, -first, -p

    def sums(tau):
        found = slope_at(ROWS, ONES, weight, HINGE, m, q, center, mu, tau)
        mass = weight[ROWS].sum() if weighted else 25.0
        return found[0] / mass, found[1] / (mass * mu)

    tau = search(sums, first, second)
    assert tau > 0
    assert value(tau) <= value(0.0) + 1e-12
    # The slope has fallen to a twentieth, or the search has closed in on a kink of a narrow parabola.
    if abs(slope(tau)) > 0.0501 * abs(slope(0.0)):
        around = [value(tau * (1 + d)) for d in (-1e-3, 1e-3)]
        assert value(tau) <= min(around) + 1e-9 * abs(value(0.0))


@pytest.mark.parametrize(("of", "mu"), [(HINGE, 0.3), (SQUARED_HINGE, 0.0)])
def test_rows_that_are_all_alike_have_the_same_sums(of, mu):
    m, q, one = RNG.standard_normal(25), RNG.standard_normal(25), np.full(1, 0.7)
    given = m, q, CENTER[:25], mu, 0.4
    assert even_slope_at(1.0, 0.7, of, *given) == pytest.approx(slope_at(ROWS, ONES, one, of, *given), rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_copied_one_below_the_other_with_a_one_at_the_end(sparse):
    X = np.array([[0.0, 2.0], [3.0, 0.0], [5.0, 7.0]])
    matrix, B = as_matrix(sp.csr_array(X) if sparse else X), np.zeros((2, 3))
    copy_rows(matrix.rows, np.array([2, 0], np.uint32), B)
    np.testing.assert_array_equal(B, [[5.0, 7.0, 1.0], [0.0, 2.0, 1.0]])
    assert matrix.reads == (3 if sparse else 4)
