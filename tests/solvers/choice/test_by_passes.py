from itertools import pairwise

import numpy as np
import pytest

from hinge.access.streams.base import Streamed, StretchLayout
from hinge.access.streams.opening import NpyStream
from hinge.monitoring import Status, Stop
from hinge.monitoring.checkpoint import Checkpoint
from hinge.problems import NormConstrained, Regularized
from hinge.problems.batch import Batch
from hinge.solvers import ByPasses, solve
from hinge.solvers.ascent.block_ascent import SideBySide
from hinge.solvers.choice import by_passes
from hinge.solvers.choice.cost_model import BlockCosts

RNG = np.random.default_rng(0)
X = np.round(8 * RNG.standard_normal((600, 6))) / 8
Y = np.where(X[:, 0] + 0.6 * RNG.standard_normal(600) > 0, 1, -1)
LAYOUT = StretchLayout(50, 150, 3)


@pytest.fixture
def stream(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return lambda: Streamed(NpyStream(tmp_path / "x.npy"), 1 << 20, LAYOUT)


@pytest.fixture
def late(monkeypatch):
    """The ascent seems cheap at first, and dear when it is looked at."""

    def prices(d, cells, sparse, stiff, tol):
        return BlockCosts(1.0, 2.0 if stiff > 0.0 else 0.1, 1.0)

    monkeypatch.setattr(by_passes, "block_costs", prices)


def test_who_begins_follows_from_the_prices(stream):
    def begun(problem, solver=None):
        solver = ByPasses() if solver is None else solver
        return solver.advance(problem, solver.init(problem), 1)

    large, small = (begun(Regularized(stream(), Y, lam)) for lam in (10.0, 1e-5))
    assert not large.watch.by_newton and large.ascent.t == 1 and large.newton.t == 0
    assert small.watch.by_newton and small.newton.t == 1 and not small.ascent.alpha.any()
    few = begun(Regularized(stream(), Y, 1e-5), ByPasses(most=5))
    assert not few.watch.by_newton and not few.newton
    short = begun(Regularized(X[:40], Y[:40], 1e-5))
    assert not short.watch.by_newton and not short.newton


@pytest.mark.usefixtures("late")
def test_an_ascent_that_is_slow_hands_over_what_it_has_found(stream):
    problem = Regularized(stream(), Y, 1e-5, bias="free")
    seen = []

    def look(record, answer):
        seen.append(record.gap)

    result = solve(problem, ByPasses(), stop=Stop(1e-3, max_iter=4 * 60), callbacks=[look])
    state = result.state
    assert result.status is Status.CONVERGED and state.watch.by_newton and state.ascent.place.passes == 3
    assert state.newton.place.t == state.watch.t == result.n_iter <= 4 * 14
    assert all(after <= before for before, after in pairwise(seen))  # nothing is lost
    exact = Regularized(X, Y, 1e-5, bias="free").objective(result.solution)
    assert exact <= result.certificate.objective == pytest.approx(exact, rel=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("late")
def test_a_run_that_was_killed_goes_on_to_the_same_bits(stream, tmp_path):
    problem, solver = Regularized(stream(), Y, 1e-5), ByPasses()
    whole = solver.advance(problem, solver.init(problem, 3), 4 * 9)
    kept = Checkpoint(tmp_path / "kept", "rows", every=0.0)
    for k in (7, 13, 16):
        state = solver.init(problem, 3) if k == 7 else kept.load(whole)
        kept.offer(solver.advance(problem, state, k), final=True)
    again = kept.load(whole)
    assert again.t == whole.t == 36 and whole.watch.by_newton
    assert again.newton.walk.x.tobytes() == whole.newton.walk.x.tobytes()


@pytest.mark.slow
def test_tasks_that_change_at_different_times_read_the_same_blocks(stream):
    data = stream()
    tasks = Batch([Regularized(data, Y * sign, lam) for sign, lam in ((1, 1e-5), (-1, 1.0), (1, 1e-2))])
    solver = SideBySide(ByPasses())
    state = solver.advance(tasks, solver.init(tasks), 3 * 4 * 8)
    assert data.bytes_read <= X.nbytes * 8 + 150 * 8 * 6
    assert max(certificate.gap for certificate in solver.estimate(tasks, state).members) < 0.1


def test_what_it_cannot_do_is_said():
    assert "use SGD" in ByPasses().rejects(NormConstrained(X, Y, 1.0))
