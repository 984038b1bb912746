import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from access.tables.made_up import Seller

from hinge.access import DenseTable, SparseTable
from hinge.access.tables.oracle import Oracle
from hinge.monitoring import Status, Stop
from hinge.problems import NormConstrained, Regularized
from hinge.solvers import SDCA, solve
from hinge.solvers.cells.probe import DUG, RANDOM, UNREAD, Probe

N, D, RARE = 1500, 2500, 12


def hard_points(seed=0, noise=0.0, n=N, d=D, rare=RARE):
    """Rows of norm one about, of which a few need a second direction.

    Returns X, the labels, the labels without noise, which rows are rare, and the two directions.
    """
    rng = np.random.default_rng(seed)
    u = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    y = rng.choice([-1, 1], n)
    second = rng.permutation(n) < rare
    X = np.sqrt((1 - 0.65**2) / d) * rng.standard_normal((n, d))
    X += 0.65 * y[:, None] * u[second.astype(int)]
    return X, np.where(rng.random(n) < noise, -y, y), y, second, u


def learnt(w, u):
    """Whether at most a tenth of new rare rows, and hardly any other, would be wrong."""
    return (0.65 * u @ w > 1.3 * np.sqrt((1 - 0.65**2) / len(w)) * np.linalg.norm(w)).all()


@pytest.fixture(scope="module")
def hard():
    return hard_points()


