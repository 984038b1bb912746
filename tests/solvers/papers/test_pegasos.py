import numpy as np
import pytest
from scipy.stats import chisquare

from hinge.datasets import make_known_optimum
from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized
from hinge.solvers import SDCA, Pegasos, solve
from hinge.solvers.papers import scaled_vector as scaled


def run(solver, problem, T, seed=0):
    return solver.advance(problem, solver.init(problem, seed), T)


@pytest.mark.parametrize("bias", ["none", "penalized"])
@pytest.mark.parametrize("batch", [1, 5])
def test_projection_keeps_w_in_the_ball_and_knows_its_norm(tiny, bias, batch):
    problem = Regularized(*tiny, 0.5, bias=bias, bias_scale=2.0)
    solver = Pegasos(batch)
    state = solver.init(problem)
    for _ in range(300):
        state = solver.advance(problem, state, 1)
        w, w0, _, _ = scaled.last(state.z)
        norm = np.sqrt(w @ w + w0**2)
        assert norm <= 1 / np.sqrt(0.5) * (1 + 1e-12)
        assert np.sqrt(state.z.s.sq) == pytest.approx(norm, rel=1e-9)
    assert (state.z.s.v0 != 0) == (bias == "penalized")


def test_without_projection_w_leaves_the_ball(tiny):
    X, y = tiny
    problem = Regularized(X, y, 0.05)
    state = run(Pegasos(projection=False, output="last"), problem, 1)
    i = np.flatnonzero(state.z.beta)[0]
    np.testing.assert_allclose(scaled.last(state.z)[0], y[i] * X[i] / 0.05)  # the first step is 1/λ


@pytest.mark.slow
@pytest.mark.parametrize("output", ["random", "uniform", "weighted"])
def test_theorem_2_holds_on_average(output):
    lam, T = 0.02, 400
    known = make_known_optimum(100, 6, lam, noise=0.1, seed=3)
    problem = Regularized(known.X_train, known.y_train, lam)
    solver = Pegasos(output=output)
    R = np.linalg.norm(known.X_train, axis=1).max()
    bound = (np.sqrt(lam) + R) ** 2 * np.log(T) / (lam * T)
    excess = [
        problem.objective(solver.solution(problem, run(solver, problem, T, seed))) - known.objective
        for seed in range(40)
    ]
    assert min(excess) > 0
    assert np.mean(excess) <= bound
    later = [
        problem.objective(solver.solution(problem, run(solver, problem, 16 * T, seed))) - known.objective
        for seed in range(10)
    ]
    assert np.mean(later) < 0.3 * np.mean(excess)  # about 1/T


def test_corollary_1_on_all_rows(tiny):
    problem = Regularized(*tiny, 0.1)
    best = problem.objective(solve(problem, SDCA(), stop=Stop(1e-9)).solution)
    solver, T = Pegasos("all", output="uniform"), 200
    w = solver.solution(problem, run(solver, problem, T))
    c = (np.sqrt(0.1) + np.linalg.norm(tiny[0], axis=1).max()) ** 2
    assert problem.objective(w) - best <= c * np.log(T) / (0.1 * T)
    other = solver.solution(problem, run(solver, problem, T, seed=9))
    np.testing.assert_allclose(other.w, w.w, rtol=1e-9)  # no randomness is left


@pytest.mark.slow
def test_the_random_iterate_is_uniform_over_the_iterates(tiny):
    problem = Regularized(*tiny, 0.1)
    T, kept = 8, np.zeros(8, int)
    for seed in range(600):
        last = Pegasos(output="last")
        state, iterates = last.init(problem, seed), []
        for _ in range(T):
            state = last.advance(problem, state, 1)
            iterates.append(last.solution(problem, state).w)
        chosen = Pegasos(output="random")
        w = chosen.solution(problem, run(chosen, problem, T, seed)).w
        same = [np.allclose(w, iterate, rtol=1e-9, atol=1e-12) for iterate in iterates]
        assert any(same)
        if sum(same) == 1:  # a step may leave w where it was
            kept[same.index(True)] += 1
    assert kept.sum() > 500
    assert chisquare(kept).pvalue > 1e-3


