import numpy as np
import pytest
import scipy.sparse as sp

from hinge.problems import Regularized
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, epsilon_insensitive
from hinge.sampling import draw_index, key_of, stream_of
from hinge.solvers import SDCA
from hinge.solvers.ascent.active_rows import SHRUNK
from hinge.solvers.ascent.local_ascent import AscentRows, Share, local_ascent

LOSSES = [HINGE, SQUARED_HINGE, epsilon_insensitive(0.2)]


def some_rows(n=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)) * 8) / 8
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0, 1, -1)


def given(problem, seed=3, Lam=None):
    """A state of the ascent in the middle of a run, and what a part is given of it."""
    state = SDCA("plain").init(problem, seed)
    rng = np.random.default_rng(seed)
    high = min(1.0, problem.loss.high)
    state.alpha[:] = np.round(rng.uniform(max(-1.0, problem.loss.low), high, problem.n) * 16) / 16
    state.v[:] = problem.combination(state.alpha) * problem.total
    weight = np.broadcast_to(problem.weight, problem.n)
    dual = state.dual
    dual.u = float(weight @ (state.alpha * problem.y))
    dual.beta, dual.kappa, dual.Lam = 0.125, 0.25, problem.lam * problem.total if Lam is None else Lam
    state.active[:] = np.arange(problem.n)
    rows = AscentRows.from_problem(problem)
    return state, rows


def share_of(state, deal, first, stop, size, group=1, number=5, listed=None):
    listed = len(state.active) if listed is None else listed
    return Share(state.active, listed, np.array(deal, np.uint32), first, stop, size, group, state.key, number)


def order_of(share):
    """The rows of a share in the order of their visits, by the stream's definition."""
    mine = [
        int(share.active[at])
        for block in share.deal[share.first : share.stop]
        for at in range(int(block) * share.size, min((int(block) + 1) * share.size, share.listed))
    ]
    groups = [mine[k : k + share.group] for k in range(0, len(mine), share.group)]
    key, order = np.uint64(stream_of(share.key, share.number)), list(range(len(groups)))
    for draw, k in enumerate(range(len(groups) - 1, 0, -1)):
        j = int(draw_index(key, draw, k + 1))
        order[k], order[j] = order[j], order[k]
    return [i for k in order for i in groups[k]]


def literal(problem, state, order, sigma):
    """Δv, Δu and α by maximising the subproblem of CoCoA+ row by row, as the paper writes it."""
    X, y = problem.matrix.rows.X, problem.y
    t = np.broadcast_to(problem.target, problem.n)
    s, loss, dual = np.broadcast_to(problem.weight, problem.n), problem.loss, state.dual
    alpha, dv, du = state.alpha.copy(), np.zeros(problem.d), 0.0
    for i in order:
        short = t[i] - y[i] * (
            dual.beta + (X[i] @ (state.v + sigma * dv) + dual.kappa * (dual.u + sigma * du)) / dual.Lam
        )
        h = sigma * s[i] * (X[i] @ X[i] + dual.kappa) / dual.Lam
        z = h * alpha[i] + short
        z = np.sign(z) * max(0.0, abs(z) - loss.epsilon)
        new = min(loss.high, max(loss.low, z / (h + loss.curvature)))
        dv += s[i] * (new - alpha[i]) * y[i] * X[i]
        du += s[i] * (new - alpha[i]) * y[i]
        alpha[i] = new
    return dv, du, alpha


