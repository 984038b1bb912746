import numpy as np
import pytest
import scipy.sparse as sp

from hinge import threads
from hinge.monitoring import Stop
from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import Newton, solve
from hinge.solvers.newton import row_sums
from hinge.solvers.newton.row_sums import SHARE, add_products, add_squares, cut, dual_at, margins_along, step_along


@pytest.fixture(autouse=True)
def small_shares(monkeypatch):
    monkeypatch.setattr(row_sums, "SHARE", 64)
    monkeypatch.setattr(threads, "cores", lambda: 3)


def problem_of(sparse=False, loss=HINGE, weighted=False, bias="free", n=300, d=9):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1, -1)
    weight = rng.integers(1, 5, n) / 2.0 if weighted else None
    y = y * 1.5 if loss.two_sided else y
    return Regularized(sp.csr_array(X) if sparse else X, y, 0.01, bias=bias, weight=weight, loss=loss), X


def test_there_are_as_many_stretches_as_are_worth_it():
    assert len(cut(100, 64.0, 4)) == 4
    assert len(cut(3, 64.0, 4)) == 3
    assert len(cut(0, 64.0, 4)) == len(cut(1, 10.0, 4)) == 1
    assert SHARE > 1 << 12  # as it is outside of this file


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_margins(sparse, parts):
    problem, X = problem_of(sparse)
    rows = np.random.default_rng(0).permutation(300).astype(np.uint32)
    p, q = np.arange(10.0) - 3, np.full(300, np.nan)
    margins_along(problem, rows, p, 20, 290, q, parts)
    np.testing.assert_allclose(q[20:290], (problem.y * (X @ p[:9] + p[9]))[rows[20:290]], atol=1e-12)
    assert np.isnan(q[:20]).all() and np.isnan(q[290:]).all()
    assert problem.reads == sum(np.count_nonzero(X[i]) if sparse else 9 for i in rows[20:290])


@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_the_dual_and_the_step(loss, weighted):
    found = []
    for parts in (1, 4):
        problem, X = problem_of(True, loss, weighted)
        rows = np.random.default_rng(0).permutation(300).astype(np.uint32)
        x, p = np.linspace(-1, 1, 10), np.linspace(1, -2, 10)
        m, q, center = np.empty(300), np.empty(300), np.full(300, 0.25, np.float32)
        margins_along(problem, rows, x, 0, 300, m, parts)
        margins_along(problem, rows, p, 0, 300, q, parts)
        alpha, z, curved = np.zeros(300), np.zeros(10), np.zeros(300, bool)
        mu = 0.0 if loss.curvature else 0.3
        sums = dual_at(problem, rows, m, center, mu, alpha, z, curved, parts)
        s = np.broadcast_to(problem.weight, 300)
        np.testing.assert_allclose(z[:9], (s * alpha * problem.y) @ X, atol=1e-10)
        tau = step_along(problem, rows, m, q, center, mu, sums[0], -5.0, 2.0, parts)
        found.append([*sums, tau, *z, *alpha, *curved, problem.reads])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-12)
    assert found[0][3] > 0.0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parts", [1, 3])
def test_products(sparse, weighted, parts):
    problem, X = problem_of(sparse, weighted=weighted)
    rows, v, out = np.arange(10, 200, dtype=np.uint32), np.arange(10.0), np.full(10, 9.0)
    add_products(problem, rows, v, out, parts)
    B = np.column_stack([X, np.ones(300)])[10:200]
    s = np.broadcast_to(problem.weight, 300)[10:200]
    np.testing.assert_allclose(out, B.T @ (s * (B @ v)), rtol=1e-10)
    assert problem.reads == (np.count_nonzero(X[10:200]) if sparse else 190 * 9)


@pytest.mark.sampled
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("d", [9, 60])
@pytest.mark.parametrize("full", [False, True])
def test_squares(sparse, weighted, parts, d, full):
    problem, X = problem_of(sparse, weighted=weighted, d=d)
    rows = np.arange(10, 200, dtype=np.uint32)
    start = np.tril(np.random.default_rng(3).random((d + 1, d + 1)))
    H = start.copy()
    add_squares(problem, rows, -1.0, H, full, parts)
    B = np.column_stack([X, np.ones(300)])[10:200]
    s = np.broadcast_to(problem.weight, 300)[10:200]
    np.testing.assert_allclose(np.tril(H), np.tril(start - (B.T * s) @ B), atol=1e-10)
    assert problem.reads == (np.count_nonzero(X[10:200]) if sparse else 190 * d)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("shape", [(300, 9), (300, 70)])
def test_newton_in_parts_finds_the_same_by_the_same_bits_each_time(bias, loss, shape, monkeypatch):
    answers = []
    for parts, cores in ((1, 1), (3, 1), (3, 3), (3, 3)):
        monkeypatch.setattr(threads, "cores", lambda cores=cores: cores)
        problem, _ = problem_of(False, loss, bias=bias, n=shape[0], d=shape[1])
        result = solve(problem, Newton(parts=parts), stop=Stop(1e-7, max_iter=200))
        assert result.certificate.gap <= 1e-7
        answers.append((result.solution.w.tobytes(), tuple(result.certificate), problem.reads, result.n_iter))
    assert answers[1] == answers[2] == answers[3]
    assert answers[0][1][0] == pytest.approx(answers[1][1][0], rel=1e-6)
    if shape[1] == 9:
        assert answers[0][2] == answers[1][2]


def test_by_products_in_parts(monkeypatch):
    from hinge.solvers.newton import systems

    monkeypatch.setattr(systems, "DIRECT", 2)
    monkeypatch.setattr(systems, "FACTOR_PAYS", 1e-9)
    problem, _ = problem_of(True)
    assert systems.form_of(problem) == "products"
    one, two = (solve(problem, Newton(parts=parts), stop=Stop(1e-5, max_iter=200)) for parts in (1, 3))
    assert max(one.certificate.gap, two.certificate.gap) <= 1e-5
    assert one.certificate.objective == pytest.approx(two.certificate.objective, rel=1e-4)