def test_every_row_is_drawn_equally_often(tiny):
    problem = Regularized(*tiny, 100.0)  # so large a λ that each row drawn leaves its mark
    for block in (1, 7):
        solver = Pegasos(projection=False, output="last", block_rows=block)
        coords = scaled.last(run(solver, problem, 12_000).z)[2]
        counts = np.rint(coords * 100.0 * 12_000)  # each draw adds 1/(λT)
        assert counts.sum() == 12_000
        assert chisquare(counts[: 60 // block * block].reshape(-1, block).sum(axis=1)).pvalue > 1e-4


@pytest.mark.parametrize("output", ["last", "uniform", "weighted", "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_dual_reproduces_w(tiny, output, weighted):
    X, y = tiny
    s = np.random.default_rng(2).integers(0, 3, 60) * 1.0 if weighted else None
    problem = Regularized(X, y, 0.3, weight=s)
    solver = Pegasos(output=output)
    state = run(solver, problem, 4000, seed=5)
    solution = solver.solution(problem, state)
    coords = (scaled.last if output == "last" else scaled.average)(state.z)[2]
    np.testing.assert_allclose((coords * y) @ X, solution.w, rtol=1e-9, atol=1e-9)
    assert solution.alpha.min() >= 0
    assert solution.alpha.max() <= 1
    share = np.broadcast_to(problem.share(), 60)
    unclipped = coords * 0.3 <= share
    np.testing.assert_allclose(
        share[unclipped] * solution.alpha[unclipped], 0.3 * coords[unclipped], rtol=1e-9, atol=1e-15
    )
    if unclipped.all():
        np.testing.assert_allclose(problem.combination(solution.alpha) / 0.3, solution.w, rtol=1e-9)


@pytest.mark.parametrize(
    ("solver", "bias", "T"),
    [
        (Pegasos(), "none", 20_000),
        (Pegasos(), "penalized", 20_000),
        (Pegasos(), "free", 20_000),
        (Pegasos(60, bias="exact", block_rows=60), "free", 4_000),
    ],
)
def test_the_ways_with_a_bias_come_near_the_optimum(tiny, solver, bias, T):
    problem = Regularized(*tiny, 0.1, bias=bias)
    best = solve(problem, SDCA(), stop=Stop(1e-8)).certificate.objective
    certificate = problem.certificate(solver.solution(problem, run(solver, problem, T)))
    assert best * (1 - 1e-7) <= certificate.objective <= 1.01 * best
    assert certificate.gap < 0.2


def test_weights_are_repetitions(tiny):
    # Rows of weight zero leave no trace, and the objective reached is that of repeated rows.
    X, y = tiny
    s = np.arange(60) % 3
    problem = Regularized(X, y, 0.1, weight=s * 1.0)
    repeated = Regularized(np.repeat(X, s, axis=0), np.repeat(y, s), 0.1)
    solution = Pegasos().solution(problem, run(Pegasos(), problem, 20_000))
    assert problem.objective(solution) == pytest.approx(repeated.objective(solution))
    best = solve(repeated, SDCA(), stop=Stop(1e-8)).certificate.objective
    assert problem.objective(solution) <= 1.01 * best
    assert (solution.alpha[s == 0] == 0).all()


def test_it_stops_by_its_certificate(tiny):
    problem = Regularized(*tiny, 0.1)
    best = solve(problem, SDCA(), stop=Stop(1e-8)).certificate.objective
    result = solve(problem, Pegasos(), stop=Stop(0.05, max_time=20))
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 0.05
    assert problem.objective(result.solution) <= 1.05 * best


@pytest.mark.parametrize("settings", [{"batch_size": 0}, {"block_rows": 0}, {"output": "best"}, {"bias": "none"}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Pegasos(**settings)


def test_what_it_cannot_solve(tiny):
    with pytest.raises(ValueError, match="Pegasos solves Regularized problems, not NormConstrained; use SGD"):
        solve(NormConstrained(*tiny, 1.0), Pegasos())
    weighted = Regularized(*tiny, 0.1, weight=np.ones(60), bias="free")
    with pytest.raises(ValueError, match="use bias='subgradient'"):
        solve(weighted, Pegasos(10, bias="exact"))