@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.5])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_ascent_of_the_papers_subproblem(sigma, loss, weighted):
    X, y = some_rows()
    weight = np.random.default_rng(1).integers(1, 4, 40) / 2.0 if weighted else None
    problem = Regularized(X, y.astype(float) if loss.two_sided else y, 0.05, weight=weight, loss=loss)
    state, rows = given(problem)
    share = share_of(state, [3, 0, 1, 2, 4], 1, 4, size=8, group=2)
    order = order_of(share)
    assert sorted(order) == list(range(24))
    expected = literal(problem, state, order, sigma)
    change = local_ascent(rows, share, state.alpha, state.sq, state.v, state.dual, sigma)
    np.testing.assert_allclose(change.dv, expected[0], rtol=1e-9, atol=1e-9)
    assert change.du == pytest.approx(expected[1], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(state.alpha, expected[2], rtol=1e-9, atol=1e-9)
    assert change.rows == 24


def test_it_writes_to_its_own_rows_alone():
    problem = Regularized(*some_rows(), 0.05)
    state, rows = given(problem)
    before, read = (state.alpha.copy(), state.v.copy(), state.dual.tobytes()), problem.reads
    change = local_ascent(rows, share_of(state, range(5), 2, 3, 8), state.alpha, state.sq, state.v, state.dual, 2.0)
    others = np.setdiff1d(np.arange(40), np.arange(16, 24))
    np.testing.assert_array_equal(state.alpha[others], before[0][others])
    assert np.isnan(state.sq[others]).all() and not np.isnan(state.sq[16:24]).any()
    assert (state.v.tobytes(), state.dual.tobytes()) == (before[1].tobytes(), before[2])
    assert change.rows == 8
    assert problem.reads - read == 8 * problem.d


def test_the_change_is_that_of_its_alpha():
    problem = Regularized(*some_rows(), 0.05)
    state, rows = given(problem)
    change = local_ascent(rows, share_of(state, range(5), 0, 3, 8), state.alpha, state.sq, state.v, state.dual, 4.0)
    np.testing.assert_allclose(state.v + change.dv, problem.combination(state.alpha) * problem.total, atol=1e-12)


def test_no_rows_change_nothing():
    problem = Regularized(*some_rows(), 0.05)
    state, rows = given(problem)
    change = local_ascent(rows, share_of(state, range(5), 2, 2, 8), state.alpha, state.sq, state.v, state.dual, 4.0)
    assert not change.dv.any()
    assert (change.du, change.grown, change.gap, change.rows) == (0.0, 0.0, 0.0, 0)


def test_its_sum_of_gap_shares_is_that_of_the_margins_met():
    problem = Regularized(np.eye(40), np.resize([1, -1], 40), 0.05)  # a step moves the margin of its own row alone
    state, rows = given(problem)
    state.dual.kappa = 0.0
    g = 1 - problem.y * (state.dual.beta + state.v / state.dual.Lam)
    expected = (np.maximum(g, 0) - state.alpha * g)[:16].sum()
    change = local_ascent(rows, share_of(state, range(5), 0, 2, 8), state.alpha, state.sq, state.v, state.dual, 3.0)
    assert change.gap == pytest.approx(expected, rel=1e-9)


def test_in_the_first_pass_Lambda_grows_by_the_rows_it_meets():
    problem = Regularized(*some_rows(), 0.05)
    state, rows = given(problem, Lam=0.4)
    state.dual.growing = True
    change = local_ascent(rows, share_of(state, range(5), 0, 2, 8), state.alpha, state.sq, state.v, state.dual, 2.0)
    assert change.grown == pytest.approx(16 * 0.05)


def test_rows_that_will_stay_are_marked_on_the_list():
    problem = Regularized(np.eye(40), np.ones(40, int), 0.05)  # a step moves the margin of its own row alone
    state, rows = given(problem)
    state.dual.kappa = state.dual.beta = 0.0
    state.alpha[:] = 0.0
    state.v[:20] = 3.0 * state.dual.Lam  # whose margin is 3, two more than they need
    state.dual.upper, state.dual.lower = 0.5, -0.5
    local_ascent(rows, share_of(state, range(5), 0, 5, 8), state.alpha, state.sq, state.v, state.dual, 1.0)
    np.testing.assert_array_equal(state.active & SHRUNK > 0, np.arange(40) < 20)
    np.testing.assert_array_equal(state.active & ~SHRUNK, np.arange(40))


def test_compressed_rows_give_the_same():
    X, y = some_rows()
    changes = []
    for A in (X, sp.csr_array(X)):
        state, rows = given(Regularized(A, y, 0.05))
        share = share_of(state, range(5), 0, 5, 8)
        changes.append(local_ascent(rows, share, state.alpha, state.sq, state.v, state.dual, 2.0))
    np.testing.assert_allclose(changes[0].dv, changes[1].dv, atol=1e-12)


def test_another_number_draws_another_order():
    key = key_of(0)
    assert len({int(stream_of(key, number)) for number in range(1000)}) == 1000
