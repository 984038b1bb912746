import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hinge.monitoring import Stop
from hinge.problems import Regularized, Solution
from hinge.solvers import SDCA, solve
from hinge.solvers.cells.weighted_sample import (
    alike,
    changed,
    cost_of_a_row,
    expected_gain,
    sample_problem,
    shares_at_C,
    shares_of_classes,
    solve_sample,
)

every_bias = pytest.mark.parametrize("bias", ["none", "free", "penalized"])
LABELS = st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=40).map(np.array)


def kept(tiny, C=2.0, **options):
    """A problem of which all rows were read."""
    X, y = tiny
    problem = Regularized.from_C(X, y, C, **options)
    problem.table.keep = True
    for i in range(len(y)):
        problem.table.row(i)
    return problem


# --- the problem of a sample ---------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_cost_of_a_row_is_C(tiny, C):
    X, y = tiny
    weight = np.arange(60.0)
    assert cost_of_a_row(Regularized.from_C(X, y, C)) == pytest.approx(C)
    assert cost_of_a_row(Regularized.from_C(X, y, C, weight=weight)) == pytest.approx(C)


@every_bias
def test_the_whole_sample_is_the_problem(tiny, bias):
    weight = np.random.default_rng(1).random(60)
    problem = kept(tiny, weight=weight, bias=bias, bias_scale=0.3)
    inner = sample_problem(problem, np.arange(60), np.ones(60))
    w = np.random.default_rng(0).standard_normal(7)
    assert inner.objective(Solution(w, 0.4)) == pytest.approx(problem.objective(Solution(w, 0.4)), rel=1e-12)


def test_a_sample_has_the_same_C_and_weights_by_the_inverse_of_the_shares(tiny):
    X, y = tiny
    weight = np.random.default_rng(1).random(60)
    problem = kept(tiny, weight=weight, bias="penalized", bias_scale=0.3)
    rows, share = np.array([3, 5, 8, 40]), np.array([1.0, 0.5, 0.1, 0.25])
    inner = sample_problem(problem, rows, share)
    assert cost_of_a_row(inner) == pytest.approx(2.0)
    np.testing.assert_allclose(inner.weight, weight[rows] / share)
    w, b = np.random.default_rng(0).standard_normal(7), 0.4
    losses = np.maximum(0, 1 - y[rows] * (X[rows] @ w + b))
    by_hand = 0.5 * (w @ w + (b / 0.3) ** 2) + 2.0 * (weight[rows] / share) @ losses
    assert inner.objective(Solution(w, b)) * 2.0 * inner.total == pytest.approx(by_hand, rel=1e-12)


def test_a_sample_has_only_what_was_read(tiny):
    X, y = tiny
    problem = Regularized.from_C(X, y, 1.0)
    problem.table.keep = True
    problem.table.block(np.array([2, 9]), np.array([1, 4]))
    problem.table.row(9)
    reads = problem.reads
    inner = sample_problem(problem, np.array([2, 9]), np.ones(2))
    expected = np.zeros((2, 7))
    expected[0, [1, 4]], expected[1] = X[2, [1, 4]], X[9]
    for j in range(7):
        np.testing.assert_array_equal(inner.responses(np.eye(7)[j]), expected[:, j])
    assert problem.reads == reads


@pytest.mark.slow
@every_bias
def test_solved_to_its_tolerance_at_no_cost(tiny, bias):
    problem = kept(tiny, bias=bias)
    reads = problem.reads
    inner = sample_problem(problem, np.arange(60), np.ones(60))
    answer = solve_sample(inner, Solution(np.zeros(7), 0.0, np.zeros(60)), 1e-4)
    best = solve(Regularized.from_C(*tiny, 2.0, bias=bias), SDCA(), stop=Stop(1e-8)).certificate
    assert best.bound * (1 - 1e-9) <= problem.objective(answer) <= best.objective * (1 + 1e-4)
    assert problem.reads == reads


def test_columns_that_no_support_vector_has_are_zero():
    # Rows that come and go leave rounding errors there, and a column of w is one to read.
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((400, 500)) * (rng.random((400, 500)) < 0.01)
    dense[:, 0] = 2 * rng.standard_normal(400)
    X, y = sp.csr_array(dense), np.where(dense[:, 0] > 0, 1, -1)
    inner = Regularized.from_C(X, y, 3.0, weight=rng.random(400))
    answer = solve_sample(inner, Solution(np.zeros(500), 0.0, np.zeros(400)), 1e-3)
    touched = np.abs(X[answer.alpha > 0]).sum(axis=0) > 0
    assert 50 < (~touched).sum() < 450
    assert not answer.w[~touched].any()
    plain = solve(inner, SDCA(), stop=Stop(1e-3)).solution
    np.testing.assert_allclose(answer.w, plain.w, atol=1e-12 * np.abs(plain.w).max())


# --- rows of both classes alike --------------------------------------------------------------


