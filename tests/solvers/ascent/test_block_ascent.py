import numpy as np
import pytest
import scipy.sparse as sp

from hinge.access.streams.base import Streamed, StretchLayout
from hinge.access.streams.opening import NpyStream
from hinge.monitoring import Status, Stop
from hinge.monitoring.checkpoint import Checkpoint
from hinge.problems import NormConstrained, Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.solvers import SDCA, BlockAscent, solve
from hinge.solvers.ascent.block_ascent import cut_of, shuffled_block

RNG = np.random.default_rng(0)
X = np.round(8 * RNG.standard_normal((400, 6))) / 8
Y = np.where(X[:, 0] + 0.6 * RNG.standard_normal(400) > 0, 1, -1)
WEIGHT = RNG.integers(0, 3, 400).astype(float)
LAYOUT = StretchLayout(20, 60, 3)


@pytest.fixture
def stream(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return lambda: Streamed(NpyStream(tmp_path / "x.npy"), 1 << 20, LAYOUT)


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "penalized", "free"])
@pytest.mark.parametrize("loss", [HINGE, SQUARED_HINGE, epsilon_insensitive(0.1)], ids=lambda loss: loss.name)
def test_a_stream_is_solved_as_rows_in_memory_are(stream, bias, loss):
    y = X @ np.arange(6.0) + Y if loss.two_sided else Y
    options = {"weight": WEIGHT, "bias": bias, "bias_scale": 0.7, "loss": loss}
    problem = Regularized(stream(), y, 0.01, **options)
    result = solve(problem, BlockAscent(), stop=Stop(1e-4, max_iter=4000))
    best = solve(Regularized(X, y, 0.01, **options), SDCA(), stop=Stop(1e-7)).certificate
    assert result.status is Status.CONVERGED and result.solution.alpha is None
    exact = Regularized(X, y, 0.01, **options).objective(result.solution)
    assert result.certificate.objective == pytest.approx(exact, rel=1e-9) and result.certificate.objective >= exact
    assert result.certificate.bound <= best.objective
    assert exact - best.bound <= 1e-4 * best.objective + 1e-12


def test_a_pass_reads_every_row_once_and_certifies(stream):
    data = stream()
    problem = Regularized(data, Y, 0.05)
    solver = BlockAscent()
    passes = 6
    state = solver.init(problem)
    for _ in range(passes):
        state = solver.advance(problem, state, cut_of(problem).blocks)
    assert data.bytes_read <= X.nbytes * passes + 60 * 8 * 6  # and one block ahead
    certificate = solver.estimate(problem, state)
    again = problem.certificate(solver.solution(problem, state)._replace(alpha=state.alpha))
    assert certificate.objective == pytest.approx(again.objective, rel=1e-12)
    assert certificate.bound == pytest.approx(again.bound, rel=1e-12) and certificate.gap < 0.05


def test_the_dual_rises_with_every_block(stream):
    problem, solver = Regularized(stream(), Y, 0.001, bias="penalized"), BlockAscent()
    state, values = solver.init(problem), []
    plain = Regularized(X, Y, 0.001, bias="penalized")
    for _ in range(25):
        state = solver.advance(problem, state, 1)
        z = plain.combination(state.alpha)
        u = float(np.mean(state.alpha * Y))
        values.append(state.alpha.mean() - (z @ z + u * u) / (2 * plain.lam))
    assert np.all(np.diff(values) >= -1e-12) and values[-1] > 0.1


def test_blocks_cover_the_rows_and_are_dealt_anew(stream):
    problem = Regularized(stream(), Y, 0.05)
    cut = cut_of(problem)
    passes = [[shuffled_block(cut, np.uint64(7), p, k) for k in range(cut.blocks)] for p in (0, 1)]
    for blocks in passes:
        assert sorted(part for block in blocks for part in block) == cut.stretches
    assert passes[0] != passes[1]


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_to_the_same_bits(stream, tmp_path):
    def problem():
        return Regularized(stream(), Y, 0.002, bias="free")

    whole = solve(problem(), BlockAscent(), stop=Stop(1e-4, max_iter=4000), seed=3)
    for stopped in (1, 4, 9, whole.n_iter - 1):  # in the midst of a pass and at its end
        folder = tmp_path / f"kept{stopped}"
        solve(
            problem(),
            BlockAscent(),
            stop=Stop(1e-4, max_iter=stopped),
            seed=3,
            checkpoint=Checkpoint(folder, "rows", every=0.0),
        )
        for _ in range(2):  # to the end, and once it is there
            kept = Checkpoint(folder, "rows")
            result = solve(problem(), BlockAscent(), stop=Stop(1e-4, max_iter=4000), seed=3, checkpoint=kept)
            assert result.n_iter == whole.n_iter and result.status is whole.status
            assert result.solution.w.tobytes() == whole.solution.w.tobytes()
            assert (result.solution.b, result.certificate) == (whole.solution.b, whole.certificate)


def test_a_file_that_changes_ends_the_run_with_the_best_answer(stream, tmp_path):
    problem = Regularized(stream(), Y, 0.002)

    def spoil(record, solution):
        if record.iteration == 28:
            np.save(tmp_path / "x.npy", X + 1)

    with pytest.warns(RuntimeWarning, match="x.npy has changed .* best so far"):
        result = solve(problem, BlockAscent(), stop=Stop(1e-9, max_iter=4000), callbacks=[spoil])
    assert result.status is Status.DATA_CHANGED and np.isfinite(result.certificate.gap)
    assert result.certificate.objective == pytest.approx(Regularized(X, Y, 0.002).objective(result.solution), rel=1e-9)


def test_sparse_rows_in_memory_agree_with_dense_ones():
    stop = Stop(0.0, max_iter=40)
    answers = [solve(Regularized(A, Y, 0.01), BlockAscent(), stop=stop).solution for A in (X, sp.csr_array(X))]
    np.testing.assert_allclose(answers[0].w, answers[1].w, rtol=1e-9)


def test_a_start_is_gone_on_from():
    problem = Regularized(X, Y, 0.01, loss=SQUARED_HINGE)
    first = solve(problem, BlockAscent(), stop=Stop(1e-4))
    again = solve(problem, BlockAscent(), stop=Stop(1e-4), start=first.solution)
    assert again.n_iter == 16 < first.n_iter  # two passes of eight blocks: the second certifies


def test_what_it_cannot_do_is_said(stream):
    assert "use SGD" in BlockAscent().rejects(NormConstrained(X, Y, 1.0))
    with pytest.raises(ValueError, match="epochs must be a whole number of at least 1 and at most 1024"):
        BlockAscent(epochs=0)
    with pytest.raises(ValueError, match="SDCA takes rows of arrays in memory, not of a stream: use ByPasses"):
        solve(Regularized(stream(), Y, 0.1), SDCA())
