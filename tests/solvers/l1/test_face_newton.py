import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import L1Regularized
from hinge.solvers import CDN
from hinge.solvers.l1 import face_newton
from hinge.solvers.l1.face_newton import Face, add_columns, cost_of, count_cells, face_of, face_step, shares, squares

BIASES = ["none", "free", "penalized"]


def begun(bias, weighted=False, sparse=False, lam=0.02):
    """A problem, and (w, e) after some coordinate descent."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 30)) * (rng.random((150, 30)) < 0.6)
    y = np.where(X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(150) > 0.2, 1, -1)
    s = rng.integers(0, 3, 150) * 1.0 if weighted else None
    A = sp.csr_array(X.astype(np.float32)) if sparse else X.astype(np.float32)
    problem = L1Regularized(A, y, lam, weight=s, bias=bias, bias_scale=0.5)
    state = CDN(epochs=1).advance(problem, CDN(epochs=1).init(problem), 4)
    return problem, X.astype(np.float32).astype(float), state.w.copy(), state.e.copy()


def slopes(problem, X, w, e, scale):
    """z of all columns and the constant one, and the Hessian."""
    wide = np.column_stack([X, np.full(len(X), scale)])
    on = 2 * shares(problem) * (problem.y * e > 0)
    return (on * e) @ wide, wide.T @ (on[:, None] * wide) if on.ndim else None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", BIASES)
def test_a_step_is_newtons(bias, weighted, sparse):
    problem, X, w, e = begun(bias, weighted, sparse)
    scale = 0.5 if bias == "penalized" else 1.0
    face = face_of(problem, np.arange(30), w)
    assert face.biased == (bias != "none")
    places = np.append(face.columns, 30) if face.biased else face.columns
    z, H = slopes(problem, X, w, e, scale)
    paid = np.where((places == 30) & (bias == "free"), 0.0, problem.lam)
    p = np.linalg.solve(H[np.ix_(places, places)], z[places] - paid * np.sign(w[places]))
    expected = w[places] + p
    expected[(expected * w[places] < 0) & (paid > 0)] = 0.0
    before = problem.lam * problem.norm(w[:-1], scale * w[-1]) + problem.mean_loss(w[:-1], scale * w[-1])
    ridge, fall, systems = face_step(problem, shares(problem), face, w, e, 1e-12)
    np.testing.assert_allclose(w[places], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(e, problem.y - X @ w[:-1] - scale * w[-1], atol=1e-12)
    after = problem.lam * problem.norm(w[:-1], scale * w[-1]) + problem.mean_loss(w[:-1], scale * w[-1])
    assert fall == pytest.approx(before - after, rel=1e-9)
    assert fall > 0
    assert ridge == 1e-12
    assert systems >= 1


@pytest.mark.parametrize("bias", BIASES)
def test_products_find_what_a_factorisation_finds(bias, monkeypatch):
    found = []
    for most in (2048, 0):
        monkeypatch.setattr(face_newton, "MOST_DIRECT", most)
        monkeypatch.setattr(face_newton, "CG_STEPS", 200)
        monkeypatch.setattr(face_newton, "conjugate_gradient", exact_gradient)
        problem, _, w, e = begun(bias, sparse=True)
        face = face_of(problem, np.arange(30), w)
        assert cost_of(problem, face)[1] == (most > 0)
        found.append((face_step(problem, shares(problem), face, w, e, 1e-3), w))
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6, atol=1e-8)
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)


def exact_gradient(times, g, steps, diagonal):
    return np.linalg.solve(np.column_stack([times(v) for v in np.eye(len(g))]), g), True


@pytest.mark.parametrize("from_ridge", [1e-6, 1e-3, 100.0])
def test_the_ridge_grows_until_the_objective_falls(from_ridge, monkeypatch):
    tried = []

    def doubtful(problem, face, on, solver=face_newton._solver):
        right = solver(problem, face, on)

        def step(g, moving, ridge):
            tried.append(ridge)
            return right(g, moving, 1e-9) if ridge >= from_ridge else -1e3 * np.sign(w[face.columns])

        return step

    problem, _, w, e = begun("none")
    before, face = w.copy(), face_of(problem, np.arange(30), w)
    monkeypatch.setattr(face_newton, "_solver", doubtful)
    ridge, fall, systems = face_step(problem, shares(problem), face, w, e, 1e-6)
    np.testing.assert_allclose(tried, 1e-6 * 10.0 ** np.arange(systems))
    if from_ridge < 1.0:
        assert fall > 0 and (w != before).any()
        assert ridge == pytest.approx(from_ridge / 10)
    else:
        assert (fall, systems) == (0.0, face_newton.TRIALS)
        assert ridge == pytest.approx(1e-6 * 10.0**systems)
        np.testing.assert_array_equal(w, before)


def test_a_step_ends_where_the_first_of_two_that_are_alike_becomes_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(80) > 0, 1, -1)
    X[:, 1] = X[:, 0] * (1 + 1e-6 * rng.standard_normal(80)) * 1.001  # which pays to be taken in place of the first
    problem = L1Regularized(X, y, 0.05)
    w = np.array([0.3, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    e = y - X @ w[:6]
    before = problem.lam * problem.norm(w[:6]) + problem.mean_loss(w[:6])
    face = face_of(problem, np.arange(6), w)
    stepped = face_step(problem, shares(problem), face, w, e, 1e-12)
    assert w[0] == 0.0 and w[1] > 0.5
    assert stepped.systems == 2  # one for each face
    assert stepped.fall == pytest.approx(before - problem.lam * problem.norm(w[:6]) - problem.mean_loss(w[:6]))
    np.testing.assert_allclose(e, y - X @ w[:6], atol=1e-12)


def test_a_face_of_nothing_moves_nothing():
    problem, _, w, e = begun("none")
    w[:] = 0.0
    face = face_of(problem, np.arange(30), w)
    assert face.size == 0
    assert face_step(problem, shares(problem), face, w, e, 0.5) == (0.5, 0.0, 1)


def test_sums_over_columns():
    X = np.random.default_rng(0).standard_normal((20, 6)) * (np.random.default_rng(1).random((20, 6)) < 0.5)
    problem = L1Regularized(sp.csr_array(X), np.resize([1, -1], 20), 0.1)
    A, some = problem.matrix.columns, np.array([4, 1])
    out, norms, weight = np.ones(20), np.empty(2), np.arange(20.0)
    add_columns(A, some, np.array([2.0, -1.0]), out)
    np.testing.assert_allclose(out, 1 + 2 * X[:, 4] - X[:, 1])
    squares(A, some, weight, norms)
    np.testing.assert_allclose(norms, weight @ X[:, some] ** 2)
    assert count_cells(A, some) == np.count_nonzero(X[:, some])


def test_a_step_costs_more_where_more_moves():
    X = np.random.default_rng(0).standard_normal((50, 40))
    problem = L1Regularized(X, np.resize([1, -1], 50), 0.1)
    costs = [cost_of(problem, Face(np.arange(k), False))[0] for k in (1, 10, 40)]
    assert costs == sorted(costs)
    assert cost_of(problem, Face(np.arange(40), True)) > cost_of(problem, Face(np.arange(40), False))