@pytest.mark.slow
@given(y=LABELS, seed=st.integers(0, 99), count=st.integers(0, 50))
def test_rows_of_both_classes_alike(y, seed, count):
    left = np.random.default_rng(seed).permutation(len(y))
    left = left[: len(left) * 2 // 3 + 1]
    rows = alike(y, left, count)
    of_each = [int((y[left] == side).sum()) for side in (1, -1)]
    taken = [int((y[rows] == side).sum()) for side in (1, -1)]
    assert len(set(rows.tolist())) == len(rows) == min(count, len(left))
    assert set(rows.tolist()) <= set(left.tolist())
    # In the ratio of the roots of their sizes, as far as there are rows, and the first of each.
    roots = np.sqrt([(y == side).sum() for side in (1, -1)])
    used_up = [k == have for k, have in zip(taken, of_each, strict=True)]
    few = min(taken) == min(10, count // 2)
    assert any(used_up) or few or abs(taken[0] - count * roots[0] / roots.sum()) <= 0.5 + 1e-9
    for side, k in zip((1, -1), taken, strict=True):
        assert rows[y[rows] == side].tolist() == left[y[left] == side][:k].tolist()


@pytest.mark.slow
@given(y=LABELS, seed=st.integers(0, 99))
def test_shares_weigh_each_class_by_its_rows(y, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    rows = alike(y, order, len(y) // 2 + 1)
    assert (1.0 / shares_at_C(y, rows)).mean() == pytest.approx(1.0)
    weight = 1.0 / shares_of_classes(y, rows)
    if len(set(y[rows].tolist())) == 2:
        shares = [weight[y[rows] == side].sum() / weight.sum() for side in (1, -1)]
        np.testing.assert_allclose(shares, [(y == side).mean() for side in (1, -1)])


def test_shares_of_all_rows_are_one():
    y = np.array([1, -1, -1, 1, -1])
    np.testing.assert_allclose(shares_of_classes(y, np.arange(5)), 1.0)


def test_rows_are_taken_in_turn():
    y = np.array([1, 1, 1, 1, -1, -1, -1, -1, -1])
    for count in range(2, 9):
        taken = y[alike(y, np.arange(9), 8)[:count]]
        assert abs(taken.sum()) <= 1


# --- what changed -----------------------------------------------------------------------------


def test_changes_are_counted_by_weight():
    y = np.array([1, 1, -1, -1, -1, -1])
    inner = Regularized(np.eye(6), y, 1.0, weight=np.array([4.0, 1, 1, 1, 1, 2]))
    old = np.array([True, False, False, False, True, False])
    new = np.array([True, True, False, False, False, False])
    assert changed(inner, old, new) == pytest.approx(2 / 10)
    assert changed(inner, new, new) == 0.0


def test_an_answer_of_one_label_has_not_settled():
    inner = Regularized(np.eye(6), np.array([1, 1, -1, -1, -1, -1]), 1.0, weight=np.ones(6))
    for label in (True, False):
        assert changed(inner, np.full(6, label), np.full(6, label)) == np.inf
    one = Regularized(np.eye(6), np.ones(6), 1.0, weight=np.ones(6))  # of one class it is the right answer
    assert changed(one, np.full(6, True), np.full(6, True)) == 0.0


def test_the_expected_gain_is_the_mean_of_the_counted_one():
    """Labels by a logistic curve of the new responses, of which the old ones are a noisy copy."""
    rng = np.random.default_rng(0)
    new = rng.standard_normal(40_000)
    old = new + 0.5 * rng.standard_normal(len(new))
    y = np.where(rng.random(len(new)) < 1 / (1 + np.exp(-2 * new)), 1, -1)
    inner = Regularized(new[:, None], y, 0.1, weight=rng.uniform(1.0, 2.0, len(y)))
    fresh = np.arange(len(new)) % 2 == 0
    counted = np.mean((old > 0) != (y > 0)) - np.mean((new > 0) != (y > 0))
    assert counted > 0.01
    gain, spread = expected_gain(inner, old, new, fresh)
    assert gain == pytest.approx(counted, rel=0.4)  # the old ones' sigmoid is flatter
    parts = [expected_gain(inner, old, np.where(np.arange(len(y)) % 50 == k, new, old), fresh)[0] for k in range(50)]
    assert spread == pytest.approx(np.sqrt(50) * np.std(parts), rel=0.3)  # of what fifty parts of the rows have to it
    assert expected_gain(inner, new, new, fresh) == (0.0, 0.0)


@pytest.mark.parametrize("side", [1, -1])
def test_a_sample_of_one_class_with_a_free_bias_needs_no_ascent(tiny, side, monkeypatch):
    monkeypatch.setattr("hinge.solvers.cells.weighted_sample.solve", None)  # whose gap would be relative to 0
    problem = Regularized(tiny[0], np.full(len(tiny[0]), side), 0.1, bias="free")
    answer = solve_sample(problem, Solution(np.ones(problem.d), 0.0, np.zeros(problem.n)), 1e-3)
    assert problem.objective(answer) == 0.0 and answer.b == side