@pytest.fixture(scope="module")
def small():
    """90 dense rows of 40 features, a third of them zeros; a noisy task."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((90, 40)) * (rng.random((90, 40)) < 0.7)
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(90) > 0.3, 1, -1)
    return X, y


def bits(state):
    return [(a.dtype.str, a.shape, a.tobytes()) for a in state]


def rounds(solver, problem, count, seed=0):
    """The state after so many rounds."""
    state = solver.init(problem, seed)
    while state.s.rounds < count and not state.s.over:
        state = solver.advance(problem, state, 1)
    return state


# --- what it is for -----------------------------------------------------------------------


@pytest.mark.slow
def test_rare_points_are_found_by_a_few_cells():
    reads = []
    for seed in range(4):
        X, y, _, second, u = hard_points(seed, rare=3)
        problem = Regularized.from_C(X, y, 1.0)
        result = solve(problem, Probe(), seed=seed)
        assert result.status is Status.FINISHED
        assert result.certificate.gap == np.inf  # nothing is proved
        assert problem.table.bill.distinct == problem.reads < 0.07 * N * D
        assert (result.state.kind[second] != UNREAD).any()
        assert (y * (X @ result.solution.w) > 0).all()
        assert learnt(result.solution.w, u)
        # Ascent goes from row to row, most of which say the same.
        other, solver = Regularized.from_C(X, y, 1.0), SDCA("plain")
        state = solver.init(other, seed)
        while not learnt(solver.solution(other, state).w, u):
            state = solver.advance(other, state, 25)
        reads.append((problem.reads, other.reads))
    ours, theirs = np.sum(reads, axis=0)
    assert ours < theirs


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_wrong_labels_are_survived_by_a_small_C(seed):
    X, y, truth, second, _ = hard_points(seed, noise=0.01)
    problem = Regularized.from_C(X, y, 0.1)
    result = solve(problem, Probe(), seed=seed)
    assert result.status is Status.FINISHED
    assert problem.reads < 0.25 * N * D
    assert np.mean(truth * (X @ result.solution.w) <= 0) <= 0.1 * second.mean()


# --- what it does -------------------------------------------------------------------------


@pytest.mark.slow
def test_columns_then_random_rows_then_the_lowest_estimates(hard):
    X, y, *_ = hard
    problem, solver = Regularized.from_C(X, y, 1.0), Probe(columns=20, rows=12)
    state = solver.advance(problem, solver.init(problem, 3), 20)
    assert len(set(state.columns.tolist())) == 20
    assert problem.reads == 20 * N
    np.testing.assert_array_equal(state.probed, X[:, state.columns])
    assert (state.kind == UNREAD).all()

    state = solver.advance(problem, state, 12)
    assert np.bincount(state.kind, minlength=3).tolist() == [N - 12, 12, 0]
    assert problem.reads == 20 * N + 12 * (D - 20)
    np.testing.assert_allclose(state.w_J, state.w[state.columns], rtol=1e-9, atol=1e-12)

    J = state.columns
    estimate = y * (X[:, J] @ state.w[J]) * (state.w @ state.w) / (state.w[J] @ state.w[J])
    np.testing.assert_allclose(solver.margins(problem, state), estimate, rtol=1e-9, atol=1e-12)
    unread = np.flatnonzero(state.kind == UNREAD)
    lowest = unread[np.argsort(estimate[unread])][:3]  # a quarter of 12
    w, w_J = state.w.copy(), state.w_J.copy()
    state = solver.advance(problem, state, 2)
    assert state.s.found == (y[lowest[:2]] * (X[lowest[:2]] @ w) < 0).sum()
    state = solver.advance(problem, state, 1)
    assert set(np.flatnonzero(state.kind == DUG)) == set(lowest)
    # The cells that chose them now tell their true margins under the answer that did.
    told = y[lowest] * (state.probed[lowest] @ w_J) * (w @ w) / (w_J @ w_J)
    np.testing.assert_allclose(told, y[lowest] * (X[lowest] @ w), rtol=1e-9)
    moved = state.probed[lowest] - X[np.ix_(lowest, J)]
    np.testing.assert_allclose(moved, np.outer(moved @ w_J, w_J) / (w_J @ w_J), atol=1e-12)


@pytest.mark.slow
def test_estimates_stay_true_where_rows_were_chosen_by_them():
    X, y, *_ = hard_points(4, noise=0.02)
    problem, solver = Regularized.from_C(X, y, 0.1), Probe()
    state = rounds(solver, problem, 4, seed=4)
    unread = state.kind == UNREAD
    true = (y * (X @ state.w))[unread]
    assert np.corrcoef(solver.margins(problem, state)[unread], true)[0, 1] > 0.4
    by_cells = (y * (X[:, state.columns] @ state.w[state.columns]))[unread]
    assert np.corrcoef(by_cells, true)[0, 1] < np.corrcoef(solver.margins(problem, state)[unread], true)[0, 1]


def test_the_weights_of_a_class_add_up_to_its_rows(small):
    X, y = small
    s = np.random.default_rng(0).integers(0, 3, 90) * 0.5
    for weight in (None, s):
        problem, solver = Regularized(X, y, 0.05, weight=weight), Probe(columns=5, rows=9)
        for count in (1, 2, 4):
            state = rounds(solver, problem, count)
            rows, inner = solver.sample(problem, state)
            own = 1.0 if weight is None else weight[rows]
            for side in (1, -1):
                counted = (y == side) & (True if weight is None else weight > 0)
                assert (inner.weight / own)[y[rows] == side].sum() == pytest.approx(counted.sum())
            dug = state.kind[rows] == DUG
            np.testing.assert_allclose((inner.weight / own)[dug], 1.0)
            assert (inner.weight / own)[~dug].min() > 1.0


def test_both_classes_are_in_the_first_rows(hard):
    X, _, _, second, _ = hard
    y = np.where(second, 1, -1)
    problem, solver = Regularized.from_C(X, y, 1.0), Probe(columns=3)
    state = rounds(solver, problem, 1)
    first = state.kind == RANDOM
    assert (y[first] > 0).sum() >= 10
    assert (y[first] < 0).sum() >= 10
    assert 30 <= first.sum() <= 40
    few = np.where(np.arange(N) == 7, 1, -1)
    assert rounds(Probe(columns=3), Regularized.from_C(X, few, 1.0), 1).kind[7] == RANDOM


@pytest.mark.slow
@pytest.mark.parametrize("bias", ["none", "free", "penalized"])
@pytest.mark.parametrize("weighted", [False, True])
def test_when_all_rows_are_read_it_is_the_svm_of_all_rows(small, bias, weighted):
    X, y = small
    s = np.random.default_rng(0).integers(0, 3, 90) * 0.5 if weighted else None
    problem = Regularized(X, y, 0.02, bias=bias, weight=s)
    result = solve(problem, Probe(columns=5, patience=99))
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 1e-3
    exact = solve(Regularized(X, y, 0.02, bias=bias, weight=s), SDCA(), stop=Stop(1e-6)).certificate
    assert exact.bound <= result.certificate.objective <= exact.objective * 1.0011
    check = Regularized(X, y, 0.02, bias=bias, weight=s).certificate(result.solution)
    assert check.objective == pytest.approx(result.certificate.objective, rel=1e-9)
    assert problem.reads == problem.table.bill.distinct
    whole = problem.table.bill.whole_rows
    assert (whole == (np.ones(90, bool) if s is None else s > 0)).all()  # no row of weight zero
    assert problem.reads == whole.sum() * 35 + 5 * 90


def test_all_columns_probed_leave_nothing_to_pay(small):
    X, y = small
    problem, solver = Regularized(X, y, 0.05, bias="free"), Probe(columns=100)
    state = rounds(solver, problem, 3)
    assert problem.reads == X.size
    unread = state.kind == UNREAD
    true = y * (X @ state.w + state.s.b)
    np.testing.assert_allclose(solver.margins(problem, state)[unread], true[unread], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_patience(hard):
    X, y, *_ = hard
    read = []
    for patience in (1, 2, 4):
        problem = Regularized.from_C(X, y, 1.0)
        state = solve(problem, Probe(patience=patience)).state
        assert state.s.quiet == patience
        read.append(problem.reads)
    assert read == sorted(read)
    problem = Regularized.from_C(X, y, 1.0)
    strict = solve(problem, Probe(below=1.0), stop=Stop(max_reads=2 * read[-1]))
    assert strict.status is Status.MAX_READS  # rows that were not trained on seldom reach a margin of one


# --- the laws -----------------------------------------------------------------------------


def tables(X):
    S = sp.csr_array(X)
    return {
        "array": X,
        "dense": DenseTable(X),
        "csr": S,
        "sparse": SparseTable(S),
        "bought": Oracle(Seller(X), prices=np.linspace(1, 2, X.shape[1])),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "csr", "bought"])
@pytest.mark.parametrize("cuts", [[1] * 100, [7] * 15, [4, 1, 0, 1, 8, 80]])
def test_chunked_equals_unchunked(small, kind, cuts):
    X, y = small
    solver = Probe(columns=5, rows=9, patience=9)
    whole, cut = (Regularized(tables(X)[kind], y, 0.05, bias="free") for _ in range(2))
    a = solver.advance(whole, solver.init(whole, 1), sum(cuts))
    b = solver.init(cut, 1)
    for n in cuts:
        b = pickle.loads(pickle.dumps(solver.advance(cut, b, n)))
    assert bits(a) == bits(b)
    assert [part[:2] for part in bits(a)] == [part[:2] for part in bits(solver.init(cut, 1))]
    assert whole.reads == cut.reads
    assert solver.solution(whole, a).w.tobytes() == solver.solution(cut, b).w.tobytes()


@pytest.mark.slow
def test_layouts_agree(small):
    X, y = small
    answers = [
        solve(Regularized(T, y, 0.05), Probe(columns=6, patience=1), seed=2).solution.w for T in tables(X).values()
    ]
    for w in answers[1:]:
        np.testing.assert_allclose(w, answers[0], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_same_seed_same_result(small):
    first, second, other = (solve(Regularized(*small, 0.05), Probe(columns=6), seed=s) for s in (3, 3, 4))
    assert bits(first.state) == bits(second.state)
    assert bits(first.state) != bits(other.state)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "csr", "bought"])
def test_budgets_are_never_exceeded(small, kind):
    X, y = small
    for limit in (0, 1, 89, 90, 91, 300, 500, 1000, 2000, 3600):
        problem = Regularized(tables(X)[kind], y, 0.05)
        result = solve(problem, Probe(columns=5, patience=99), stop=Stop(tol=0, max_reads=limit))
        assert problem.reads <= limit
        assert result.status is Status.MAX_READS or limit >= 2500
        assert np.isfinite(result.solution.w).all()
    for limit in (0.0, 10.0, 400.0, 1500.0):
        problem = Regularized(Oracle(Seller(X), prices=np.linspace(1, 2, 40)), y, 0.05)
        result = solve(problem, Probe(columns=5, patience=99), stop=Stop(tol=0, max_cost=limit))
        assert problem.cost <= limit
        assert result.status is Status.MAX_COST


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "csr", "bought"])
def test_reads_of_an_iteration_stay_within_the_bound(small, kind):
    X, y = small
    problem, solver = Regularized(tables(X)[kind], y, 0.05), Probe(columns=5, patience=99)
    state = solver.init(problem)
    assert problem.reads == 0
    while not state.s.over:
        before, cost = problem.reads, problem.cost
        state = solver.advance(problem, state, 1)
        assert problem.reads - before <= problem.cells_of(solver.cost(problem))
        assert problem.cost - cost <= problem.price_of(solver.cost(problem))
    t = state.t
    assert solver.advance(problem, state, 5).t == t == 5 + 90
    assert solver.pause(problem, state) == 0


def test_cut_off_within_a_batch_the_rows_read_so_far_count(hard):
    X, y, *_ = hard
    problem, solver = Regularized.from_C(X, y, 1.0), Probe(columns=10)
    state = solver.advance(problem, solver.init(problem), 10)
    assert not solver.solution(problem, state).w.any()
    state = solver.advance(problem, state, 20)
    assert 0 < state.s.done < state.s.queued
    assert not state.w.any()
    answer = solver.solution(problem, state)
    assert np.mean(y * (X @ answer.w) > 0) > 0.95
    assert answer.alpha is None


def test_solving_on_from_a_state_equals_solving_through(small):
    problem = Regularized(*small, 0.05)
    solver = Probe(columns=5, patience=99)
    first = solve(problem, solver, stop=Stop(tol=0, max_iter=30))
    state = pickle.loads(pickle.dumps(first.state))
    resumed = solve(problem, solver, state=state, stop=Stop(tol=0, max_iter=70))
    through = solve(Regularized(*small, 0.05), solver, stop=Stop(tol=0, max_iter=70))
    assert resumed.n_iter == through.n_iter == 70
    assert bits(resumed.state) == bits(through.state)


@pytest.mark.parametrize("name", ["columns", "rows", "patience"])
def test_settings_are_checked(name):
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"):
        Probe(**{name: 0})


def test_what_it_cannot_solve(small):
    with pytest.raises(ValueError, match="Probe solves Regularized problems, not NormConstrained"):
        solve(NormConstrained(*small, 1.0), Probe())
