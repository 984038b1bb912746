import numpy as np
import pytest
import scipy.sparse as sp

from hinge import LinearSVC, Regularized, Stop, solve
from hinge.monitoring import Status
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import SDCA, CentralPath, Newton, RowSpace, Switch, choose
from hinge.solvers.newton.row_space import DENIED, coordinates


def wide(n=40, d=900, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) ** -0.5 + 0.3
    score = X @ rng.standard_normal(d)
    y = np.where(score > np.median(score), 1, -1)
    y[rng.random(n) < noise] *= -1
    return X, y


def certified(problem, solver, tol=1e-6):
    result = solve(problem, solver, stop=Stop(tol, max_iter=10**6))
    assert result.status is Status.CONVERGED and result.certificate.gap <= tol
    return result


@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("kind", [np.float64, np.float32, sp.csr_array])
def test_the_optimum_is_that_of_all_features(loss, bias, kind):
    X, y = wide()
    data = kind(X) if kind is sp.csr_array else X.astype(kind)
    target = X[:, 0] if loss.two_sided else y
    problem = Regularized(data, target, 1e-2, loss=loss, bias=bias)
    ours, other = certified(problem, RowSpace(1e-6)), certified(problem, SDCA())
    assert ours.certificate.objective == pytest.approx(other.certificate.objective, rel=2e-6)
    np.testing.assert_allclose(ours.solution.w, other.solution.w, atol=2e-3 * np.abs(other.solution.w).max())


def test_weights_count():
    X, y = wide()
    s = np.random.default_rng(1).integers(0, 4, 40) / 2.0
    problem = Regularized(X, y, 1e-2, weight=s)
    kept = Regularized(X[s > 0], y[s > 0], 1e-2, weight=s[s > 0])
    ours, other = certified(problem, RowSpace(1e-6)), certified(kept, SDCA())
    assert ours.certificate.objective == pytest.approx(other.certificate.objective, rel=2e-6)


def test_coordinates_have_the_inner_products_of_the_rows():
    X, _ = wide()
    K = X @ X.T
    L, order = coordinates(K)
    assert order.tolist() == list(range(40))
    assert L.shape == (40, 40) and L.flags.c_contiguous and np.triu(L, 1).any() == 0
    np.testing.assert_allclose(L @ L.T, X @ X.T, rtol=1e-10)


def test_rows_that_depend_on_each_other_have_fewer_coordinates():
    X, y = wide()
    twice = np.vstack([X, X[::-1], np.zeros((1, X.shape[1]))])
    L, order = coordinates(twice @ twice.T)
    assert len(order) == 40 and np.triu(L[order, :40], 1).any() == 0
    assert L.shape == (81, 81) and L[:, 39].any() and not L[:, 40:].any()
    np.testing.assert_allclose(L @ L.T, twice @ twice.T, rtol=1e-8, atol=1e-8)
    labels = np.concatenate([y, y[::-1], [1]])
    assert certified(Regularized(twice, labels, 1e-3), RowSpace(1e-4), 1e-4).n_iter < 100
    L, order = coordinates(np.zeros((3, 3)))
    assert not L.any() and not len(order)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_w_is_that_of_a_method_whose_dual_is_a_little_off(offset):
    X, y = wide()
    problem = Regularized(X + offset, y, 1e-5)
    result = certified(problem, RowSpace(1e-3, Newton()), 1e-3)
    K = (X + offset) @ (X + offset).T
    L, _ = coordinates(K)
    other = certified(Regularized(L, y, 1e-5), Newton(), 1e-3)
    np.testing.assert_allclose(problem.responses(result.solution.w), L @ other.solution.w, rtol=1e-4, atol=1e-4)


def test_all_rows_are_read_once_for_their_inner_products_and_to_certify():
    reads = []
    for solver in (RowSpace(1e-4), SDCA()):
        problem = Regularized(*wide(), 1e-3)
        certified(problem, solver, 1e-4)
        reads.append(problem.matrix.reads / problem.matrix.n_cells)
    assert 2 <= reads[0] <= 12 and reads[0] < 0.3 * reads[1]


def test_a_run_goes_on_from_an_answer():
    problem = Regularized(*wide(), 1e-3)
    first = certified(problem, RowSpace(1e-4), 1e-4)
    solver = RowSpace(1e-3)
    again = solver.advance(problem, solver.init(problem, 0, first.solution), 1)
    assert solver.estimate(problem, again) < 1e-3
    assert problem.certificate(solver.solution(problem, again)).gap <= 1e-3


def test_it_gives_up_when_certificates_are_denied():
    problem = Regularized(*wide(), 1e-3)
    solver = RowSpace(1e-2)
    state = solver.advance(problem, solver.init(problem), 1)
    for _ in range(DENIED):
        assert solver.pause(problem, state) == 1
        state = solver.refresh(problem, state)
    assert solver.pause(problem, state) == 0
    watched = Switch(1e-2, "newton", SDCA(), RowSpace(1e-2))
    run = watched.advance(problem, watched.init(problem), problem.n)
    for _ in range(DENIED):
        run = watched.refresh(problem, run)
    assert run.watch.switch_due and not watched.advance(problem, run, problem.n).watch.by_newton


def test_many_rows_are_refused():
    problem = Regularized(np.zeros((3000, 2)), np.resize([1, -1], 3000), 1.0)
    assert "inner products of all rows, and 3000 are many" in RowSpace().rejects(problem)
    with pytest.raises(ValueError, match="3000 are many"):
        solve(problem, RowSpace(), stop=Stop(max_iter=1))


def test_it_is_chosen_for_few_full_rows_of_many_features():
    X, y = wide(60, 3000)
    chosen = choose(Regularized(X, y, 1e-4)).solver
    assert isinstance(chosen.newton, RowSpace) and chosen.begin == "newton"
    assert choose(Regularized(X, y, 1e3)).solver.begin == "ascent"  # a pass or two
    model = LinearSVC(loss="hinge", C=1e4, tol=1e-3).fit(X.astype(np.float32), y)
    assert model.gap_ <= 1e-3 and model.n_iter_ < 20
    assert isinstance(choose(Regularized(X[:, :40], y, 1e-4)).solver, CentralPath)
    text = sp.random_array((60, 3000), density=0.01, rng=np.random.default_rng(0), format="csr")
    assert type(choose(Regularized(text, y, 1e-4)).solver.newton) is Newton


def test_separable_rows_in_their_own_units_are_certified_whatever_the_seed():
    X, y = wide(50, 700, noise=0.0)
    X = (1e3 * np.abs(X)).round()
    for seed in range(5):
        model = LinearSVC(loss="hinge", C=1e6, fit_intercept=False, random_state=seed).fit(X, y)
        assert model.gap_ <= 1e-3
