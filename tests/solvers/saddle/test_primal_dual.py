import math

import numpy as np
import pytest
import scipy.sparse as sp
from reference import sublinear

from hinge.access import DenseTable
from hinge.kernels import Gaussian, Linear
from hinge.monitoring import Status, Stop
from hinge.problems.max_min.base import MOST_BOUNDS, Fraction, MaxMin
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.problems.max_min.linear import MatrixGame
from hinge.problems.max_min.max_margin import KernelMaxMargin, MaxMargin, SlackGame
from hinge.solvers.driver import solve
from hinge.solvers.saddle.primal_dual import FLOOR, PrimalDual, factor, primal_horizon, reweigh


def rows_of(n=60, d=20, margin=0.2, seed=0):
    """Unit rows with a margin of at least this."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    A[:, 0] = 0.0
    A *= np.sqrt(1 - margin**2) / np.linalg.norm(A, axis=1, keepdims=True)
    A[:, 0] = margin
    return A


def margin_of(A):
    """σ by a quadratic program: the least norm of a mixture of rows."""
    from scipy.optimize import minimize

    n = len(A)
    found = minimize(
        lambda p: 0.5 * np.sum((A.T @ p) ** 2),
        np.full(n, 1 / n),
        jac=lambda p: A @ (A.T @ p),
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return float(np.linalg.norm(A.T @ found.x))


A = rows_of()


@pytest.mark.parametrize("seed", [0, 1])
def test_fixed_steps_with_a_hundredth_are_algorithm_2_as_printed(seed):
    G = np.random.default_rng(0).uniform(-1, 1, (40, 12))
    G /= np.abs(G).max()
    solver = PrimalDual("fixed", 0.3, 1.0, rate=0.01)
    for problem, reference in (
        (MatrixGame(G, relative=False), lambda T: sublinear.generic(G, T, seed)),
        (MaxMargin(A, relative=False), lambda T: sublinear.perceptron(A / MaxMargin(A).scale, T, seed, rate=0.01)[0]),
    ):
        T = solver.horizon(problem)
        state = solver.advance(problem, solver.init(problem, seed), T)
        np.testing.assert_allclose(state.x_sum / T, reference(T), atol=1e-12)


def test_labels_are_signs_of_rows():
    y = np.where(np.arange(60) % 3 == 0, -1, 1)
    flipped = solve(MaxMargin(A * y[:, None], y), PrimalDual(), stop=Stop(0, max_iter=100))
    plain = solve(MaxMargin(A), PrimalDual(), stop=Stop(0, max_iter=100))
    np.testing.assert_array_equal(flipped.solution.x, plain.solution.x)


def test_it_is_simba_of_algorithm_4():
    rng = np.random.default_rng(5)
    y = np.where(rng.random(60) < 0.4, -1, 1)
    X = 0.9 * A * y[:, None] + 0.1 * rows_of(seed=9) * rng.standard_normal((60, 1)).clip(-1, 1)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    problem = SlackGame(X, y, nu=0.07, relative=False)
    solver = PrimalDual("fixed", 0.4)
    T = solver.horizon(problem)
    result = solve(problem, solver, stop=Stop(0), seed=2)
    w, b, xi = sublinear.simba(X, y, 0.07, T, 2)
    np.testing.assert_allclose(result.solution.x[:20], w, atol=1e-12)
    assert result.solution.x[20] == pytest.approx(b)
    np.testing.assert_allclose(result.solution.x[21:], xi, atol=1e-12)
    assert result.certificate.objective <= result.certificate.bound


def test_pieces_make_the_whole():
    solver, problem = PrimalDual(), MaxMargin(A)
    whole = solver.advance(problem, solver.init(problem, 4), 130)
    pieces = solver.init(problem, 4)
    for size in (1, 7, 64, 58):
        pieces = solver.advance(problem, pieces, size)
    for a, b in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(a, b)


def test_compressed_rows_give_the_same():
    B = np.where(np.abs(A) > 0.1, A, 0.0)
    dense = solve(MaxMargin(B), PrimalDual(), stop=Stop(0, max_iter=150))
    compressed = solve(MaxMargin(sp.csr_array(B)), PrimalDual(), stop=Stop(0, max_iter=150))
    np.testing.assert_allclose(dense.solution.x, compressed.solution.x, atol=1e-12)


def test_an_iteration_reads_a_row_and_a_column():
    problem = MaxMargin(A, relative=False)
    solve(problem, PrimalDual(), stop=Stop(0, max_iter=50))
    # The first has no column, since x = 0; the last certificate is a pass.
    assert problem.table.bill.cells == 50 * 20 + 49 * 60
    assert problem.reads == problem.table.bill.cells + A.size


@pytest.mark.slow
def test_the_certificate_holds_sigma_and_stops_the_run():
    sigma = margin_of(A)
    for seed in range(10):
        result = solve(MaxMargin(A, relative=False), PrimalDual(), stop=Stop(0.08), seed=seed)
        assert result.status is Status.CONVERGED
        assert result.certificate.objective - 1e-9 <= sigma <= result.certificate.bound + 1e-9
        assert result.certificate.gap <= 0.08


@pytest.mark.slow
def test_the_best_bounds_of_all_looks_are_kept():
    found = []
    result = solve(
        MaxMargin(A, relative=False),
        PrimalDual(),
        stop=Stop(1e-9, max_iter=3000),
        callbacks=[lambda record, answer: found.append((record.objective, (A @ answer.x).min()))],
    )
    seen = [lower for lower, _ in found if np.isfinite(lower)]
    assert len(seen) > 3
    assert seen == sorted(seen)
    x = result.solution.x / np.linalg.norm(result.solution.x)
    assert (A @ x).min() == pytest.approx(result.certificate.objective)
    assert np.linalg.norm(A.T @ result.solution.p) == pytest.approx(result.certificate.bound)


def test_a_longer_row_only_changes_the_units():
    result = solve(MaxMargin(7 * A, relative=False), PrimalDual(), stop=Stop(0, max_iter=150))
    plain = solve(MaxMargin(A, relative=False), PrimalDual(), stop=Stop(0, max_iter=150))
    np.testing.assert_allclose(result.solution.x, plain.solution.x, atol=1e-9)
    assert result.certificate.objective == pytest.approx(7 * plain.certificate.objective)
    assert result.certificate.bound == pytest.approx(7 * plain.certificate.bound)


@pytest.mark.slow
def test_a_fraction_certificate_reads_its_rows_once():
    rows = rows_of(3000, 40)
    problem = MaxMargin(rows, relative=False, fraction=Fraction(rho=0.02, delta=0.05))
    result = solve(problem, PrimalDual(), stop=Stop(0.12, max_iter=5000))
    assert result.status is Status.CONVERGED
    size = problem.fraction.size
    assert size == int(np.ceil(np.log(0.05 / MOST_BOUNDS) / np.log1p(-0.02)))
    passes_of_rows = problem.reads - problem.table.bill.cells
    assert 0 < passes_of_rows <= size * 40  # drawn with repetition, read once
    below = np.mean(rows @ result.solution.x / np.linalg.norm(result.solution.x) < result.certificate.objective)
    assert below <= 0.02
    assert problem.fraction.delta <= 0.05


def test_fractions_hold_as_often_as_they_say():
    rng, wrong = np.random.default_rng(0), 0
    rows = rng.standard_normal((2000, 5))
    for seed in range(200):
        fraction = Fraction(rho=0.05, delta=0.5, seed=seed)
        x = rng.standard_normal(5)
        lower = fraction.lower(MaxMargin(rows), x)
        wrong += np.mean(rows @ x < lower) > 0.05
    # A look is wrong with probability 0.5 / 20 at most: 5 of 200; 14 is 4 deviations above.
    assert wrong <= 14


def test_after_its_looks_a_fraction_says_nothing():
    fraction, problem = Fraction(rho=0.5, delta=0.5), MaxMargin(A)
    assert all(np.isfinite(fraction.lower(problem, A[0])) for _ in range(MOST_BOUNDS))
    assert fraction.lower(problem, A[0]) == -np.inf


@pytest.mark.parametrize("rho, delta", [(0, 0.1), (1, 0.1), (0.1, 0), (0.1, 1)])
def test_fractions_have_sensible_settings(rho, delta):
    with pytest.raises(ValueError, match="must lie in"):
        Fraction(rho, delta)


@pytest.mark.slow
def test_a_game_is_played_by_weights_on_both_sides():
    rng = np.random.default_rng(1)
    game = MatrixGame(rng.uniform(-1, 1, (15, 12)))
    result = solve(game, PrimalDual(), stop=Stop(0.1))
    assert result.status is Status.CONVERGED
    assert result.solution.x.min() >= 0
    assert result.solution.x.sum() == pytest.approx(1)


@pytest.mark.slow
def test_the_kernelised_perceptron_is_the_linear_one_for_a_linear_kernel():
    problem = KernelMaxMargin(A, kernel=Linear())
    result = solve(problem, PrimalDual(), stop=Stop(0.2, max_iter=20000))
    assert result.status is Status.CONVERGED
    w = problem.present(result.solution.x).beta @ A
    sigma = margin_of(A)
    assert (A @ w).min() / np.linalg.norm(w) == pytest.approx(result.certificate.objective, rel=1e-4)
    assert result.certificate.objective - 1e-6 <= sigma <= result.certificate.bound + 1e-6


@pytest.mark.slow
def test_the_kernelised_perceptron_separates_what_no_line_does():
    rng = np.random.default_rng(2)
    radius = np.r_[rng.uniform(0, 0.8, 40), rng.uniform(1.2, 2, 40)]
    angle = rng.uniform(0, 2 * np.pi, 80)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    y = np.where(radius < 1, 1, -1)
    problem = KernelMaxMargin(X, y, Gaussian(gamma=2.0))
    result = solve(problem, PrimalDual(), stop=Stop(0.5, max_iter=20000))
    assert result.status is Status.CONVERGED
    assert result.certificate.objective > 0
    assert problem.kernel_evals <= 80 * 80 + 80  # rows are kept
    assert ((problem.present(result.solution.x).responses * y) > 0).all()


# --- the guarantees ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("eps", [0.2, 0.1])
def test_the_answer_is_within_epsilon_after_four_log_n_over_epsilon_squared(eps):
    good = 0
    sigma = margin_of(A)
    for seed in range(40):
        result = solve(MaxMargin(A, relative=False), PrimalDual("fixed", eps), stop=Stop(0), seed=seed)
        assert result.n_iter == int(np.ceil(4 * np.log(60) / (eps / MaxMargin(A).scale) ** 2))
        value = float((A @ result.solution.x).min())
        good += value >= sigma - eps
        assert result.certificate.objective - 1e-9 <= sigma <= result.certificate.bound + 1e-9
    assert good >= 38  # the theorem promises half


def test_paper_constants_set_the_papers_t():
    problem = MaxMargin(A, relative=False)
    assert PrimalDual("fixed", 0.5, "paper").horizon(problem) == int(
        np.ceil(200**2 * np.log(60) / (0.5 / problem.scale) ** 2)
    )


def test_the_horizon_is_enough_for_the_primal_player_too():
    few = MaxMargin(A[:3], relative=False)  # 4 log 3 < 8
    assert PrimalDual("fixed", 0.1).horizon(few) == primal_horizon(few, 0.1) == math.ceil(8 * (few.scale / 0.1) ** 2)
    wide = MatrixGame(np.ones((2, 50)), relative=False)
    assert PrimalDual("fixed", 0.1).horizon(wide) == primal_horizon(wide, 0.1) == math.ceil(400 * np.log(50))
    many = MaxMargin(A, relative=False)
    assert PrimalDual("fixed", 0.1).horizon(many) > primal_horizon(many, 0.1)
    assert primal_horizon(EnclosingBall(A), 0.1) == 1


def test_a_clipped_sample_is_noticed():
    class Wild(MaxMin):
        n = 50

        def start(self):
            return np.zeros(3)

        def values(self, x):
            return np.full(50, x[0])

        def project(self, x):
            return x / max(1.0, np.linalg.norm(x))

        def support(self, g):
            return float(np.linalg.norm(g))

        def combine(self, p):
            return np.array([1.0, 0.0, 0.0])

        def sample_gradient(self, i, x):
            return np.array([1.0, 0.0, 0.0])

        def estimate_values(self, x, unit):
            return np.full(50, x[0] + (1e4 if unit < 0.5 else -1e4))

    with pytest.warns(UserWarning, match="state a larger second_moment"):
        solve(Wild(), PrimalDual(), stop=Stop(1e-3, max_iter=200))


# --- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, words",
    [
        (dict(steps="large"), "steps must be"),
        (dict(steps="fixed"), "need epsilon"),
        (dict(epsilon=0), "epsilon must be"),
        (dict(constants="none"), "constants must be one of"),
        (dict(constants=-1), "constants must be one of"),
        (dict(rate=0), "rate must be"),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(ValueError, match=words):
        PrimalDual(**settings)


def test_other_problems_are_refused():
    from hinge.problems import Regularized

    with pytest.raises(ValueError, match="solves MaxMin"):
        solve(Regularized(A, np.ones(60), 0.1), PrimalDual())


def test_entries_that_are_not_finite_are_found():
    B = A.copy()
    B[7, 3] = np.nan
    with pytest.raises(ValueError, match="NaN or infinite"):
        solve(MaxMargin(DenseTable(B), radius=1.0), PrimalDual(), stop=Stop(0.1, max_iter=64))


def test_definition_1():
    rng = np.random.default_rng(0)
    p, v, eta = rng.dirichlet(np.ones(20)), 0.8 * rng.standard_normal(20), 0.3
    expected = p * (1 - eta * v + eta**2 * v**2)
    clipped = reweigh(p, v, eta)
    np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-14)
    assert clipped == 0.0


def test_estimates_are_clipped_at_one_over_eta():
    assert factor(5.0) == factor(1.0) == 1.0
    assert factor(-5.0) == factor(-1.0) == 3.0
    assert factor(0.5) == 0.75 == min(factor(z) for z in np.linspace(-2, 2, 401))
    p = np.array([0.2, 0.3, 0.5])
    clipped = reweigh(p, np.array([100.0, -100.0, 0.0]), 0.1)
    assert clipped == pytest.approx(0.5)  # the mass of the two
    np.testing.assert_allclose(p, np.array([0.2, 0.9, 0.5]) / 1.6)


def test_no_weight_falls_to_nothing():
    p = np.array([1.0, 0.0])
    reweigh(p, np.zeros(2), 0.5)
    assert p[1] == FLOOR
