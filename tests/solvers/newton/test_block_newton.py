import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access.streams.base import Streamed, StretchLayout
from hinge.access.streams.opening import NpyStream
from hinge.monitoring import Status, Stop
from hinge.monitoring.checkpoint import Checkpoint
from hinge.problems import NormConstrained, Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive, squared_epsilon_insensitive
from hinge.solvers import BlockNewton, Newton, solve
from hinge.solvers.newton.block_newton import sampled_start

RNG = np.random.default_rng(0)
X = np.round(8 * RNG.standard_normal((900, 6))) / 8
Y = np.where(X[:, 0] + 0.6 * RNG.standard_normal(900) > 0, 1, -1)
WEIGHT = RNG.integers(0, 3, 900).astype(float)
LAYOUT = StretchLayout(50, 150, 3)
LOSSES = [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1), squared_epsilon_insensitive(0.1)]


@pytest.fixture
def stream(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return lambda: Streamed(NpyStream(tmp_path / "x.npy"), 1 << 20, LAYOUT)


@pytest.mark.sampled
@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_a_stream_is_solved_as_rows_in_memory_are_in_few_passes(stream, bias, loss):
    y = X @ np.arange(6.0) + RNG.standard_normal(900) if loss.two_sided else Y
    options = {"weight": WEIGHT, "bias": bias, "bias_scale": 0.7, "loss": loss}
    problem = Regularized(stream(), y, 1e-3, **options)
    result = solve(problem, BlockNewton(), stop=Stop(1e-3, max_iter=6 * 14))
    best = solve(Regularized(X, y, 1e-3, **options), Newton(), stop=Stop(1e-7)).certificate
    assert result.status is Status.CONVERGED
    exact = Regularized(X, y, 1e-3, **options).objective(result.solution)
    assert result.certificate.objective == pytest.approx(exact, rel=1e-9) and result.certificate.objective >= exact
    assert result.certificate.bound <= best.objective
    assert exact - best.bound <= 1e-3 * best.objective


def test_every_pass_reads_every_row_once(stream):
    data = stream()
    problem, solver = Regularized(data, Y, 1e-2), BlockNewton()
    state = solver.advance(problem, solver.init(problem), 8 * 6)
    assert X.nbytes * 8 <= data.bytes_read <= X.nbytes * 8 + 150 * 8 * 6  # and one block ahead
    assert solver.estimate(problem, state).gap < 1e-2


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_bits(stream, tmp_path):
    def problem():
        return Regularized(stream(), Y, 1e-3, bias="free")

    stop = Stop(1e-4, max_iter=300)
    whole = solve(problem(), BlockNewton(), stop=stop, seed=3)
    for stopped in (1, 8, whole.n_iter - 1):
        kept = Checkpoint(tmp_path / f"kept{stopped}", "rows", every=0.0)
        solve(problem(), BlockNewton(), stop=Stop(1e-4, max_iter=stopped), seed=3, checkpoint=kept)
        result = solve(problem(), BlockNewton(), stop=stop, seed=3, checkpoint=kept)
        assert result.n_iter == whole.n_iter and result.certificate == whole.certificate
        assert result.solution.w.tobytes() == whole.solution.w.tobytes()


@pytest.mark.slow
def test_sparse_rows_agree_with_dense_ones_and_runs_end_where_rounding_is_all_that_is_left():
    stop = Stop(0.0, max_iter=400)
    results = [
        solve(Regularized(A, Y, 0.01, loss=SQUARED_HINGE), BlockNewton(), stop=stop) for A in (X, sp.csr_array(X))
    ]
    assert [result.status for result in results] == [Status.STALLED] * 2
    np.testing.assert_allclose(results[0].solution.w, results[1].solution.w, rtol=1e-9)
    assert results[0].certificate.gap < 1e-12


def rare_bits(n=20_000, d=60):
    """Rows of bits, of which some features are in a few rows only, and labels by all of them."""
    rng = np.random.default_rng(5)
    bits = sp.csr_array((rng.random((n, d)) < np.geomspace(5e-4, 0.5, d)).astype(float))
    response = bits @ rng.standard_normal(d)
    return bits, np.where(response + rng.standard_normal(n) > np.median(response), 1, -1)


@pytest.mark.slow
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_rare_features_cost_few_passes(C):
    bits, y = rare_bits()
    problem = Regularized(bits, y, 1 / (C * len(y)), bias="free")
    result = solve(problem, BlockNewton(cells=bits.nnz // 4), stop=Stop(1e-3, max_iter=12 * 8))
    best = solve(problem, Newton(), stop=Stop(1e-6)).certificate
    assert result.status is Status.CONVERGED
    assert result.certificate.bound <= best.objective <= best.bound * (1 + 1e-5)
    assert problem.objective(result.solution) <= result.certificate.objective <= 1.001 * best.objective


@pytest.mark.slow
def test_a_run_that_keeps_rows_goes_on_to_the_same_bits(tmp_path):
    bits, y = rare_bits(3000, 30)
    problem, solver = Regularized(bits, y, 1 / len(y), bias="free"), BlockNewton(cells=bits.nnz // 4)
    stop = Stop(1e-6, max_iter=12 * 8)
    whole = solve(problem, solver, stop=stop)
    kept = Checkpoint(tmp_path / "kept", "rows", every=0.0)
    for stopped in range(20, 80, 7):  # in the midst of passes that gather rows, too
        solve(problem, solver, stop=Stop(1e-6, max_iter=stopped), checkpoint=kept)
    result = solve(problem, solver, stop=stop, checkpoint=kept)
    assert whole.state.walk.place.share > 0.0
    assert result.solution.w.tobytes() == whole.solution.w.tobytes() and result.certificate == whole.certificate


def test_a_sample_tells_where_to_begin_if_it_has_both_classes():
    problem = Regularized(X, Y, 1e-2, bias="free")
    best = solve(problem, Newton(), stop=Stop(1e-6)).solution
    np.testing.assert_allclose(sampled_start(problem, 1e-2), [*best.w, best.b], atol=0.1)
    assert sampled_start(Regularized(X, np.ones(900), 1e-2), 1e-2) is None
    assert sampled_start(Regularized(X[:10], Y[:10], 1e-2), 1e-2) is None
    assert sampled_start(None, 1e-2) is None


def test_what_it_cannot_do_is_said():
    assert "use SGD" in BlockNewton().rejects(NormConstrained(X, Y, 1.0))
    wide = Regularized(sp.csr_array((2, 5000)), [1, -1], 1.0)
    assert "use BlockAscent" in BlockNewton().rejects(wide)
    with pytest.raises(ValueError, match="at least 1"):
        BlockNewton(cells=0)
